import { compilePattern, PatternSizeError } from '../storage/patterns.js'
import type { Field, FieldCondition, Scalar } from '../storage/storage.js'
import type { Day } from '../values/formats.js'
import { dateRule, dateTimeRule, isDate, readDateTime, toDay } from '../values/formats.js'
import { findTextFlaw } from '../values/json.js'

/** A value, or what was expected instead. */
export type ReadResult<Value = Scalar> = { readonly value: Value } | { readonly expected: string }

/** What says whether a field is absent or null. */
export const isNullField: Field = { name: 'null', kind: 'boolean', optional: false }

/** Reads text (of a query or a form) as a value of the field's kind. */
export function readValue (field: Field, text: string): ReadResult {
  if (field.values !== undefined) {
    return field.values.includes(text) ? { value: text } : { expected: `must be one of ${field.values.join(', ')}` }
  }
  return readers[field.kind](text)
}

/** What a field is compared with: a value or, of moments, a whole day. */
export type Operand = Scalar | Day

/** Reads what a field is compared with. A bare date is the whole day where the field has moments. */
export function readOperand (field: Field, text: string): ReadResult<Operand> {
  return field.kind === 'date-time' && isDate(text) ? { value: toDay(text) } : readValue(field, text)
}

const readers: Record<Field['kind'], (text: string) => ReadResult> = {
  integer: readInteger,

  number (text) {
    const value = /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(text) ? Number(text) : NaN
    if (Math.abs(value) <= Number.MAX_SAFE_INTEGER) return { value: value + 0 }
    return { expected: `must be a number from -${Number.MAX_SAFE_INTEGER} to ${Number.MAX_SAFE_INTEGER}` }
  },

  boolean (text) {
    return text === 'true' || text === 'false' ? { value: text === 'true' } : { expected: 'must be true or false' }
  },

  string: readText,

  date (text) {
    return isDate(text) ? { value: text } : { expected: dateRule }
  },

  'date-time' (text) {
    const value = isDate(text) ? `${text}T00:00:00.000Z` : readDateTime(text)
    return value !== undefined ? { value } : { expected: dateTimeRule }
  },

  json () {
    return { expected: 'cannot be given as text' }
  }
}

/** Reads an integer that a double holds exactly. */
export function readInteger (text: string): ReadResult<number> {
  const value = /^-?\d+$/.test(text) ? Number(text) : NaN
  // Adding 0 turns -0 into 0.
  if (Number.isSafeInteger(value)) return { value: value + 0 }
  return { expected: `must be an integer from -${Number.MAX_SAFE_INTEGER} to ${Number.MAX_SAFE_INTEGER}` }
}

/** Reads text that every storage can keep. */
export function readText (text: string): ReadResult<string> {
  const flaw = findTextFlaw(text)
  return flaw === undefined ? { value: text } : { expected: flaw }
}

/** Bounds of the patterns of a query, and of the texts that are to be contained. */
export interface PatternLimits {
  /** How many there may be in all, over all fields. */
  readonly maxPatterns: number
  /** In characters. */
  readonly maxPatternLength: number
  /** How large each may be when it is compiled. */
  readonly maxPatternSize: number
}

/** Bounds of one of them. */
export type PatternSizes = Omit<PatternLimits, 'maxPatterns'>

/** Whether something is looked for in the texts of a field. */
export function isSearch (op: FieldCondition['op']): op is 'regex' | 'has' {
  return op === 'regex' || op === 'has'
}

/** Reads what is looked for in a text: a pattern, or a part of the text itself. */
export function readSearch (op: 'regex' | 'has', text: string, limits: PatternSizes): ReadResult<string> {
  const { maxPatternLength, maxPatternSize } = limits
  if (text.length > maxPatternLength) return { expected: `must have at most ${maxPatternLength} characters` }
  const read = readText(text)
  if (op === 'has' || 'expected' in read) return read
  try {
    // Compiled patterns are cached, so that the storage need not compile it again.
    compilePattern(text, maxPatternSize)
    return read
  } catch (error) {
    if (error instanceof PatternSizeError) return { expected: describeTooLarge(error) }
    return { expected: `must be a pattern in RE2 syntax: ${(error as Error).message}` }
  }
}

function describeTooLarge ({ maxSize }: PatternSizeError): string {
  return `must be a smaller pattern: with its repetitions written out it may have a size of at most ${maxSize}`
}

/** What is wrong with a search that is one too many. */
export function describeTooMany ({ maxPatterns }: PatternLimits): string {
  return `is one pattern too many: a query may have at most ${maxPatterns}`
}
