import { formatLink } from '../http/reply.js'
import type { Exchange } from '../mount/mount.js'
import { Problem } from '../problems.js'
import { writeCursor } from '../query/cursor.js'
import type { ParsedQuery } from '../query/grammar.js'
import { makePageUrl } from '../query/query-string.js'
import type { PageAffordances } from '../representations/representation.js'
import { findAfter } from '../service/find-after.js'
import type { Found, FoundText, Id, Query, Stored } from '../storage/storage.js'
import type { Members } from '../values/json.js'

/** A list: how its items are found, and how they are shown. */
export interface Listing {
  readonly name: string
  readonly singular: string
  readonly members: readonly string[]
  readonly emptyList: 'page' | 'not-found'
  /** A bare list has nothing but its items. */
  readonly isBare?: boolean
  find (query: Query): Promise<Found>
  /** Begins the time anew that a read may take. */
  renewTime (): void
  /** The same as text, where the storage can. */
  readonly findText?: ((query: Query) => Promise<FoundText>) | undefined
  show (item: Stored): Members
  /** What people can do with a page of it. */
  afford? (exchange: Exchange, page: LoadedItems): PageAffordances | Promise<PageAffordances>
}

/** The items of a page. */
export interface LoadedItems {
  readonly items: readonly Stored[]
  readonly hasNext: boolean
  readonly total: number | undefined
}

/** An empty list may be a problem, as the mount says. */
export function refuseEmpty ({ emptyList, name }: Listing, count: number): void {
  if (count === 0 && emptyList === 'not-found') throw new Problem('empty-list', `No ${name} are found`)
}

/** The links of a page of a list. */
export interface PageLinks {
  readonly self: string
  readonly first: string
  next?: string
  prev?: string
}

/** Whether the order is by id, so that a page can be found by its key. */
export function isByKey ({ query: { order } }: ParsedQuery): boolean {
  return order[0]?.field === 'id'
}

/** @param last the last item, of which the fields of the order are needed; undefined where there is none */
export function makePageLinks (
  path: string,
  parsed: ParsedQuery,
  last: LastItem | undefined,
  hasNext: boolean
): PageLinks {
  const { page } = parsed
  const links: PageLinks = { self: makePageUrl(path, parsed), first: makePageUrl(path, parsed, ['page', 'after']) }
  if (hasNext) links.next = makeNextUrl(path, parsed, last)
  if (page > 1) links.prev = makePageUrl(path, parsed, ['page'], `page=${page - 1}`)
  return links
}

type LastItem = Members & { readonly id: Id }

/**
 * The page after this item: by key where the order is by id, by cursor in the order of a log, so that no page costs
 * more than the first; by number in every other order.
 */
export function makeNextUrl (path: string, parsed: ParsedQuery, last: LastItem | undefined): string {
  const { query: { order }, page, byCursor } = parsed
  if (last !== undefined && isByKey(parsed)) {
    const key = order[0]?.descending === true ? 'lt' : 'gt'
    return makePageUrl(path, parsed, ['page', key], `${key}=${encodeURIComponent(last.id)}`)
  }
  return last !== undefined && byCursor
    ? makePageUrl(path, parsed, ['page', 'after'], `after=${writeCursor(order, last)}`)
    : makePageUrl(path, parsed, ['page'], `page=${page + 1}`)
}

/** Finds what a query asks for, after the place that it names. */
export async function findFrom (listing: Listing, { after }: ParsedQuery, query: Query): Promise<Found> {
  return await (after === undefined ? listing.find(query) : findAfter(query => listing.find(query), query, after))
}

// A client or a proxy that meets more than it can take of headers takes nothing of the answer.
const maxLinkLength = 4000

// What leads on is needed most: a list of plain rows has it nowhere else.
const byNeed = ['next', 'prev', 'first', 'self'] as const

/** The links as a header (RFC 8288); of long ones, as many as clients can take. */
export function formatLinks (links: PageLinks): string {
  const all = joinLinks(links)
  return all.length <= maxLinkLength ? all : chooseLinks(links)
}

function joinLinks ({ self, first, next, prev }: PageLinks): string {
  let all = `${formatLink(self, 'self')}, ${formatLink(first, 'first')}`
  if (next !== undefined) all += `, ${formatLink(next, 'next')}`
  if (prev !== undefined) all += `, ${formatLink(prev, 'prev')}`
  return all
}

function chooseLinks (links: PageLinks): string {
  const left: Record<string, string> = {}
  let length = 0
  for (const rel of byNeed) {
    const url = links[rel]
    const link = url === undefined || url.length > maxLinkLength ? undefined : formatLink(url, rel)
    if (link === undefined || length + link.length > maxLinkLength) continue
    left[rel] = link
    length += link.length + 2
  }
  return Object.keys(links).flatMap(rel => left[rel] ?? []).join(', ')
}
