import type { MemberFlaw } from './values/json.js'
import { shorten } from './values/words.js'

/** Every refusal, by the stage that refuses. Its code ends the `type`: `urn:dealbook:problem:CODE`. */
export const problemCodes = {
  // understanding the request
  'invalid-query': { status: 400, title: 'The query is invalid' },
  'invalid-body': { status: 400, title: 'The body is invalid' },
  'malformed-json': { status: 400, title: 'The body is not JSON' },
  'invalid-header': { status: 400, title: 'A header is invalid' },
  'bad-request': { status: 400, title: 'The request is invalid' },
  'not-found': { status: 404, title: 'The resource does not exist' },
  pruned: { status: 410, title: 'Commands after this position were deleted' },
  gone: { status: 410, title: 'This version is no longer available' },
  'method-not-allowed': { status: 405, title: 'The method is not allowed here' },
  'not-acceptable': { status: 406, title: 'The representation does not exist' },
  'body-too-large': { status: 413, title: 'The body is too large' },
  'unsupported-media-type': { status: 415, title: 'The media type of the body is not supported' },
  // authorization, by us or by the host's hooks
  unauthorized: { status: 401, title: 'Credentials are missing or wrong' },
  forbidden: { status: 403, title: 'This is not allowed' },
  'too-many-requests': { status: 429, title: 'Too many requests' },
  'cross-site': { status: 403, title: 'Cross-site requests are not allowed' },
  // reading
  'empty-list': { status: 404, title: 'The list is empty' },
  // deciding
  'read-only': { status: 403, title: 'This is read-only' },
  'wrong-state': { status: 409, title: 'The operation is not allowed in this state' },
  taken: { status: 409, title: 'The value is already taken' },
  'in-use': { status: 409, title: 'Other items refer to it' },
  missing: { status: 409, title: 'It refers to an item that does not exist' },
  constraint: { status: 409, title: 'A rule of the database rejects it' },
  'precondition-failed': { status: 412, title: 'The precondition failed' },
  'id-reused': { status: 422, title: 'The id was used for a different request' },
  'precondition-required': { status: 428, title: 'A precondition is required' },
  // errors of the host with a status that has no code here
  other: { status: 500, title: 'The request failed' },
  // failing
  internal: { status: 500, title: 'Something went wrong' },
  'storage-unavailable': { status: 503, title: 'The storage is unavailable' },
  busy: { status: 503, title: 'The server is busy' },
  timeout: { status: 503, title: 'The request took too long' }
} as const satisfies Record<string, { status: number, title: string }>

/** The code of a refusal. */
export type ProblemCode = keyof typeof problemCodes

/** One thing that is wrong, with its query parameter or the JSON pointer of its member in the body. */
export type Flaw =
  | { readonly parameter: string, readonly detail: string }
  | { readonly pointer: string, readonly detail: string }

/** A flaw in a query string. */
export type QueryFlaw = Extract<Flaw, { readonly parameter: string }>

/** Options of a `Problem`. */
export interface ProblemOptions {
  /** The flaws; a page shows each beside its field. */
  readonly errors?: readonly Flaw[]
  /** Additional members of the problem's body. */
  readonly members?: Readonly<Record<string, unknown>>
  /** Headers of the response. */
  readonly headers?: Readonly<Record<string, string>>
  /** Logged, and never shown. */
  readonly cause?: unknown
  /** Replaces the status of the code. */
  readonly status?: number
  /** The path of the log of a deleted item; a page links to it. */
  readonly log?: string
  /** Whether an earlier attempt under the same id got it, and nothing was done now. */
  readonly replayed?: boolean
}

/**
 * An error that becomes a response of the type `application/problem+json` (RFC 9457).
 *
 * @example
 * authorize: request => { if (!allowed(request)) throw new Problem('forbidden', 'Ask your manager') }
 */
export class Problem extends Error {
  override readonly name = 'Problem'
  readonly statusCode: number
  readonly errors: readonly Flaw[] | undefined
  /** Additional members of its body, such as `state` and `allowed` of a `wrong-state`. */
  readonly members: Readonly<Record<string, unknown>>
  readonly headers: Readonly<Record<string, string>>
  readonly log: string | undefined
  /** Whether an earlier attempt under the same id or key got it, and nothing was done now. */
  readonly replayed: boolean

  /** @param detail a sentence for the client: the `message` of the error */
  constructor (readonly code: ProblemCode, detail: string, options: ProblemOptions = {}) {
    super(detail, { cause: options.cause })
    this.statusCode = options.status ?? problemCodes[code].status
    this.errors = options.errors
    this.members = options.members ?? {}
    this.headers = options.headers ?? {}
    this.log = options.log
    this.replayed = options.replayed === true
  }

  /** The problem's body. @param maxFlaws how many flaws it names; `more` is the number of the others */
  document (instance?: string, maxFlaws = 20): Record<string, unknown> {
    const { errors } = this
    return {
      type: `urn:dealbook:problem:${this.code}`,
      title: problemCodes[this.code].title,
      status: this.statusCode,
      detail: this.message,
      ...(instance === undefined ? {} : { instance }),
      ...this.members,
      ...(errors === undefined ? {} : { errors: errors.slice(0, maxFlaws) }),
      ...(errors === undefined || errors.length <= maxFlaws ? {} : { more: errors.length - maxFlaws })
    }
  }
}

/** Also for items that the caller may not see. */
export function notFound (what: string, id: string | number, options?: ProblemOptions): Problem {
  return new Problem('not-found', `There is no ${what} "${shorten(String(id))}"`, options)
}

/** The problem that names what is wrong with a body. */
export function invalidBody (flaws: readonly MemberFlaw[]): Problem {
  const errors = flaws.map(({ pointer, detail }) => ({ pointer: shorten(pointer), detail }))
  const [first] = errors
  const where = first?.pointer === '' ? 'The body' : first?.pointer
  return new Problem('invalid-body', `${where} ${first?.detail}${andMore(errors)}`, { errors })
}

/** The problem that names what is wrong with a query string. */
export function invalidQuery (flaws: readonly QueryFlaw[]): Problem {
  const errors = flaws.map(({ parameter, detail }) => ({ parameter: shorten(parameter), detail }))
  return new Problem('invalid-query', `${errors[0]?.detail}${andMore(errors)}`, { errors })
}

/** The same problem, of one of several commands. @param base the part of it that its pointers are in */
export function pointToCommand (index: number, problem: Problem, base = ''): Problem {
  const pointer = `/commands/${index}`
  const { message, errors } = problem
  const named = errors?.map(flaw => 'pointer' in flaw ? { ...flaw, pointer: pointer + base + flaw.pointer } : flaw)
  const detail = pointer + (message.startsWith('/') ? base + message : `: ${message}`.replace(/^: The body/, ''))
  return changeProblem(problem, detail, { errors: named ?? [{ pointer, detail: message }] })
}

export function changeProblem (problem: Problem, detail: string, changes: ProblemOptions): Problem {
  const { code, statusCode: status, errors, members, headers, cause, log, replayed } = problem
  return new Problem(code, detail, {
    status, members, headers, cause, replayed, ...(errors && { errors }), ...(log !== undefined && { log }), ...changes
  })
}

/** Under an id, a request that did nothing may be a retry: its first attempt may be running, or be done by now. */
export function admitEarlier (error: unknown): unknown {
  if (!(error instanceof Problem)) return error
  const detail = error.message.replace(/; nothing was (?:done|changed)$/, `. ${maybeMade}`)
  return detail === error.message ? error : changeProblem(error, detail, {})
}

export const maybeMade = 'The change may have been made: send it again with the same id to find out'

/** @param hint the end of the sentence */
export function preconditionFailed (what: string, revision: number, hint = ''): Problem {
  const detail = `The ${what} does not match the precondition; it is at revision ${revision}${hint}`
  return new Problem('precondition-failed', detail, { members: { revision } })
}

export function preconditionRequired (what: string, means = 'If-Match'): Problem {
  return new Problem('precondition-required', `Send ${means} with the revision of the ${what} that you know`)
}

/** @param command the id that was used; undefined for an Idempotency-Key */
export function idReused (command?: string): Problem {
  return new Problem('id-reused', command === undefined
    ? 'This Idempotency-Key was used for a different request'
    : `The command id "${command}" was used for a different command`)
}

export function nothingFound (what: string): Problem {
  return new Problem('empty-list', `No ${what} were found`)
}

export function storageUnavailable (cause?: unknown): Problem {
  const detail = 'The storage is unavailable now. If this was a change, send it again with the same id ' +
    'to find out whether it was made'
  return new Problem('storage-unavailable', detail, { headers: { 'retry-after': '1' }, cause })
}

function andMore ({ length }: readonly unknown[]): string {
  return length === 1 ? '' : ` (and ${length - 1} more)`
}
