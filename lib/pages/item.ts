import {
  checkRevision, type FamilyMount, type Id, loadOperations, type Members, type Moment, notFound, openReading,
  type Parameter, type Reading, refuseListParameters, splitMoment, splitQuery, type Stored
} from '../exports.js'
import { endFeedback } from './feedback.js'
import {
  type ItemPageQuery, type ItemParts, loadParts, makeAffordances, makeConfirmation, pickMembers, type Question
} from './item-affordances.js'
import { checkFrom, findSite, trailToItem } from './links.js'
import { type PageRequest, seenBy } from './page-reads.js'
import { sendPastPage } from './past.js'
import { linkPage } from './references.js'
import { parseSent } from './sent.js'
import { itemUrl } from './urls.js'
import { sendView, type ShownOne, type ShownPage } from './views.js'

/** What the page of a single resource may be asked for. */
type SingleQuery = Pick<ItemPageQuery, 'fields' | 'expand'>

/** Throws if there are other parameters. */
export function parseSingle (mount: FamilyMount, search: string, listed?: 'items' | 'log'): SingleQuery {
  return search === '' ? {} : refuseListParameters(mount, parseSent(mount, search, listed), listed)
}

/** Pages link with `from`, and people copy their addresses. */
function parseItem (mount: FamilyMount, sent: string): ItemPageQuery & { readonly when?: Moment | undefined } {
  const { name, isWritable: writable } = mount.model
  const { rest: search, when } = splitMoment(sent, { name, writable })
  if (!search.includes('from')) return { ...parseSingle(mount, search), when }
  const parts = splitQuery(search)
  const from = parts.find(({ name }) => name === 'from') as Parameter | undefined
  const rest = parts.filter(({ name }) => name !== 'from').map(({ raw }) => raw).join('&')
  return { ...parseSingle(mount, rest), when, ...from !== undefined && { from: checkFrom(mount, from.value) } }
}

/** The page of an item; undefined if there is none. */
export async function sendItemPage (
  whole: PageRequest,
  id: Id,
  search: string,
  also: Partial<ItemPageQuery> = {}
): Promise<boolean> {
  const { request, reply } = whole
  const reading = await openReading(whole.mount, request, { action: 'read', id })
  const responding = seenBy(whole, reading)
  const { mount } = responding
  const { when, ...parsed } = parseItem(mount, search)
  const query: ItemPageQuery = { ...parsed, ...also }
  if (when !== undefined) return await sendPastPage(responding, id, query, when)
  const { fields, refused } = query
  const parts = await loadItem(responding, reading, id, query)
  if (parts === undefined) return await refuseGone(responding, reading, id)
  const { item, expanded, feedback } = parts
  const view: ShownOne = {
    ...viewItem(responding, item, fields, expanded),
    affordances: async () => await makeAffordances(responding, parts, query)
  }
  if (refused === undefined) {
    if (feedback !== undefined) endFeedback(reply, itemUrl(mount, request, id))
    checkRevision(responding, item, view, expanded === undefined ? undefined : view.document)
  }
  return await sendView(responding, view)
}

/** Undefined if the item does not exist for the caller. */
async function loadItem (
  responding: PageRequest, reading: Reading, id: Id, query: ItemPageQuery
): Promise<ItemParts | undefined> {
  const isFollowed = responding.mount.model.isWritable && query.refused === undefined
  const [cursor, first] = await Promise.all([isFollowed ? reading.findCursor() : undefined, reading.get(id)])
  const load = async (item: Stored | undefined) =>
    item && { ...await loadParts(responding, reading, item, query), cursor }
  const parts = await load(first)
  // Read at the same time, the cursor may be after a change that the item lacks. The log, which is read later, has it.
  return cursor !== undefined && parts?.isStale === true ? await load(await reading.get(id)) : parts
}

/** The question before an operation; undefined if the item is gone. */
export async function sendConfirmation (whole: PageRequest, id: Id, question: Question): Promise<boolean> {
  const reading = await openReading(whole.mount, whole.request, { action: 'read', id })
  const responding = seenBy(whole, reading)
  const item = await reading.get(id)
  if (item === undefined) return await refuseGone(responding, reading, id)
  const affordances = async () => await makeConfirmation(responding, item, question)
  return await sendView(responding, { ...viewItem(responding, item), affordances })
}

/** Leads to the log of an item that is gone; false if it never was. */
async function refuseGone ({ mount, mount: { model }, request }: PageRequest, reading: Reading, id: Id) {
  if (!model.isWritable || !await reading.hasLog(id)) return false
  throw notFound(model.singular, id, { log: itemUrl(mount, request, id, 'commands') })
}

/** @param expanded the item with those that it refers to */
function viewItem (
  responding: PageRequest, item: Stored, fields = responding.mount.model.members, expanded: Members = item
): ShownOne {
  const { mount } = responding
  const document = pickMembers(expanded, fields)
  // Pages have navigation, so they only get links to the items referred to.
  const links = linkReferences(responding, item)
  const whole = Object.keys(links).length === 0 ? document : { ...document, links }
  return { kind: 'one', name: mount.model.singular, document: whole, mount }
}

function linkReferences ({ mount, request }: PageRequest, item: Stored): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(mount.model.references).flatMap(([field, family]) => {
    const id = item[field] as Id | null | undefined
    const href = id === undefined || id === null ? undefined : linkPage(mount.beside(family), request, id)
    return href === undefined ? [] : [[field, href]]
  }))
}

/** The operations of an item, as a table. */
export async function sendOperationsPage (
  whole: PageRequest,
  id: Id,
  search: string
): Promise<boolean> {
  const reading = await openReading(whole.mount, whole.request, { action: 'read', id })
  const responding = seenBy(whole, reading)
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
