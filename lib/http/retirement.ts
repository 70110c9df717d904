import type { FastifyReply } from 'fastify'
import { Problem } from '../core/problems.js'
import { writeHttpDate } from './dates.js'
import { addLink } from './links.js'
import type { Endpoint } from './routes.js'

/** When a version ends, and its successor. */
export interface Retirement {
  readonly deprecation: Date | undefined
  readonly sunset: Date | undefined
  /** A URL. */
  readonly successor: string | undefined
  clock (): Date
}

/** The endpoint with headers in every response that announce its end, and 410 after its sunset. */
export function announceRetirement (endpoint: Endpoint, retirement: Retirement): Endpoint {
  const { deprecation, sunset, successor } = retirement
  if (deprecation === undefined && sunset === undefined && successor === undefined) return endpoint
  return {
    ...endpoint,
    schema: { ...endpoint.schema, deprecated: deprecation !== undefined || sunset !== undefined },
    before: reply => retire(reply, retirement)
  }
}

/** Announces the end of a version (RFC 9745, RFC 8594); throws a problem where it has ended. */
export function retire (reply: FastifyReply, retirement: Retirement): void {
  const { deprecation, sunset, successor } = retirement
  if (deprecation !== undefined) reply.header('deprecation', `@${Math.floor(deprecation.getTime() / 1000)}`)
  if (sunset !== undefined) reply.header('sunset', writeHttpDate(sunset.toISOString()))
  if (successor !== undefined) addLink(reply, successor, 'successor-version')
  if (!hasEnded(retirement)) return
  const next = successor === undefined ? '' : `; use ${successor}`
  throw new Problem('gone', `This version ended on ${sunset?.toISOString()}${next}`)
}

/** Whether it has ended. */
export function hasEnded ({ sunset, clock }: Retirement): boolean {
  return sunset !== undefined && sunset.getTime() <= clock().getTime()
}
