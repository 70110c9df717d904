import { errorCodes } from '../../core/errors.js'
import {
  type Bound, compareScalars, isBound, isLower, leastValues, mapConditions
} from '../../core/storage/conditions.js'
import type { FieldCondition, Kind, Query } from '../../core/storage/storage.js'
import { countDecimals } from '../../core/values/decimals.js'
import { isDate } from '../../core/values/formats.js'
import { type Flag, nameType, type PresentColumn } from '../sql/dialect.js'
import { encodeFlag, refuseFlagColumn } from '../sql/flags.js'
import { type Column, getColumn, type Layout } from '../sql/layout.js'
import { postgresDialect as dialect } from './dialect.js'

// Types that hold every value of a kind. Mapped tables may have further ones.
export const ownTypes: Record<Kind, RegExp> = {
  integer: /^bigint$/,
  // A field of integers may become one of numbers.
  number: /^(double precision|bigint)$/,
  // Only with its own digits.
  decimal: /^(?!)/,
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
  decimal: /^(numeric(\(.*\))?|bigint|integer|smallint)$/,
  string: new RegExp('^(text|character( varying)?(\\(\\d+\\))?|(.+\\.)?citext|uuid|numeric(\\(.*\\))?|bigint|integer|' +
    'smallint|time(\\(\\d\\))? without time zone)$'),
  'date-time': /^timestamp(\(\d\))? with(out)? time zone$/,
  json: new RegExp('^(jsonb?|(text|character( varying)?(\\(\\d+\\))?|uuid|numeric(\\(.*\\))?|bigint|integer|smallint|' +
    'real|double precision|boolean|date)\\[\\])$')
}

export function checkColumnType (
  { family, tableName }: Layout,
  { name, kind, field }: Column,
  { type, labels, flag }: ColumnType & Pick<PresentColumn, 'flag'>,
  types: Record<Kind, RegExp>
): void {
  if (flag !== undefined) return checkFlag(family, field.name, flag, name as string, { type, labels })
  const own = nameType(dialect, field)
  if (type === own || types[kind].test(type) || (labels !== undefined && kind === 'string')) return
  throw new errorCodes.FST_DEALBOOK_COLUMN_TYPE(family, name, tableName, type, field.name, kind, own)
}

const flagTypes = {
  string: /^(text|character( varying)?(\(\d+\))?|(.+\.)?citext)$/,
  number: /^(bigint|integer|smallint|numeric(\(.*\))?)$/
}

function checkFlag (family: string, field: string, flag: Flag, column: string, { type, labels }: ColumnType): void {
  const kind = typeof flag.true as 'string' | 'number'
  const isFit = flagTypes[kind].test(type) || (labels !== undefined && kind === 'string')
  const flaws = isFit
    ? [flag.true, flag.false].flatMap(value => {
        const flaw = findFlawInColumn({ type, labels }, value)
        return flaw === undefined ? [] : `${JSON.stringify(value)} ${flaw}`
      })
    : [`it has the type ${type}`]
  if (flaws.length > 0) throw refuseFlagColumn(family, field, column, flag, flaws.join(', '))
}

type ColumnType = Pick<PresentColumn, 'type' | 'labels'>

/** What is wrong with a value for a column of this type; undefined if it can be kept unchanged. */
export function findFlawInColumn (present: ColumnType, value: unknown): string | undefined {
  if (value === null || value === undefined) return undefined
  const { type } = present
  if (type.endsWith('[]')) return findFlawInList(type.slice(0, -2), value)
  if (typeof value === 'string') return findFlawInText(present, value)
  return typeof value === 'number' ? findFlawInNumber(type, value) : undefined
}

function findFlawInList (type: string, value: unknown): string | undefined {
  const kind = /^(text|char|uuid)/.test(type) ? 'text' : type === 'date' || type === 'boolean' ? type : 'number'
  const expected = kind === 'text' || kind === 'date' ? 'string' : kind
  const isElement = (element: unknown): boolean => {
    const given = typeof element
    return element === null || (given === expected && (kind !== 'date' || isDate(element as string)))
  }
  if (!Array.isArray(value) || !value.every(isElement)) return `must be a list of ${kind}s`
  const flaw = value.map(element => findFlawInColumn({ type }, element)).find(flaw => flaw !== undefined)
  return flaw === undefined ? undefined : `has an element that ${flaw}`
}

const uuidText = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/
const timeOfDay = /^(([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{0,5}[1-9])?|24:00:00)$/

function findFlawInText ({ type, labels }: ColumnType, value: string): string | undefined {
  if (labels !== undefined) return labels.includes(value) ? undefined : `must be one of ${labels.join(', ')}`
  if (type === 'uuid') return uuidText.test(value) ? undefined : 'must be a UUID in lower case'
  if (/^time(?!stamp)/.test(type)) return timeOfDay.test(value) ? undefined : 'must be a time, such as 12:30:00'
  if (/^(numeric|bigint|integer|smallint)/.test(type)) return findFlawInDigits(type, value)
  const [, varying, length = Infinity] = /^character( varying)?\((\d+)\)$/.exec(type) ?? []
  // PostgreSQL counts code points.
  if ([...value].length > Number(length)) return `must have at most ${length} characters`
  return length !== Infinity && varying === undefined && value.endsWith(' ') ? 'must not end with a space' : undefined
}

function findFlawInDigits (type: string, value: string): string | undefined {
  const [, before, after = ''] = /^(0|-?[1-9]\d*|-0(?=\.\d*[1-9]))(?:\.(\d+))?$/.exec(value) ?? []
  if (before === undefined) return 'must be a decimal number, such as 12.50'
  if (type === 'numeric') return undefined
  const { digits = Infinity, decimals = 0 } = readNumeric(type) ?? {}
  if (after.length !== decimals) return `must have ${decimals} digits after the point`
  if (before.replace(/^-|^0$/g, '').length > digits) return `must have at most ${digits} digits before the point`
  return bits.has(type) ? findFlawInRange(type, BigInt(before)) : undefined
}

/** Digits before and after the point of `numeric(10,2)`. */
function readNumeric (type: string): { readonly digits: number, readonly decimals: number } | undefined {
  const [, precision, scale] = /^numeric\((\d+),(-?\d+)\)$/.exec(type) ?? []
  if (precision === undefined) return undefined
  return { digits: Number(precision) - Number(scale), decimals: Math.max(0, Number(scale)) }
}

const bits = new Map([['smallint', 16n], ['integer', 32n], ['bigint', 64n]])

function findFlawInRange (type: string, value: bigint | number): string | undefined {
  const size = bits.get(type)
  if (size === undefined) return undefined
  const end = 2n ** (size - 1n)
  return value >= -end && value < end ? undefined : `must be from ${-end} to ${end - 1n}`
}

function findFlawInNumber (type: string, value: number): string | undefined {
  if (bits.has(type)) return Number.isInteger(value) ? findFlawInRange(type, value) : 'must be a whole number'
  if (type === 'real' && !Number.isFinite(Math.fround(value))) return 'must be closer to 0'
  const { digits = Infinity, decimals = Infinity } = readNumeric(type) ?? {}
  if (Math.abs(value) >= 10 ** digits) return `must have at most ${digits} digits before the point`
  return countDecimals(value) > decimals ? `must have at most ${decimals} digits after the point` : undefined
}

export function canHave ({ present }: Column, value: unknown): boolean {
  if (present === undefined) return true
  return findFlawInColumn(present, present.flag === undefined ? value : encodeFlag(present.flag, value)) === undefined
}

/** Leaves out values that are not valid for the type of the column: PostgreSQL would fail. */
export function fitQuery (layout: Layout, query: Query): Query {
  const fit = (condition: FieldCondition): FieldCondition => {
    const column = getColumn(layout, condition.field)
    // The database may have lesser values, which are shown as text.
    if (condition.op === 'gte' && column.kind !== 'string' && condition.value === leastValues[column.kind]) {
      return { field: condition.field, op: 'null', is: false }
    }
    // Any number can be compared.
    if (column.kind === 'number' || column.kind === 'decimal') return condition
    if (isBound(condition)) return column.comparedAs === 'uuid' ? fitBound(condition) : condition
    return condition.op === 'eq' || condition.op === 'ne'
      ? { ...condition, values: condition.values.filter(value => canHave(column, value)) }
      : condition
  }
  return { ...query, where: mapConditions(query.where, fit) }
}

/** Replaces text that is not a UUID by the next UUID in the order of text. */
function fitBound (condition: Bound): FieldCondition {
  const { field } = condition
  const text = String(condition.value)
  if (uuidText.test(text)) return condition
  const value = findNextUuid(text)
  // After all UUIDs.
  if (value === undefined && isLower(condition)) return { field, op: 'eq', values: [] }
  if (value === undefined) return { field, op: 'null', is: false }
  return { field, op: isLower(condition) ? 'gte' : 'lt', value }
}

/** The least UUID that is not less than a text. UUIDs sort alike as texts and as numbers. */
function findNextUuid (text: string): string | undefined {
  const end = 1n << 128n
  let [low, high] = [0n, end]
  while (low < high) {
    const middle = (low + high) >> 1n
    if (compareScalars(writeUuid(middle), text) < 0) low = middle + 1n
    else high = middle
  }
  return low === end ? undefined : writeUuid(low)
}

function writeUuid (number: bigint): string {
  return number.toString(16).padStart(32, '0').replace(/(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}
