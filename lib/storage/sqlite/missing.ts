import { errorCodes } from '../../core/errors.js'
import { isFillable, refuseIncomplete } from '../../core/storage/shapes.js'
import { describeFilling, writeAddColumn, writeCreate, writeFill } from '../sql/definitions.js'
import { listIndexes } from '../sql/indexes.js'
import type { Column, Layout } from '../sql/layout.js'
import { quoteName } from '../sql/names.js'
import type { PresentColumn } from '../sql/present-column.js'
import { nameUnique, refuseFound, writeClashes, writeUnique } from '../sql/unique.js'
import { readColumns, readIndexes } from './catalog.js'
import { sqliteDialect as dialect } from './dialect.js'
import type { SqliteDatabase } from './driver.js'
import { prepareRead } from './driver.js'
import type { Index } from './paths.js'
import { fitsKind, isValueOf } from './types.js'

/** The statements that make what is missing of a table. What cannot be made is refused. */
export function listMissing (database: SqliteDatabase, layout: Layout): string[] {
  const present = readColumns(database, layout.tableName)
  const indexes = readIndexes(database, layout)
  const table = { database, layout, present, indexes }
  const statements = present.size === 0 ? [create(layout)] : layout.columns.flatMap(column => mendColumn(table, column))
  const there = new Set(indexes.map(({ name }) => name))
  for (const [{ name, terms }] of listIndexes(layout, dialect).wanted) {
    if (there.has(name)) continue
    const columns = terms.map(({ column }) => quoteName(column.name as string)).join(', ')
    statements.push(`CREATE INDEX IF NOT EXISTS ${quoteName(name)} ON ${layout.table} (${columns})`)
  }
  statements.push(...listMissingUnique(table, there))
  return statements
}

function listMissingUnique ({ database, layout, present }: PresentTable, there: ReadonlySet<string>): string[] {
  const missing = layout.unique.filter(fields => !there.has(nameUnique(layout, fields)))
  for (const fields of present.size === 0 ? [] : missing) {
    const clashes = writeClashes(layout, fields, ({ name }) => present.has(name as string), dialect)
    refuseFound(layout, fields, prepareRead(database, clashes).all([]))
  }
  return missing.map(fields => writeUnique(layout, fields, dialect))
}

// An integer id is the row's number; a table with other ids is ordered by them. Either way every index ends with the
// id.
function create (layout: Layout): string {
  return writeCreate(layout, dialect) + (layout.id.kind === 'integer' ? '' : ' WITHOUT ROWID')
}

/** A table as it is in the file. */
interface PresentTable {
  readonly database: SqliteDatabase
  readonly layout: Layout
  readonly present: ReadonlyMap<string, PresentColumn>
  readonly indexes: readonly Index[]
}

function mendColumn (table: PresentTable, column: Column): string[] {
  const { layout, present } = table
  const { name, kind, field } = column
  const there = present.get(name as string)
  if (there === undefined) {
    if (hasRow(table, '')) refuseIncomplete(layout.family, field, describeFilling(layout, column, dialect))
    return [writeAddColumn(layout, column, dialect)]
  }
  const { type } = there
  const fits = fitsKind(type, kind)
  if (fits === false || (fits === 'unsure' && !hasFittingValues(table, column))) {
    const { family, tableName } = layout
    const expected = dialect.types[kind]
    throw new errorCodes.FST_DEALBOOK_COLUMN_TYPE(family, name, tableName, type || 'BLOB', field.name, kind, expected)
  }
  // Where the column has the default itself, nothing was stored without it, and to look for it may take long.
  const isLookedFor = isFillable(field) && (!there.hasDefault || isIndexed(table, column))
  const isFilled = !isLookedFor || !hasRow(table, `WHERE ${column.equated} IS NULL`)
  return isFilled ? [] : [writeFill(layout, column, dialect)]
}

function hasRow ({ database, layout: { table } }: PresentTable, where: string): boolean {
  return prepareRead(database, `SELECT 1 FROM ${table} ${where} LIMIT 1`).get([]) !== undefined
}

function isIndexed ({ indexes }: PresentTable, { field }: Column): boolean {
  return indexes.some(({ fields }) => fields[0] === field.name)
}

/** Whether the least and the greatest value are of the kind: of text that is something else, one of them is not. */
function hasFittingValues (table: PresentTable, column: Column): boolean {
  const { equated, kind } = column
  const edge = (end: string): string => `(SELECT ${end}(${equated}) FROM ${table.layout.table})`
  const edges = prepareRead(table.database, `SELECT ${edge('min')}, ${edge('max')}`).get([]) as unknown[]
  return edges.every(value => isValueOf(kind, value))
}
