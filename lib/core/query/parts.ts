import type { Field, FieldCondition, Kind, Order, Scalar } from '../storage/storage.js'
import type { Start } from './cursor.js'

/** Part after part of what comes after a place, in an order. */
export interface Parts {
  /** The conditions of each. */
  readonly parts: readonly (readonly FieldCondition[])[]
  readonly order: readonly Order[]
}

/**
 * What there is from a place on. Conditions must all hold, and "after" has a choice for each field of the order, so
 * each is a part of its own: an index in this order, or one over its first field, finds the beginning of each at once.
 */
export function listParts (fields: readonly Field[], forwards: readonly Order[], start: Start): Parts {
  const { place: { item, isAfter }, backwards } = start
  const order = backwards ? forwards.map(({ field, descending }) => ({ field, descending: !descending })) : forwards
  // The other way, what comes after an item is on the other side of it.
  const isWithItem = isAfter === backwards
  const parts: FieldCondition[][] = []
  // From those that differ in the last field only to those that differ in the first.
  for (let depth = order.length - 1; depth >= 0; depth--) {
    const equal = order.slice(0, depth).map(({ field }) => equals(field, item[field] as Value))
    const { field: name, descending } = order[depth] as Order
    const field = fields.find(field => field.name === name) as Field
    const beyond = listBeyond(field, descending, item[name] as Value)
    const last = name === 'id' && isWithItem ? beyond.map(include) : beyond
    parts.push(...last.map(condition => [...equal, condition]))
  }
  return { parts, order }
}

type Value = Scalar | null | undefined

function equals (field: string, value: Value): FieldCondition {
  return value === undefined || value === null ? { field, op: 'null', is: true } : { field, op: 'eq', values: [value] }
}

/** What comes after a value: absent ones come first, and last when descending. */
function listBeyond (field: Field, descending: boolean, value: Value): FieldCondition[] {
  const { name, kind, optional, nullable } = field
  const isAbsent = value === undefined || value === null
  if (!descending) return [isAbsent ? { field: name, op: 'gte', value: least[kind] } : { field: name, op: 'gt', value }]
  if (isAbsent) return []
  const lower: FieldCondition = { field: name, op: 'lt', value }
  return optional || nullable === true ? [lower, { field: name, op: 'null', is: true }] : [lower]
}

function include (condition: FieldCondition): FieldCondition {
  if (condition.op === 'gt') return { ...condition, op: 'gte' }
  return condition.op === 'lt' ? { ...condition, op: 'lte' } : condition
}

// No value comes before it. A bound is what an index is gone along by; that something is not null may not be.
const least: Readonly<Record<Kind, Scalar>> = {
  integer: Number.MIN_SAFE_INTEGER,
  number: -Number.MAX_VALUE,
  string: '',
  boolean: false,
  date: '0001-01-01',
  'date-time': '0001-01-01T00:00:00.000Z',
  json: ''
}
