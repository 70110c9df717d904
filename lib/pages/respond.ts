import type { FastifyReply, FastifyRequest } from 'fastify'
import { readFresh, type Target } from '../exports.js'
import { sendActivityPage } from './activity.js'
import { sendDeletedPage } from './deleted.js'
import { readFeedback } from './feedback.js'
import { sendHomePage } from './home.js'
import { sendItemPage, sendOperationsPage } from './item.js'
import { sendListPage, sendQueryPage } from './list.js'
import { sendCommandPage, sendEntryPage, sendLogPage } from './logs.js'
import { PageReads, type PageRequest } from './page-reads.js'

/** Answers a read with a page; undefined if what is asked for does not exist. */
export async function respond (
  target: Target,
  request: FastifyRequest,
  reply: FastifyReply
): Promise<boolean> {
  const { mount, representation, mediaType, search, suffix } = target
  const reads = new PageReads(request)
  const responding: PageRequest = { mount, representation, mediaType, suffix, request, reply, reads }
  // The outcome of a form, which sends no header.
  if (readFeedback(request) !== undefined || search.includes('_result=')) readFresh(request)
  switch (target.kind) {
    case 'home': return await sendHomePage(responding)
    case 'list': return await sendListPage(responding, search)
    case 'item': return await sendItemPage(responding, target.id, search)
    case 'operations': return await sendOperationsPage(responding, target.id, search)
    case 'log': return await sendLogPage(responding, target.id, target.noun, search)
    case 'entry': return await sendEntryPage(responding, target.id, target.command, target.noun, search)
    case 'command': return await sendCommandPage(responding, target.command, search)
    case 'query': return await sendQueryPage(responding, target.field, target.value, search)
    case 'deleted': return await sendDeletedPage(responding, search)
    case 'feed': return await sendActivityPage(responding, target.isShared, target.id, search)
  }
}
