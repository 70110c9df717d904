import type { Kind } from '../../core/storage/storage.js'
import type { ColumnTexts } from '../sql/dialect.js'
import type { PresentColumn } from '../sql/present-column.js'

/** What is different about a column of a type that our own tables do not have. */
export function writeForeignColumn (column: string, kind: Kind, present: PresentColumn): Partial<ColumnTexts> {
  switch (kind) {
    case 'string': return writeText(column, present)
    case 'date-time': return writeMoment(column, present.type)
    case 'json': return present.type.endsWith('[]') ? { selected: `to_json(${column})` } : {}
    default: return {}
  }
}

/** The column as a plain value of its kind, beside which a literal may stand. */
export function writePlain (column: string, kind: Kind, { type }: PresentColumn): string {
  if (kind === 'string') return isText(type) ? column : `${column}::text`
  if (kind === 'json') return `to_json(${column})`
  return kind === 'date-time' && !isZoned(type) ? `(${column} AT TIME ZONE 'UTC')` : column
}

function writeText (column: string, present: PresentColumn): Partial<ColumnTexts> {
  const { type } = present
  if (isText(type)) return { compared: `${column} COLLATE "C"` }
  const text = `${column}::text`
  // In the order of their bytes, which is that of their text.
  if (type === 'uuid') return { selected: text, compared: column, comparedAs: type, equated: column, equatedAs: type }
  const compared = { selected: text, compared: `${text} COLLATE "C"` }
  const as = findEqualType(present)
  // So that an index of the column can be used.
  return as === undefined ? { ...compared, equated: text } : { ...compared, equated: column, equatedAs: as }
}

function isText (type: string): boolean {
  return /^(text$|character varying)/.test(type)
}

/** A type in which texts that can be kept in the column as they are are equal only to themselves. */
function findEqualType ({ type, labels }: PresentColumn): string | undefined {
  if (labels !== undefined || /^(bigint|integer|smallint)$/.test(type)) return type
  if (/^character\(/.test(type)) return 'bpchar'
  // Without a scale, 1.0 and 1.00 are two texts and one number.
  return /^numeric\(/.test(type) ? 'numeric' : undefined
}

function isZoned (type: string): boolean {
  return /tz$|with time zone$/.test(type)
}

/** Moments have milliseconds here: what a column has beyond them is neither shown nor compared. */
function writeMoment (column: string, type: string): Partial<ColumnTexts> {
  const hasMore = Number(/\((\d)\)/.exec(type)?.[1] ?? 6) > 3
  if (isZoned(type) && !hasMore) return {}
  const moment = isZoned(type) ? `(${column} AT TIME ZONE 'UTC')` : column
  const compared = hasMore ? `date_trunc('milliseconds', ${moment})` : moment
  const as = 'timestamp'
  return { selected: showMoment(moment), compared, comparedAs: as, equated: compared, equatedAs: as }
}

/** Text of our own, since a session may have any DateStyle. @param moment in UTC, without its zone */
export function showMoment (moment: string): string {
  return `to_char(${moment}, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`
}
