import type { FamilyShape, Field, Kind, Stored } from '../storage.js'
import type { Dialect } from './dialect.js'
import { quote, snakeCase } from './names.js'

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
  /** Column of a field, where it is not the field's name in snake_case. Without a column for `revision` nothing can be written. */
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

export const epoch = '1970-01-01T00:00:00.000Z'
let serial = 0

/** The layout of a family in a table of our own. */
export function ownLayout (shape: FamilyShape, dialect: Dialect, schema?: string): Layout {
  const tableName = snakeCase(shape.name)
  const taken = new Map<string, string>()
  const columns = shape.fields.map(field => {
    const name = snakeCase(field.name)
    const other = taken.get(name)
    if (other !== undefined) {
      throw new Error(`${shape.name}: the fields "${other}" and "${field.name}" would share the column "${name}"; rename one of them`)
    }
    taken.set(name, field.name)
    return column(field, name, dialect, false)
  })
  return layout(shape, tableName, schema, columns, false)
}

/** The layout of a family in a table that somebody else made, with these columns. */
export function mappedLayout (shape: FamilyShape, mapping: TableMapping, present: ReadonlySet<string>, dialect: Dialect): Layout {
  for (const name of Object.keys(mapping.columns ?? {})) {
    if (!shape.fields.some(field => field.name === name)) {
      throw new Error(`${shape.name}: tables maps the field "${name}", which the family does not have`)
    }
  }
  const columns = shape.fields.map(field => {
    const given = mapping.columns !== undefined && Object.hasOwn(mapping.columns, field.name) ? mapping.columns[field.name] : undefined
    const name = given ?? snakeCase(field.name)
    if (present.has(name)) return column(field, name, dialect, true)
    if (given === undefined && field.name === 'revision') return standIn(field, 0, dialect)
    if (given === undefined && (field.name === 'createdAt' || field.name === 'updatedAt')) return standIn(field, epoch, dialect)
    throw new Error(`${shape.name}: the table "${mapping.table}" has no column "${name}" for the field "${field.name}"; ` +
      `it has ${[...present].join(', ')}. Name the column in tables.${shape.name}.columns`)
  })
  return layout(shape, mapping.table, mapping.schema, columns, true)
}

function layout (shape: FamilyShape, tableName: string, schema: string | undefined, columns: readonly Column[], mapped: boolean): Layout {
  const id = columns.find(({ field }) => field.name === 'id')
  if (id === undefined) throw new Error(`${shape.name}: a family needs the field "id"`)
  const revision = columns.find(({ field }) => field.name === 'revision')
  return {
    serial: ++serial,
    family: shape.name,
    tableName,
    table: schema === undefined ? quote(tableName) : `${quote(schema)}.${quote(tableName)}`,
    mapped,
    writable: revision?.name !== undefined,
    columns,
    id,
    indexes: shape.indexes
  }
}

function column (field: Field, name: string, dialect: Dialect, foreign: boolean): Column {
  const quoted = quote(name)
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

function standIn (field: Field, value: string | number, dialect: Dialect): Column {
  const constant = dialect.constant(value, field.kind)
  return { field, kind: field.kind, name: undefined, compared: constant, equated: constant, selected: dialect.selected(constant, field.kind) }
}

export function columnOf ({ family, columns }: Layout, field: string): Column {
  const found = columns.find(column => column.field.name === field)
  if (found === undefined) throw new Error(`${family}: there is no field "${field}"`)
  return found
}

/** A function from the values of a row, in the order of the columns, to the item. NULL is an absent member. */
export function rowReader (columns: readonly Column[], dialect: Dialect): (row: readonly unknown[]) => Stored {
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

/** The same family with the fields of both shapes: mounts of different versions share one table. */
export function union (before: FamilyShape | undefined, now: FamilyShape): FamilyShape {
  if (before === undefined) return now
  const names = new Set(now.fields.map(field => field.name))
  return {
    name: now.name,
    fields: [...now.fields, ...before.fields.filter(field => !names.has(field.name))],
    indexes: [...now.indexes, ...before.indexes]
  }
}
