import type { Mount } from '../mount.js'
import type { Endpoint } from '../routes.js'
import { attributes } from './attributes.js'
import { actionEndpoints, command, commands, update } from './commands.js'
import { many } from './many.js'
import { lifecycleEndpoints, noun, participle, verb } from './words.js'
import type { FormEndpoint } from './write.js'

/** The forms of operations. To add one, add its object to this list. */
export const forms = [verb, participle, update, noun, attributes, command, commands] as const

/** The name of a form of operations, as in the option `forms`. */
export type FormName = typeof forms[number]['name']

export function writeEndpoints (mount: Mount): Endpoint[] {
  const reads: Endpoint[] = []
  const writes = new Map<string, FormEndpoint>()
  for (const form of [...forms, many]) {
    const { name, endpoints } = form
    // Without operations, items can be created, and their deletion has a noun.
    const isMounted = mount.family.operations.size > 0 || form === noun || (form === many && mount.family.writable)
    if (!mount.forms.has(name) || !isMounted) continue
    for (const endpoint of endpoints(mount)) {
      const route = `${endpoint.method} ${endpoint.path}`
      // Reads have no body to distinguish two forms on one path.
      if (endpoint.method === 'GET') reads.push(endpoint)
      else writes.set(route, combine(writes.get(route), endpoint, name === mount.recommendedForm ? '' : name))
    }
  }
  return [
    ...lifecycleEndpoints(mount),
    ...reads,
    ...writes.values(),
    ...(mount.unversioned === false ? [] : actionEndpoints(mount))
  ]
}

/** Forms may share a route: the body selects the form. @param name empty for the form that needs no mention */
function combine (before: FormEndpoint | undefined, endpoint: FormEndpoint, name: string): FormEndpoint {
  const { schema } = endpoint
  if (before === undefined) {
    return name === '' ? endpoint : { ...endpoint, schema: { ...schema, summary: `${schema.summary} (form ${name})` } }
  }
  return {
    ...endpoint,
    schema: {
      ...before.schema,
      summary: before.schema.summary?.replace(/\(form (.*)\)$/, `(forms $1 and ${name})`) as string,
      description: `${before.schema.description} ${schema.description}`,
      body: { anyOf: [before.schema.body, schema.body] }
    },
    handler: (request, reply) =>
      (before.accepts?.(request.body) === true ? before : endpoint).handler(request, reply)
  }
}
