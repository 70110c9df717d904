import type { Column } from '../sql/layout.js'
import { quoteText } from '../sql/names.js'
import type { SqliteDatabase } from './driver.js'
import { prepareRead } from './driver.js'

// SQLite writes fractions with another number of digits than JavaScript, so those are left to JavaScript.
const numberFunction = 'dealbook_number'

/** Lets SQLite write items as JSON; false where it is too old (before 3.9) or the database takes no functions. */
export function enableJson (database: SqliteDatabase): boolean {
  if (database.function === undefined) return false
  try {
    prepareRead(database, 'SELECT json_quote(\'\')')
  } catch {
    return false
  }
  database.function(numberFunction, { deterministic: true }, (value: unknown) => String(value))
  return true
}

// In our own tables these are NOT NULL, and need no test.
const requiredFields = ['id', 'revision', 'createdAt', 'updatedAt']

/**
 * A row as the text of a JSON object with these members, exactly as `JSON.stringify` writes it; absent ones are left
 * out.
 */
export function selectJson (members: readonly Column[], mapped: boolean): string {
  const isFirst = members[0]?.field.name === 'id'
  const parts = members.map((column, index) => {
    const { name, nullable } = column.field
    const opening = index === 0 && isFirst ? '{' : ','
    const value = writeValue(column, mapped)
    const member = `${quoteText(`${opening}${JSON.stringify(name)}:`)} || ` +
      (nullable === true ? `coalesce(${value}, 'null')` : value)
    // What is joined to NULL is NULL.
    return !mapped && requiredFields.includes(name) ? member : `coalesce(${member}, '')`
  })
  const all = parts.join(' || ')
  return isFirst ? `${all} || '}' AS item` : `'{' || ltrim(${all}, ',') || '}' AS item`
}

function writeValue ({ kind, selected }: Column, mapped: boolean): string {
  const quoted = `CASE WHEN ${selected} IS NULL THEN NULL ELSE json_quote(${selected}) END`
  switch (kind) {
    case 'integer':
    case 'json': return selected
    case 'boolean':
      return `CASE WHEN ${selected} IS NULL THEN NULL WHEN ${selected} = 0 THEN 'false' ELSE 'true' END`
    case 'number': return `CASE WHEN ${selected} IS NULL THEN NULL ` +
      `WHEN abs(${selected}) < 9e15 AND ${selected} = CAST(${selected} AS INTEGER) THEN CAST(${selected} AS INTEGER) ` +
      `ELSE ${numberFunction}(${selected}) END`
    case 'string': return quoted
    // Dates that were written here have nothing in them to escape.
    default: return mapped ? quoted : `'"' || ${selected} || '"'`
  }
}
