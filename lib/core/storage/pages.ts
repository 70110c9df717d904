import { isPlain, makeComparator, matcher } from './conditions.js'
import type { Condition, Found, FoundText, ItemKey, Order, Query, Stored } from './storage.js'
import { isTurnOver, passTurn } from './turns.js'

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
  return matches.toPage()

  async function takeAll (items: AsyncIterable<Stored>): Promise<Found> {
    for await (const item of items) take(item)
    return matches.toPage()
  }
}

export function selectById (where: readonly Condition[], limit: number): Query {
  return { where, order: [{ field: 'id', descending: false }], offset: 0, limit, count: false }
}

/** The additional item shows whether there are more. */
export function askOneMore ({ where, order, offset, limit, count }: Query): Query {
  return { where, order, offset, limit: limit + 1, count }
}

/** Collects the matches of a page, and keeps only those that may be on it or before it, in order. */
export class FirstMatches {
  #total = 0
  readonly #kept: Stored[] = []
  readonly #compare: ReturnType<typeof makeComparator>
  readonly #query: Omit<Query, 'where'>

  /** @param query with an empty order if the items come in the right one */
  constructor (query: Omit<Query, 'where'>) {
    this.#query = query
    this.#compare = makeComparator(query.order)
  }

  /** Returns whether the page is complete. */
  add (item: Stored): boolean {
    this.#total++
    const { order, offset, limit, count } = this.#query
    const isInOrder = order.length === 0
    const most = offset + limit
    const last = this.#kept[most - 1]
    if (limit > 0 && (last === undefined || this.#compare(item, last) < 0)) {
      const at = isInOrder ? this.#kept.length : countFirst(this.#kept, kept => this.#compare(kept, item) <= 0)
      this.#kept.splice(at, 0, item)
      if (this.#kept.length > most) this.#kept.pop()
    }
    return isInOrder && !count && (limit === 0 || this.#kept.length === most)
  }

  toPage (): Found {
    const { offset, count } = this.#query
    const items = this.#kept.slice(offset)
    return count ? { items, total: this.#total } : { items }
  }
}

/** The number of items at the beginning of a list for which this holds. It must not hold for later ones. */
export function countFirst<T> (list: readonly T[], holds: (item: T) => boolean): number {
  let low = 0
  let high = list.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (holds(list[middle] as T)) low = middle + 1
    else high = middle
  }
  return low
}

/** Adds the matching items until `add` returns true, with pauses for other requests. Returns whether `add` did. */
export async function collectMatches (
  items: Iterable<Stored>,
  where: readonly Condition[],
  signal: AbortSignal | undefined,
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
    if (isTurnOver()) await passTurn(signal)
  }
  return false
}

type WrittenPage = Pick<FoundText, 'text' | 'count' | 'more'> &
  { readonly [K in 'first' | 'last']: Stored | undefined } & { readonly total: number | undefined }

export function toFoundText (
  { text, count, more, first, last, total }: WrittenPage,
  { order, offset }: Pick<Query, 'order' | 'offset'>
): FoundText {
  const found: { -readonly [K in keyof FoundText]: FoundText[K] } = { text, count, more }
  if (first !== undefined && offset > 0) found.first = pickKey(order, first)
  if (last !== undefined) found.last = pickKey(order, last)
  if (total !== undefined) found.total = total
  return found
}

export function writePage (
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
