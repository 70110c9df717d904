import { toTotalOrder } from '../query/order.js'
import type { Field, Order } from '../storage/storage.js'

/**
 * The indexes of a family: one for each field that can be filtered, and one for its order, along which one page comes
 * after another.
 */
export function listIndexes (ownFields: readonly Field[], order: readonly Order[]): string[][] {
  const ordered = toTotalOrder(order).map(({ field }) => field)
  const single = ownFields.filter(({ name, kind }) => name !== 'id' && kind !== 'json').map(({ name }) => [name])
  // By the id itself there is an index in any case.
  if (ordered.length === 1) return single
  // What has only one more field, the id, is in the place of the other.
  return [...single.filter(([name]) => ordered.length > 2 || name !== ordered[0]), ordered]
}
