import type { Mount } from '../mount.js'
import type { Endpoint, RouteSchema } from '../routes.js'
import { attributes } from './attributes.js'
import { actionEndpoints, command, commands, update } from './commands.js'
import { lifecycleEndpoints, noun, participle, verb } from './words.js'
import type { Form, FormEndpoint } from './write.js'

/** The forms in which an operation can be said. A further one is a further object in this list. */
export const forms = [verb, participle, update, noun, attributes, command, commands] as const

/** The name of a form in which an operation can be said. */
export type FormName = typeof forms[number]['name']

/** Every write of a mount. */
export function writeEndpoints (mount: Mount): Endpoint[] {
  const mounted = forms.filter(({ name }) => mount.forms.has(name))
  return [
    ...lifecycleEndpoints(mount),
    ...combineForms(mounted, mount),
    ...(mount.unversioned === false ? [] : actionEndpoints(mount))
  ]
}

/** The endpoints of forms; those on one path and method become one, and the body says which form is meant. */
function combineForms (forms: readonly Form[], mount: Mount): Endpoint[] {
  const reads: Endpoint[] = []
  const byRoute = new Map<string, { name: string, endpoint: FormEndpoint }[]>()
  for (const form of forms) {
    for (const endpoint of form.endpoints(mount)) {
      // What a form has to read has no body that could tell two of them apart: one would clash with the other.
      if (endpoint.method === 'GET') reads.push(endpoint)
      else {
        const route = `${endpoint.method} ${endpoint.path}`
        byRoute.set(route, [...byRoute.get(route) ?? [], { name: form.name, endpoint }])
      }
    }
  }
  return [...reads, ...[...byRoute.values()].map(combineEndpoints)]
}

function combineEndpoints (here: readonly { readonly name: string, readonly endpoint: FormEndpoint }[]): Endpoint {
  const endpoints = here.map(({ endpoint }) => endpoint)
  const last = endpoints.at(-1) as FormEndpoint
  const schema = combineSchemas(endpoints.map(endpoint => endpoint.schema), here.map(({ name }) => name))
  if (endpoints.length === 1) return { ...last, schema }
  return {
    ...last,
    schema,
    async handler (request, reply) {
      const { handler } = endpoints.find(({ accepts }) => accepts?.(request.body) === true) ?? last
      return await handler(request, reply)
    }
  }
}

function combineSchemas (schemas: readonly RouteSchema[], names: readonly string[]): RouteSchema {
  const [first, ...others] = schemas as [RouteSchema, ...RouteSchema[]]
  if (others.length === 0) return { ...first, summary: `${first.summary} (form ${names[0]})` }
  return {
    ...first,
    summary: `${first.summary} (forms ${names.join(' and ')})`,
    description: schemas.map(({ description }) => description).join(' '),
    body: { anyOf: schemas.map(({ body }) => body) }
  }
}
