import { makeExpand } from '../core/book/expand.js'
import { notFound } from '../core/problems.js'
import { intendToRead } from '../core/service/caller.js'
import { findEnd } from '../core/service/log-reads.js'
import type { Reader } from '../core/service/reader.js'
import { makePicker } from '../core/values/json.js'
import type { Id, Stored } from '../exports.js'
import { markItem } from '../http/conditional.js'
import { type Exchange, linkReferred, type Mount } from '../http/mount.js'
import { listOperations, splitFrom } from '../http/reads/item.js'
import { authorizeRead, type OneQuery, parseOne } from '../http/reads/read.js'
import { refuseParameters } from '../http/request.js'
import { endFeedback, readFeedback } from './feedback.js'
import type { RefusedForm } from './form-fields.js'
import { type ItemPage, makeAffordances, makeConfirmation, type Question } from './item-affordances.js'
import { checkFrom, findSite, trailToItem } from './links.js'
import { findNewest, makeFeedback } from './log-entries.js'
import { parseSent } from './sent.js'
import { hasPages, sendPage, sendView, type ShownOne, type ShownPage } from './views.js'

interface ItemQuery extends OneQuery {
  readonly refused?: RefusedForm
  /** Shown instead of the item. */
  readonly question?: Question
  /** The query of the list from which it was opened. */
  readonly from?: string | undefined
}

function parseItem (mount: Mount, search: string): ItemQuery {
  const { rest, from } = splitFrom(search)
  return { ...parseOne(mount.grammar, rest, parseSent), ...from !== undefined && { from: checkFrom(mount, from) } }
}

/** The page of an item; undefined if there is none. */
export async function sendItemPage (
  exchange: Exchange,
  id: Id,
  search: string,
  also: Partial<ItemQuery> = {}
): Promise<boolean> {
  const { mount, request, choice: { representation } } = exchange
  const { family, urls } = mount
  const read = { mount, intend: () => intendToRead(family, id), parse: (search: string) => parseItem(mount, search) }
  const loading = await authorizeRead(read, request, String(id), search, representation)
  if (loading === undefined) return false
  const { caller, reader } = loading
  const query = { ...loading.query, ...also }
  const { fields, expand, refused, question } = query
  const isPlain = refused === undefined && question === undefined
  // Read before the item, so that no later change is missed.
  const position = family.writable && isPlain ? await findEnd(await caller.storage(), caller.signal) : undefined
  const item = await reader.get(id)
  if (item === undefined) {
    if (!family.writable || !await reader.hasLog(id)) return false
    throw notFound(family.singular, id, { log: `${urls.item(request, id)}/commands` })
  }
  const expandOne = expand && await makeExpand(family, caller, expand, { one: item })
  const expanded = expandOne && (await expandOne([item]))[0]
  const page: ItemPage = { ...await loadItemPage(exchange, reader, item, query), position }
  const document = makePicker(fields ?? family.members)(expanded ?? item)
  // Pages have navigation, so they only get links to the items referred to.
  const links = linkReferred(mount, request, item, hasPages)
  const view: ShownOne = {
    kind: 'one',
    name: family.singular,
    document: Object.keys(links).length === 0 ? document : { ...document, links },
    mount: mount.shown,
    affordances: async () => question === undefined
      ? await makeAffordances(exchange, item, reader, page, refused)
      : await makeConfirmation(exchange, item, question)
  }
  if (!isPlain) return await sendView(exchange, view)
  if (page.feedback !== undefined) endFeedback(exchange.reply, urls.item(request, id))
  const content = expanded === undefined ? undefined : view.document
  return await sendPage(exchange, item, view, content, family.tag + markItem(family, item))
}

async function loadItemPage (
  { mount: { family }, request }: Exchange,
  reader: Reader,
  item: Stored,
  { refused, question, from }: ItemQuery
): Promise<ItemPage> {
  if (!family.writable) return { entries: [], from }
  const command = refused === undefined && question === undefined ? readFeedback(request) : undefined
  const [entries, record] = await Promise.all([
    findNewest(reader, item),
    command === undefined ? undefined : reader.getFromLog(item.id, command)
  ])
  return { entries, feedback: record && makeFeedback(family, record), from }
}

/** The operations of an item, as a table. */
export async function sendOperationsPage (
  exchange: Exchange,
  id: Id,
  search: string
): Promise<boolean> {
  const { mount, mount: { family }, request, choice: { representation } } = exchange
  const read = { mount, intend: () => intendToRead(family, id), parse: refuseParameters }
  const loading = await authorizeRead(read, request, '', search, representation)
  const item = await loading?.reader.get(id)
  if (loading === undefined || item === undefined) return false
  const view: ShownPage = {
    ...await listOperations(exchange, item, loading.reader),
    around: async () => ({ site: await findSite(exchange), trail: trailToItem(exchange, item.id, item) })
  }
  return await sendPage(exchange, item, view, view.document, markItem(family, item))
}
