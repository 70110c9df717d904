import { makeComparator } from './compare.js'
import { makeSearch, matcher } from './match.js'
import type { Condition, Found, Query, Stored } from './storage.js'
import { isPlain } from './text-tests.js'
import type { Turn } from './turn.js'

/**
 * Answers a query from items in memory, in whatever order they come: for storages that have no engine of their own.
 *
 * @example
 * async find (family, query) {
 *   return pageOf(this.items(family), query)
 * }
 */
export function pageOf (items: Iterable<Stored>, query: Query): Found {
  const holds = matcher(query.where)
  const matches = new FirstMatches(query)
  for (const item of items) if (holds(item)) matches.add(item)
  return matches.toPage()
}

type Comparator = ReturnType<typeof makeComparator>

/** Collects the matches of a page: no more of them at a time than stand on it, or before it. */
export class FirstMatches {
  #total = 0
  /** Where they come in the wanted order, those of the page; else a heap, the last of the first at its top. */
  readonly #kept: Stored[] = []
  readonly #compare: Comparator | undefined
  readonly #query: Pick<Query, 'offset' | 'limit' | 'count'>

  /** @param query with an empty order where the items come in the wanted one already */
  constructor (query: Omit<Query, 'where'>) {
    this.#query = query
    this.#compare = query.order.length === 0 ? undefined : makeComparator(query.order)
  }

  /** Returns whether no further match matters. */
  add (item: Stored): boolean {
    this.#total++
    const { offset, limit, count } = this.#query
    if (this.#compare === undefined) {
      if (this.#total > offset && this.#kept.length < limit) this.#kept.push(item)
      return this.#kept.length >= limit && !count
    }
    if (this.#kept.length < offset + limit) {
      this.#kept.push(item)
      this.#rise(this.#kept.length - 1)
    } else if (this.#kept.length > 0 && this.#compare(item, this.#kept[0] as Stored) < 0) {
      this.#kept[0] = item
      this.#sink()
    }
    return false
  }

  toPage (): Found {
    const items = this.#compare === undefined ? this.#kept : this.#takePage()
    return this.#query.count ? { items, total: this.#total } : { items }
  }

  // From the last of them back to the first of the page: what stands before it is never sorted.
  #takePage (): Stored[] {
    const page: Stored[] = []
    while (this.#kept.length > this.#query.offset) {
      const last = this.#kept.pop() as Stored
      page.push(this.#kept[0] ?? last)
      if (this.#kept.length === 0) break
      this.#kept[0] = last
      this.#sink()
    }
    return page.reverse()
  }

  #rise (at: number): void {
    const kept = this.#kept
    const item = kept[at] as Stored
    while (at > 0) {
      const above = (at - 1) >> 1
      if (this.#isBefore(item, kept[above] as Stored)) break
      kept[at] = kept[above] as Stored
      at = above
    }
    kept[at] = item
  }

  #sink (): void {
    const kept = this.#kept
    const item = kept[0] as Stored
    let at = 0
    for (let below = 1; below < kept.length; below = 2 * at + 1) {
      const other = kept[below + 1]
      if (other !== undefined && this.#isBefore(kept[below] as Stored, other)) below++
      if (this.#isBefore(kept[below] as Stored, item)) break
      kept[at] = kept[below] as Stored
      at = below
    }
    kept[at] = item
  }

  #isBefore (a: Stored, b: Stored): boolean {
    return (this.#compare as Comparator)(a, b) < 0
  }
}

/**
 * Adds the items that meet the conditions, until `add` returns that it has all, and lets other requests go on from time
 * to time.
 *
 * @returns whether `add` has all
 */
export async function collectMatches (
  items: Iterable<Stored>,
  where: readonly Condition[],
  turn: Turn,
  add: (item: Stored) => boolean
): Promise<boolean> {
  const search = makeSearch(where)
  // One pattern on one long text can take milliseconds; looking at the clock for every plain comparison costs too much.
  const checkEvery = where.every(isPlain) ? 512 : 1
  let unchecked = 0
  for (const item of items) {
    const holds = search(item, turn)
    if ((holds === true || (holds !== false && await holds)) && add(item)) return true
    if (++unchecked < checkEvery) continue
    unchecked = 0
    if (turn.isOver) await turn.pass()
  }
  return false
}
