import { createHash } from 'node:crypto'
import type { Field, Kind } from '../../core/storage/storage.js'
import { maxDigits } from '../../core/values/decimals.js'

/** The two values by which a column keeps a boolean. */
export interface Flag {
  readonly true: string | number
  readonly false: string | number
}

export interface PresentColumn {
  readonly type: string
  readonly isNotNull: boolean
  readonly hasDefault: boolean
  /** Computed by the database, so it cannot be written. */
  readonly isGenerated?: boolean
  /** The values of an enumeration. */
  readonly labels?: readonly string[] | undefined
  /** SQL for the value of a new row, such as the next of a sequence. */
  readonly next?: string | undefined
  /** If a boolean is kept as one of two values. */
  readonly flag?: Flag | undefined
  /** Whether its date-times are text with a space and without a zone, such as `2026-11-15 05:07:41`. */
  readonly isSpaced?: boolean
}

// PostgreSQL truncates longer names without an error.
const maxNameBytes = 63

/** `holdReason` is the column `hold_reason`, `line-items` the table `line_items`. */
export function toSnakeCase (name: string): string {
  const lowerCase = name.replace(/[A-Z]+(?![a-z])|[A-Z]/g, (capitals, at: number) =>
    (at === 0 ? '' : '_') + capitals.toLowerCase())
  return shortenName(lowerCase.replace(/[^\p{L}\p{N}_]/gu, '_'))
}

export function shortenName (name: string): string {
  if (Buffer.byteLength(name) <= maxNameBytes) return name
  const hash = createHash('sha256').update(name).digest('hex').slice(0, 8)
  return `${Buffer.from(name).subarray(0, maxNameBytes - 9).toString().replace(/\ufffd+$/, '')}_${hash}`
}

export function quoteName (name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

export function qualifyName (schema: string | undefined, name: string): string {
  return schema === undefined ? quoteName(name) : `${quoteName(schema)}.${quoteName(name)}`
}

export function quoteText (text: string): string {
  return `'${text.replaceAll('\'', '\'\'')}'`
}

/** Characters of a text that always fit in an index entry: with four bytes each, the id fits too. */
export const indexedLength = 200

export interface ColumnTexts {
  readonly selected: string
  /** So that text is compared and ordered by code point. */
  readonly compared: string
  /** The type of the value that it is compared with. */
  readonly comparedAs: string
  /** So that text equals only itself. */
  readonly equated: string
  readonly equatedAs: string
}

/** The part of a field that decides how its column is written. */
export type ColumnField = Pick<Field, 'kind' | 'scale'>

export interface Dialect {
  /** Without the digits of a decimal: see `nameType`. */
  readonly types: Readonly<Record<Kind, string>>
  /** `n` starts at 1; `as` is a type of `ColumnTexts`. */
  parameter (n: number, as: string): string
  inList (column: string, list: string, negated: boolean, isPrefixIndexed: boolean): string
  /** Otherwise, each value of a list is a parameter. */
  readonly listsAreOneParameter: boolean
  /** A prefix that keeps an index from being used for the condition; empty if there is none. */
  readonly withoutIndex: string
  /** The first `indexedLength` characters of a text; undefined if an index can hold any text. */
  readonly beginning?: (text: string) => string
  writeColumn (column: string, field: ColumnField, present?: PresentColumn): ColumnTexts
  /** For a column in which NULL means the default. */
  writeFilled (column: string, field: Field, present?: PresentColumn): ColumnTexts
  readonly encode: Partial<Record<Kind, (value: unknown) => unknown>>
  /** Converts values of the driver; other kinds stay unchanged. */
  readonly decode: Readonly<Partial<Record<Kind, (value: unknown) => unknown>>>
  /** The term of a unique index, which must distinguish values that differ in any way. */
  uniqueTerm (column: string, kind: Kind): string
  literal (value: unknown, kind: Kind): string
  /** A value in place of a column that a mapped table lacks. */
  constant (value: string | number, kind: Kind): string
}

export function nameType ({ types }: Pick<Dialect, 'types'>, { kind, scale }: ColumnField): string {
  return scale === undefined ? types[kind] : `${types[kind]}(${maxDigits},${scale})`
}
