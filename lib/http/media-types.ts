import type { FastifyRequest } from 'fastify'
import { Problem } from '../core/problems.js'
import { shorten } from '../core/values/shorten.js'

/** The media types of the body, in the description of a route. */
interface Described {
  readonly consumes?: readonly string[]
}

const onlyJson = ['application/json']

// RFC 5789, 3.1; Linked Data Platform, 7.1; RFC 9110, 12.5.1.
const headers: Readonly<Record<string, string>> = { PATCH: 'accept-patch', POST: 'accept-post' }

/** The headers that say which bodies are read where these stand. */
export function listAccepted (
  endpoints: readonly { readonly method: string, readonly schema: Described }[]
): Record<string, string> {
  return Object.fromEntries(endpoints.flatMap(({ method, schema: { consumes = onlyJson } }) => {
    const header = headers[method]
    return header === undefined ? [] : [[header, consumes.join(', ')]]
  }))
}

/** The problem of a body that is not read, with the media types that are. */
export function explainMediaType (problem: Problem, { method, headers: sent, routeOptions }: FastifyRequest): Problem {
  const { consumes = onlyJson } = (routeOptions.schema ?? {}) as Described
  const given = sent['content-type']
  const what = given === undefined ? 'A body without a Content-Type' : `A body of the type "${shorten(given)}"`
  const isOurs = problem.cause === undefined
  const detail = isOurs ? problem.message : `${what} is not read here; send ${consumes.join(' or ')}`
  return new Problem(problem.code, detail, { headers: { [headers[method] ?? 'accept']: consumes.join(', ') } })
}
