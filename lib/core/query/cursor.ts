import { isAbsent, leastValues } from '../storage/conditions.js'
import type { Field, FieldCondition, ItemKey, Kind, Order, Scalar } from '../storage/storage.js'
import { isBigInteger, toOperand } from '../values/decimals.js'
import { isDatabaseDate, isDate, readDateTime } from '../values/formats.js'

/** `-age` is descending. */
export function readOrder (text: string): Order {
  return text.startsWith('-') ? { field: text.slice(1), descending: true } : { field: text, descending: false }
}

export function writeOrder (order: readonly Order[]): string {
  return order.map(({ field, descending }) => descending ? `-${field}` : field).join()
}

/** Ends with the id, or another key, which breaks ties; fields after it would decide nothing. */
export function toTotalOrder (order: readonly Order[], fields: readonly Field[] = [], key = 'id'): Order[] {
  const end = order.findIndex(({ field }) => field === key)
  const total = end === -1 ? [...order, { field: key, descending: false }] : order.slice(0, end + 1)
  const isDecimal = (term: Order): boolean => fields.some(({ name, kind }) => name === term.field && kind === 'decimal')
  return total.map(term => isDecimal(term) ? { ...term, numeric: true } : term)
}

/** A cursor is valid for one order only. */
export interface OrderedList {
  readonly name: string
  readonly fields: readonly Field[]
  readonly order: readonly Order[]
}

export interface Position {
  readonly isAfter: boolean
  readonly item: ItemKey
  /** Of an item whose values are too long for a URL, only the id is known. */
  readonly isShort?: boolean
}

export interface Start {
  readonly position: Position
  readonly backwards: boolean
}

/** Undefined if there is no such page. */
export interface PositionsAround {
  readonly next: Position | undefined
  readonly prev: Position | undefined
}

/** If a page was read from a position, the page before it ends there. `more` is in the direction of reading. */
export function findPositionsAround (
  { start, page }: { readonly start: Start | undefined, readonly page: number },
  { more, first, last }: { more: boolean, first?: ItemKey | undefined, last?: ItemKey | undefined }
): PositionsAround {
  const before = first && { isAfter: false, item: first }
  if (start?.backwards === true) return { next: start.position, prev: more ? before : undefined }
  const after = last && { isAfter: true, item: last }
  return { next: more ? after : undefined, prev: start?.position ?? (page > 1 ? before : undefined) }
}

// A page has two cursors, and a URL must be able to hold one.
const longestCursor = 3000

/** It reveals nothing: it has only values of an item that its reader saw. */
export function writeCursor (list: OrderedList, { isAfter, item, isShort = false }: Position): string {
  const text = isShort ? '' : encodeCursor(list, isAfter, list.order.map(({ field }) => item[field] ?? null))
  return isShort || text.length > longestCursor ? encodeCursor(list, isAfter, [item.id]) : text
}

/** Undefined if the text is not a cursor of this list in this order. */
export function readCursor (list: OrderedList, text: string): Position | undefined {
  if (text.length > longestCursor) return undefined
  const [, isAfter, ...values] = parseValues(Buffer.from(text, 'base64url').toString())
  // Encoding it again must give the same text: truncated or handmade cursors are refused.
  if (typeof isAfter !== 'boolean' || encodeCursor(list, isAfter, values) !== text) return undefined
  const isShort = values.length === 1 && list.order.length > 1
  const names = isShort ? ['id'] : list.order.map(({ field }) => field)
  const isFit = names.length === values.length &&
    names.every((name, index) => isValueOf(getField(list.fields, name), values[index]))
  if (!isFit) return undefined
  const item = Object.fromEntries(names.map((name, index) => [name, values[index]])) as unknown as ItemKey
  return { isAfter, item, ...(isShort && { isShort }) }
}

function encodeCursor ({ name, order }: OrderedList, isAfter: boolean, values: readonly unknown[]): string {
  return Buffer.from(JSON.stringify([`${name} ${writeOrder(order)}`, isAfter, ...values])).toString('base64url')
}

function parseValues (text: string): readonly unknown[] {
  try {
    const parsed = JSON.parse(text) as unknown
    return Array.isArray(parsed) ? parsed : []
  } catch {
    return []
  }
}

function isValueOf (field: Field, value: unknown): boolean {
  return value === null ? field.optional || field.nullable === true : tests[field.kind](value)
}

function isText (value: unknown): boolean {
  return typeof value === 'string' && !value.includes('\u0000') && value.isWellFormed()
}

// Values that a storage can compare. Enumerations are not checked: they may have had different values before. Mapped
// tables show values that the kind does not have as text.
const tests: Readonly<Record<Kind, (value: unknown) => boolean>> = {
  integer: value => Number.isSafeInteger(value) || (typeof value === 'string' && isBigInteger(value)),
  number: value => Number.isFinite(value) || value === 'NaN' || value === 'Infinity' || value === '-Infinity',
  decimal: value => typeof value === 'string' && /^(-?(\d+(\.\d+)?(e[+-]\d{1,3})?|Infinity)|NaN)$/.test(value),
  boolean: value => typeof value === 'boolean' || isText(value),
  string: isText,
  date: value => typeof value === 'string' && isDatabaseDate(value, isDate, 5_874_897),
  'date-time': value =>
    typeof value === 'string' && isDatabaseDate(value, text => readDateTime(text) !== undefined, 294_276),
  json: () => false
}

/** "After" is a choice for each field of the order. Each is a separate query, whose start an index finds at once. */
export function listParts (fields: readonly Field[], forwards: readonly Order[], start: Start) {
  const { position: { item, isAfter }, backwards } = start
  const order = backwards ? forwards.map(term => ({ ...term, descending: !term.descending })) : forwards
  const isWithItem = isAfter === backwards
  const parts: FieldCondition[][] = []
  // From items that differ in the last field only to those that differ in the first.
  for (let depth = order.length - 1; depth >= 0; depth--) {
    const equal = order.slice(0, depth).map((term): FieldCondition => isAbsent(item[term.field])
      ? { field: term.field, op: 'null', is: true }
      : { field: term.field, op: 'eq', values: [getOperand(fields, term, item) as Scalar] })
    const last = order[depth] as Order
    const isIncluded = depth === order.length - 1 && isWithItem
    const beyond = listBeyond(getField(fields, last.field), last.descending, getOperand(fields, last, item), isIncluded)
    parts.push(...beyond.map(condition => [...equal, condition]))
  }
  return { parts, order }
}

function getField (fields: readonly Field[], name: string): Field {
  return fields.find(field => field.name === name) as Field
}

function getOperand (fields: readonly Field[], term: Order, item: ItemKey): unknown {
  const value = item[term.field]
  return term.numeric === true ? toOperand(value, getField(fields, term.field).scale as number) : value
}

/** Absent values come first, and last when descending. */
function listBeyond (field: Field, descending: boolean, given: unknown, isIncluded: boolean): FieldCondition[] {
  const { name, kind, optional, nullable } = field
  if (isAbsent(given)) return descending ? [] : [{ field: name, op: 'gte', value: leastValues[kind] }]
  const value = given as Scalar
  if (!descending) return [{ field: name, op: isIncluded ? 'gte' : 'gt', value }]
  const lower: FieldCondition = { field: name, op: isIncluded ? 'lte' : 'lt', value }
  return optional || nullable === true ? [lower, { field: name, op: 'null', is: true }] : [lower]
}
