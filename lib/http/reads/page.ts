import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import { invalidQuery, Problem } from '../../core/problems.js'
import { listParts, placeAround } from '../../core/query/cursor.js'
import type { ParsedQuery } from '../../core/query/grammar.js'
import type { PageLinks } from '../../core/query/query-string.js'
import { makePageMembers } from '../../core/query/query-string.js'
import type { Find, FoundPage, Reader } from '../../core/service/reader.js'
import { findFrom, findPage } from '../../core/service/reader.js'
import type { FoundText, Query, Stored } from '../../core/storage/storage.js'
import { endLongTurn } from '../../core/storage/turns.js'
import type { Members } from '../../core/values/json.js'
import { makePicker, measureAll } from '../../core/values/json.js'
import type { PageAffordances } from '../../representations/affordances.js'
import type { Representation, Rows } from '../../representations/representation.js'
import type { Exchange } from '../mount.js'
import { addPageLinks, endStalled, send, sendText, setCaching, setRepresentation } from '../reply.js'
import type { Answer } from './read.js'

/** A list: how its items are found, and how they are shown. */
export interface Listing {
  readonly name: string
  readonly singular: string
  readonly members: readonly string[]
  readonly emptyList: 'page' | 'not-found'
  /** Whether an item can be so long that not many fit on a page. */
  readonly hasLongItems: boolean
  /** A bare list has nothing but its items. */
  readonly isBare: boolean
  readonly reader: Reader
  readonly find: Find
  /** The same as text; undefined where the storage has none. */
  findText? (query: Query): Promise<FoundText> | undefined
  /** Puts other items in the place of their ids, where that is asked for. */
  readonly expand?: ((items: readonly Stored[]) => Promise<readonly Stored[]>) | undefined
  /** An item as it is shown; its members unless given. */
  show? (item: Stored): Members
  /** What people can do with a page of it. */
  afford (exchange: Exchange, page: FoundPage, links: PageLinks): Promise<PageAffordances>
}

/** An empty list may be a problem, as the mount says. */
export function refuseEmpty ({ emptyList, name }: Listing): void {
  if (emptyList === 'not-found') throw new Problem('empty-list', `No ${name} are found`)
}

/** How many items are read at once where each may be long, at most. */
export const partSize = 50

// The first that is not too long: few sizes, so that a storage meets the same queries again and again.
const partSizes = [partSize, 10, 1]

// Characters that one part should not be longer than.
const partLength = 1_000_000

// Characters after which a page of such items ends: a slow client makes us keep them.
const maxLength = 2_000_000

/** The page, as far as it is not too long: how long its items are is known only when they are read. */
export async function findInParts (find: Find, parsed: ParsedQuery): Promise<FoundPage> {
  const backwards = parsed.start?.backwards === true
  const parts: FoundPage[] = []
  let { query, start } = parsed
  let left = query.limit
  let length = 0
  let size = partSize
  for (;;) {
    const part = await findPage(find, { ...parsed, start, query: { ...query, limit: Math.min(left, size) } })
    const count = part.items.length
    // What was left has been deleted meanwhile.
    if (count === 0 && parts.length > 0) break
    parts.push(part)
    left -= count
    const partLength = measureAll(part.items)
    length += partLength
    const rest = backwards ? part.prev : part.next
    if (rest === undefined || left === 0) break
    if (length > maxLength) {
      refuseNumbered(parsed, query.limit - left)
      break
    }
    // Short ones may be followed by long ones.
    size = Math.min(10 * size, choosePart(partLength / count))
    query = { ...query, offset: 0, count: false }
    start = { place: rest, backwards }
  }
  const inOrder = backwards ? parts.toReversed() : parts
  return {
    items: inOrder.flatMap(({ items }) => items),
    total: parts[0]?.total,
    next: inOrder.at(-1)?.next,
    prev: inOrder[0]?.prev
  }
}

// How many items to read at once, if they are as long as those before.
function choosePart (average: number): number {
  return partSizes.find(size => size * average <= partLength) ?? 1
}

// The page of the next number would begin after items that were not shown.
function refuseNumbered ({ parameters }: ParsedQuery, fitting: number): void {
  if (!parameters.some(({ name }) => name === 'page')) return
  const detail = `The items are so long that ${fitting} of them fill this page: ask for fewer by maxpagesize, ` +
    'or leave out page and follow links.next'
  throw invalidQuery([{ parameter: 'maxpagesize', detail }])
}

/** Loads a page, or the beginning of everything, in the way that suits the representation best. */
export async function loadPage (
  listing: Listing,
  parsed: ParsedQuery,
  representation: Representation
): Promise<Answer> {
  if (isExport(parsed, representation)) {
    const first = await loadExport(listing, parsed)
    return exchange => exportRows(exchange, listing, parsed, first)
  }
  const isInParts = listing.hasLongItems && parsed.query.limit > partSize
  const canBeText = representation.pageOfText !== undefined && listing.expand === undefined && !isInParts
  const single = canBeText ? findSingle(parsed) : undefined
  const text = single && await listing.findText?.(single)
  if (text !== undefined) {
    if (text.count === 0) refuseEmpty(listing)
    return exchange => sendPageText(exchange, listing, parsed, text)
  }
  const page = await (isInParts ? findInParts : findPage)(listing.find, parsed)
  // To a person, an empty list is still the place to make the first item.
  if (page.items.length === 0 && representation.interactive !== true) refuseEmpty(listing)
  return exchange => sendItems(exchange, listing, parsed, page)
}

/** The page in one query, in its order: what is read from a place is so only where the order is by id alone. */
function findSingle ({ query, list, start }: ParsedQuery): Query | undefined {
  if (start === undefined) return query
  if (list.order.length > 1 || start.backwards || query.count) return undefined
  const { parts } = listParts(list.fields, list.order, start)
  return { ...query, where: [...query.where, ...parts.flat()] }
}

// Everything is sent where the representation is made of rows and the client names no page.
function isExport ({ sized, parameters }: ParsedQuery, { rows }: Representation): boolean {
  return rows !== undefined && !sized && !parameters.some(({ name }) => name === 'page')
}

// What the storage wrote as JSON is sent as it is.
function sendPageText (
  exchange: Exchange,
  listing: Listing,
  parsed: ParsedQuery,
  found: FoundText
): FastifyReply {
  const { mount: { urls }, request, reply, choice: { representation } } = exchange
  const members = makePageMembers(urls.self(request), parsed, placeAround(parsed, found), found.total)
  const write = representation.pageOfText as NonNullable<Representation['pageOfText']>
  const text = write(found.text, listing.isBare ? undefined : members)
  addPageLinks(reply, members.links)
  return sendText(exchange, text)
}

async function sendItems (
  exchange: Exchange,
  listing: Listing,
  parsed: ParsedQuery,
  page: FoundPage
): Promise<FastifyReply> {
  const { mount: { urls }, request, reply, choice: { representation: { rows } } } = exchange
  const { name, singular, members, show = makePicker(members) } = listing
  if (page.items.length === 0 && listing.emptyList === 'not-found' && reply.statusCode === 200) reply.code(404)
  const others = makePageMembers(urls.self(request), parsed, page, page.total)
  addPageLinks(reply, others.links)
  const found = listing.expand === undefined ? page.items : await listing.expand(page.items)
  const items = found.map(show)
  if (rows !== undefined) {
    return sendText(exchange, rows.head(members) + items.map(item => rows.row(item, members)).join(''))
  }
  return send(exchange, {
    kind: 'page',
    name,
    singular,
    items,
    members,
    document: listing.isBare ? items : { items, ...others },
    affordances: () => listing.afford(exchange, page, others.links)
  })
}

// What is read at once, in characters of its text: what a client that reads slowly makes us keep is a few times that.
const batchLength = 200_000
// How wide the rows are is not known before the first.
const firstRows = 4
const maxRows = 500

/** What an export begins with, and how many were asked for. */
export interface FirstBatch {
  readonly items: readonly Stored[]
  readonly limit: number
}

/** The first batch, loaded before the status is sent, so that what fails at once is answered as a problem. */
export async function loadExport (listing: Listing, parsed: ParsedQuery): Promise<FirstBatch> {
  const { query: { order }, parameters, list, start } = parsed
  if (order.length > 1 && parameters.some(({ name }) => name === 'sort')) {
    const detail = 'sort needs maxpagesize here: everything at once comes in the order of the id'
    throw invalidQuery([{ parameter: 'sort', detail }])
  }
  if (start?.backwards === true) {
    throw invalidQuery([{ parameter: 'before', detail: 'before needs maxpagesize here: everything has no last page' }])
  }
  const limit = listing.hasLongItems ? 1 : firstRows
  const query = makeBatchQuery(parsed, limit)
  const { items } = start === undefined ? await listing.find(query) : await findFrom(listing.find, list, query, start)
  if (items.length === 0) refuseEmpty(listing)
  return { items, limit }
}

/** Sends everything that matches, as it is read and no faster than the client takes it. */
export function exportRows (
  { mount: { exportTimeout }, request, reply, choice }: Exchange,
  listing: Listing,
  parsed: ParsedQuery,
  first: FirstBatch
): FastifyReply {
  setCaching(setRepresentation(reply, choice))
  if (request.method === 'HEAD') return reply.send()
  const batches = writeBatches(choice.representation.rows as Rows, listing, parsed, first)
  return reply.send(Readable.from(watch(batches, reply, exportTimeout)))
}

/** Ends the response where the client takes nothing, or where reading fails: a part must not look like the whole. */
async function * watch (batches: AsyncIterable<string>, reply: FastifyReply, timeout: number): AsyncGenerator<string> {
  const { raw } = reply
  let timer: NodeJS.Timeout | undefined
  const start = (): void => { timer = setTimeout(endStalled, timeout, reply) }
  raw.once('close', () => { clearTimeout(timer) })
  try {
    for await (const batch of batches) {
      start()
      yield batch
      clearTimeout(timer)
    }
    // The last of it is still to be taken.
    start()
  } catch (error) {
    // Fastify would end a stream of HTTP/2 as if it were complete.
    if (reply.request.raw.httpVersionMajor === 2) raw.destroy(error as Error)
    throw error
  }
}

// Each goes on after the last, so that no batch costs more than the first and what is added meanwhile moves nothing.
async function * writeBatches (
  rows: Rows,
  listing: Listing,
  parsed: ParsedQuery,
  first: FirstBatch
): AsyncGenerator<string> {
  const { members, show = makePicker(members), expand } = listing
  const head = rows.head(members)
  if (head !== '') yield head
  let { items, limit } = first
  while (items.length > 0) {
    const shown = await expand?.(items) ?? items
    const text = shown.map(item => rows.row(show(item), members)).join('')
    yield text
    if (items.length < limit) return
    const most = listing.hasLongItems ? partSize : maxRows
    limit = Math.min(most, chooseRows(limit, text.length / items.length))
    // A client may take everything as fast as it is read, and a storage may have everything there.
    await endLongTurn()
    listing.reader.renewTime()
    const start = { place: { isAfter: true, item: items.at(-1) as Stored }, backwards: false }
    items = (await findFrom(listing.find, parsed.list, makeBatchQuery(parsed, limit), start)).items
  }
}

/** As many as make a batch, if they are like those before, but not many more than were read so far. */
function chooseRows (before: number, lengthOfRow: number): number {
  return Math.max(1, Math.min(5 * before, Math.floor(batchLength / lengthOfRow)))
}

function makeBatchQuery ({ query }: ParsedQuery, limit: number): Query {
  return { ...query, limit, count: false }
}
