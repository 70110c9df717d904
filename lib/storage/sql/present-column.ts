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
  /** SQL that gives the value of a new row, as the next of a sequence. */
  readonly next?: string | undefined
  /** Whether its moments are text with a space in them and without a zone, as in `2026-11-15 05:07:41`. */
  readonly isSpaced?: boolean
}
