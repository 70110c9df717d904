import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Choice, Chooser, Wish } from '../../http/negotiate.js'
import { toProblem } from '../../http/problems.js'
import { readTextParameter } from '../../query/split.js'
import type { OneView, PageView, Representation } from '../../representations/representation.js'
import { splitUrl } from '../mount/urls.js'

/** Sends a view in the chosen representation. */
export function send (reply: FastifyReply, { representation, mediaType }: Choice, view: OneView | PageView): FastifyReply {
  const write = representation[view.kind] as (view: OneView | PageView) => string
  return reply
    .header('vary', 'Accept')
    .header('cache-control', 'no-cache')
    .header('content-type', `${mediaType}; charset=utf-8`)
    .send(write(view))
}

/** Sends whatever was thrown as a problem, in the representation that the client asked for as far as it can show one. */
export function sendProblem (chooser: Chooser, error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const problem = toProblem(error)
  if (problem.statusCode >= 500) request.log.error({ err: problem.cause ?? problem }, problem.message)
  const { path, search } = splitUrl(request)
  const { representation, mediaType } = chooser.chooseForProblem({ ...wishOf(request), format: readTextParameter(search, 'format') })
  const write = representation.problem as NonNullable<Representation['problem']>
  return reply
    .code(problem.statusCode)
    .headers(problem.headers)
    .header('vary', 'Accept')
    .header('cache-control', 'no-store')
    .header('content-type', `${mediaType}; charset=utf-8`)
    .send(write({ kind: 'problem', document: problem.document(path) }))
}

/** What a request says of the representation it wants, but for `format`, which the query grammar reads. */
export function wishOf (request: FastifyRequest): Wish {
  return { accept: request.headers.accept }
}
