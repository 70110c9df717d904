import { setImmediate as yieldToEventLoop } from 'node:timers/promises'
import { makeComparator } from './compare.js'
import { matcher } from './match.js'
import type { Condition, Found, Order, Query, Stored } from './storage.js'

// How long a search may hold the event loop before other requests go on.
const maxBlockingMs = 5

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
  const matches = new FirstMatches(query.order, query.offset + query.limit)
  for (const item of items) if (holds(item)) matches.add(item)
  return matches.toPage(query)
}

/** Collects the first matches in the wanted order, without keeping all the others. */
export class FirstMatches {
  #total = 0
  #kept: Stored[] = []
  readonly #compare: ((a: Stored, b: Stored) => number) | undefined
  readonly #wanted: number

  /** @param order none where the items come in the wanted order already */
  constructor (order: readonly Order[], wanted: number) {
    this.#compare = order.length === 0 ? undefined : makeComparator(order)
    this.#wanted = wanted
  }

  /** Returns whether no further match can be among the first. */
  add (item: Stored): boolean {
    this.#total++
    if (this.#compare === undefined) {
      if (this.#kept.length < this.#wanted) this.#kept.push(item)
      return this.#kept.length >= this.#wanted
    }
    this.#kept.push(item)
    if (this.#kept.length >= 2 * this.#wanted + 1000) this.#sort()
    return false
  }

  toPage ({ offset, count }: Query): Found {
    this.#sort()
    const items = this.#kept.slice(offset)
    return count ? { items, total: this.#total } : { items }
  }

  #sort (): void {
    if (this.#compare !== undefined) this.#kept = this.#kept.sort(this.#compare).slice(0, this.#wanted)
  }
}

/**
 * Adds the items that meet the conditions, and lets other requests go on from time to time.
 *
 * @returns whether `matches` has all that is wanted; never where all matches are to be counted
 */
export async function collectMatches (
  items: Iterable<Stored>,
  where: readonly Condition[],
  matches: FirstMatches,
  count: boolean
): Promise<boolean> {
  const holds = matcher(where)
  // One pattern on one long text can take milliseconds; looking at the clock for every plain comparison costs too much.
  const checkEvery = where.some(({ op }) => op === 'regex') ? 1 : 512
  let unchecked = 0
  let began = performance.now()
  for (const item of items) {
    if (holds(item) && matches.add(item) && !count) return true
    if (++unchecked < checkEvery) continue
    unchecked = 0
    if (performance.now() - began > maxBlockingMs) {
      await yieldToEventLoop()
      began = performance.now()
    }
  }
  return false
}
