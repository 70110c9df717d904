import { STATUS_CODES, validateHeaderName, validateHeaderValue } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { preconditionFailed, Problem, type ProblemCode } from '../core/problems.js'
import { endReads } from '../core/storage/deadline.js'
import type { Stored } from '../core/storage/storage.js'
import type { Members } from '../core/values/json.js'
import { json, plainFormats } from '../representations/formats.js'
import type { OneView, PageView, ProblemView } from '../representations/representation.js'
import type { FamilyMount } from '../representations/target.js'
import { checkReadConditions, explainTags, makeEtag, writeHttpDate } from './conditional.js'
import { type Choice, type Chooser, explainMediaType } from './negotiate.js'
import { readPreference, readRequestedFormat, splitUrl } from './request.js'

interface Answering {
  readonly reply: FastifyReply
  readonly choice: Choice
  readonly mount: { readonly exportTimeout: number }
}

export function send (answering: Answering, view: OneView | PageView): FastifyReply | Promise<FastifyReply> {
  const written = write(answering, view)
  return typeof written === 'string' ? sendText(answering, written) : written.then(text => sendText(answering, text))
}

function write ({ choice: { representation }, reply }: Answering, view: OneView | PageView): string | Promise<string> {
  const writeView = representation[view.kind] as (view: OneView | PageView, request: FastifyRequest) => string
  return writeView(view, reply.request)
}

export function sendText ({ reply, choice, mount: { exportTimeout } }: Answering, text: string): FastifyReply {
  limitTime(reply, text, exportTimeout)
  return setRepresentation(reply, choice).send(text)
}

/** Ends a long response whose client does not read it. */
export function limitTime (reply: FastifyReply, text: string, exportTimeout: number): void {
  // The system's buffers hold a shorter text, so that it is not kept.
  if (text.length <= 100_000) return
  // Node destroys an HTTP/2 stream that is reset with NO_ERROR only if its request was read.
  reply.request.raw.resume()
  reply.raw.setTimeout(exportTimeout, () => { endStalled(reply) })
}

/** Sends no body if the client prefers that, or if `document` is undefined. */
export function sendPreferred (
  answering: Answering & { readonly request: FastifyRequest, readonly mount: { readonly shown: FamilyMount } },
  status: 200 | 201,
  name: string,
  document: Members | undefined
): FastifyReply | Promise<FastifyReply> {
  const { request, reply } = answering
  const preference = document === undefined ? undefined : readPreference(request.headers)
  if (preference !== undefined) reply.header('preference-applied', `return=${preference}`)
  if (document === undefined || preference === 'minimal') {
    return reply.code(status === 200 ? 204 : status).header('vary', 'Accept').send()
  }
  reply.code(status)
  return send(answering, { kind: 'one', name, document, mount: answering.mount.shown })
}

/** Destroys the response, so that it does not look complete. */
export function endStalled ({ raw, log }: FastifyReply): void {
  if (raw.destroyed) return
  log.info('The response was aborted, because the client did not read it for too long')
  raw.destroy(new Error('The client does not read the response'))
}

type Versioned = Pick<Stored, 'revision' | 'updatedAt'>

/**
 * Answers with the resource, 304 or 412.
 *
 * @param isByContent whether it contains other items, or depends on the reader or the clock: only its content shows
 * whether it has changed
 */
export function sendOne (
  answering: Requested,
  item: Versioned,
  view: OneView | PageView,
  isByContent = false,
  ofShape?: string
): FastifyReply | Promise<FastifyReply> {
  const { representation } = answering.choice
  const content = isByContent ? view.document : undefined
  if (!plainFormats.has(representation)) {
    return sendObserved(answering, item, view, content, ofShape)
  }
  return checkAndSend(answering, item, view, content, ofShape, () => send(answering, view))
}

/** A representation of the host may show offers, which change without the item: then the tag is of its text. */
async function sendObserved (
  answering: Requested,
  item: Versioned,
  view: OneView | PageView,
  content: unknown,
  ofShape: string | undefined
): Promise<FastifyReply> {
  let isShown = false
  const { offers } = view as OneView
  const text = await write(answering, offers === undefined
    ? view
    : { ...view as OneView, offers () { isShown = true; return offers() } })
  return await checkAndSend(answering, item, view, isShown ? text : content, ofShape, () => sendText(answering, text))
}

type Requested = Answering & { readonly request: FastifyRequest }

/**
 * Throws if the client asks for a different revision.
 *
 * @param content of the tag; undefined if that only depends on the item
 */
export function checkConditions (
  { request: { headers }, choice: { representation } }: Requested,
  { revision, updatedAt }: Versioned,
  { name, document }: OneView | PageView,
  content: unknown,
  ofShape: string | undefined
) {
  const etag = makeEtag(revision, representation, ofShape, content ?? (revision === 0 ? document : undefined))
  const isDated = content === undefined
  const verdict = checkReadConditions(headers, { etag, updatedAt: isDated ? updatedAt : undefined })
  if (verdict === 'failed') throw preconditionFailed(name, revision, explainTags(headers, revision))
  return { etag, isDated, verdict }
}

function checkAndSend (
  answering: Requested,
  item: Versioned,
  view: OneView | PageView,
  content: unknown,
  ofShape: string | undefined,
  go: () => FastifyReply | Promise<FastifyReply>
): FastifyReply | Promise<FastifyReply> {
  const { reply } = answering
  const { etag, isDated, verdict } = checkConditions(answering, item, view, content, ofShape)
  reply.header('etag', etag)
  if (isDated) reply.header('last-modified', writeHttpDate(item.updatedAt))
  if (verdict === 'go') return go()
  return setCaching(reply.code(304).header('vary', 'Accept')).send()
}

/** Only the client may cache, and must revalidate by the tag; without a tag, it must not store. */
export function setCaching (reply: FastifyReply): FastifyReply {
  return reply.header('cache-control', reply.hasHeader('etag') ? 'private, no-cache' : 'private, no-store')
}

export function setRepresentation (reply: FastifyReply, { representation, mediaType }: Choice): FastifyReply {
  if (representation.headers !== undefined) reply.headers(representation.headers)
  return setCaching(reply)
    .header('vary', representation.headers?.['vary'] ?? 'Accept')
    .header('x-content-type-options', 'nosniff')
    .header('content-type', `${mediaType}; charset=utf-8`)
    // A hook of the host may have set a serializer, which would encode the text again.
    .serializer(String)
}

// A longer path is omitted, because a part of it would be a different URL.
const maxInstance = 1000

/** Sends any error as a problem. */
export async function sendProblem (
  { chooser, shown: mount }: { readonly chooser: Chooser, readonly shown: FamilyMount },
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply
): Promise<FastifyReply> {
  const found = explainError(error, request)
  const problem = found.code === 'unsupported-media-type' ? explainMediaType(found, request) : found
  // What else the page needs would be read for nothing.
  if (problem.statusCode >= 500) endReads(request.raw)
  const { path, search } = splitUrl(request)
  // Only reads have a suffix: a command id may contain a dot.
  const isRead = ['GET', 'HEAD', 'QUERY'].includes(request.method)
  const suffix = isRead ? /\.([^./]+)\/?$/.exec(path)?.[1] : undefined
  let choice = chooser.chooseForProblem(readRequestedFormat(request.headers, search, suffix))
  const document = problem.document(path.length > maxInstance ? undefined : path)
  const { name, problem: write } = choice.representation
  let text: string
  try {
    const view: ProblemView = { kind: 'problem', document, problem, log: problem.log, mount }
    text = await (write as NonNullable<typeof write>)(view, request)
  } catch (error) {
    // Fastify would answer with the text of this error.
    request.log.error({ err: error }, `The representation "${name}" cannot show a problem`)
    text = JSON.stringify(document)
    choice = { representation: json, mediaType: json.problemType as string }
  }
  return setRepresentation(reply, choice)
    .code(problem.statusCode).headers(problem.headers).header('cache-control', 'no-store').send(text)
}

/**
 * The problem that a client gets for an error of a book, `authorize` or a hook. Failures are logged, as by HTTP.
 *
 * @param request without it, nothing is logged
 * @example
 * const problem = explainError(error, request)
 * return reply.code(problem.statusCode).headers(problem.headers).send(problem.document())
 */
export function explainError (error: unknown, request?: Pick<FastifyRequest, 'log'>): Problem {
  const problem = toProblem(error)
  if (request === undefined) return problem
  if (problem.statusCode >= 500 || problem.code === 'constraint') logFailure(request, problem)
  return problem
}

// Clients can cause timeouts and load: these are not faults, and their stacks are useless.
export function logFailure ({ log }: Pick<FastifyRequest, 'log'>, problem: Problem): void {
  const { code, cause, message } = problem
  if (code === 'timeout' || code === 'busy') log.warn({ code }, message)
  // Only the host may know which rule it was.
  else if (code === 'constraint') log.info({ code, reason: (cause as Error | undefined)?.message }, message)
  else log.error({ err: cause ?? problem }, message)
}

// Clients and proxies reject a response whose headers are too long.
const maxLength = 4000

type Rel = 'self' | 'first' | 'next' | 'prev' | 'successor-version'

/** Appends to the Link header (RFC 8288). If URLs are very long, self and first are omitted. */
export function addLinks (reply: FastifyReply, links: Partial<Record<Rel, string>>): void {
  // For a list of plain rows, next and prev are only here.
  const isLong = 4 * (links.self?.length ?? 0) >= maxLength
  let all = ''
  for (const rel of Object.keys(links) as Rel[]) {
    const url = links[rel]
    if (url === undefined || all.length + url.length > maxLength) continue
    if (!isLong || (rel !== 'self' && rel !== 'first')) all += `${all === '' ? '' : ', '}<${encode(url)}>; rel="${rel}"`
  }
  if (all === '') return
  const before = reply.getHeader('link')
  reply.header('link', before === undefined ? all : `${String(before)}, ${all}`)
}

// Some characters of a query are not allowed between the angle brackets.
function encode (url: string): string {
  if (/^[!#-;=?-[\]_a-z~]*$/.test(url)) return url
  return url.replace(/[<>"\s\\^`{|}]|[^\x21-\x7e]/gu, character => encodeURIComponent(character))
}

interface ForeignError {
  readonly statusCode?: unknown
  readonly status?: unknown
  readonly code?: unknown
  readonly message?: unknown
  readonly headers?: unknown
  /** As in http-errors: whether the message is for clients. */
  readonly expose?: boolean
}

const codesOfFastify = new Map<unknown, ProblemCode>([
  ['FST_ERR_CTP_INVALID_MEDIA_TYPE', 'unsupported-media-type'],
  ['FST_ERR_CTP_BODY_TOO_LARGE', 'body-too-large']
])

// Only codes that mean no more than their status.
const codesOfStatus = new Map<number, ProblemCode>([
  [400, 'bad-request'],
  [401, 'unauthorized'],
  [403, 'forbidden'],
  [404, 'not-found'],
  [429, 'too-many-requests'],
  [500, 'internal']
])

/** From 500 on, the message is not shown. */
export function toProblem (error: unknown): Problem {
  if (error instanceof Problem) return error
  const foreign = (error ?? {}) as ForeignError
  const { status: other, statusCode: given = other, expose = true, message } = foreign
  const isStatus = Number.isInteger(given) && (given as number) >= 400 && (given as number) < 600
  const status = isStatus ? given as number : 500
  const code = codesOfFastify.get(foreign.code) ?? codesOfStatus.get(status) ?? 'other'
  const shown = expose && typeof message === 'string' && message !== '' ? message : STATUS_CODES[status]
  const detail = status >= 500 ? 'An internal error occurred; it was logged' : shown ?? String(status)
  return new Problem(code, detail, { status, headers: readHeaders(foreign, status), cause: error })
}

const ofBody = /^(content-.*|transfer-encoding|trailer|connection|etag|last-modified)$/i

/** An error of an HTTP client may have all headers of the response that it got. */
function readHeaders ({ headers }: ForeignError, status: number): Record<string, string> {
  const all = Object.entries((headers ?? {}) as Record<string, string>)
  return Object.fromEntries(all.filter(([name, value]) => {
    if (status < 500 ? ofBody.test(name) : name.toLowerCase() !== 'retry-after') return false
    try {
      validateHeaderName(name)
      validateHeaderValue(name, value)
      return true
    } catch {
      return false
    }
  }))
}

/** Leaves out refusals, but throws the first if all refuse, and any failure (500 or above). */
export async function tryEach<M, T> (each: readonly M[], work: (one: M) => Promise<T>): Promise<T[]> {
  const results = await Promise.allSettled(each.map(work))
  const refusals = results.filter(result => result.status === 'rejected').map(({ reason }) => reason as unknown)
  const failure = refusals.find(reason => toProblem(reason).statusCode >= 500)
  if (failure !== undefined) throw failure
  if (refusals.length > 0 && refusals.length === results.length) throw refusals[0]
  return results.filter(result => result.status === 'fulfilled').map(({ value }) => value)
}
