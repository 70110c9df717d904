import type { FastifyReply } from 'fastify'
import type { ParsedQuery } from '../../core/query/grammar.js'
import { listParts } from '../../core/query/parts.js'
import type { FoundPage } from '../../core/service/find-page.js'
import { findPage, placeAround } from '../../core/service/find-page.js'
import type { FoundText, Query } from '../../core/storage/storage.js'
import type { Members } from '../../core/values/json.js'
import type { Representation } from '../../representations/representation.js'
import type { Exchange } from '../mount.js'
import { addLink, send, sendText } from '../reply.js'
import type { FirstBatch } from './export.js'
import { exportRows, loadExport } from './export.js'
import type { Listing, PageLinks } from './listing.js'
import { formatLinks, makePageLinks, refuseEmpty } from './listing.js'
import { findInParts, findTextInParts, partSize } from './page-parts.js'
import type { Loading } from './read.js'

/** A page as it was loaded: everything, to be sent line by line; text that the storage wrote; or items. */
export type LoadedPage = { readonly listing: Listing } & (
  | { readonly first: FirstBatch }
  | { readonly text: FoundText }
  | { readonly page: FoundPage }
)

/** Loads a page, or the beginning of everything, in the way that the representation can use best. */
export async function loadPage (
  listing: Listing,
  parsed: ParsedQuery,
  { representation }: Pick<Loading<unknown>, 'representation'>
): Promise<LoadedPage> {
  if (isExport(parsed, representation)) return { listing, first: await loadExport(listing, parsed) }
  const isInParts = listing.hasLongItems && parsed.query.limit > partSize
  const findText = representation.pageOfText === undefined ? undefined : makeFindText(listing, parsed, isInParts)
  if (findText !== undefined) {
    const text = await (isInParts ? findTextInParts(findText, parsed) : findText(parsed))
    refuseEmpty(listing, text.count)
    return { listing, text }
  }
  const find = (parsed: ParsedQuery) => findPage(query => listing.find(query), parsed)
  const page = await (isInParts ? findInParts(find, parsed) : find(parsed))
  // To a person, an empty list is still the place to make the first item.
  if (representation.interactive !== true) refuseEmpty(listing, page.items.length)
  return { listing, page }
}

/** Finds a page as text, where the storage can, and where it takes one query for each part of the page. */
function makeFindText (
  { findText, expand }: Listing,
  parsed: ParsedQuery,
  isInParts: boolean
): ((parsed: ParsedQuery) => Promise<FoundText>) | undefined {
  if (findText === undefined || expand !== undefined || findSingle(parsed) === undefined) return undefined
  if (isInParts && parsed.list.order.length > 1) return undefined
  return parsed => findText(findSingle(parsed) as Query)
}

/** The page in one query, in its order: what is read from a place is so only where the order is by id alone. */
function findSingle ({ query, list, start }: ParsedQuery): Query | undefined {
  if (start === undefined) return query
  if (list.order.length > 1 || start.backwards || query.count) return undefined
  const { parts } = listParts(list.fields, list.order, start)
  return { ...query, where: [...query.where, ...parts.flat()] }
}

// Everything is sent where the representation goes line by line and the client names no page.
function isExport ({ sized, parameters }: ParsedQuery, { rows }: Representation): boolean {
  return rows !== undefined && !sized && !parameters.some(({ name }) => name === 'page')
}

/** Answers with a page, or with everything. */
export async function sendPage (exchange: Exchange, parsed: ParsedQuery, loaded: LoadedPage): Promise<FastifyReply> {
  if ('first' in loaded) return exportRows(exchange, parsed, loaded)
  return 'text' in loaded ? sendPageText(exchange, parsed, loaded) : await sendItems(exchange, parsed, loaded)
}

// What the storage wrote as JSON is sent as it is.
function sendPageText (
  exchange: Exchange,
  parsed: ParsedQuery,
  { listing, text: found }: { listing: Listing, text: FoundText }
): FastifyReply {
  const { mount: { urls }, request, reply, choice } = exchange
  const { start, page } = parsed
  const { first, last, more } = found
  const links = makePageLinks(urls.self(request), parsed, placeAround({ start, page, more, first, last }))
  addLink(reply, formatLinks(links))
  const write = choice.representation.pageOfText as NonNullable<Representation['pageOfText']>
  const others = listing.isBare === true ? undefined : listMembers(parsed, found.total, links)
  return sendText(exchange, write(found.text, others))
}

async function sendItems (
  exchange: Exchange,
  parsed: ParsedQuery,
  { listing, page }: { listing: Listing, page: FoundPage }
): Promise<FastifyReply> {
  const { mount: { urls }, request, reply, choice } = exchange
  const { name, singular, members, afford } = listing
  if (page.items.length === 0 && listing.emptyList === 'not-found' && reply.statusCode === 200) reply.code(404)
  const links = makePageLinks(urls.self(request), parsed, page)
  addLink(reply, formatLinks(links))
  const items = (await listing.expand?.(page.items) ?? page.items).map(listing.show)
  const { rows } = choice.representation
  if (rows !== undefined) {
    return sendText(exchange, rows.head(members) + items.map(item => rows.row(item, members)).join(''))
  }
  return await send(exchange, {
    kind: 'page',
    name,
    singular,
    items,
    members,
    document: listing.isBare === true ? items : { items, ...listMembers(parsed, page.total, links) },
    ...(afford && { affordances: async () => await afford.call(listing, exchange, page) })
  })
}

/** The members of a page besides its items. */
function listMembers ({ page, query: { limit } }: ParsedQuery, total: number | undefined, links: PageLinks): Members {
  return total === undefined ? { page, pageSize: limit, links } : { page, pageSize: limit, total, links }
}
