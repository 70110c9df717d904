import { errorCodes } from '../../errors.js'
import type { FamilyShape, Field, Kind, Stored } from '../storage.js'
import type { Dialect } from './dialect.js'
import { nameIndex, quoteName, toSnakeCase } from './names.js'

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

export interface Column {
  readonly field: Field
  readonly kind: Kind
  /** Name in the table; undefined where a mapped table has none and a constant stands in. */
  readonly name: string | undefined
  /** For comparisons and order. */
  readonly compared: string
  /** For equality. */
  readonly equated: string
  readonly selected: string
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
}

// What stands in for the service's own columns where a mapped table lacks them.
const epoch = '1970-01-01T00:00:00.000Z'
const constants = new Map<string, string | number>([['revision', 0], ['createdAt', epoch], ['updatedAt', epoch]])
let layoutsMade = 0

/** The layout of a family in a table of our own. */
export function layOutOwnTable (shape: FamilyShape, dialect: Dialect, schema?: string): Layout {
  const fieldsByColumn = new Map<string, string>()
  const columns = shape.fields.map(field => {
    const name = toSnakeCase(field.name)
    const other = fieldsByColumn.get(name)
    if (other !== undefined) throw new errorCodes.FST_DEALBOOK_COLUMN_SHARED(shape.name, other, field.name, name)
    fieldsByColumn.set(name, field.name)
    return makeColumn(field, name, dialect, false)
  })
  return makeLayout(shape, columns, { name: toSnakeCase(shape.name), schema, mapped: false })
}

/** The layout of a family in a table that somebody else made, with these columns. */
export function layOutMappedTable (
  shape: FamilyShape,
  mapping: TableMapping,
  present: ReadonlyMap<string, string>,
  dialect: Dialect
): Layout {
  const { name: family } = shape
  const { table, columns: names = {} } = mapping
  if (present.size === 0) throw new errorCodes.FST_DEALBOOK_NO_TABLE(family, table)
  for (const name of Object.keys(names)) {
    if (!shape.fields.some(field => field.name === name)) {
      throw new errorCodes.FST_DEALBOOK_UNKNOWN_MAPPED_FIELD(family, name)
    }
  }
  const columns = shape.fields.map(field => {
    const given = Object.hasOwn(names, field.name) ? names[field.name] : undefined
    const name = given ?? toSnakeCase(field.name)
    if (present.has(name)) return makeColumn(field, name, dialect, true)
    const constant = given === undefined ? constants.get(field.name) : undefined
    if (constant !== undefined) return makeConstantColumn(field, constant, dialect)
    throw new errorCodes.FST_DEALBOOK_NO_COLUMN(family, table, name, field.name, [...present.keys()].join(', '), family)
  })
  return makeLayout(shape, columns, { name: table, schema: mapping.schema, mapped: true })
}

function makeLayout (
  shape: FamilyShape,
  columns: readonly Column[],
  { name, schema, mapped }: { readonly name: string, readonly schema: string | undefined, readonly mapped: boolean }
): Layout {
  const id = columns.find(({ field }) => field.name === 'id')
  if (id === undefined) throw new errorCodes.FST_DEALBOOK_NO_ID(shape.name)
  const revision = columns.find(({ field }) => field.name === 'revision')
  return {
    serial: ++layoutsMade,
    family: shape.name,
    tableName: name,
    table: schema === undefined ? quoteName(name) : `${quoteName(schema)}.${quoteName(name)}`,
    mapped,
    writable: revision?.name !== undefined,
    columns,
    id,
    indexes: shape.indexes
  }
}

function makeColumn (field: Field, name: string, dialect: Dialect, foreign: boolean): Column {
  const quoted = quoteName(name)
  const { kind } = field
  return {
    field,
    kind,
    name,
    compared: dialect.compared(quoted, kind, foreign),
    equated: dialect.equated(quoted, kind, foreign),
    selected: dialect.selected(quoted, kind)
  }
}

function makeConstantColumn (field: Field, value: string | number, dialect: Dialect): Column {
  const constant = dialect.constant(value, field.kind)
  const selected = dialect.selected(constant, field.kind)
  return { field, kind: field.kind, name: undefined, compared: constant, equated: constant, selected }
}

export function getColumn ({ family, columns }: Layout, field: string): Column {
  const column = columns.find(column => column.field.name === field)
  if (column === undefined) throw new errorCodes.FST_DEALBOOK_UNKNOWN_FIELD(family, field)
  return column
}

/** The columns of each index, and the names of those made earlier that are the beginning of one of them. */
export function nameIndexes (layout: Layout): { made: ReadonlyMap<string, readonly string[]>, replaced: Set<string> } {
  const made = new Map<string, readonly string[]>()
  for (const fields of layout.indexes) {
    const columns = fields.map(field => getColumn(layout, field).name as string)
    made.set(nameIndex(layout.tableName, columns), columns)
  }
  const beginnings = [...made.values()].flatMap(columns => columns.slice(0, -1).map((_, end) =>
    nameIndex(layout.tableName, columns.slice(0, end + 1))))
  return { made, replaced: new Set(beginnings.filter(name => !made.has(name))) }
}

/** A function from the values of a row, in the order of the columns, to the item. NULL is an absent member. */
export function makeRowDecoder (columns: readonly Column[], dialect: Dialect): (row: readonly unknown[]) => Stored {
  const names = columns.map(({ field }) => field.name)
  const decoders = columns.map(({ kind }) => dialect.decode[kind])
  return row => {
    const item: Record<string, unknown> = {}
    for (let index = 0; index < names.length; index++) {
      const value = row[index]
      if (value === null || value === undefined) continue
      const decode = decoders[index]
      item[names[index] as string] = decode === undefined ? value : decode(value)
    }
    return item as Stored
  }
}
