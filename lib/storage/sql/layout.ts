import { errorCodes } from '../../core/errors.js'
import type { Field, Kind, Stored } from '../../core/storage/storage.js'
import type { ColumnTexts, Dialect } from './dialect.js'
import type { PresentColumn } from './present-column.js'

/**
 * A family kept in a table that is there already, and is never altered.
 *
 * @example
 * sqliteStorage({ file: 'crm.db', tables: { customers: { table: 'crm_people', columns: { id: 'person_id' } } } })
 */
export interface TableMapping {
  readonly table: string
  /** PostgreSQL: the schema of the table, where it is not on the search path. */
  readonly schema?: string
  /**
   * Column of a field, where it is not the field's name in snake_case. Without a column for `revision` nothing can be
   * written.
   */
  readonly columns?: Readonly<Record<string, string>>
}

/** Mapped tables by the name of their family. */
export type TableMappings = Readonly<Record<string, TableMapping>>

export interface Column extends ColumnTexts {
  readonly field: Field
  readonly kind: Kind
  /** Name in the table; undefined where a mapped table has none and a constant stands in. */
  readonly name: string | undefined
  /** As it is, where somebody else made the table. */
  readonly present?: PresentColumn
  /** Whether NULL stands for the default: then no index of the column is of use. */
  readonly isFilled: boolean
  /** Whether an index has its beginning only: then conditions and orders are said of that too. */
  readonly isCut: boolean
}

/** Where the items of a family are kept. */
export interface Layout {
  /** Tells the statements of this layout from those of one before it. */
  readonly serial: number
  readonly family: string
  /** Unquoted. */
  readonly tableName: string
  /** As it stands in SQL. */
  readonly table: string
  readonly mapped: boolean
  readonly writable: boolean
  readonly columns: readonly Column[]
  readonly id: Column
  /** Rows of field names. */
  readonly indexes: readonly (readonly string[])[]
  /** Rows of fields whose values together are there once at most. */
  readonly unique: readonly (readonly string[])[]
  /** The families that fields refer to, by the fields. */
  readonly references: Readonly<Record<string, string>>
}

export function getColumn ({ family, columns }: Layout, field: string): Column {
  const column = columns.find(column => column.field.name === field)
  if (column === undefined) throw new errorCodes.FST_DEALBOOK_UNKNOWN_FIELD(family, field)
  return column
}

/** The columns that can be written. */
export function listWritten ({ columns }: Layout): Column[] {
  return columns.filter(({ name, present }) => name !== undefined && present?.isGenerated !== true)
}

/** A function from the values of a row, in the order of the columns, to the item. NULL is null, or an absent member. */
export function makeRowDecoder (columns: readonly Column[], dialect: Dialect): (row: readonly unknown[]) => Stored {
  const names = columns.map(({ field }) => field.name)
  const decoders = columns.map(({ kind }) => dialect.decode[kind])
  const nullable = columns.map(({ field }) => field.nullable === true)
  return row => {
    const item: Record<string, unknown> = {}
    for (let index = 0; index < names.length; index++) {
      const value = row[index]
      if (value === null || value === undefined) {
        if (nullable[index] === true) item[names[index] as string] = null
        continue
      }
      const decode = decoders[index]
      item[names[index] as string] = decode === undefined ? value : decode(value)
    }
    return item as Stored
  }
}
