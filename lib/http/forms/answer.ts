import type { FastifyReply } from 'fastify'
import type { Outcome } from '../../core/service/execute.js'
import type { Stored } from '../../core/storage/storage.js'
import type { Members } from '../../core/values/json.js'
import type { Exchange } from '../mount.js'
import { showItem } from '../mount.js'
import { linkCommand } from '../reads/log.js'
import { send } from '../reply.js'
import { readPreference } from '../request.js'
import { mayRead } from './may-read.js'

/** The item after the operation, at its own address. */
export function answerItem (exchange: Exchange, outcome: Outcome): FastifyReply | Promise<FastifyReply> {
  const { mount, request, reply } = exchange
  const after = outcome.item as Stored
  reply.header('content-location', mount.urls.item(request, after.id))
  return sendItem(exchange, 200, outcome, showItem(mount, request, after))
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
export function sendItem (
  exchange: Exchange,
  status: 200 | 201,
  outcome: Outcome,
  document: Members
): FastifyReply | Promise<FastifyReply> {
  const { mount: { family }, request } = exchange
  const send = () => sendPreferred(exchange, status, family.singular, document)
  const isShown = readPreference(request.headers) === 'minimal' || mayRead(exchange, outcome)
  return isShown === true ? send() : isShown.then(isShown => isShown ? send() : sendNothing(exchange, status))
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
