import { isDate } from '../../core/values/dates.js'
import type { PresentColumn } from '../sql/present-column.js'

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
