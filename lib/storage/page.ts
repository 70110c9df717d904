import { matcher } from './match.js'
import { Matches } from './matches.js'
import type { Found, Query, Stored } from './storage.js'

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
  const matches = new Matches(query.order, query.offset + query.limit)
  for (const item of items) if (holds(item)) matches.add(item)
  const found = matches.first().slice(query.offset)
  return query.count ? { items: found, total: matches.total } : { items: found }
}
