import type { Condition, Found, Order, Query, Scalar, Stored } from '../storage/storage.js'
import type { Members } from '../values/json.js'

/**
 * Finds what comes after an item in the order of a query, at the same cost wherever that is. Conditions must all hold,
 * and "after" has a choice for each field of the order, so each is a part of its own; an index in this order finds the
 * beginning of each at once.
 *
 * @param last the fields of the item that the order names; none of them may be absent
 */
export async function findAfter (
  find: (query: Query) => Promise<Found>,
  query: Query,
  last: Members
): Promise<Found> {
  const items: Stored[] = []
  for (const part of listPartsAfter(query.order, last)) {
    const limit = query.limit - items.length
    if (limit === 0) break
    const found = await find({ ...query, where: [...query.where, ...part], offset: 0, limit, count: false })
    items.push(...found.items)
  }
  return query.count ? { ...await find({ ...query, offset: 0, limit: 0 }), items } : { items }
}

/** From those that differ in the last field only to those that differ in the first. */
function * listPartsAfter (order: readonly Order[], last: Members): Generator<Condition[]> {
  for (let depth = order.length - 1; depth >= 0; depth--) {
    const equal = order.slice(0, depth)
      .map(({ field }): Condition => ({ field, op: 'eq', values: [last[field] as Scalar] }))
    const { field, descending } = order[depth] as Order
    yield [...equal, { field, op: descending ? 'lt' : 'gt', value: last[field] as Scalar }]
  }
}
