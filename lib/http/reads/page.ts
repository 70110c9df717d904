import type { FastifyReply } from 'fastify'
import { listParts, placeAround } from '../../core/query/cursor.js'
import type { ParsedQuery } from '../../core/query/grammar.js'
import { makePageMembers } from '../../core/query/query-string.js'
import type { Find, FoundPage } from '../../core/service/reader.js'
import { findPage } from '../../core/service/reader.js'
import type { FoundText, Query } from '../../core/storage/storage.js'
import { makePicker } from '../../core/values/json.js'
import type { Representation } from '../../representations/representation.js'
import type { Exchange } from '../mount.js'
import { addPageLinks, send, sendText } from '../reply.js'
import type { FirstBatch } from './export.js'
import { exportRows, loadExport } from './export.js'
import type { Listing } from './listing.js'
import { findInParts, firstPartSize, refuseEmpty } from './listing.js'

/** A page as it was loaded: everything, to be sent row by row; text that the storage wrote; or items. */
export type LoadedPage = { readonly listing: Listing } & (
  | { readonly first: FirstBatch }
  | { readonly text: FoundText }
  | { readonly page: FoundPage }
)

/** Loads a page, or the beginning of everything, in the way that suits the representation best. */
export async function loadPage (
  listing: Listing,
  parsed: ParsedQuery,
  representation: Representation
): Promise<LoadedPage> {
  if (isExport(parsed, representation)) return { listing, first: await loadExport(listing, parsed) }
  const isInParts = listing.hasLongItems && parsed.query.limit > firstPartSize
  const canBeText = representation.pageOfText !== undefined && listing.expand === undefined && !isInParts
  const single = canBeText ? findSingle(parsed) : undefined
  const text = single && await listing.findText?.(single)
  if (text !== undefined) {
    if (text.count === 0) refuseEmpty(listing)
    return { listing, text }
  }
  const find: Find = query => listing.find(query)
  const page = await (isInParts ? findInParts(find, parsed) : findPage(find, parsed))
  // To a person, an empty list is still the place to make the first item.
  if (page.items.length === 0 && representation.interactive !== true) refuseEmpty(listing)
  return { listing, page }
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

/** Answers with a page, or with everything. */
export function sendPage (
  exchange: Exchange,
  parsed: ParsedQuery,
  loaded: LoadedPage
): FastifyReply | Promise<FastifyReply> {
  if ('first' in loaded) return exportRows(exchange, parsed, loaded)
  return 'text' in loaded ? sendPageText(exchange, parsed, loaded) : sendItems(exchange, parsed, loaded)
}

// What the storage wrote as JSON is sent as it is.
function sendPageText (
  exchange: Exchange,
  parsed: ParsedQuery,
  { listing, text: found }: { listing: Listing, text: FoundText }
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
  parsed: ParsedQuery,
  { listing, page }: { listing: Listing, page: FoundPage }
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
