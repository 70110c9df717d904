import { readOrder, toTotalOrder } from '../query/order.js'
import type { Field, Order } from '../storage/storage.js'
import { didYouMean } from '../values/nearest.js'
import type { FamilyDefinition } from './definition.js'

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

/** Names what is wrong with the indexes of a family; undefined where nothing is. */
export function findFlawInIndexes (fields: readonly Field[], indexes: Indexes): string | undefined {
  const known = fields.filter(({ kind }) => kind !== 'json').map(({ name }) => name)
  const rows = indexes.map(row => [row].flat())
  for (const row of rows) {
    const unknown = row.find(name => !known.includes(name))
    if (unknown !== undefined) {
      return `indexes has "${unknown}", which is no field to find by.${didYouMean(unknown, known)}`
    }
    if (row.length === 0) return 'indexes has a row without a field'
    if (row[0] === 'id') return 'indexes has "id", which has an index in any case'
    const twice = row.find((name, at) => row.indexOf(name) !== at)
    if (twice !== undefined) return `indexes has "${twice}" twice in one row`
  }
  return undefined
}

type Indexes = NonNullable<FamilyDefinition['indexes']>

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
