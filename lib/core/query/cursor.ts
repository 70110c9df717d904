import type { Field, FieldCondition, ItemKey, Kind, Order, Scalar } from '../storage/storage.js'
import { isDate, readDateTime } from '../values/formats.js'
import { findTextFlaw } from '../values/json.js'

/** One field of an order as it is written: `-age` for descending. */
export function readOrder (text: string): Order {
  return text.startsWith('-') ? { field: text.slice(1), descending: true } : { field: text, descending: false }
}

/** The same as text. */
export function writeOrder (order: readonly Order[]): string {
  return order.map(({ field, descending }) => descending ? `-${field}` : field).join()
}

/** The order with the id at its end, which breaks ties; fields after it would decide nothing. */
export function toTotalOrder (order: readonly Order[]): Order[] {
  const end = order.findIndex(({ field }) => field === 'id')
  return end === -1 ? [...order, { field: 'id', descending: false }] : order.slice(0, end + 1)
}

/** A list in one of its orders; a cursor belongs to one of them. */
export interface OrderedList {
  readonly name: string
  readonly fields: readonly Field[]
  readonly order: readonly Order[]
}

/** A place in an order: after an item, or before it. */
export interface Place {
  readonly isAfter: boolean
  /** What the item has, or had, in the fields of the order; where that is too long for a URL, the id alone. */
  readonly item: ItemKey
}

/** From where a page is read, and in which direction. */
export interface Start {
  readonly place: Place
  readonly backwards: boolean
}

/** The places where the pages around a page begin and end; none where there is no such page. */
export interface PlacesAround {
  readonly next: Place | undefined
  readonly prev: Place | undefined
}

/** What was seen of a page. */
interface SeenPage {
  /** Whether there is more in the direction in which it was read. */
  readonly more: boolean
  readonly first?: ItemKey | undefined
  readonly last?: ItemKey | undefined
}

/** Where a page was read from a place, the page before it ends there. */
export function placeAround (
  { start, page }: { readonly start: Start | undefined, readonly page: number },
  { more, first, last }: SeenPage
): PlacesAround {
  const before = first && { isAfter: false, item: first }
  if (start?.backwards === true) return { next: start.place, prev: more ? before : undefined }
  const after = last && { isAfter: true, item: last }
  return { next: more ? after : undefined, prev: start?.place ?? (page > 1 ? before : undefined) }
}

// A page has two of them, and a client must be able to send one back.
const maxLength = 3000

/** A place as text for a URL. It has only what the order shows anyway: the values of an item that its reader saw. */
export function writeCursor (list: OrderedList, { isAfter, item }: Place): string {
  const text = encode(list, isAfter, list.order.map(({ field }) => item[field] ?? null))
  return text.length <= maxLength ? text : encode(list, isAfter, [item.id])
}

/** The place in a list that a cursor means; undefined where it is not a cursor of this list in this order. */
export function readCursor (list: OrderedList, text: string): Place | undefined {
  if (text.length > maxLength) return undefined
  const [, isAfter, ...values] = parseList(Buffer.from(text, 'base64url').toString())
  // Written again it must be the same: what was cut, or written by hand, is none.
  if (typeof isAfter !== 'boolean' || encode(list, isAfter, values) !== text) return undefined
  const names = values.length === 1 ? ['id'] : list.order.map(({ field }) => field)
  const isFit = names.length === values.length &&
    names.every((name, index) => fits(list.fields.find(field => field.name === name), values[index]))
  if (!isFit) return undefined
  return { isAfter, item: Object.fromEntries(names.map((name, index) => [name, values[index]])) as unknown as ItemKey }
}

function encode ({ name, order }: OrderedList, isAfter: boolean, values: readonly unknown[]): string {
  return Buffer.from(JSON.stringify([`${name} ${writeOrder(order)}`, isAfter, ...values])).toString('base64url')
}

function parseList (text: string): readonly unknown[] {
  try {
    const parsed = JSON.parse(text) as unknown
    return Array.isArray(parsed) ? parsed : []
  } catch {
    return []
  }
}

function fits (field: Field | undefined, value: unknown): boolean {
  if (field === undefined) return false
  return value === null ? field.optional || field.nullable === true : tests[field.kind](value)
}

// What a storage can compare with; an enumeration may have had other words once.
const tests: Readonly<Record<Kind, (value: unknown) => boolean>> = {
  integer: Number.isInteger,
  number: Number.isFinite,
  boolean: value => typeof value === 'boolean',
  string: value => typeof value === 'string' && findTextFlaw(value) === undefined,
  date: value => typeof value === 'string' && isDate(value),
  'date-time': value => typeof value === 'string' && readDateTime(value) !== undefined,
  json: () => false
}

/** Part after part of what comes after a place, in an order. */
export interface Parts {
  /** The conditions of each. */
  readonly parts: readonly (readonly FieldCondition[])[]
  readonly order: readonly Order[]
}

/**
 * What there is from a place on. Conditions must all hold, and "after" has a choice for each field of the order, so
 * each is a part: an index in this order, or one over its first field, finds the beginning of each at once.
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
    const beyond = listBeyond(field, descending, item[name] as Value, name === 'id' && isWithItem)
    parts.push(...beyond.map(condition => [...equal, condition]))
  }
  return { parts, order }
}

type Value = Scalar | null | undefined

function equals (field: string, value: Value): FieldCondition {
  return value === undefined || value === null ? { field, op: 'null', is: true } : { field, op: 'eq', values: [value] }
}

/** What comes after a value: absent ones come first, and last when descending. */
function listBeyond (field: Field, descending: boolean, value: Value, isIncluded: boolean): FieldCondition[] {
  const { name, kind, optional, nullable } = field
  const isAbsent = value === undefined || value === null
  if (isAbsent) return descending ? [] : [{ field: name, op: 'gte', value: least[kind] }]
  if (!descending) return [{ field: name, op: isIncluded ? 'gte' : 'gt', value }]
  const lower: FieldCondition = { field: name, op: isIncluded ? 'lte' : 'lt', value }
  return optional || nullable === true ? [lower, { field: name, op: 'null', is: true }] : [lower]
}

// No value comes before it. An index is read along a bound, but not always along "is not null".
const least: Readonly<Record<Kind, Scalar>> = {
  integer: Number.MIN_SAFE_INTEGER,
  number: -Number.MAX_VALUE,
  string: '',
  boolean: false,
  date: '0001-01-01',
  'date-time': '0001-01-01T00:00:00.000Z',
  json: ''
}
