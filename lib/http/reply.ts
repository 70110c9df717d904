import { STATUS_CODES, validateHeaderName, validateHeaderValue } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { ProblemCode } from '../core/problems.js'
import { Problem } from '../core/problems.js'
import type { OneView, PageView, ProblemView, Representation } from '../representations/representation.js'
import type { Choice, Chooser } from './negotiate.js'
import { explainMediaType } from './negotiate.js'
import { readRequestedFormat, splitUrl } from './request.js'

/** What an answer needs of the request that it is for. */
export interface Answering {
  readonly reply: FastifyReply
  readonly choice: Choice
  readonly mount: { readonly exportTimeout: number }
}

/** Sends a view in the chosen representation. */
export function send (answering: Answering, view: OneView | PageView): FastifyReply | Promise<FastifyReply> {
  const { representation } = answering.choice
  const write = representation[view.kind] as (view: OneView | PageView) => string | Promise<string>
  const written = write(view)
  return typeof written === 'string' ? sendText(answering, written) : written.then(text => sendText(answering, text))
}

/** Sends what is written already. */
export function sendText ({ reply, choice, mount: { exportTimeout } }: Answering, text: string): FastifyReply {
  // The system's buffers hold a shorter one, so that it is not kept for a client that does not read.
  if (text.length > 100_000) reply.raw.setTimeout(exportTimeout, () => { endStalled(reply) })
  return setCaching(setRepresentation(reply, choice)).send(text)
}

/** Ends the response to a client that takes nothing, so that it does not look complete. */
export function endStalled ({ raw, log }: FastifyReply): void {
  if (raw.destroyed) return
  log.info('The response was ended, because the client took nothing of it for too long')
  raw.destroy(new Error('The client takes nothing'))
}

/** Only the client itself may keep it, and must check by its tag whether it is still valid; without a tag, never. */
export function setCaching (reply: FastifyReply): FastifyReply {
  return reply.header('cache-control', reply.hasHeader('etag') ? 'private, no-cache' : 'private, no-store')
}

/** The headers of everything that was negotiated. */
export function setRepresentation (reply: FastifyReply, { representation, mediaType }: Choice): FastifyReply {
  if (representation.headers !== undefined) reply.headers(representation.headers)
  return reply
    .header('vary', 'Accept')
    .header('x-content-type-options', 'nosniff')
    .header('content-type', `${mediaType}; charset=utf-8`)
    .serializer(takeAsIs)
}

// A hook of the host may have set a serializer, which would encode the text once more.
function takeAsIs (text: string): string {
  return text
}

/** What people are told of a problem besides, and where they can go from it. */
type Guide = (problem: Problem) => Pick<ProblemView, 'onward' | 'wrongState'>

/** Sends whatever was thrown as a problem, in the representation that was asked for as far as it can show one. */
export function sendProblem (
  { chooser }: { readonly chooser: Chooser },
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  guide: Guide = () => ({ onward: [] })
): FastifyReply {
  const found = toProblem(error)
  const problem = found.code === 'unsupported-media-type' ? explainMediaType(found, request) : found
  if (problem.statusCode >= 500 || problem.code === 'constraint') logFailure(request, problem)
  const choice = chooser.chooseForProblem(readRequestedFormat(request, readSuffix(request)))
  const write = choice.representation.problem as NonNullable<Representation['problem']>
  const { path } = splitUrl(request)
  // A part of an address would be a different one.
  const instance = path.length > maxInstance ? undefined : path
  return setRepresentation(reply, choice)
    .code(problem.statusCode)
    .headers(problem.headers)
    .header('cache-control', 'no-store')
    .send(write({
      kind: 'problem',
      document: problem.document(instance),
      log: problem.log,
      ...(choice.representation.interactive === true ? guide(problem) : { onward: [] })
    }))
}

const maxInstance = 1000

// What any client can bring about by asking for much is no fault, and has no stack that would tell anything.
function logFailure ({ log }: FastifyRequest, problem: Problem): void {
  const { code, cause, message } = problem
  if (code === 'timeout' || code === 'busy') log.warn({ code }, message)
  // Which rule it was, only the host may know.
  else if (code === 'constraint') log.info({ code, reason: (cause as Error | undefined)?.message }, message)
  else log.error({ err: cause ?? problem }, message)
}

// Only of a path that is read: a command may be written under an id with a dot in it.
function readSuffix (request: FastifyRequest): string | undefined {
  if (request.method !== 'GET' && request.method !== 'HEAD') return undefined
  return /\.([^./]+)\/?$/.exec(splitUrl(request).path)?.[1]
}

/** Adds a link to the Link header (RFC 8288), beside what is there already. */
export function addLink (reply: FastifyReply, url: string, rel: string): void {
  addFormatted(reply, formatLink(url, rel, isPlain(url)))
}

// A client or a proxy that meets more than it can take of headers takes nothing of the answer.
const maxLength = 4000

const rels = ['self', 'first', 'next', 'prev'] as const
// A list of plain rows has these nowhere else.
const neededRels = ['next', 'prev'] as const

/** Adds the links of a page; of very long ones, those that lead on. */
export function addPageLinks (reply: FastifyReply, links: Partial<Record<typeof rels[number], string>>): void {
  const { self = '' } = links
  // The others have nothing that this one does not have, but for places, which are plain.
  const areAllPlain = isPlain(self)
  let all = ''
  for (const rel of rels.length * self.length < maxLength ? rels : neededRels) {
    const url = links[rel]
    if (url === undefined || all.length + url.length > maxLength) continue
    all += `${all === '' ? '' : ', '}${formatLink(url, rel, areAllPlain)}`
  }
  if (all !== '') addFormatted(reply, all)
}

function addFormatted (reply: FastifyReply, link: string): void {
  const before = reply.getHeader('link')
  reply.header('link', before === undefined ? link : `${String(before)}, ${link}`)
}

// Not all that a query may hold unencoded may be between the angle brackets.
const plain = /^[!#-;=?-[\]_a-z~]*$/

function isPlain (url: string): boolean {
  return plain.test(url)
}

function formatLink (url: string, rel: string, isPlain: boolean): string {
  return `<${isPlain ? url : encodeOthers(url)}>; rel="${rel}"`
}

function encodeOthers (url: string): string {
  return url.replace(/[<>"\s\\^`{|}]|[^\x21-\x7e]/gu, character => encodeURIComponent(character))
}

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
