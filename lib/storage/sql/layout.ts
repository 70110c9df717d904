import { errorCodes } from '../../core/errors.js'
import { isFillable } from '../../core/storage/shapes.js'
import type { FamilyShape, Field, Kind, Stored } from '../../core/storage/storage.js'
import {
  type ColumnTexts, type Dialect, indexedLength, type PresentColumn, qualifyName, quoteName, toSnakeCase
} from './dialect.js'
import { decodeFlag, type MappedFlag, readMappedColumn } from './flags.js'

/**
 * A family kept in an existing table, which is never altered.
 *
 * @example
 * sqliteStorage({ file: 'crm.db', tables: { customers: { table: 'crm_people', columns: { id: 'person_id' } } } })
 */
export interface TableMapping {
  readonly table: string
  /** PostgreSQL: the schema of the table, if it is not on the search path. */
  readonly schema?: string
  /**
   * Columns by field: their names, and the values of booleans that are kept as others. Default: the field's name in
   * snake_case. Without `revision`, the family is read-only.
   */
  readonly columns?: Readonly<Record<string, string | MappedFlag>>
}

/** Mapped tables by the name of their family. */
export type TableMappings = Readonly<Record<string, TableMapping>>

export interface Column extends ColumnTexts {
  readonly field: Field
  /** What it is called in a text, if not as the field. */
  readonly written?: string
  readonly kind: Kind
  /** Undefined if a mapped table has no such column, and a constant is used. */
  readonly name: string | undefined
  /** Only in a mapped table. */
  readonly present?: PresentColumn
  /** NULL means the default, so no index of the column is used. */
  readonly isFilled: boolean
  /** An index has only its beginning, so conditions and orders use the beginning too. */
  readonly isPrefixIndexed: boolean
}

export interface Layout {
  /** Distinguishes statements of this layout from those of an earlier one. */
  readonly serial: number
  readonly family: string
  /** Unquoted; `table` is quoted and has the schema. */
  readonly tableName: string
  readonly table: string
  readonly mapped: boolean
  readonly writable: boolean
  readonly columns: readonly Column[]
  /** Of our tables: columns with the default instead of NULL, by the names that `nameFilled` returns. */
  readonly filled: readonly Column[]
  readonly id: Column
  /** Sets of fields that have an index; only in our tables. */
  readonly indexes: readonly (readonly string[])[]
  readonly unique: readonly (readonly string[])[]
  /** The field that the storage fills with the order of the items. */
  readonly sequence: Column | undefined
  /** Of a chained log. */
  readonly hash: Column | undefined
  /** Families by the fields that refer to them. */
  readonly references: Readonly<Record<string, string>>
  /** The same by paths in fields of the kind `json`. */
  readonly pathReferences: Readonly<Record<string, string>>
}

export function nameFilled (field: string): string {
  return `${field} or default`
}

export function getColumn ({ family, columns, filled }: Layout, field: string): Column {
  const isNamed = (column: Column): boolean => column.field.name === field
  const column = columns.find(isNamed) ?? filled.find(isNamed)
  if (column === undefined) throw new errorCodes.FST_DEALBOOK_UNKNOWN_FIELD(family, field)
  return column
}

/** Whether a row of our table may have NULL instead of the default. */
export function mayLack ({ field, present }: Column): boolean {
  return present === undefined && isFillable(field)
}

export function getColumns (layout: Layout, fields: Iterable<string>): Column[] {
  return Array.from(fields, field => getColumn(layout, field))
}

/** @param names what they are called in a text */
export function getMembers (layout: Layout, fields: readonly string[], names = fields): Column[] {
  return fields.map((field, index) => {
    const column = getColumn(layout, field)
    const written = names[index] ?? field
    return written === field ? column : { ...column, written }
  })
}

export function listWritten ({ columns }: Layout): Column[] {
  return columns.filter(({ name, present }) => name !== undefined && present?.isGenerated !== true)
}

/** Makes items of rows with these columns. NULL becomes null, or an absent member. */
export function makeRowDecoder (columns: readonly Column[], dialect: Dialect): (row: readonly unknown[]) => Stored {
  const names = columns.map(({ field }) => field.name)
  const decoders = columns.map(({ kind, present }) => present?.flag === undefined ? dialect.decode[kind] : decodeFlag)
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

// Values of the service's fields, for mapped tables that lack them.
const epoch = '1970-01-01T00:00:00.000Z'
const constants = new Map<string, string | number>([['revision', 0], ['createdAt', epoch], ['updatedAt', epoch]])
let layoutsMade = 0

export function layOutOwnTable (shape: FamilyShape, dialect: Dialect, schema?: string): Layout {
  const fieldsByColumn = new Map<string, string>()
  const indexes = listIndexRows(shape, dialect)
  const filled: Column[] = []
  const columns = shape.fields.map((field): Column => {
    const name = toSnakeCase(field.name)
    const other = fieldsByColumn.get(name)
    if (other !== undefined) throw new errorCodes.FST_DEALBOOK_COLUMN_SHARED(shape.name, other, field.name, name)
    fieldsByColumn.set(name, field.name)
    const { kind, maxLength = Infinity } = field
    const isPrefixIndexed = dialect.beginning !== undefined && isLongText(field) && maxLength > indexedLength &&
      indexes.some(row => row.includes(field.name))
    const plain = dialect.writeColumn(quoteName(name), field)
    if (!isFillable(field)) return { field, kind, name, isFilled: false, isPrefixIndexed, ...plain }
    // Processes that do not know the default may still write rows without it.
    const texts = dialect.writeFilled(quoteName(name), field)
    const ownField = { ...field, name: nameFilled(field.name) }
    filled.push({ field: ownField, kind, name, isFilled: true, isPrefixIndexed: false, ...texts })
    return { field, kind, name, isFilled: false, isPrefixIndexed, ...plain, selected: texts.selected }
  })
  return makeLayout(shape, columns, { name: toSnakeCase(shape.name), schema, mapped: false, indexes, filled })
}

/** A unique index serves reads too, unless it holds digests of texts that may be too long for an index. */
function listIndexRows ({ fields, indexes, unique = [] }: FamilyShape, dialect: Dialect): (readonly string[])[] {
  const isFound = (row: readonly string[]): boolean => dialect.beginning === undefined ||
    !fields.some(({ name, kind }) => kind === 'string' && row.includes(name))
  const found = unique.filter(isFound).map(row => row.join())
  const rows = indexes.filter(row => !found.includes(row.join()))
  for (const row of unique) if (!isFound(row) && !rows.some(([first]) => first === row[0])) rows.push(row)
  return rows
}

/** Whether it may be long: ids and the values of an enumeration are short. */
export function isLongText ({ name, kind, values }: Field): boolean {
  return kind === 'string' && values === undefined && name !== 'id'
}

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
    const { name = toSnakeCase(field.name), flag } = readMappedColumn(given, family, field.name)
    const column = present.get(name)
    if (flag !== undefined && field.kind !== 'boolean') {
      throw new errorCodes.FST_DEALBOOK_INVALID_FLAG(family, field.name, `the field is of the kind ${field.kind}`)
    }
    if (column !== undefined) return makeMappedColumn(field, name, dialect, flag ? { ...column, flag } : column)
    const { kind } = field
    const constant = given === undefined ? constants.get(field.name) : undefined
    if (constant !== undefined) {
      const texts = dialect.writeColumn(dialect.constant(constant, kind), field)
      return { field, kind, name: undefined, isFilled: false, isPrefixIndexed: false, ...texts }
    }
    throw new errorCodes.FST_DEALBOOK_NO_COLUMN(family, table, name, field.name, [...present.keys()].join(', '), family)
  })
  const layout = makeLayout(shape, columns, {
    name: table, schema: mapping.schema, mapped: true, indexes: [], filled: []
  })
  if (shape.creates === true && layout.writable) checkRequired(layout, present)
  return layout
}

/** Refuses a table in which every creation would fail. */
function checkRequired ({ family, tableName, columns }: Layout, present: ReadonlyMap<string, PresentColumn>): void {
  const mapped = new Set(columns.map(({ name }) => name))
  const missing = [...present].filter(([name, { isNotNull, hasDefault }]) =>
    isNotNull && !hasDefault && !mapped.has(name))
  if (missing.length === 0) return
  const names = missing.map(([name, { type }]) => `${name} (${type})`).join(', ')
  throw new errorCodes.FST_DEALBOOK_COLUMN_REQUIRED(family, tableName, names)
}

function makeLayout (
  shape: FamilyShape,
  columns: readonly Column[],
  { name, schema, ...others }: Pick<Layout, 'mapped' | 'indexes' | 'filled'> &
    { name: string, schema: string | undefined }
): Layout {
  const id = columns.find(({ field }) => field.name === 'id')
  if (id === undefined) throw new errorCodes.FST_DEALBOOK_NO_ID(shape.name)
  const revision = columns.find(({ field }) => field.name === 'revision')
  return {
    serial: ++layoutsMade,
    family: shape.name,
    tableName: name,
    table: qualifyName(schema, name),
    writable: revision?.name !== undefined,
    columns,
    id,
    ...others,
    unique: shape.unique ?? [],
    sequence: columns.find(({ field }) => field.name === shape.sequence),
    hash: shape.name === 'commands' ? columns.find(({ field }) => field.name === 'hash') : undefined,
    references: shape.references ?? {},
    pathReferences: shape.pathReferences ?? {}
  }
}

function makeMappedColumn (field: Field, name: string, dialect: Dialect, present: PresentColumn): Column {
  const { kind } = field
  // A mapped table is never altered, so defaults are filled in when its rows are read.
  const isFilled = !present.isNotNull && isFillable(field)
  const texts = isFilled
    ? dialect.writeFilled(quoteName(name), field, present)
    : dialect.writeColumn(quoteName(name), field, present)
  return { field, kind, name, present, isFilled, isPrefixIndexed: false, ...texts }
}
