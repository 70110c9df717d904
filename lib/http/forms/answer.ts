import type { FastifyReply } from 'fastify'
import { intendToRead } from '../../core/service/caller.js'
import type { Outcome } from '../../core/service/execute.js'
import { readTarget } from '../../core/service/record.js'
import { matcher } from '../../core/storage/conditions.js'
import type { Stored } from '../../core/storage/storage.js'
import type { Members } from '../../core/values/json.js'
import type { Exchange } from '../mount.js'
import { showItem } from '../mount.js'
import { linkCommand } from '../reads/log.js'
import { send } from '../reply.js'
import { readPreference } from '../request.js'
import { toProblem } from '../to-problem.js'

/** The item after the operation, at its own address. */
export function answerItem (exchange: Exchange, outcome: Outcome): FastifyReply | Promise<FastifyReply> {
  const { mount, request, reply } = exchange
  const document = showItem(mount, request, outcome.item as Stored)
  reply.header('content-location', document.links.self)
  return sendItem(exchange, 200, outcome, document)
}

/** The command as a resource: created by the first PUT, the same again after every further one. */
export function answerCommand (
  exchange: Exchange,
  outcome: Outcome
): FastifyReply | Promise<FastifyReply> {
  const document = linkCommand(exchange, outcome)
  if (outcome.replayed) return sendPreferred(exchange, 200, 'command', document)
  exchange.reply.header('location', document.links.self)
  return sendPreferred(exchange, 201, 'command', document)
}

/** Sends an item after a write; without it, where the caller may write it and may not read it. */
export async function sendItem (
  exchange: Exchange,
  status: 200 | 201,
  outcome: Outcome,
  document: Members
): Promise<FastifyReply> {
  const { mount: { family, isGuarded }, request } = exchange
  const isAsked = isGuarded && readPreference(request.headers) !== 'minimal'
  if (isAsked && !await mayRead(exchange, outcome)) return sendNothing(exchange, status)
  return sendPreferred(exchange, status, family.singular, document)
}

/** Sends the whole answer, or no body where the client prefers that. */
export function sendPreferred (
  exchange: Exchange,
  status: 200 | 201,
  name: string,
  document: Members
): FastifyReply | Promise<FastifyReply> {
  const { request, reply } = exchange
  const preference = readPreference(request.headers)
  if (preference !== undefined) reply.header('preference-applied', `return=${preference}`)
  if (preference === 'minimal') return sendNothing(exchange, status)
  reply.code(status)
  return send(exchange, { kind: 'one', name, document })
}

function sendNothing ({ reply }: Exchange, status: 200 | 201): FastifyReply {
  return reply.code(status === 200 ? 204 : status).header('vary', 'Accept').send()
}

/**
 * Whether the caller may read the item after a command: a grant to write it is another matter. The command is done, so
 * whatever fails here only takes the item from the answer.
 */
export async function mayRead (
  { mount: { family, isGuarded, caller: makeCaller }, request }: Exchange,
  { record, item, replayed }: Outcome
): Promise<boolean> {
  if (!isGuarded) return true
  const caller = makeCaller(request)
  const id = readTarget(family, record)
  try {
    const { where = [] } = await caller.authorize(intendToRead(family, id))
    if (where.length === 0) return true
    const isVisible = matcher(where)
    if (item !== undefined && !isVisible(item)) return false
    if (!replayed) return item !== undefined
    // An earlier answer shows what the item was; who may see it depends on what it is now.
    const now = await (await caller.storage()).get(family.name, id, caller.signal)
    return now === undefined ? item !== undefined : isVisible(now)
  } catch (error) {
    const { statusCode, cause } = toProblem(error)
    if (statusCode >= 500) request.log.error({ err: cause ?? error }, 'What a command has left cannot be shown')
    return false
  }
}
