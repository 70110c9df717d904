import { createHash } from 'node:crypto'
import type { Kind } from '../../core/storage/storage.js'

/** A column as it is in the database. */
export interface PresentColumn {
  readonly type: string
  readonly isNotNull: boolean
  /** Whether rows that are inserted without it have a value. */
  readonly hasDefault: boolean
  /** Whether the database works it out from others: then it cannot be written. */
  readonly isGenerated?: boolean
  /** The only values there can be, of an enumeration. */
  readonly labels?: readonly string[] | undefined
  /** SQL for the value of a new row, such as the next of a sequence. */
  readonly next?: string | undefined
  /** Whether its moments are text with a space in them and without a zone, such as `2026-11-15 05:07:41`. */
  readonly isSpaced?: boolean
}

// PostgreSQL cuts longer names without an error.
const maxNameBytes = 63

/** `holdReason` is the column `hold_reason`, `line-items` the table `line_items`: as SQL people write. */
export function toSnakeCase (name: string): string {
  const lowerCase = name.replace(/[A-Z]+(?![a-z])|[A-Z]/g, (capitals, at: number) =>
    (at === 0 ? '' : '_') + capitals.toLowerCase())
  return shortenName(lowerCase.replace(/[^\p{L}\p{N}_]/gu, '_'))
}

/** The name itself, or its beginning and a hash of the whole where a database would cut it. */
export function shortenName (name: string): string {
  if (Buffer.byteLength(name) <= maxNameBytes) return name
  const hash = createHash('sha256').update(name).digest('hex').slice(0, 8)
  return `${Buffer.from(name).subarray(0, maxNameBytes - 9).toString().replace(/\ufffd+$/, '')}_${hash}`
}

/** The name of the index over these columns of a table. */
export function nameIndex (tableName: string, columns: readonly string[]): string {
  return shortenName(`${tableName}_${columns.join('_')}_idx`)
}

export function quoteName (name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

/** The name with its schema, if it has one. */
export function qualifyName (schema: string | undefined, name: string): string {
  return schema === undefined ? quoteName(name) : `${quoteName(schema)}.${quoteName(name)}`
}

export function quoteText (text: string): string {
  return `'${text.replaceAll('\'', '\'\'')}'`
}

/** Characters of a text that an index can hold in any case: with four bytes each there is room for the id too. */
export const indexedLength = 200

/** How a column is written in SQL. */
export interface ColumnTexts {
  /** As it is selected, for `decode`. */
  readonly selected: string
  /** So that text is compared and ordered by code point. */
  readonly compared: string
  /** The type of what it is compared with then. */
  readonly comparedAs: string
  /** So that text equals only itself. */
  readonly equated: string
  readonly equatedAs: string
}

/** What databases do differently, as data for whatever writes SQL. */
export interface Dialect {
  /** The type of a new column. */
  readonly types: Readonly<Record<Kind, string>>
  /** The n-th parameter (from 1) as a value of a type, as `ColumnTexts` has it. */
  parameter (n: number, as: string): string
  /** `column IN (…)`, or `NOT IN`. @param isPrefixIndexed whether an index has the beginning of the column only */
  inList (column: string, list: string, negated: boolean, isPrefixIndexed: boolean): string
  /** Whether a list of several values is one parameter, not one for each. */
  readonly listsAreOneParameter: boolean
  /** Written before a column so that no index is used for the condition; empty where a database has no such thing. */
  readonly withoutIndex: string
  /** The first `indexedLength` characters of a text, where an index cannot hold all of it; none where it can. */
  readonly beginning?: (text: string) => string
  /** @param present the column as it is, in a mapped table */
  writeColumn (column: string, kind: Kind, present?: PresentColumn): ColumnTexts
  /** The same for a column where NULL means a value. */
  writeFilled (column: string, kind: Kind, value: unknown, present: PresentColumn): ColumnTexts
  /** What `ORDER BY` needs so that absent comes first, and last when descending. */
  readonly absentFirst: string
  readonly absentLast: string
  readonly encode: Partial<Record<Kind, (value: unknown) => unknown>>
  /** Per kind, how what the driver hands over becomes the value; where there is none it is the value. */
  readonly decode: Readonly<Partial<Record<Kind, (value: unknown) => unknown>>>
  /** A column, or an expression, in an index that keeps it unique: alike only where it is exactly the same. */
  uniqueTerm (column: string, kind: Kind): string
  /** A value in a definition, or within an expression. */
  literal (value: unknown, kind: Kind): string
  /** A value in place of a column which a mapped table lacks. */
  constant (value: string | number, kind: Kind): string
}
