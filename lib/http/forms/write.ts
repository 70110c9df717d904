import type { FastifyReply, FastifyRequest } from 'fastify'
import { preconditionFailed, Problem } from '../../core/problems.js'
import type { Command } from '../../core/service/command.js'
import type { Outcome } from '../../core/service/execute.js'
import { execute } from '../../core/service/execute.js'
import { readTarget } from '../../core/service/record.js'
import { FormBody } from '../body.js'
import { explainTags, judgeWrite } from '../conditional.js'
import type { Exchange, Mount } from '../mount.js'
import { readRequestedFormat, refuseCrossSite, refuseParameters, splitUrl } from '../request.js'
import type { Endpoint } from '../routes.js'
import { askFirst, redirect, showAgain } from './page-form.js'

/** How a request becomes a command, and how its outcome is answered. */
export interface Write {
  read (request: FastifyRequest): Command
  answer (exchange: Exchange, outcome: Outcome): FastifyReply | Promise<FastifyReply>
}

/** The pipeline of every write. */
export function writeHandler (mount: Mount, write: Write): Endpoint['handler'] {
  return async (request, reply) => {
    refuseCrossSite(request, mount.trustedOrigins)
    refuseParameters(splitUrl(request).search)
    const choice = mount.chooser.choose('one', readRequestedFormat(request))
    const exchange = { mount, request, reply, choice }
    try {
      const { action, target, params, id, key, interpret } = write.read(request)
      const precondition = makePrecondition(mount, request, id)
      const command = { action, target, params, id, key, interpret, precondition }
      const asksFirst = request.body instanceof FormBody && request.body.asksFirst
      if (asksFirst && await askFirst(exchange, command)) return reply
      const outcome = await execute(mount.family, mount.caller(request), command)
      logOutcome(exchange, outcome)
      if (outcome.replayed) reply.header('idempotent-replayed', 'true')
      if (outcome.problem !== undefined) throw outcome.problem
      return await (isFromPage(exchange) ? redirect(exchange, outcome) : write.answer(exchange, outcome))
    } catch (error) {
      if (!isFromPage(exchange) || !(error instanceof Problem) || error.statusCode >= 500) throw error
      return await showAgain(exchange, error)
    }
  }
}

/** Whether a person sent this by a form of a page, and is to see a page again. */
function isFromPage ({ request, choice }: Exchange): boolean {
  return request.body instanceof FormBody && choice.representation.interactive === true
}

/** The conditions of the request: those of its headers, and what a form of ours has in their place. */
function makePrecondition (
  { family, preconditions }: Mount,
  { headers, body }: FastifyRequest,
  id: string | undefined
): Command['precondition'] {
  const seen = body instanceof FormBody ? body.revision : undefined
  const conditions = seen === undefined ? headers : { ...headers, 'if-match': seen }
  const isConditional = conditions['if-match'] !== undefined || conditions['if-none-match'] !== undefined ||
    conditions['if-unmodified-since'] !== undefined
  if (preconditions === 'optional' && !isConditional) return undefined
  return current => {
    if (preconditions === 'required' && conditions['if-match'] === undefined) {
      const detail = `Send If-Match with the revision that you know of the ${family.singular}`
      throw new Problem('precondition-required', detail)
    }
    if (judgeWrite(conditions, current, id === undefined)) return
    const { revision } = current
    throw preconditionFailed(family.singular, revision, explainTags(conditions, revision))
  }
}

/** Writes the outcome of a command into the request's log, without what was sent. */
function logOutcome ({ mount: { family }, request }: Exchange, { record, item, replayed }: Outcome): void {
  const { action, outcome, revision } = record
  const id = item?.id ?? readTarget(family, record)
  const logged = { family: family.name, action, id, outcome, revision }
  request.log.info(replayed ? { ...logged, replayed } : logged, 'command')
}

/** A form of operations: its addresses, how a request is read and answered, and how that is described. */
export interface Form<N extends string = string> {
  /** As in the option `forms`. */
  readonly name: N
  endpoints (mount: Mount): FormEndpoint[]
}

/** An endpoint that may share its path and method with other forms. */
export interface FormEndpoint extends Endpoint {
  /** Whether a body is in this form; where none says so, the last is meant. */
  accepts? (body: unknown): boolean
}

/** The sentence that is true of every operation in every form. */
export const operationRule = 'Where nothing would change, it succeeds and changes nothing; ' +
  'where the state does not allow it, 409 says what is allowed now.'

/** The endpoint of a write under the mount's own path; its `path` here is what comes after that of the collection. */
export function makeWriteEndpoint (
  mount: Mount,
  { path, method, schema, accepts, ...write }: Write & Pick<FormEndpoint, 'path' | 'method' | 'schema' | 'accepts'>
): FormEndpoint {
  const handler = writeHandler(mount, write)
  return { method, path: mount.home + path, schema, handler, ...(accepts && { accepts }) }
}
