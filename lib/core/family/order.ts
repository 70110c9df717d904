import { readOrder, toTotalOrder } from '../query/cursor.js'
import type { Field, Order } from '../storage/storage.js'
import { didYouMean } from '../values/nearest.js'

/** Names what is wrong with the order of a family; undefined where nothing is. */
export function findFlawInOrder (fields: readonly Field[], order: readonly string[]): string | undefined {
  const sortable = fields.filter(({ kind }) => kind !== 'json').map(({ name }) => name)
  const names = order.map(term => readOrder(term).field)
  const unknown = names.find(name => !sortable.includes(name))
  if (unknown !== undefined) {
    return `the order names "${unknown}", which is no field to order by.${didYouMean(unknown, sortable)}`
  }
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  return twice === undefined ? undefined : `the order names "${twice}" twice`
}

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
