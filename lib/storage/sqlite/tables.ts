import { errorCodes } from '../../core/errors.js'
import { isFillable, refuseIncomplete } from '../../core/storage/shapes.js'
import type { FamilyShape, Kind } from '../../core/storage/storage.js'
import { isDate, readDateTime } from '../../core/values/formats.js'
import { describeFilling, writeAddColumn, writeCreate, writeFill } from '../sql/definitions.js'
import type { Dialect, PresentColumn } from '../sql/dialect.js'
import { quoteName, quoteText } from '../sql/dialect.js'
import { listIndexes, nameUnique, refuseFound, writeClashes, writeUnique } from '../sql/indexes.js'
import type { Column, Layout, TableMapping } from '../sql/layout.js'
import { layOutMappedTable, layOutOwnTable } from '../sql/layout.js'
import type { SqliteDatabase } from './driver.js'
import { prepareRead, prepareTransaction, waitUntilFree } from './driver.js'
import type { Index } from './paths.js'

/**
 * Dates are text in SQLite, so that their order is the order of time; booleans are 0 and 1. The first word of a type
 * means nothing to SQLite, but tells what is in the column.
 */
export const sqliteDialect: Dialect = {
  types: {
    integer: 'INTEGER',
    number: 'REAL',
    string: 'TEXT',
    boolean: 'BOOLEAN',
    date: 'DATE TEXT',
    'date-time': 'DATETIME TEXT',
    json: 'JSON TEXT'
  },
  parameter: (_, as) => writeParameter(as),
  inList: ({ column, as, length, negated }) =>
    `${column}${negated ? ' NOT' : ''} IN (${Array(length).fill(writeParameter(as)).join(', ')})`,
  listsAreOneParameter: false,
  // The unary plus makes an expression of a column, and no index is over that.
  withoutIndex: '+',
  writeColumn (column, kind, present) {
    const selected = isSpaced(kind, present) ? `strftime('%Y-%m-%dT%H:%M:%fZ', ${column})` : column
    const compared = present !== undefined && kind === 'string' ? `${selected} COLLATE BINARY` : selected
    return { selected, compared, comparedAs: kind, equated: compared, equatedAs: kind }
  },
  writeFilled (column, kind, value, present) {
    return this.writeColumn(`COALESCE(${column}, ${writeLiteral(value, kind)})`, kind, present)
  },
  // Absent comes first by itself.
  absentFirst: '',
  absentLast: '',
  encode,
  decode: {
    boolean: value => value !== 0,
    json: value => JSON.parse(value as string) as unknown
  },
  uniqueTerm: (column, kind) => kind === 'string' ? `${column} COLLATE BINARY` : column,
  literal: writeLiteral,
  // As itself, a number would be that of a column in an order.
  constant: (value, kind) => `CAST(${writeLiteral(value, kind)} AS ${typeof value === 'number' ? 'INTEGER' : 'TEXT'})`
}

// @photostructure/sqlite binds positive numbers below 2^-52 as 0; as text they arrive whole.
const tiny = 1e-15

function encode (value: unknown, kind: Kind): unknown {
  if (value === undefined || value === null) return null
  if (kind === 'boolean') return value === true ? 1 : 0
  if (kind === 'number' && (value as number) > 0 && (value as number) < tiny) return String(value)
  return kind === 'json' ? JSON.stringify(value) : value
}

/** Whether moments are kept in another form than ours. */
export function isSpaced (kind: Kind, present: PresentColumn | undefined): boolean {
  return kind === 'date-time' && present?.isSpaced === true
}

function writeLiteral (value: unknown, kind: Kind): string {
  const encoded = encode(value, kind)
  return typeof encoded === 'string' ? quoteText(encoded) : String(encoded)
}

function writeParameter (as: string): string {
  return as === 'number' ? 'CAST(? AS REAL)' : '?'
}

/** Whether a column of this type is for values of this kind; `unsure` where its values have to show it. */
export function fitsKind (type: string, kind: Kind): boolean | 'unsure' {
  const expected = sqliteDialect.types[kind]
  const declared = type.toUpperCase()
  if (declared === expected) return true
  // Whole numbers and others are kept in one column.
  if (kind === 'number' && declared === sqliteDialect.types.integer) return true
  if (getAffinity(type) !== getAffinity(expected) || marked.has(declared)) return false
  return Object.hasOwn(isOfKind, kind) ? 'unsure' : true
}

// The types that say which kind of text or number is meant. Others may have been declared by somebody else.
const marked = new Set(Object.values(sqliteDialect.types).filter(type => !['INTEGER', 'REAL', 'TEXT'].includes(type)))

const isOfKind: Partial<Record<Kind, (value: unknown) => boolean>> = {
  boolean: value => value === 0 || value === 1,
  date: value => typeof value === 'string' && isDate(value),
  'date-time': value => typeof value === 'string' && readDateTime(value) !== undefined,
  json: value => typeof value === 'string' && isJson(value)
}

/** Whether this is a value of the kind, as a column has it. */
export function isValueOf (kind: Kind, value: unknown): boolean {
  return value === null || isOfKind[kind]?.(value) !== false
}

function isJson (text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

// The rules of SQLite itself (datatype3.html, 3.1); whole numbers and booleans are kept alike, so NUMERIC goes with
// INTEGER.
function getAffinity (type: string): 'INTEGER' | 'TEXT' | 'REAL' | 'BLOB' {
  if (/INT/i.test(type)) return 'INTEGER'
  if (/CHAR|CLOB|TEXT/i.test(type)) return 'TEXT'
  if (/BLOB/i.test(type) || type === '') return 'BLOB'
  return /REAL|FLOA|DOUB/i.test(type) ? 'REAL' : 'INTEGER'
}

/** The columns of a table by their names; none where there is no such table. */
export function readColumns (database: SqliteDatabase, tableName: string): Map<string, PresentColumn> {
  const sql = 'SELECT name, type, "notnull", dflt_value, pk, hidden FROM pragma_table_xinfo(?) WHERE hidden <> 1'
  const rows = prepareRead(database, sql).all([tableName]) as [string, string, number, string | null, number, number][]
  return new Map(rows.map(([name, type, isNotNull, value, key, hidden]) => [name, {
    type,
    isNotNull: isNotNull === 1,
    hasDefault: value !== null || hidden > 0,
    isGenerated: hidden > 0,
    next: value ?? (key === 1 && countsOn(database, tableName) ? writeNext(tableName) : undefined)
  }]))
}

/** Whether ids are never given again, not even of what was deleted. */
function countsOn (database: SqliteDatabase, tableName: string): boolean {
  const sql = prepareRead(database, "SELECT sql FROM sqlite_master WHERE type = 'table' AND name = ?").get([tableName])
  return /\bAUTOINCREMENT\b/i.test(String(sql?.[0]))
}

function writeNext (tableName: string): string {
  return `SELECT coalesce(max(seq), 0) + 1 FROM sqlite_sequence WHERE name = ${quoteText(tableName)}`
}

/** The same, with the form of the moments in columns that somebody else fills: that of the first that is found. */
export function readForeignColumns (database: SqliteDatabase, tableName: string): Map<string, PresentColumn> {
  const present = readColumns(database, tableName)
  return new Map(Array.from(present, ([name, column]) => {
    if (/INT|REAL|FLOA|DOUB|BLOB|BOOL/i.test(column.type)) return [name, column]
    const rows = `SELECT ${quoteName(name)} AS value FROM ${quoteName(tableName)} LIMIT 1000`
    const first = prepareRead(database, `SELECT value FROM (${rows}) WHERE value IS NOT NULL LIMIT 1`).get([])?.[0]
    const isSpaced = /^\d{4}-\d\d-\d\d \d\d:\d\d/.test(String(first)) ||
      /^(CURRENT_TIMESTAMP|datetime\()/i.test(column.next ?? '')
    return [name, { ...column, isSpaced }]
  }))
}

/** The indexes as they are in the file. Those over expressions, descending or with a collation are left to SQLite. */
export function readIndexes (database: SqliteDatabase, { tableName, columns, mapped }: Layout): Index[] {
  const rows = prepareRead(database, `SELECT l.name, i.name, i.coll = 'BINARY' AND i."desc" = 0
    FROM pragma_index_list(?) l, pragma_index_xinfo(l.name) i
    WHERE l.partial = 0 AND l.origin <> 'pk' AND i.key = 1 ORDER BY l.name, i.seqno`).all([tableName])
  const parts = rows as [name: string, column: string | null, isPlain: number][]
  return [...new Set(parts.map(([name]) => name))].flatMap(name => {
    const own = parts.filter(part => part[0] === name)
    if (own.some(([, column, isPlain]) => column === null || isPlain !== 1)) return []
    const fields = own.map(([, name]) =>
      columns.find(column => column.name === name && isPlain(column))?.field.name ?? '')
    // Every index of our tables ends with the id, whether that is said or not.
    const hasId = fields.length > 1 && fields.at(-1) === 'id'
    return [{ name, fields: hasId ? fields.slice(0, -1) : fields, sortedById: hasId || !mapped }]
  })
}

/** The sets of columns of which no two rows have the same. */
export function listUnique (database: SqliteDatabase, { tableName }: Layout): string[][] {
  const rows = prepareRead(database, `SELECT l.name, i.name FROM pragma_index_list(?) l, pragma_index_xinfo(l.name) i
    WHERE l."unique" = 1 AND l.partial = 0 AND i.key = 1 ORDER BY l.name`).all([tableName]) as [string, string | null][]
  const sets = new Map<string, string[]>()
  // An expression has no name, so that it is over other columns than any.
  for (const [index, column] of rows) sets.set(index, [...sets.get(index) ?? [], column ?? ''])
  return [...sets.values()]
}

/** Whether the column stands in SQL as it is, so that its index is of use. */
function isPlain ({ isFilled, kind, present }: Column): boolean {
  return !isFilled && !isSpaced(kind, present)
}

/** The statements that make what is missing of a table. What cannot be made is refused. */
export function listMissing (database: SqliteDatabase, layout: Layout): string[] {
  const present = readColumns(database, layout.tableName)
  const indexes = readIndexes(database, layout)
  const table = { database, layout, present, indexes }
  const statements = present.size === 0 ? [create(layout)] : layout.columns.flatMap(column => mendColumn(table, column))
  const there = new Set(indexes.map(({ name }) => name))
  for (const [{ name, terms }] of listIndexes(layout, sqliteDialect).wanted) {
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
    const clashes = writeClashes(layout, fields, ({ name }) => present.has(name as string), sqliteDialect)
    refuseFound(layout, fields, prepareRead(database, clashes).all([]))
  }
  return missing.map(fields => writeUnique(layout, fields, sqliteDialect))
}

// An integer id is the row's number; a table with other ids is ordered by them. Either way every index ends with the
// id.
function create (layout: Layout): string {
  return writeCreate(layout, sqliteDialect) + (layout.id.kind === 'integer' ? '' : ' WITHOUT ROWID')
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
    if (hasRow(table, '')) refuseIncomplete(layout.family, field, describeFilling(layout, column, sqliteDialect))
    return [writeAddColumn(layout, column, sqliteDialect)]
  }
  const { type } = there
  const fits = fitsKind(type, kind)
  if (fits === false || (fits === 'unsure' && !hasFittingValues(table, column))) {
    const { family, tableName } = layout
    const expected = sqliteDialect.types[kind]
    throw new errorCodes.FST_DEALBOOK_COLUMN_TYPE(family, name, tableName, type || 'BLOB', field.name, kind, expected)
  }
  // Where the column has the default itself, nothing was stored without it, and to look for it may take long.
  const isLookedFor = isFillable(field) && (!there.hasDefault || isIndexed(table, column))
  const isFilled = !isLookedFor || !hasRow(table, `WHERE ${column.equated} IS NULL`)
  return isFilled ? [] : [writeFill(layout, column, sqliteDialect)]
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

/** How the family is kept. */
export function layOutTable (
  database: SqliteDatabase,
  shape: FamilyShape,
  mapping: TableMapping | undefined
): Layout {
  return mapping === undefined
    ? layOutOwnTable(shape, sqliteDialect)
    : layOutMappedTable(shape, mapping, readForeignColumns(database, mapping.table), sqliteDialect)
}

/** Makes what is missing of a table. */
export async function makeMissing (database: SqliteDatabase, layout: Layout, timeout: number): Promise<void> {
  // The lock is taken only where there is something to write, so a process that starts again waits for no other.
  if (listMissing(database, layout).length === 0) return
  const transact = prepareTransaction(database)
  await waitUntilFree(timeout, () => {
    transact(() => {
      for (const sql of listMissing(database, layout)) database.exec(sql)
    })
  })
}
