import {
  checkRevision, type FamilyMount, type Id, type ListQuery, loadOperations, notFound, openReading,
  type Parameter, type Reading, refuseListParameters, type Responding, splitQuery, type Stored
} from '../exports.js'
import { endFeedback, readFeedback } from './feedback.js'
import type { RefusedForm } from './form-fields.js'
import { type ItemParts, makeAffordances, makeConfirmation, type Question } from './item-affordances.js'
import { checkFrom, findSite, trailToItem } from './links.js'
import { findNewest, makeFeedback } from './log-entries.js'
import { linkPage } from './references.js'
import { parseSent } from './sent.js'
import { itemUrl } from './urls.js'
import { sendView, type ShownOne, type ShownPage } from './views.js'

/** What the page of a single resource may be asked for. */
export type SingleQuery = Pick<ListQuery, 'fields' | 'expand'>

/** Throws if there are other parameters. */
export function parseSingle (mount: FamilyMount, search: string, listed?: 'items' | 'log'): SingleQuery {
  return search === '' ? {} : refuseListParameters(mount, parseSent(mount, search, listed), listed)
}

interface ItemQuery extends SingleQuery {
  readonly refused?: RefusedForm
  /** Shown instead of the item. */
  readonly question?: Question
  /** The query of the list from which it was opened. */
  readonly from?: string | undefined
}

/** Pages link with `from`, and people copy their addresses. */
function parseItem (mount: FamilyMount, search: string): ItemQuery {
  if (!search.includes('from')) return parseSingle(mount, search)
  const parts = splitQuery(search)
  const from = parts.find(({ name }) => name === 'from') as Parameter | undefined
  const rest = parts.filter(({ name }) => name !== 'from').map(({ raw }) => raw).join('&')
  return { ...parseSingle(mount, rest), ...from !== undefined && { from: checkFrom(mount, from.value) } }
}

/** The page of an item; undefined if there is none. */
export async function sendItemPage (
  responding: Responding,
  id: Id,
  search: string,
  also: Partial<ItemQuery> = {}
): Promise<boolean> {
  const { mount, mount: { model }, request, reply } = responding
  const reading = await openReading(mount, request, { action: 'read', id })
  const query: ItemQuery = { ...parseItem(mount, search), ...also }
  const { fields = model.members, expand, refused, question } = query
  const isPlain = refused === undefined && question === undefined
  // Read before the item, so that no later change is missed.
  const cursor = model.isWritable && isPlain ? await reading.findCursor() : undefined
  const item = await reading.get(id)
  if (item === undefined) {
    if (!model.isWritable || !await reading.hasLog(id)) return false
    throw notFound(model.singular, id, { log: itemUrl(mount, request, id, 'commands') })
  }
  const expanded = expand && await reading.expand(item, expand)
  const page: ItemParts = { ...await loadItemPage(responding, reading, item, query), cursor }
  const shown: Readonly<Record<string, unknown>> = expanded ?? item
  const document = Object.fromEntries(fields.flatMap(name => shown[name] === undefined ? [] : [[name, shown[name]]]))
  // Pages have navigation, so they only get links to the items referred to.
  const links = linkReferences(responding, item)
  const view: ShownOne = {
    kind: 'one',
    name: model.singular,
    document: Object.keys(links).length === 0 ? document : { ...document, links },
    mount,
    affordances: async () => question === undefined
      ? await makeAffordances(responding, item, reading, page, refused)
      : await makeConfirmation(responding, item, question)
  }
  if (isPlain) {
    if (page.feedback !== undefined) endFeedback(reply, itemUrl(mount, request, id))
    checkRevision(responding, item, view, expanded === undefined ? undefined : view.document)
  }
  return await sendView(responding, view)
}

function linkReferences ({ mount, request }: Responding, item: Stored): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(mount.model.references).flatMap(([field, family]) => {
    const id = item[field] as Id | null | undefined
    const href = id === undefined || id === null ? undefined : linkPage(mount.beside(family), request, id)
    return href === undefined ? [] : [[field, href]]
  }))
}

async function loadItemPage (
  { mount, request }: Responding,
  reading: Reading,
  item: Stored,
  { refused, question, from }: ItemQuery
): Promise<ItemParts> {
  if (!mount.model.isWritable) return { entries: [], from }
  const command = refused === undefined && question === undefined ? readFeedback(request) : undefined
  const [entries, record] = await Promise.all([
    findNewest(reading, item),
    command === undefined ? undefined : reading.entry(item.id, command)
  ])
  return { entries, feedback: record && makeFeedback(mount, record), from }
}

/** The operations of an item, as a table. */
export async function sendOperationsPage (
  responding: Responding,
  id: Id,
  search: string
): Promise<boolean> {
  const { mount, request } = responding
  const reading = await openReading(mount, request, { action: 'read', id })
  const loaded = await loadOperations(responding, reading, id, search)
  if (loaded === undefined) return false
  const { item } = loaded
  const view: ShownPage = {
    ...loaded.view,
    around: async () => ({ site: await findSite(responding), trail: trailToItem(responding, item.id, item) })
  }
  checkRevision(responding, item, view, view.document)
  return await sendView(responding, view)
}
