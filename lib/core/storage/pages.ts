import { measureAll } from '../values/json.js'
import { isPlain, makeComparator, matcher } from './conditions.js'
import type { Condition, Found, FoundText, Id, ItemKey, Order, Query, Storage, Stored } from './storage.js'
import type { Turn } from './turns.js'

/**
 * Answers a query from items in any order, such as from an array, a stream or a cursor: for storages without a query
 * engine.
 *
 * @example
 * async find (family, query) {
 *   return await pageOf(this.items(family), query)
 * }
 */
export function pageOf (items: Iterable<Stored>, query: Query): Found
export function pageOf (items: AsyncIterable<Stored>, query: Query): Promise<Found>
export function pageOf (items: Iterable<Stored> | AsyncIterable<Stored>, query: Query): Found | Promise<Found> {
  const holds = matcher(query.where)
  const matches = new FirstMatches(query)
  const take = (item: Stored): void => { if (holds(item)) matches.add(item) }
  if (Symbol.asyncIterator in items) return takeAll(items)
  for (const item of items) take(item)
  return endByLength(matches.toPage(), query)

  async function takeAll (items: AsyncIterable<Stored>): Promise<Found> {
    for await (const item of items) take(item)
    return endByLength(matches.toPage(), query)
  }
}

/** Only those of a page that fit into `maxLength`: for storages whose items are in memory. */
export function endByLength (found: Found, query: Query): Found {
  if (query.maxLength === undefined) return found
  const { items } = found
  const count = countFitting(items.map(item => measureAll(item)), query)
  return { ...found, items: items.slice(0, count), isPartial: count < items.length }
}

const fewSizes = [50, 20, 10, 5, 2, 1]

/** How many of a page to read at once, at least one. With few sizes, a storage gets the same queries repeatedly. */
export function countFitting (
  lengths: readonly number[], { limit, maxLength = Infinity }: Pick<Query, 'limit' | 'maxLength'>
): number {
  let sum = 0
  const fitting = lengths.findIndex(length => (sum += length) > maxLength)
  return fitting === -1 ? limit : fewSizes.find(size => size <= fitting) ?? 1
}

export function selectById (where: readonly Condition[], limit: number): Query {
  return { where, order: [{ field: 'id', descending: false }], offset: 0, limit, count: false }
}

// Storages read so many at once without a scan.
export const maxIds = 100

/** The items with these ids, in few reads. */
export async function findByIds (
  storage: Pick<Storage, 'find'>,
  family: string,
  ids: Iterable<Id>,
  signal?: AbortSignal
): Promise<Map<Id, Stored>> {
  const all = [...ids]
  const found = new Map<Id, Stored>()
  for (let start = 0; start < all.length; start += maxIds) {
    const values = all.slice(start, start + maxIds)
    const { items } = await storage.find(family, selectById([{ field: 'id', op: 'eq', values }], maxIds), signal)
    for (const item of items) found.set(item.id, item)
  }
  return found
}

/** Only with these members, if the storage can leave out others, which may be long. */
export async function findMembers (
  storage: Pick<Storage, 'find' | 'findText'>,
  family: string,
  query: Query,
  members: readonly string[],
  signal?: AbortSignal
): Promise<readonly Stored[]> {
  if (storage.findText === undefined) return (await storage.find(family, query, signal)).items
  const { text } = await storage.findText(family, query, members, signal)
  return JSON.parse(`[${text}]`) as Stored[]
}

// The maximum of long items to read at once. Their length is unknown before the first are read.
export const partSize = 50
export const firstPartSize = 10

// In characters.
export const maxPartLength = 1_000_000

/** In characters, which are kept in memory for a slow client. */
export const maxPageLength = 2_000_000

/**
 * Estimated from the last part; but short items may be followed by long ones. With few sizes, a storage gets the same
 * queries repeatedly.
 */
export function choosePartSize (
  size: number, { length, count }: { length: number, count: number }, most = partSize
): number {
  if (count === 0) return size
  const fitting = [most, partSize, firstPartSize].find(size => size * length / count <= maxPartLength)
  return Math.min(10 * size, fitting ?? 1)
}

/** The additional item shows whether there are more. */
export function askOneMore ({ where, order, offset, limit, count }: Query): Query {
  return { where, order, offset, limit: limit + 1, count }
}

// Sorting many at once holds up other requests; sorting often takes longer in all.
const minUnsorted = 1000

/** Collects the matches of a page, and keeps only those that may be on it or before it. */
export class FirstMatches {
  #total = 0
  /** Those of the page if items come in order; otherwise the first ones, sorted, and the unsorted ones. */
  #kept: Stored[] = []
  #unsorted: Stored[] = []
  readonly #compare: ReturnType<typeof makeComparator> | undefined
  readonly #query: Omit<Query, 'where'>

  /** @param query with an empty order if the items come in the right one */
  constructor (query: Omit<Query, 'where'>) {
    this.#query = query
    this.#compare = query.order.length === 0 ? undefined : makeComparator(query.order)
  }

  /** Returns whether the page is complete. */
  add (item: Stored): boolean {
    this.#total++
    const { offset, limit, count } = this.#query
    if (this.#compare === undefined) {
      if (this.#total > offset && this.#kept.length < limit) this.#kept.push(item)
      return this.#kept.length >= limit && !count
    }
    const last = this.#kept[offset + limit - 1]
    if (limit === 0 || (last !== undefined && this.#compare(item, last) > 0)) return false
    if (this.#unsorted.push(item) >= Math.max(minUnsorted, this.#kept.length / 8)) this.#sort()
    return false
  }

  toPage (): Found {
    const { offset, count } = this.#query
    this.#sort()
    const items = this.#compare === undefined ? this.#kept : this.#kept.slice(offset)
    return count ? { items, total: this.#total } : { items }
  }

  #sort (): void {
    if (this.#compare === undefined) return
    const { offset, limit } = this.#query
    this.#kept = [...this.#kept, ...this.#unsorted].sort(this.#compare).slice(0, offset + limit)
    this.#unsorted = []
  }
}

/** Adds the matching items until `add` returns true, with pauses for other requests. Returns whether `add` did. */
export async function collectMatches (
  items: Iterable<Stored>,
  where: readonly Condition[],
  turn: Turn,
  add: (item: Stored) => boolean
): Promise<boolean> {
  const holds = matcher(where)
  // One pattern on one long text can take milliseconds; reading the clock for every plain comparison costs too much.
  const checkEvery = where.every(isPlain) ? 512 : 1
  let unchecked = 0
  for (const item of items) {
    if (holds(item) && add(item)) return true
    if (++unchecked < checkEvery) continue
    unchecked = 0
    if (turn.isOver) await turn.pass()
  }
  return false
}

type WrittenPage = Pick<FoundText, 'text' | 'isNamed' | 'count' | 'more'> &
  { readonly [K in 'first' | 'last']: Stored | undefined } & { readonly total: number | undefined }

export function toFoundText (
  { text, isNamed, count, more, first, last, total }: WrittenPage,
  { order, offset }: Pick<Query, 'order' | 'offset'>
): FoundText {
  const found: { -readonly [K in keyof FoundText]: FoundText[K] } = { text, count, more }
  if (isNamed === true) found.isNamed = true
  if (first !== undefined && offset > 0) found.first = pickKey(order, first)
  if (last !== undefined) found.last = pickKey(order, last)
  if (total !== undefined) found.total = total
  return found
}

export function writeFoundText (
  { items, total }: Found,
  query: Pick<Query, 'order' | 'offset' | 'limit'>,
  write: (items: readonly Stored[]) => string
): FoundText {
  const more = items.length > query.limit
  const shown = more ? items.slice(0, query.limit) : items
  const page = { text: write(shown), count: shown.length, more, first: shown[0], last: shown.at(-1), total }
  return toFoundText(page, query)
}

function pickKey (order: readonly Order[], item: Stored): ItemKey {
  const key: Record<string, unknown> = {}
  for (const { field } of order) if (item[field] !== undefined) key[field] = item[field]
  return key as unknown as ItemKey
}
