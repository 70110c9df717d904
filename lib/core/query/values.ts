import { compilePattern, PatternSizeError } from '../storage/patterns.js'
import type { Field, FieldCondition, Scalar } from '../storage/storage.js'
import { describeDecimal, readDecimal } from '../values/decimals.js'
import { dateRule, dateTimeRule, type Day, isDate, readDateTime, transformText } from '../values/formats.js'
import { findTextFlaw } from '../values/json.js'
import { toDayIn } from './time-zones.js'

/** A value, or what was expected instead. */
export type ReadResult<Value = Scalar> = { readonly value: Value } | { readonly expected: string }

/** The operand of `null`. */
export const isNullField: Field = { name: 'null', kind: 'boolean', optional: false }

export function readValue ({ kind, values, scale = 0 }: Field, text: string): ReadResult {
  if (values === undefined) return readers[kind](text, scale)
  return values.includes(text) ? { value: text } : { expected: `must be one of ${values.join(', ')}` }
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
  boolean (text) {
    return text === 'true' || text === 'false' ? { value: text === 'true' } : { expected: 'must be true or false' }
  },
  string: readText,
  date: text => isDate(text) ? { value: text } : { expected: dateRule },
  'date-time' (text) {
    const value = isDate(text) ? `${text}T00:00:00.000Z` : readDateTime(text)
    return value === undefined ? { expected: dateTimeRule } : { value }
  },
  json: () => ({ expected: 'cannot be given as text' })
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

export function isSearch (op: FieldCondition['op']): op is 'regex' | 'has' {
  return op === 'regex' || op === 'has'
}

export function readSearch (op: 'regex' | 'has', text: string, limits: PatternSizes): ReadResult<string> {
  const { maxPatternLength, maxPatternSize } = limits
  if (text.length > maxPatternLength) return { expected: `must have at most ${maxPatternLength} characters` }
  const read = readText(text)
  if (op === 'has' || 'expected' in read) return read
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
