import type { Kind } from '../../core/storage/storage.js'
import type { PresentColumn } from './present-column.js'

/** Characters of a text that an index can hold in any case: with four bytes each there is room for the id too. */
export const indexedLength = 200

/** Whether a column has one of several values. */
interface ListTest {
  /** As it stands in SQL. */
  readonly column: string
  /** The type of the values. */
  readonly as: string
  /** The number of the first parameter, from 1. */
  readonly from: number
  /** How many values there are. */
  readonly length: number
  /** Whether it must have none of them. */
  readonly negated: boolean
  /** Whether an index has its beginning only. */
  readonly isCut: boolean
}

/** How a column stands in SQL. */
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
  /** `column IN (…)`, or `NOT IN`. */
  inList (test: ListTest): string
  /** Whether a list of several values is one parameter, not one for each. */
  readonly listsAreOneParameter: boolean
  /** Written before a column so that no index is used for the condition; empty where a database has no such thing. */
  readonly withoutIndex: string
  /** The first `indexedLength` characters of a text, where an index cannot hold all of it; none where it can. */
  readonly beginning?: (text: string) => string
  /** @param present the column as it is, where somebody else made it */
  writeColumn (column: string, kind: Kind, present?: PresentColumn): ColumnTexts
  /** The same for a column where NULL stands for a value. */
  writeFilled (column: string, kind: Kind, value: unknown, present: PresentColumn): ColumnTexts
  /** What `ORDER BY` needs so that absent comes first, and last when descending. */
  readonly absentFirst: string
  readonly absentLast: string
  encode (value: unknown, kind: Kind): unknown
  /** Per kind, how what the driver hands over becomes the value; where there is none it is the value. */
  readonly decode: Readonly<Partial<Record<Kind, (value: unknown) => unknown>>>
  /** A column, or an expression, in an index that keeps it unique: alike only where it is exactly the same. */
  uniqueTerm (column: string, kind: Kind): string
  /** A value as it stands in a definition, and within an expression. */
  literal (value: unknown, kind: Kind): string
  /** A value that stands in for a column which a mapped table lacks. */
  constant (value: string | number, kind: Kind): string
}
