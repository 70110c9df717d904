import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Offer } from '../../core/book/book.js'
import { invalidQuery, nothingFound } from '../../core/problems.js'
import { findPositionsAround, listParts, writeCursor } from '../../core/query/cursor.js'
import {
  makePageMembers, makePageUrl, type PageLinks, type ParsedQuery, startParameters
} from '../../core/query/grammar.js'
import { toLocal } from '../../core/query/time-zones.js'
import { clearTimeout, setTimeout, type Timer } from '../../core/runtime.js'
import { findBounded, type FindPage, type FollowedPage } from '../../core/service/bounded.js'
import { type Find, findFrom, findPage } from '../../core/service/find-page.js'
import { type Reader } from '../../core/service/reader.js'
import { feedList } from '../../core/service/record.js'
import { firstPartSize, maxPageLength, partSize } from '../../core/storage/pages.js'
import type { FoundText, Query, Stored } from '../../core/storage/storage.js'
import { endLongTurn } from '../../core/storage/turns.js'
import { makePicker, type Members } from '../../core/values/json.js'
import type { PageView, Representation, Rows } from '../../representations/representation.js'
import type { Exchange, Mount } from '../mount.js'
import { queryTypes } from '../negotiate.js'
import { addLinks, endStalled, send, sendText, setRepresentation } from '../reply.js'
import { splitUrl } from '../request.js'
import type { Answer } from './read.js'

export interface Listing {
  readonly mount: Mount
  readonly parsed: ParsedQuery
  readonly name: string
  readonly singular: string
  readonly members: readonly string[]
  readonly hasLongItems: boolean
  /** A bare list has only its items, and is 404 if it has none. */
  readonly isBare: boolean
  readonly reader: Reader
  readonly find: Find
  /** Default: by `find`. Of a feed, with the place to follow it from. */
  readonly findPage?: FindPage
  /** Undefined where the storage returns no text. */
  readonly findText?: (query: Query) => Promise<FoundText> | undefined
  readonly expand?: ((items: readonly Stored[]) => Promise<readonly Stored[]>) | undefined
  /** Set if a browser saves it as a file. */
  readonly download?: Rows | undefined
  /** Default: the members of the item. */
  show? (item: Stored): Members
  /** What the caller may do with an item; undefined where it is none. */
  readonly findOffers?: (item: Stored) => Promise<readonly Offer[]>
}

/** The file that a browser gets from a link to a representation for programs. */
export function findDownload (
  { headers: { accept = '' } }: FastifyRequest,
  { download }: Representation
): Rows | undefined {
  return /\btext\/html\b/i.test(accept) ? download : undefined
}

const acceptQuery = queryTypes.join(', ')

function setHeaders ({ mount: { makers }, reply, choice }: Exchange, { download, name, parsed }: Listing): void {
  reply.header('accept-query', acceptQuery)
  if (download === undefined) return
  const date = toLocal(makers.clock().toISOString(), parsed['time-zone']).slice(0, 10)
  reply.header('content-disposition', `attachment; filename="${name}-${date}.${choice.representation.extension}"`)
}

function refuseEmpty ({ mount: { emptyList }, isBare, name }: Listing): void {
  if (isBare || emptyList === 'not-found') throw nothingFound(name)
}

export async function loadPage (listing: Listing, representation: Representation): Promise<Answer> {
  const { parsed, hasLongItems, expand, download } = listing
  const { rows, pageOfText } = representation
  // Without a page or its size, everything is streamed as rows.
  if (rows !== undefined && !parsed.parameters.some(({ name }) => name === 'page' || name === 'maxpagesize')) {
    const batches = writeBatches(listing, download ?? rows)
    // Before the status is sent, so that an early failure is answered as a problem.
    const first = await batches.next()
    return exchange => {
      const { mount: { exportTimeout }, request, reply, choice } = exchange
      setRepresentation(reply, choice)
      setHeaders(exchange, listing)
      return request.method === 'HEAD' ? reply.send() : sendStream(reply, batches, exportTimeout, first)
    }
  }
  const { query: { limit } } = parsed
  const canBeText = pageOfText !== undefined && expand === undefined && !(hasLongItems && limit > partSize)
  const text = canBeText ? await findShortText(listing, hasLongItems && limit > firstPartSize) : undefined
  if (text !== undefined) {
    if (text.count === 0) refuseEmpty(listing)
    return exchange => sendPageText(exchange, listing, text)
  }
  const page = await findPageItems(listing)
  if (page.items.length === 0) refuseEmpty(listing)
  return async exchange => {
    const { view } = await viewPage(exchange, listing, page)
    if (rows === undefined) return await send(exchange, view)
    return sendText(exchange, writeRows(download ?? rows, view.items, view.members))
  }
}

async function findPageItems ({ parsed, hasLongItems, find, findPage: findOne }: Listing): Promise<FollowedPage> {
  return await findBounded(findOne ?? (parsed => findPage(find, parsed)), parsed, hasLongItems)
}

/** A page of items, with what it was made of. */
interface ViewedPage {
  readonly view: PageView
  readonly page: FollowedPage
  readonly links: PageLinks
}

/** For what shows more than the items: an empty page is a page too. */
export async function loadView (exchange: Exchange, listing: Listing): Promise<ViewedPage> {
  return await viewPage(exchange, listing, await findPageItems(listing))
}

/** Undefined if it is too long: read again in parts, when the text is no longer in the memory. */
async function findShortText ({ parsed, findText }: Listing, isLong: boolean): Promise<FoundText | undefined> {
  const single = findSingle(parsed)
  const found = single && await findText?.(single)
  return isLong && found !== undefined && found.text.length > maxPageLength ? undefined : found
}

/** The page in one query, in its order. From a position, that is only possible if the order is by id alone. */
function findSingle ({ query, list, start }: ParsedQuery): Query | undefined {
  if (start === undefined) return query
  if (list.order.length > 1 || start.backwards || query.count) return undefined
  const { parts } = listParts(list.fields, list.order, start)
  return { ...query, where: [...query.where, ...parts.flat()] }
}

function sendPageText (exchange: Exchange, listing: Listing, found: FoundText): FastifyReply {
  const { parsed, isBare } = listing
  const { mount: { urls }, request, reply, choice: { representation } } = exchange
  const linked = selectLinked(request, parsed)
  setHeaders(exchange, listing)
  const members = makePageMembers(urls.self(request), linked, findPositionsAround(parsed, found), found.total)
  const write = representation.pageOfText as NonNullable<Representation['pageOfText']>
  const text = write(found.text, isBare ? undefined : members)
  addLinks(reply, members.links)
  return sendText(exchange, text)
}

async function viewPage (exchange: Exchange, listing: Listing, page: FollowedPage): Promise<ViewedPage> {
  const { mount: { urls, emptyList, shown }, request, reply } = exchange
  const { parsed, name, singular, members, isBare, expand, show = makePicker(members) } = listing
  const isMissing = page.items.length === 0 && (isBare || emptyList === 'not-found')
  if (isMissing && reply.statusCode === 200) reply.code(404)
  const linked = selectLinked(request, parsed)
  const others = makePageMembers(urls.self(request), linked, page, page.total)
  if (page.follow !== undefined) {
    // In the order of the feed, whatever the order of the page.
    const after = `after=${writeCursor(feedList, page.follow)}`
    others.links.follow = makePageUrl(urls.self(request), linked, [...startParameters, 'sort', 'count'], after)
  }
  addLinks(reply, others.links)
  const items = (expand === undefined ? page.items : await expand(page.items)).map(show)
  setHeaders(exchange, listing)
  const { findOffers } = listing
  const document = isBare ? items : { items, ...others }
  const view: PageView = {
    kind: 'page',
    name,
    singular,
    items,
    members,
    document,
    mount: shown,
    ...findOffers && { offers: index => findOffers(page.items[index] as Stored) }
  }
  return { view, page, links: others.links }
}

/** Links of a QUERY leave out what its body has: the client sends the same body there. */
function selectLinked (request: FastifyRequest, parsed: ParsedQuery): ParsedQuery {
  if (request.method !== 'QUERY') return parsed
  const own = splitUrl(request).search.split('&')
  return { ...parsed, parameters: parsed.parameters.filter(({ raw }) => own.includes(raw)) }
}

export function writeRows (rows: Rows, items: readonly Members[], members: readonly string[]): string {
  return rows.head(members) + items.map(item => rows.row(item, members)).join('')
}

// Characters to read at once; a few times as many are kept in memory for a slow client.
const batchLength = 200_000
// The width of rows is unknown before the first.
const firstRows = 4
const mostRowsAtOnce = 500

export function sendStream (reply: FastifyReply, ...watched: Watched): FastifyReply {
  // As in sendText: otherwise a reset would not end the stream.
  reply.request.raw.resume()
  return reply.send(Readable.from(watch(reply, ...watched)))
}

type Watched = [batches: AsyncGenerator<string>, timeout: number, first?: IteratorResult<string>]

/** Destroys the response if the client stalls or reading fails: a part must not look like the whole. */
async function * watch (reply: FastifyReply, ...[batches, timeout, first]: Watched): AsyncGenerator<string> {
  const { raw } = reply
  let timer: Timer | undefined
  let isClosed = false
  const start = (): void => { if (!isClosed) timer = setTimeout(() => { endStalled(reply) }, timeout) }
  raw.once('close', () => {
    isClosed = true
    clearTimeout(timer)
  })
  try {
    for (let batch = first ?? await batches.next(); batch.done !== true; batch = await batches.next()) {
      start()
      yield batch.value
      clearTimeout(timer)
    }
    // The client still has to receive the last batch.
    start()
  } catch (error) {
    // Fastify would end an HTTP/2 stream as if it were complete.
    if (reply.request.raw.httpVersionMajor === 2) raw.destroy(error as Error)
    throw error
  }
}

// Each begins after the last item: no batch costs more than the first, and new items shift nothing.
async function * writeBatches (listing: Listing, rows: Rows): AsyncGenerator<string> {
  const { members, show = makePicker(members), expand, find, hasLongItems, reader, parsed } = listing
  const { query, list } = parsed
  let { start } = parsed
  if (start?.backwards === true) {
    throw invalidQuery([{ parameter: 'before', detail: 'before needs maxpagesize here, because all items are sent' }])
  }
  let limit = hasLongItems ? 1 : firstRows
  let head = rows.head(members)
  for (let isFirst = true; ; isFirst = false) {
    const batch = { ...query, limit, count: false }
    const { items } = start === undefined ? await find(batch) : await findFrom(find, list, batch, start)
    if (items.length === 0 && isFirst) refuseEmpty(listing)
    const shown = await expand?.(items) ?? items
    const text = shown.map(item => rows.row(show(item), members)).join('')
    if (head + text !== '') yield head + text
    head = ''
    if (items.length < limit) return
    // As many as fill a batch, estimated from this one, but not many more than were read so far.
    const wanted = Math.max(1, Math.min(5 * limit, Math.floor(batchLength * items.length / text.length)))
    limit = Math.min(hasLongItems ? partSize : mostRowsAtOnce, wanted)
    // A fast client and a fast storage would otherwise block other requests.
    await endLongTurn()
    reader.renewTime()
    start = { position: { isAfter: true, item: items.at(-1) as Stored }, backwards: false }
  }
}
