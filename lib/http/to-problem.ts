import { STATUS_CODES, validateHeaderName, validateHeaderValue } from 'node:http'
import type { ProblemCode } from '../core/problems.js'
import { Problem } from '../core/problems.js'

/** What an error of a host, of a plugin, or of Fastify may have. */
interface ForeignError {
  readonly statusCode?: unknown
  readonly status?: unknown
  readonly code?: unknown
  readonly message?: unknown
  readonly headers?: unknown
  /** As http-errors has it: whether its text is for clients. */
  readonly expose?: boolean
}

const codesOfFastify = new Map<unknown, ProblemCode>([
  ['FST_ERR_CTP_INVALID_MEDIA_TYPE', 'unsupported-media-type'],
  ['FST_ERR_CTP_BODY_TOO_LARGE', 'body-too-large']
])

// Of our codes, those that say no more than their status; what any other means, only we can know.
const codesOfStatus = new Map<number, ProblemCode>([
  [400, 'bad-request'],
  [401, 'unauthorized'],
  [403, 'forbidden'],
  [404, 'not-found'],
  [429, 'too-many-requests'],
  [500, 'internal']
])

/** Any error as a problem: ours, one of Fastify, of a host, or a bug. From 500 on, its text is not shown. */
export function toProblem (error: unknown): Problem {
  if (error instanceof Problem) return error
  const foreign = (error ?? {}) as ForeignError
  const status = readStatus(foreign)
  const code = codesOfFastify.get(foreign.code) ?? codesOfStatus.get(status) ?? 'other'
  return new Problem(code, explain(foreign, status), { status, headers: readHeaders(foreign, status), cause: error })
}

/** Those for the client: an error of an HTTP client may have all headers of the response that it got. */
function readHeaders ({ headers }: ForeignError, status: number): Record<string, string> {
  const all = Object.entries((headers ?? {}) as Record<string, string>)
  const isShown = (name: string) => status < 500 ? !ofBody.test(name) : name.toLowerCase() === 'retry-after'
  return Object.fromEntries(all.filter(([name, value]) => isShown(name) && canBeSent(name, value)))
}

const ofBody = /^(content-.*|transfer-encoding|trailer|connection|etag|last-modified)$/i

function canBeSent (name: string, value: string): boolean {
  try {
    validateHeaderName(name)
    validateHeaderValue(name, value)
    return true
  } catch {
    return false
  }
}

function readStatus ({ status, statusCode: given = status }: ForeignError): number {
  return Number.isInteger(given) && (given as number) >= 400 && (given as number) < 600 ? given as number : 500
}

function explain ({ message, expose = true }: ForeignError, status: number): string {
  if (status >= 500) return 'The fault is on our side; it was logged'
  return expose && typeof message === 'string' && message !== '' ? message : STATUS_CODES[status] ?? String(status)
}
