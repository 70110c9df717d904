import type { Field, Scalar } from '../storage/storage.js'
import type { Day } from '../values/dates.js'
import { dateRule, dateTimeRule, isDate, readDateTime, toDay } from '../values/dates.js'
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
