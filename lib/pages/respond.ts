import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Target } from '../exports.js'
import { type Exchange, mountOf } from '../http/mount.js'
import { readFresh } from '../http/reads/read.js'
import { sendActivityPage } from './activity.js'
import { readFeedback } from './feedback.js'
import { sendHomePage } from './home.js'
import { sendItemPage, sendOperationsPage } from './item.js'
import { sendListPage, sendQueryPage } from './list.js'
import { sendCommandPage, sendEntryPage, sendLogPage } from './logs.js'

/** Answers a read with a page; undefined if what is asked for does not exist. */
export async function respond (
  target: Target,
  request: FastifyRequest,
  reply: FastifyReply
): Promise<boolean> {
  const { mount, representation, mediaType, search, suffix } = target
  const exchange: Exchange = { mount: mountOf(mount), request, reply, choice: { representation, mediaType }, suffix }
  // The outcome of a form, which sends no header.
  if (readFeedback(request) !== undefined || search.includes('_result=')) readFresh(request)
  switch (target.kind) {
    case 'home': return await sendHomePage(exchange)
    case 'list': return await sendListPage(exchange, search)
    case 'item': return await sendItemPage(exchange, target.id, search)
    case 'operations': return await sendOperationsPage(exchange, target.id, search)
    case 'log': return await sendLogPage(exchange, target.id, target.noun, search)
    case 'entry': return await sendEntryPage(exchange, target.id, target.command, target.noun, search)
    case 'command': return await sendCommandPage(exchange, target.command, search)
    case 'query': return await sendQueryPage(exchange, target.field, target.value, search)
    case 'feed': return await sendActivityPage(exchange, target.isShared, target.id, search)
  }
}
