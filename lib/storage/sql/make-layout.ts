import { errorCodes } from '../../errors.js'
import { isFillable } from '../shapes.js'
import type { FamilyShape, Field, Kind } from '../storage.js'
import type { Dialect } from './dialect.js'
import type { Column, Layout, TableMapping } from './layout.js'
import { quoteName, toSnakeCase } from './names.js'

/** A column as it is in the database. */
export interface PresentColumn {
  readonly type: string
  readonly isNotNull: boolean
  /** Whether rows that are inserted without it have a value. */
  readonly hasDefault: boolean
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
    return makeColumn(field, name, dialect)
  })
  return makeLayout(shape, columns, { name: toSnakeCase(shape.name), schema, mapped: false })
}

/** The layout of a family in a table that somebody else made, with these columns. */
export function layOutMappedTable (
  shape: FamilyShape,
  mapping: TableMapping,
  present: ReadonlyMap<string, PresentColumn>,
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
    const column = present.get(name)
    if (column !== undefined) return makeMappedColumn(field, name, dialect, column)
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

function makeColumn (field: Field, name: string, dialect: Dialect): Column {
  const { kind } = field
  return { field, kind, name, isFilled: false, isCut: false, ...writeColumn(quoteName(name), kind, dialect, false) }
}

function makeMappedColumn (field: Field, name: string, dialect: Dialect, { type, isNotNull }: PresentColumn): Column {
  const { kind } = field
  // The table is somebody else's: what its rows lack is filled in as they are read.
  const isFilled = !isNotNull && isFillable(field)
  const value = isFilled ? `COALESCE(${quoteName(name)}, ${dialect.literal(field.default, kind)})` : quoteName(name)
  return { field, kind, name, type, isFilled, isCut: false, ...writeColumn(value, kind, dialect, true) }
}

function writeColumn (
  value: string,
  kind: Kind,
  dialect: Dialect,
  foreign: boolean
): Pick<Column, 'compared' | 'equated' | 'selected'> {
  return {
    compared: dialect.compared(value, kind, foreign),
    equated: dialect.equated(value, kind, foreign),
    selected: dialect.selected(value, kind)
  }
}

function makeConstantColumn (field: Field, value: string | number, dialect: Dialect): Column {
  const constant = dialect.constant(value, field.kind)
  const selected = dialect.selected(constant, field.kind)
  const none = { name: undefined, isFilled: false, isCut: false }
  return { field, kind: field.kind, ...none, compared: constant, equated: constant, selected }
}
