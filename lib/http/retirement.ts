import type { FastifyReply } from 'fastify'
import { Problem } from '../core/problems.js'
import { writeHttpDate } from './dates.js'
import { addLink } from './links.js'
import type { Endpoint } from './routes.js'

/** When a version goes, and what takes its place. */
export interface Retirement {
  readonly deprecation: Date | undefined
  readonly sunset: Date | undefined
  /** A URL. */
  readonly successor: string | undefined
  clock (): Date
}

/** The endpoint, saying in every answer that it is to go, and gone after its sunset. */
export function announceRetirement (endpoint: Endpoint, retirement: Retirement): Endpoint {
  const { deprecation, sunset, successor } = retirement
  if (deprecation === undefined && sunset === undefined && successor === undefined) return endpoint
  return {
    ...endpoint,
    schema: { ...endpoint.schema, deprecated: isRetiring(retirement) },
    before: reply => retire(reply, retirement)
  }
}

/** Says that a version is to go (RFC 9745, RFC 8594); a problem where it has gone. */
export function retire (reply: FastifyReply, retirement: Retirement): void {
  const { deprecation, sunset, successor } = retirement
  if (deprecation !== undefined) reply.header('deprecation', `@${Math.floor(deprecation.getTime() / 1000)}`)
  if (sunset !== undefined) reply.header('sunset', writeHttpDate(sunset.toISOString()))
  if (successor !== undefined) addLink(reply, successor, 'successor-version')
  if (!hasEnded(retirement)) return
  const next = successor === undefined ? '' : `; go on with ${successor}`
  throw new Problem('gone', `This version ended on ${sunset?.toISOString()}${next}`)
}

/** Whether it is known that it will go. */
export function isRetiring ({ deprecation, sunset }: Retirement): boolean {
  return deprecation !== undefined || sunset !== undefined
}

/** Whether it has gone. */
export function hasEnded ({ sunset, clock }: Retirement): boolean {
  return sunset !== undefined && sunset.getTime() <= clock().getTime()
}
