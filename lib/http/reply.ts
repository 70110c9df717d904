import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Problem } from '../core/problems.js'
import type { OneView, PageView, ProblemView, Representation } from '../representations/representation.js'
import { explainMediaType } from './media-types.js'
import type { Choice, Chooser } from './negotiate.js'
import { readWish, splitUrl } from './request.js'
import { toProblem } from './to-problem.js'

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

/** For the one who asked, and not without asking again whether it still holds: where nothing tells, not at all. */
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

// A hook of the host's may have set another serializer, which would encode what is text already once more.
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
  const choice = chooser.chooseForProblem(readWish(request, readSuffix(request)))
  const write = choice.representation.problem as NonNullable<Representation['problem']>
  const { path } = splitUrl(request)
  // Part of an address would be another one.
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
