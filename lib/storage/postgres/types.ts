import { errorCodes } from '../../core/errors.js'
import type { Condition, FieldCondition, Kind, Query } from '../../core/storage/storage.js'
import { isDate } from '../../core/values/formats.js'
import type { PresentColumn } from '../sql/dialect.js'
import type { Column, Layout } from '../sql/layout.js'
import { getColumn } from '../sql/layout.js'
import { postgresDialect as dialect } from './dialect.js'

// Types that hold every value of a kind, and whose values a kind can show; further ones may be mapped.
export const ownTypes: Record<Kind, RegExp> = {
  integer: /^bigint$/,
  // Whole numbers become others.
  number: /^(double precision|bigint)$/,
  string: /^text$|^character varying$/,
  boolean: /^boolean$/,
  date: /^date$/,
  'date-time': /^timestamp(\([3-6]\))? with time zone$/,
  json: /^jsonb?$/
}
export const mappableTypes: Record<Kind, RegExp> = {
  ...ownTypes,
  integer: /^(bigint|integer|smallint)$/,
  number: /^(double precision|real|numeric(\(.*\))?|bigint|integer|smallint)$/,
  string: new RegExp('^(text|character( varying)?(\\(\\d+\\))?|(.+\\.)?citext|uuid|numeric(\\(.*\\))?|bigint|integer|' +
    'smallint|time(\\(\\d\\))? without time zone)$'),
  'date-time': /^timestamp(\(\d\))? with(out)? time zone$/,
  json: new RegExp('^(jsonb?|(text|character( varying)?(\\(\\d+\\))?|uuid|numeric(\\(.*\\))?|bigint|integer|smallint|' +
    'real|double precision|boolean|date)\\[\\])$')
}

/** Refuses a column whose type does not fit its field. */
export function checkTypes (
  { family, tableName, columns }: Layout,
  present: ReadonlyMap<string, PresentColumn>,
  types: Record<Kind, RegExp>
): void {
  for (const { name, kind, field } of columns) {
    const { type, labels } = present.get(name ?? '') ?? {}
    if (type === undefined || types[kind].test(type) || (labels !== undefined && kind === 'string')) continue
    const expected = dialect.types[kind]
    throw new errorCodes.FST_DEALBOOK_COLUMN_TYPE(family, name, tableName, type, field.name, kind, expected)
  }
}

type Type = Pick<PresentColumn, 'type' | 'labels'>

/** What a value must be to be kept in a column of this type as it is; undefined where it is that. */
export function findFlaw (present: Type, value: unknown): string | undefined {
  if (value === null || value === undefined) return undefined
  const { type } = present
  if (type.endsWith('[]')) return findFlawInList(type.slice(0, -2), value)
  if (typeof value === 'string') return findFlawInText(present, value)
  return typeof value === 'number' ? findFlawInNumber(type, value) : undefined
}

function findFlawInList (type: string, value: unknown): string | undefined {
  const kind = getKind(type)
  const isElement = elements[kind]
  if (!Array.isArray(value) || !value.every(element => element === null || isElement(element))) {
    return `must be a list of ${kind}s`
  }
  for (const element of value) {
    const flaw = findFlaw({ type }, element)
    if (flaw !== undefined) return `has an element that ${flaw}`
  }
  return undefined
}

const elements = {
  text: (element: unknown) => typeof element === 'string',
  date: (element: unknown) => typeof element === 'string' && isDate(element),
  boolean: (element: unknown) => typeof element === 'boolean',
  number: (element: unknown) => typeof element === 'number',
}

function getKind (type: string): keyof typeof elements {
  if (/^(text|char|uuid)/.test(type)) return 'text'
  return type === 'date' || type === 'boolean' ? type : 'number'
}

const uuid = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/
const time = /^(([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{0,5}[1-9])?|24:00:00)$/

function findFlawInText ({ type, labels }: Type, value: string): string | undefined {
  if (labels !== undefined) return labels.includes(value) ? undefined : `must be one of ${labels.join(', ')}`
  if (type === 'uuid') return uuid.test(value) ? undefined : 'must be a UUID in lower case'
  if (/^time(?!stamp)/.test(type)) return time.test(value) ? undefined : 'must be a time, as in 12:30:00'
  if (/^(numeric|bigint|integer|smallint)/.test(type)) return findFlawInDigits(type, value)
  const [, varying, length = Infinity] = /^character( varying)?\((\d+)\)$/.exec(type) ?? []
  // PostgreSQL counts code points.
  if ([...value].length > Number(length)) return `must have at most ${length} characters`
  return length !== Infinity && varying === undefined && value.endsWith(' ') ? 'must not end with a space' : undefined
}

function findFlawInDigits (type: string, value: string): string | undefined {
  const [, before, after = ''] = /^(0|-?[1-9]\d*|-0(?=\.\d*[1-9]))(?:\.(\d+))?$/.exec(value) ?? []
  if (before === undefined) return 'must be a decimal number, as in 12.50'
  if (type === 'numeric') return undefined
  const { digits = Infinity, decimals = 0 } = readNumeric(type) ?? {}
  if (after.length !== decimals) return `must have ${decimals} digits after the point`
  if (before.replace(/^-|^0$/g, '').length > digits) return `must have at most ${digits} digits before the point`
  const range = ranges.get(type)
  return range === undefined || isWithin(BigInt(before), range) ? undefined : describeRange(range)
}

/** How many digits there may be before and after the point of `numeric(10,2)`. */
function readNumeric (type: string): { readonly digits: number, readonly decimals: number } | undefined {
  const [, precision, scale] = /^numeric\((\d+),(-?\d+)\)$/.exec(type) ?? []
  if (precision === undefined) return undefined
  return { digits: Number(precision) - Number(scale), decimals: Math.max(0, Number(scale)) }
}

type Range = readonly [bigint, bigint]

const ranges = new Map<string, Range>([16, 32, 64].map((bits, index) =>
  [['smallint', 'integer', 'bigint'][index] as string, [-(2n ** BigInt(bits - 1)), 2n ** BigInt(bits - 1) - 1n]]))

function isWithin (value: bigint | number, [least, greatest]: Range): boolean {
  return value >= least && value <= greatest
}

function describeRange ([least, greatest]: Range): string {
  return `must be from ${least} to ${greatest}`
}

function findFlawInNumber (type: string, value: number): string | undefined {
  const range = ranges.get(type)
  if (range !== undefined && !Number.isInteger(value)) return 'must be a whole number'
  if (range !== undefined && !isWithin(value, range)) return describeRange(range)
  if (type === 'real' && !Number.isFinite(Math.fround(value))) return 'must be nearer to 0'
  const { digits = Infinity, decimals = Infinity } = readNumeric(type) ?? {}
  if (Math.abs(value) >= 10 ** digits) return `must have at most ${digits} digits before the point`
  return countDecimals(value) > decimals ? `must have at most ${decimals} digits after the point` : undefined
}

function countDecimals (value: number): number {
  const [digits = '', exponent = '0'] = String(value).split('e')
  return Math.max(0, (digits.split('.')[1] ?? '').length - Number(exponent))
}

/** A query that means the same, and asks no column for a value that its type has not: that would be an error. */
export function fitQuery (layout: Layout, query: Query): Query {
  return layout.mapped ? { ...query, where: query.where.map(condition => fitCondition(layout, condition)) } : query
}

/** Whether a column can have this value. */
export function canHave ({ present }: Column, value: unknown): boolean {
  return present === undefined || findFlaw(present, value) === undefined
}

function fitCondition (layout: Layout, condition: Condition): Condition {
  if (condition.op !== 'any') return fitField(layout, condition)
  return { ...condition, of: condition.of.map(all => all.map(each => fitField(layout, each))) }
}

function fitField (layout: Layout, condition: FieldCondition): FieldCondition {
  const column = getColumn(layout, condition.field)
  if ('values' in condition) return { ...condition, values: condition.values.filter(value => canHave(column, value)) }
  return 'value' in condition && column.comparedAs === 'uuid' ? fitBound(condition) : condition
}

type Bound = Extract<FieldCondition, { readonly value: unknown }>

/** With the UUID that is next in the order of text, where it is none itself. */
function fitBound (condition: Bound): FieldCondition {
  const { field, op } = condition
  const text = String(condition.value)
  const value = findNextUuid(text)
  if (value === text) return condition
  const isLower = op === 'gt' || op === 'gte'
  // Beyond all of them.
  if (value === undefined) return isLower ? { field, op: 'eq', values: [] } : { field, op: 'null', is: false }
  return { field, op: isLower ? 'gte' : 'lt', value }
}

const digits = '0123456789abcdef'
const least = '00000000-0000-0000-0000-000000000000'

/** The least UUID, in lower case, that is not less than a text. */
function findNextUuid (text: string): string | undefined {
  for (let at = 0; at < least.length; at++) {
    const character = text[at]
    if (character === undefined) return text + least.slice(at)
    const allowed = least[at] === '-' ? '-' : digits
    if (allowed.includes(character)) continue
    const next = [...allowed].find(each => each > character)
    return next === undefined ? increase(text, at) : text.slice(0, at) + next + least.slice(at + 1)
  }
  return text.length > least.length ? increase(text, least.length) : text
}

/** The least UUID that begins with more than the first characters of a text, which are those of one. */
function increase (text: string, length: number): string | undefined {
  for (let at = length - 1; at >= 0; at--) {
    const next = least[at] === '-' ? undefined : digits[digits.indexOf(text[at] as string) + 1]
    if (next !== undefined) return text.slice(0, at) + next + least.slice(at + 1)
  }
  return undefined
}
