import { Problem } from '../../core/problems.js'
import { writeCursor } from '../../core/query/cursor.js'
import type { ParsedQuery } from '../../core/query/grammar.js'
import { makePageUrl } from '../../core/query/query-string.js'
import type { FoundPage } from '../../core/service/find-page.js'
import type { Found, FoundText, Query, Stored } from '../../core/storage/storage.js'
import type { Members } from '../../core/values/json.js'
import type { PageAffordances } from '../../representations/representation.js'
import type { Exchange } from '../mount.js'
import { formatLink, isPlain } from '../reply.js'
import type { Expand } from './expand.js'

/** A list: how its items are found, and how they are shown. */
export interface Listing {
  readonly name: string
  readonly singular: string
  readonly members: readonly string[]
  readonly emptyList: 'page' | 'not-found'
  /** Whether an item can be so long that not many fit on a page. */
  readonly hasLongItems: boolean
  /** A bare list has nothing but its items. */
  readonly isBare?: boolean
  find (query: Query): Promise<Found>
  /** Begins the time anew that a read may take. */
  renewTime (): void
  /** The same as text, where the storage can. */
  readonly findText?: ((query: Query) => Promise<FoundText>) | undefined
  /** Puts other items in the place of their ids, where that is asked for. */
  readonly expand?: Expand | undefined
  show (item: Stored): Members
  /** What people can do with a page of it. */
  afford? (exchange: Exchange, page: FoundPage): PageAffordances | Promise<PageAffordances>
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

// What a page that is reached by another way does not have.
const places = ['page', 'after', 'before']

export function makePageLinks (
  path: string,
  parsed: ParsedQuery,
  { next, prev }: Pick<FoundPage, 'next' | 'prev'>
): PageLinks {
  const { page, list } = parsed
  const links: PageLinks = { self: makePageUrl(path, parsed), first: makePageUrl(path, parsed, places) }
  if (next !== undefined) links.next = makePageUrl(path, parsed, places, `after=${writeCursor(list, next)}`)
  if (prev !== undefined) links.prev = makePageUrl(path, parsed, places, `before=${writeCursor(list, prev)}`)
  // Beyond the last page there is no item to go back from.
  else if (page > 1) links.prev = makePageUrl(path, parsed, places, `page=${page - 1}`)
  return links
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
  // The others have nothing that this one does not have, but for places, which are plain.
  const areAllPlain = isPlain(self)
  let all = `${formatLink(self, 'self', areAllPlain)}, ${formatLink(first, 'first', areAllPlain)}`
  if (next !== undefined) all += `, ${formatLink(next, 'next', areAllPlain)}`
  if (prev !== undefined) all += `, ${formatLink(prev, 'prev', areAllPlain)}`
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
