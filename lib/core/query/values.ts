import { type TSchema, Type } from '@sinclair/typebox'
import { compilePattern, PatternSizeError } from '../storage/patterns.js'
import type { Field, Scalar } from '../storage/storage.js'
import { describeDecimal, readDecimal } from '../values/decimals.js'
import { dateRule, dateTimeRule, type Day, isDate, readDateTime, transformText } from '../values/formats.js'
import { findTextFlaw } from '../values/json.js'
import { toDayIn } from './time-zones.js'

/** A value, or what was expected instead. */
export type ReadResult<Value = Scalar> = { readonly value: Value } | { readonly expected: string }

export function readValue ({ kind, values, scale = 0 }: Field, text: string): ReadResult {
  if (values === undefined) return readers[kind](text, scale)
  return values.includes(text) ? { value: text } : { expected: `must be one of ${values.join(', ')}` }
}

/** Whether the value, as it is in code, is read from its text; a decimal may be a text or a number. */
export function fitsField (field: Field, value: unknown): boolean {
  if (field.kind === 'decimal') return readDecimal(value, field.scale as number) !== undefined
  const read = readValue(field, String(value))
  return 'value' in read && read.value === value
}

/** Whether its values have an order that is useful to clients. */
export function isOrdered ({ kind, values }: Field): boolean {
  return kind !== 'boolean' && kind !== 'json' && values === undefined
}

export function isFreeText ({ kind, values }: Field): boolean {
  return kind === 'string' && values === undefined
}

export function describeValue ({ kind, values }: Field): TSchema {
  if (values !== undefined) return Type.Unsafe<string>({ type: 'string', enum: values })
  if (kind === 'integer') return Type.Integer()
  if (kind === 'number') return Type.Number()
  if (kind === 'boolean') return Type.Boolean()
  if (kind === 'date' || kind === 'decimal') return Type.String({ format: kind })
  if (kind !== 'date-time') return Type.String()
  // A bare date is the whole day.
  return Type.Unsafe<string>({ type: 'string', anyOf: [{ format: kind }, { format: 'date' }] })
}

export type Operand = Scalar | Day

/** A bare date means the whole day if the field is a date-time. @param timeZone of days; default: UTC */
export function readOperand (field: Field, given: string, timeZone?: string): ReadResult<Operand> {
  const text = field.transform === undefined ? given : transformText(field.transform, given)
  const isDay = field.kind === 'date-time' && isDate(text)
  return isDay ? { value: toDayIn(timeZone, text) } : readValue(field, text)
}

const readers: Record<Field['kind'], (text: string, scale: number) => ReadResult> = {
  integer: readInteger,
  number: text => readNumber(text, /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/, 'a number'),
  decimal (text, scale) {
    const value = readDecimal(text, scale)
    return value === undefined ? { expected: describeDecimal(scale) } : { value: Number(value) }
  },
  boolean: readBoolean,
  string: readText,
  date: text => isDate(text) ? { value: text } : { expected: dateRule },
  'date-time' (text) {
    const value = isDate(text) ? `${text}T00:00:00.000Z` : readDateTime(text)
    return value === undefined ? { expected: dateTimeRule } : { value }
  },
  json: () => ({ expected: 'cannot be given as text' })
}

export function readBoolean (text: string): ReadResult<boolean> {
  return text === 'true' || text === 'false' ? { value: text === 'true' } : { expected: 'must be true or false' }
}

/** Within the integers that a double holds exactly. */
export function readInteger (text: string): ReadResult<number> {
  return readNumber(text, /^-?\d+$/, 'an integer')
}

function readNumber (text: string, pattern: RegExp, what: string): ReadResult<number> {
  const value = pattern.test(text) ? Number(text) : NaN
  // Adding 0 turns -0 into 0.
  if (Math.abs(value) <= Number.MAX_SAFE_INTEGER) return { value: value + 0 }
  return { expected: `must be ${what} from -${Number.MAX_SAFE_INTEGER} to ${Number.MAX_SAFE_INTEGER}` }
}

function readText (text: string): ReadResult<string> {
  const flaw = findTextFlaw(text)
  return flaw === undefined ? { value: text } : { expected: flaw }
}

export interface QueryLimits {
  readonly pageSize: number
  readonly maxPageSize: number
  /** Items that a page number may skip. */
  readonly maxSkipped: number
  /** Per parameter name. */
  readonly maxValues: number
  /** Patterns and texts to search for, together. */
  readonly maxPatterns: number
  /** In characters. */
  readonly maxPatternLength: number
  /** As `measurePattern` returns it. */
  readonly maxPatternSize: number
}

export type PatternSizes = Pick<QueryLimits, 'maxPatternLength' | 'maxPatternSize'>

/** A text to search for. */
export function readWords (text: string, { maxPatternLength }: PatternSizes): ReadResult<string> {
  if (text.length > maxPatternLength) return { expected: `must have at most ${maxPatternLength} characters` }
  return readText(text)
}

export function readPattern (text: string, limits: PatternSizes): ReadResult<string> {
  const { maxPatternSize } = limits
  const read = readWords(text, limits)
  if ('expected' in read) return read
  try {
    // Compiled patterns are cached, so the storage does not compile it again.
    compilePattern(text, maxPatternSize)
    return read
  } catch (error) {
    return {
      expected: error instanceof PatternSizeError
        ? 'must be a smaller pattern: its size, with repetitions written out, may be at most ' + error.maxSize
        : `must be a pattern in RE2 syntax: ${(error as Error).message}`
    }
  }
}
