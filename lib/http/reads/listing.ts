import { invalidQuery, Problem } from '../../core/problems.js'
import type { ParsedQuery } from '../../core/query/grammar.js'
import type { PageLinks } from '../../core/query/query-string.js'
import type { Find, FoundPage } from '../../core/service/reader.js'
import { findPage } from '../../core/service/reader.js'
import type { Found, FoundText, Query, Stored } from '../../core/storage/storage.js'
import type { Members } from '../../core/values/json.js'
import { measureAll } from '../../core/values/json.js'
import type { PageAffordances } from '../../representations/affordances.js'
import type { Exchange } from '../mount.js'

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
  find (query: Query): Promise<Found>
  /** The same as text; undefined where the storage has none. */
  findText? (query: Query): Promise<FoundText> | undefined
  /** Begins the time anew that a read may take. */
  renewTime (): void
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

/** How many of them are read first: how long they are is not known before. */
export const firstPartSize = 10

// The first that is not too long: few sizes, so that a storage meets the same queries again and again.
const partSizes = [partSize, firstPartSize, 1]

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
  let size = firstPartSize
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
