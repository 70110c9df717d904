import type { Column } from '../sql/layout.js'
import type { SqliteDatabase } from './driver.js'

// SQLite writes fractions with another number of digits than JavaScript, so those are left to JavaScript.
const numberText = 'dealbook_number'

/** Lets SQLite write numbers as JavaScript does; false where the database cannot take functions. */
export function addNumberText (database: SqliteDatabase): boolean {
  if (database.function === undefined) return false
  database.function(numberText, { deterministic: true }, (value: unknown) => String(value))
  return true
}

/** A row as the text of a JSON object with these members, exactly as `JSON.stringify` writes it; absent ones are left out. */
export function jsonOf (members: readonly Column[]): string {
  const text = (column: Column, before: string): string => `'${before}${JSON.stringify(column.field.name).replaceAll('\'', '\'\'')}:' || ${value(column)}`
  // What is joined to NULL is NULL.
  const optional = (column: Column): string => `coalesce(${text(column, ',')}, '')`
  const [first, ...others] = members
  if (first?.field.name === 'id') return `${[text(first, '{'), ...others.map(optional)].join(' || ')} || '}' AS item`
  return `'{' || substr(${members.map(optional).join(' || ')}, 2) || '}' AS item`
}

function value ({ kind, selected }: Column): string {
  switch (kind) {
    case 'integer':
    case 'json': return selected
    case 'boolean': return `CASE WHEN ${selected} IS NULL THEN NULL WHEN ${selected} = 0 THEN 'false' ELSE 'true' END`
    case 'number': return `CASE WHEN ${selected} IS NULL THEN NULL ` +
      `WHEN abs(${selected}) < 9e15 AND ${selected} = CAST(${selected} AS INTEGER) THEN CAST(${selected} AS INTEGER) ` +
      `ELSE ${numberText}(${selected}) END`
    default: return `CASE WHEN ${selected} IS NULL THEN NULL ELSE json_quote(${selected}) END`
  }
}
