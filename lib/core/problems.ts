import type { MemberFlaw } from './values/json.js'
import { shorten } from './values/words.js'

/** Every refusal, by the stage that refuses. Its code ends the `type`: `urn:dealbook:problem:CODE`. */
export const problemCodes = {
  // understanding the request
  'invalid-query': { status: 400, title: 'The query is not valid' },
  'invalid-body': { status: 400, title: 'The body is not valid' },
  'malformed-json': { status: 400, title: 'The body is not JSON' },
  'invalid-header': { status: 400, title: 'A header is not valid' },
  'bad-request': { status: 400, title: 'The request is not valid' },
  'not-found': { status: 404, title: 'There is no such resource' },
  gone: { status: 410, title: 'This version has ended' },
  'method-not-allowed': { status: 405, title: 'The method is not allowed here' },
  'not-acceptable': { status: 406, title: 'There is no such representation' },
  'body-too-large': { status: 413, title: 'The body is too large' },
  'unsupported-media-type': { status: 415, title: 'The media type of the body is not supported' },
  // judging who asks, by us or by the host's hooks
  unauthorized: { status: 401, title: 'Credentials are missing or wrong' },
  forbidden: { status: 403, title: 'This is not allowed' },
  'too-many-requests': { status: 429, title: 'Too many requests' },
  'cross-site': { status: 403, title: 'Another site may not send this' },
  // reading
  'empty-list': { status: 404, title: 'The list is empty' },
  // deciding
  'read-only': { status: 403, title: 'This can only be read' },
  'wrong-state': { status: 409, title: 'The operation is not allowed in this state' },
  taken: { status: 409, title: 'Another one has it already' },
  'in-use': { status: 409, title: 'Something refers to it' },
  constraint: { status: 409, title: 'A rule of the database does not allow it' },
  'precondition-failed': { status: 412, title: 'The precondition does not hold' },
  'id-reused': { status: 422, title: 'The id is used for something else' },
  'precondition-required': { status: 428, title: 'A precondition is required' },
  // what a host's error says by its status, for which there is no code here
  other: { status: 500, title: 'The status says what happened' },
  // failing
  internal: { status: 500, title: 'Something went wrong here' },
  'storage-unavailable': { status: 503, title: 'The storage does not answer' },
  busy: { status: 503, title: 'Too much is asked for at once' },
  timeout: { status: 503, title: 'It took too long' }
} as const satisfies Record<string, { status: number, title: string }>

/** The code of a refusal. */
export type ProblemCode = keyof typeof problemCodes

/** One thing that is wrong, with its query parameter or the JSON pointer of its member in the body. */
export type Flaw =
  | { readonly parameter: string, readonly detail: string }
  | { readonly pointer: string, readonly detail: string }

export type QueryFlaw = Extract<Flaw, { readonly parameter: string }>

/** Options of a `Problem`. */
export interface ProblemOptions {
  /** What is wrong, one by one; a page shows each beside its field. */
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
}

/**
 * A refusal, answered as `application/problem+json` (RFC 9457).
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

  /** @param detail what is wrong, in a sentence for the client: the `message` of the error */
  constructor (readonly code: ProblemCode, detail: string, options: ProblemOptions = {}) {
    super(detail, { cause: options.cause })
    this.statusCode = options.status ?? problemCodes[code].status
    this.errors = options.errors
    this.members = options.members ?? {}
    this.headers = options.headers ?? {}
    this.log = options.log
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

export function invalidBody (flaws: readonly MemberFlaw[]): Problem {
  const errors = flaws.map(({ pointer, detail }) => ({ pointer: shorten(pointer), detail }))
  const [first] = errors
  const where = first?.pointer === '' ? 'The body' : first?.pointer
  return new Problem('invalid-body', `${where} ${first?.detail}${andMore(errors)}`, { errors })
}

export function invalidQuery (flaws: readonly QueryFlaw[]): Problem {
  const errors = flaws.map(({ parameter, detail }) => ({ parameter: shorten(parameter), detail }))
  return new Problem('invalid-query', `${errors[0]?.detail}${andMore(errors)}`, { errors })
}

/** @param hint the end of the sentence */
export function preconditionFailed (what: string, revision: number, hint = ''): Problem {
  const detail = `The ${what} is not what the precondition says; it is at revision ${revision}${hint}`
  return new Problem('precondition-failed', detail, { members: { revision } })
}

function andMore ({ length }: readonly unknown[]): string {
  return length === 1 ? '' : ` (and ${length - 1} more)`
}
