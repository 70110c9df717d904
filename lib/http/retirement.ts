import type { FastifyReply } from 'fastify'
import { writeHttpDate } from './dates.js'
import { addLink } from './links.js'
import { Problem } from './problems.js'
import type { Endpoint } from './routes.js'

/** When a version goes, and what takes its place. */
export interface Retirement {
  readonly deprecation: Date | undefined
  readonly sunset: Date | undefined
  /** A URL. */
  readonly successor: string | undefined
}

/** The endpoint, saying in every answer that it is to go (RFC 9745, RFC 8594), and gone after its sunset. */
export function retiring (endpoint: Endpoint, { deprecation, sunset, successor }: Retirement): Endpoint {
  if (deprecation === undefined && sunset === undefined && successor === undefined) return endpoint
  return {
    ...endpoint,
    schema: { ...endpoint.schema, deprecated: deprecation !== undefined || sunset !== undefined },
    handler: async (request, reply) => {
      announce(reply)
      if (sunset !== undefined && sunset.getTime() <= Date.now()) {
        throw new Problem('gone', `This version ended on ${sunset.toISOString()}${successor === undefined ? '' : `; go on with ${successor}`}`)
      }
      return await endpoint.handler(request, reply)
    }
  }

  function announce (reply: FastifyReply): void {
    if (deprecation !== undefined) reply.header('deprecation', `@${Math.floor(deprecation.getTime() / 1000)}`)
    if (sunset !== undefined) reply.header('sunset', writeHttpDate(sunset.toISOString()))
    if (successor !== undefined) addLink(reply, `<${encodeURI(successor)}>; rel="successor-version"`)
  }
}
