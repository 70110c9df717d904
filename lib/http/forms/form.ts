import type { Mount } from '../mount.js'
import type { Endpoint, RouteSchema } from '../routes.js'
import type { Write } from './write.js'
import { writeHandler } from './write.js'

/** A way to say what is to be done: where, how a request is read, how it is answered, and how that is described. */
export interface Form<N extends string = string> {
  /** As in the option `forms`. */
  readonly name: N
  endpoints (mount: Mount): FormEndpoint[]
}

/** An endpoint that may share its path and method with other forms. */
export interface FormEndpoint extends Endpoint {
  /** Whether a body is in this form; where none says so, the last is meant. */
  accepts? (body: unknown): boolean
}

/** The sentence that is true of every operation in every form. */
export const operationRule = 'Where nothing would change, it succeeds and changes nothing; ' +
  'where the state does not allow it, 409 says what is allowed now.'

/** The endpoint of a write under the mount's own path; its `path` here is what comes after that of the collection. */
export function makeWriteEndpoint (
  mount: Mount,
  { path, method, schema, accepts, ...write }: Write & Pick<FormEndpoint, 'path' | 'method' | 'schema' | 'accepts'>
): FormEndpoint {
  const handler = writeHandler(mount, write)
  return { method, path: mount.home + path, schema, handler, ...(accepts && { accepts }) }
}

/** The endpoints of forms; those on one path and method become one, and the body says which form is meant. */
export function combineForms (forms: readonly Form[], mount: Mount): Endpoint[] {
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
