import { toTotalOrder } from '../query/cursor.js'
import type { Order } from '../storage/storage.js'
import type { FamilyDefinition } from './definition.js'

/** The indexes of a family: those that it names, its order, along which pages are read, and what refers to others. */
export function listIndexes ({ indexes = [], references = {} }: FamilyDefinition, order: readonly Order[]): string[][] {
  const named: string[][] = indexes.map(row => [row].flat())
  const ordered = toTotalOrder(order).map(({ field }) => field)
  // By the id itself there is an index in any case, and every index ends with it.
  const all = ordered.length === 1 ? named : [...named.filter(row => `${row.join()},id` !== ordered.join()), ordered]
  // Where an item is deleted, what refers to it is looked for.
  const referring = Object.keys(references).filter(field => !all.some(([first]) => first === field))
  return [...new Map([...all, ...referring.map(field => [field])].map(row => [row.join(), row])).values()]
}
