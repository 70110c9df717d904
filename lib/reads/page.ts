import type { FastifyReply } from 'fastify'
import { refuseLargePage } from '../http/large-answers.js'
import { addLink, send, sendText } from '../http/reply.js'
import type { Exchange } from '../mount/mount.js'
import type { ParsedQuery } from '../query/grammar.js'
import type { Representation } from '../representations/representation.js'
import type { Found, FoundText } from '../storage/storage.js'
import type { Members } from '../values/json.js'
import { exportRows, loadExport } from './export.js'
import type { Listing, LoadedItems, PageLinks } from './listing.js'
import { findFrom, formatLinks, makePageLinks, refuseEmpty } from './listing.js'

/** A page as it was loaded: everything, to be sent line by line; text that the storage wrote; or items. */
export type LoadedPage = { readonly listing: Listing } & (
  | { readonly first: Found }
  | { readonly text: FoundText }
  | { readonly page: LoadedItems }
)

/** Loads a page, or the beginning of everything, in the way that the representation can use best. */
export async function loadPage (
  listing: Listing,
  parsed: ParsedQuery,
  representation: Representation
): Promise<LoadedPage> {
  if (isExport(parsed, representation)) return { listing, first: await loadExport(listing, parsed) }
  refuseLargePage(parsed.query.limit)
  if (representation.pageOfText !== undefined && listing.findText !== undefined) {
    const text = await listing.findText(parsed.query)
    refuseEmpty(listing, text.count)
    return { listing, text }
  }
  const { limit } = parsed.query
  // One item more than the page has, to know whether there is a next one without counting.
  const { items, total } = await findFrom(listing, parsed, { ...parsed.query, limit: limit + 1 })
  const hasNext = items.length > limit
  // To a person, an empty list is still the place to make the first item.
  if (representation.interactive !== true) refuseEmpty(listing, items.length)
  return { listing, page: { items: hasNext ? items.slice(0, limit) : items, hasNext, total } }
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
  const last = found.last === undefined ? undefined : { id: found.last }
  const links = makePageLinks(urls.self(request), parsed, last, found.more)
  addLink(reply, formatLinks(links))
  const write = choice.representation.pageOfText as NonNullable<Representation['pageOfText']>
  const others = listing.isBare === true ? undefined : listMembers(parsed, found.total, links)
  return sendText(exchange, write(found.text, others))
}

async function sendItems (
  exchange: Exchange,
  parsed: ParsedQuery,
  { listing, page }: { listing: Listing, page: LoadedItems }
): Promise<FastifyReply> {
  const { mount: { urls }, request, reply, choice } = exchange
  const { name, singular, members, afford } = listing
  // Once more, for those that came together.
  refuseLargePage(page.items.length)
  if (page.items.length === 0 && listing.emptyList === 'not-found' && reply.statusCode === 200) reply.code(404)
  const links = makePageLinks(urls.self(request), parsed, page.items.at(-1), page.hasNext)
  addLink(reply, formatLinks(links))
  const items = page.items.map(listing.show)
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
  return { page, pageSize: limit, ...(total === undefined ? {} : { total }), links }
}
