import type { Kind } from '../../core/storage/storage.js'
import { isDate, readDateTime } from '../../core/values/dates.js'
import { sqliteDialect as dialect } from './dialect.js'

/** Whether a column of this type is for values of this kind; `unsure` where its values have to show it. */
export function fitsKind (type: string, kind: Kind): boolean | 'unsure' {
  const expected = dialect.types[kind]
  const declared = type.toUpperCase()
  if (declared === expected) return true
  // Whole numbers and others are kept in one column.
  if (kind === 'number' && declared === dialect.types.integer) return true
  if (getAffinity(type) !== getAffinity(expected) || marked.has(declared)) return false
  return Object.hasOwn(isOfKind, kind) ? 'unsure' : true
}

// The types that say which kind of text or number is meant. Others may have been declared by somebody else.
const marked = new Set(Object.values(dialect.types).filter(type => !['INTEGER', 'REAL', 'TEXT'].includes(type)))

const isOfKind: Partial<Record<Kind, (value: unknown) => boolean>> = {
  boolean: value => value === 0 || value === 1,
  date: value => typeof value === 'string' && isDate(value),
  'date-time': value => typeof value === 'string' && readDateTime(value) !== undefined,
  json: value => typeof value === 'string' && isJson(value)
}

/** Whether this is a value of the kind, as a column has it. */
export function isValueOf (kind: Kind, value: unknown): boolean {
  return value === null || isOfKind[kind]?.(value) !== false
}

function isJson (text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

// The rules of SQLite itself (datatype3.html, 3.1); whole numbers and booleans are kept alike, so NUMERIC goes with
// INTEGER.
function getAffinity (type: string): 'INTEGER' | 'TEXT' | 'REAL' | 'BLOB' {
  if (/INT/i.test(type)) return 'INTEGER'
  if (/CHAR|CLOB|TEXT/i.test(type)) return 'TEXT'
  if (/BLOB/i.test(type) || type === '') return 'BLOB'
  return /REAL|FLOA|DOUB/i.test(type) ? 'REAL' : 'INTEGER'
}
