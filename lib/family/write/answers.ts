import type { FastifyReply } from 'fastify'
import { writeHttpDate } from '../../http/dates.js'
import { etagOf } from '../../http/etag.js'
import { readPreference } from '../../http/prefer.js'
import type { Stored } from '../../storage/storage.js'
import { send } from '../read/send.js'
import type { CommandRecord } from '../model/command.js'
import type { Result } from './execute.js'
import { pick } from '../read/pages.js'
import type { Members } from '../model/params.js'
import { commandDocument, targetOf } from '../model/record.js'
import type { Exchange } from './exchange.js'

/** The item after the operation, at its own address. */
export async function answerItem (exchange: Exchange, { item }: Result): Promise<FastifyReply> {
  const { mount: { family, urls }, request, reply } = exchange
  const { id } = item as Stored
  reply.header('content-location', urls.item(request, id))
  return await sendPreferred(exchange, 200, family.singular, pick(family.members)(item as Stored))
}

/** The new item, where it is, and its validators. */
export async function answerCreated (exchange: Exchange, { item, record, replayed }: Result): Promise<FastifyReply> {
  const { mount: { family, urls }, request, reply, choice } = exchange
  const created = (item ?? record.result) as Stored
  const self = urls.item(request, created.id)
  const document = { ...pick(family.members)(created), links: { self, collection: urls.collection(request), commands: `${self}/commands` } }
  markReplay(reply, replayed)
    .header('location', self)
    .header('etag', etagOf(created, document, choice.representation))
    .header('last-modified', writeHttpDate(created.updatedAt))
  return await sendPreferred(exchange, 201, family.singular, document)
}

/** The command as a resource: created by the first PUT, the same again after every further one. */
export async function answerCommand (exchange: Exchange, { record, replayed }: Result): Promise<FastifyReply> {
  const { mount, request, reply } = exchange
  const self = mount.urls.command(request, targetOf(mount.family, record), record.id)
  markReplay(reply, replayed)
  if (!replayed) reply.header('location', self)
  return await sendPreferred(exchange, replayed ? 200 : 201, 'command', linked(exchange, record, self))
}

/** An entry of a noun's sub-collection; only a change makes one. */
export function answerNoun (noun: string): (exchange: Exchange, result: Result) => Promise<FastifyReply> {
  return async (exchange, { record, recorded, replayed }) => {
    const { mount, request, reply } = exchange
    const self = recorded ? mount.urls.command(request, targetOf(mount.family, record), record.id, noun) : undefined
    markReplay(reply, replayed)
    if (record.outcome === 'done') reply.header('location', self)
    return await sendPreferred(exchange, record.outcome === 'done' ? 201 : 200, 'command', linked(exchange, record, self))
  }
}

/** 200 without a body. A creation still says where, since the client cannot know. */
export async function answerNothing ({ mount: { family, urls }, request, reply }: Exchange, { record, replayed }: Result): Promise<FastifyReply> {
  if (record.action === family.lifecycle?.createAction) reply.header('location', urls.item(request, targetOf(family, record)))
  return markReplay(reply, replayed).code(200).send()
}

export async function answerDeleted ({ reply }: Exchange): Promise<FastifyReply> {
  return reply.code(204).send()
}

function linked ({ mount, request }: Exchange, record: CommandRecord, self: string | undefined): Members {
  const item = mount.urls.item(request, targetOf(mount.family, record))
  const links = { ...(self === undefined ? {} : { self }), [mount.family.singular]: item }
  return { ...commandDocument(mount.family, record, self !== undefined), links }
}

function markReplay (reply: FastifyReply, replayed: boolean): FastifyReply {
  return replayed ? reply.header('idempotent-replayed', 'true') : reply
}

// The whole answer, or no body where the client prefers that.
async function sendPreferred ({ request, reply, choice }: Exchange, status: 200 | 201, name: string, document: Members): Promise<FastifyReply> {
  const preference = readPreference(request.headers)
  if (preference !== undefined) reply.header('preference-applied', `return=${preference}`)
  if (preference === 'minimal') return reply.code(status === 200 ? 204 : status).header('vary', 'Accept').send()
  return await send(reply.code(status), choice, { kind: 'one', name, document })
}
