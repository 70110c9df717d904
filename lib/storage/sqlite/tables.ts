import { errorCodes } from '../../core/errors.js'
import { refuseIncomplete } from '../../core/storage/shapes.js'
import type { Kind } from '../../core/storage/storage.js'
import { isBigInteger } from '../../core/values/decimals.js'
import { isDate, readDateTime } from '../../core/values/formats.js'
import {
  describeFilling, listIndexes, listNulls, nameNulls, nameUnique, refuseFound, writeAddColumn, writeClashes,
  writeCreate, writeFill, writeNulls, writeUnique
} from '../sql/definitions.js'
import {
  type ColumnTexts, type Dialect, type Flag, nameType, type PresentColumn, quoteName, quoteText
} from '../sql/dialect.js'
import { encodeFlag, refuseFlagColumn, writeFlag } from '../sql/flags.js'
import { type Column, getColumn, type Layout, mayLack } from '../sql/layout.js'
import { prepareRead, prepareTransaction, type SqliteDatabase, waitUntilFree } from './driver.js'
import { listMissingLinks } from './links.js'
import type { Index } from './paths.js'

/** Writes the canonical text of a decimal. */
export const decimalFunction = 'dealbook_decimal'
export const linkFunction = 'dealbook_link'

// @photostructure/sqlite binds positive numbers below 2^-52 as 0; as text they arrive whole.
const tiny = 1e-15

const encodeNumber = (value: number): unknown => value > 0 && value < tiny ? String(value) : value

const encoders: Dialect['encode'] = {
  boolean: value => value === true ? 1 : 0,
  number: value => encodeNumber(value as number),
  // Mapped tables may have integers that a number cannot hold.
  decimal: value => isBigInteger(String(value)) ? BigInt(value as string) : encodeNumber(Number(value)),
  json: value => JSON.stringify(value)
}

export function encodeValue (value: unknown, kind: Kind): unknown {
  if (value === undefined || value === null) return null
  const encoder = encoders[kind]
  return encoder === undefined ? value : encoder(value)
}

/** Dates are text that sorts by time. SQLite ignores the first word of a type; it marks the kind of the column. */
export const sqliteDialect: Dialect = {
  types: {
    integer: 'INTEGER',
    number: 'REAL',
    decimal: 'NUMERIC',
    string: 'TEXT',
    boolean: 'BOOLEAN',
    date: 'DATE TEXT',
    'date-time': 'DATETIME TEXT',
    json: 'JSON TEXT'
  },
  // Tiny numbers are text, which a column in an expression does not convert.
  parameter: (_, as) => as === 'number' ? 'CAST(? AS REAL)' : as === 'decimal' ? 'CAST(? AS NUMERIC)' : '?',
  inList: (column, list, negated) => `${column}${negated ? ' NOT' : ''} IN (${list})`,
  listsAreOneParameter: false,
  // A unary plus makes the column an expression, which no index covers.
  withoutIndex: '+',
  writeColumn (column, { kind, scale }, present) {
    if (present?.flag !== undefined) return writeFlagColumn(column, present.flag)
    const selected = isSpaced(kind, present) ? `strftime('%Y-%m-%dT%H:%M:%fZ', ${column})` : column
    const compared = present !== undefined && kind === 'string' ? `${selected} COLLATE BINARY` : selected
    const texts = { selected, compared, comparedAs: kind, equated: compared, equatedAs: kind }
    const large = `abs(${column} / 2) >= ${2 ** 52} THEN CAST(${column} AS TEXT)`
    if (kind === 'decimal') {
      const shown = `${decimalFunction}(${column}, ${scale})`
      if (present === undefined) return { ...texts, selected: shown }
      return { ...texts, selected: `CASE WHEN typeof(${column}) = 'integer' AND ${large} ELSE ${shown} END` }
    }
    if (present === undefined || kind !== 'integer') return texts
    return { ...texts, selected: `CASE WHEN ${large} ELSE ${column} END` }
  },
  writeFilled (column, field, present) {
    if (present?.flag !== undefined) {
      const value = writeConstant(encodeFlag(present.flag, field.default))
      return this.writeColumn(`COALESCE(${column}, ${value})`, field, present)
    }
    return this.writeColumn(`COALESCE(${column}, ${writeDefault(field.default, field.kind)})`, field, present)
  },
  encode: encoders,
  decode: {
    boolean: value => value !== 0,
    json: value => JSON.parse(value as string) as unknown
  },
  uniqueTerm: (column, kind) => kind === 'string' ? `${column} COLLATE BINARY` : column,
  literal: writeDefault,
  // A bare number in ORDER BY would be the number of a column.
  constant: (value, kind) => `CAST(${writeDefault(value, kind)} AS ${typeof value === 'number' ? 'INTEGER' : 'TEXT'})`
}

const dialect = sqliteDialect

/** Whether date-times are kept in a different form than ours. */
export function isSpaced (kind: Kind, present: PresentColumn | undefined): boolean {
  return kind === 'date-time' && present?.isSpaced === true
}

function writeDefault (value: unknown, kind: Kind): string {
  return writeConstant(encodeValue(value, kind))
}

function writeConstant (value: unknown): string {
  return typeof value === 'string' ? quoteText(value) : String(value)
}

/** A column that keeps a boolean as one of two texts or integers. */
function writeFlagColumn (given: string, flag: Flag): ColumnTexts {
  // Whatever collation the column has.
  const column = typeof flag.true === 'string' ? `${given} COLLATE BINARY` : given
  const terms = { column, as: 'string', text: `CAST(${given} AS TEXT)`, literal: writeConstant, quote: quoteText }
  const writeJson = (text: string): string => `CASE WHEN ${given} IS NOT NULL THEN json_quote(${text}) END`
  return { ...writeFlag(flag, terms, writeJson), comparedAs: 'string' }
}

export function checkFlags (layout: Layout): void {
  const { family, columns } = layout
  for (const { name, field, present: { flag, type = '' } = {} } of columns) {
    if (flag === undefined) continue
    // In a column without an affinity for them, they would be kept in another form.
    const isText = typeof flag.true === 'string'
    if (isText ? !/INT|REAL|FLOA|DOUB/i.test(type) : getAffinity(type) !== 'TEXT') continue
    throw refuseFlagColumn(family, field.name, name as string, flag, `it has the type ${type}`)
  }
}

// The first release did not mark these kinds by the type of the column: there, the values show the kind.
const isOfKind: Partial<Record<Kind, (value: unknown) => boolean>> = {
  boolean: value => value === 0 || value === 1,
  date: value => isDate(String(value)),
  'date-time': value => readDateTime(String(value)) !== undefined,
  json: value => isJson(String(value))
}

function checkType (database: SqliteDatabase, layout: Layout, column: Column, type: string): void {
  const { name, kind, field, equated } = column
  const expected = nameType(dialect, field)
  const declared = type.toUpperCase()
  // SQLite keeps integers and other numbers in one column.
  if (declared === expected || (kind === 'number' && declared === dialect.types.integer)) return
  const isOther = declared.startsWith(`${dialect.types.decimal}(`) ||
    (Object.values(dialect.types).includes(declared) && !['INTEGER', 'REAL', 'TEXT'].includes(declared))
  if (!isOther && getAffinity(type) === getAffinity(expected)) {
    // If any value is of a different type, the least or the greatest is.
    const edge = (end: string): string => `(SELECT ${end}(${equated}) FROM ${layout.table})`
    const edges = prepareRead(database, `SELECT ${edge('min')}, ${edge('max')}`).get([]) as unknown[]
    if (edges.every(value => value === null || isOfKind[kind]?.(value) !== false)) return
  }
  const { family, tableName } = layout
  throw new errorCodes.FST_DEALBOOK_COLUMN_TYPE(family, name, tableName, type || 'BLOB', field.name, kind, expected)
}

function isJson (text: string): boolean {
  try {
    return JSON.parse(text) !== undefined
  } catch {
    return false
  }
}

// SQLite's rules (datatype3.html, 3.1) except for NUMERIC: integers and booleans are kept alike.
function getAffinity (type: string): 'INTEGER' | 'TEXT' | 'REAL' | 'BLOB' {
  if (/INT/i.test(type)) return 'INTEGER'
  if (/CHAR|CLOB|TEXT/i.test(type)) return 'TEXT'
  if (/BLOB/i.test(type) || type === '') return 'BLOB'
  return /REAL|FLOA|DOUB/i.test(type) ? 'REAL' : 'INTEGER'
}

/** Empty if the table does not exist. */
function readColumns (database: SqliteDatabase, tableName: string): Map<string, PresentColumn> {
  const sql = 'SELECT name, type, "notnull", dflt_value, pk, hidden FROM pragma_table_xinfo(?) WHERE hidden <> 1'
  const rows = prepareRead(database, sql).all([tableName]) as [string, string, number, string | null, number, number][]
  const [text] = prepareRead(database, 'SELECT sql FROM sqlite_master WHERE name = ?').get([tableName]) ?? []
  // The ids of deleted rows are not used again.
  const isAutoincrement = /\bAUTOINCREMENT\b/i.test(String(text))
  const next = `SELECT coalesce(max(seq), 0) + 1 FROM sqlite_sequence WHERE name = ${quoteText(tableName)}`
  return new Map(rows.map(([name, type, isNotNull, value, key, hidden]) => [name, {
    type,
    isNotNull: isNotNull === 1,
    hasDefault: value !== null || hidden > 0,
    isGenerated: hidden > 0,
    next: value ?? (key === 1 && isAutoincrement ? next : undefined)
  }]))
}

/** Other programs fill these columns: the first date-time found shows their form. */
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

/** Indexes over expressions, descending or with a collation are left to SQLite. */
export function readIndexes (database: SqliteDatabase, { tableName, columns, mapped }: Layout): Index[] {
  const rows = prepareRead(database, `SELECT l.name, i.name, i.coll = 'BINARY' AND i."desc" = 0
    FROM pragma_index_list(?) l, pragma_index_xinfo(l.name) i
    WHERE l.partial = 0 AND l.origin <> 'pk' AND i.key = 1 ORDER BY l.name, i.seqno`).all([tableName])
  const parts = rows as [name: string, column: string | null, isPlain: number][]
  return [...new Set(parts.map(([name]) => name))].flatMap(name => {
    const own = parts.filter(part => part[0] === name)
    if (own.some(([, column, isPlain]) => column === null || isPlain !== 1)) return []
    const found = own.map(([, name]) => columns.find(column => column.name === name && isPlainColumn(column)))
    const fields = found.map(column => column?.field.name ?? '')
    const unsorted = found.flatMap(column => column?.present?.flag === undefined ? [] : column.field.name)
    // Every index of our tables ends with the id, explicitly or not.
    const hasId = fields.length > 1 && fields.at(-1) === 'id'
    return [{ name, fields: hasId ? fields.slice(0, -1) : fields, unsorted, sortedById: hasId || !mapped }]
  })
}

/** The names of partial indexes too. */
export function listIndexNames (database: SqliteDatabase, { tableName }: Layout): string[] {
  const rows = prepareRead(database, 'SELECT name FROM pragma_index_list(?)').all([tableName])
  return rows.map(([name]) => name as string)
}

export function listUnique (database: SqliteDatabase, { tableName }: Layout): string[][] {
  const rows = prepareRead(database, `SELECT l.name, i.name FROM pragma_index_list(?) l, pragma_index_xinfo(l.name) i
    WHERE l."unique" = 1 AND l.partial = 0 AND i.key = 1 ORDER BY l.name`).all([tableName]) as [string, string | null][]
  const sets = new Map<string, string[]>()
  // An expression has no name; '' equals no column.
  for (const [index, column] of rows) sets.set(index, [...sets.get(index) ?? [], column ?? ''])
  return [...sets.values()]
}

/** Whether the column is used without an expression, so that its index applies. */
function isPlainColumn ({ isFilled, kind, present }: Column): boolean {
  return !isFilled && !isSpaced(kind, present)
}

/** Throws if something cannot be created. */
export function listMissing (database: SqliteDatabase, layout: Layout): string[] {
  const present = readColumns(database, layout.tableName)
  const indexes = readIndexes(database, layout)
  const names = listIndexNames(database, layout)
  const hasRow = (where: string): boolean =>
    prepareRead(database, `SELECT 1 FROM ${layout.table} ${where} LIMIT 1`).get([]) !== undefined
  const lacking = new Set<string>()
  const completeColumn = (column: Column): string[] => {
    const { name, field } = column
    const there = present.get(name as string)
    if (there === undefined) {
      if (hasRow('')) refuseIncomplete(layout.family, field, describeFilling(layout, column, dialect))
      return [writeAddColumn(layout, column, dialect)]
    }
    checkType(database, layout, column, there.type)
    // If the column has the default, hardly any row lacks it, and a search without an index may take long.
    const isSearched = !there.hasDefault || names.includes(nameNulls(layout, column)) ||
      indexes.some(({ fields }) => fields[0] === field.name)
    if (!mayLack(column) || !isSearched || !hasRow(`WHERE ${quoteName(name as string)} IS NULL`)) return []
    lacking.add(field.name)
    return [writeFill(layout, column, dialect)]
  }
  const isNew = present.size === 0
  const statements = isNew ? [] : layout.columns.flatMap(completeColumn)
  // An integer id is the rowid, other tables are ordered by id. So every index ends with the id.
  if (isNew) statements.push(writeCreate(layout, dialect) + (layout.id.kind === 'integer' ? '' : ' WITHOUT ROWID'))
  statements.push(...listMissingIndexes(layout, names))
  for (const fields of layout.unique) {
    const isNewRule = !names.includes(nameUnique(layout, fields))
    if (!isNew && (isNewRule || fields.some(field => lacking.has(field)))) {
      refuseFound(layout, fields, prepareRead(database, writeClashes(layout, fields, present, dialect)).all([]))
    }
    if (isNewRule) statements.push(writeUnique(layout, fields, dialect))
  }
  const { sequence } = layout
  const hasSequence = sequence !== undefined && present.has(sequence.name as string)
  if (sequence !== undefined && !isNew && (!hasSequence || hasRow(`WHERE ${sequence.equated} IS NULL`))) {
    statements.push(writeNumbers(layout, sequence))
  }
  return [...statements, ...listMissingLinks(database, layout)]
}

function listMissingIndexes (layout: Layout, present: readonly string[]): string[] {
  const indexes = listIndexes(layout).filter(({ name }) => !present.includes(name)).map(({ name, columns }) => {
    const names = columns.map(({ name }) => quoteName(name as string)).join(', ')
    return `CREATE INDEX IF NOT EXISTS ${quoteName(name)} ON ${layout.table} (${names})`
  })
  const nulls = listNulls(layout).filter(column => !present.includes(nameNulls(layout, column)))
  return [...indexes, ...nulls.map(column => writeNulls(layout, column))]
}

/** For items from before the sequence. */
function writeNumbers (layout: Layout, { name, equated }: Column): string {
  const { table, id } = layout
  const createdAt = getColumn(layout, 'createdAt').equated
  const numbered = `SELECT ${id.equated} AS id, row_number() OVER (ORDER BY ${createdAt}, ${id.equated}) ` +
    `+ COALESCE((SELECT max(${equated}) FROM ${table}), 0) AS n FROM ${table} WHERE ${equated} IS NULL`
  return `UPDATE ${table} SET ${quoteName(name as string)} = numbered.n FROM (${numbered}) AS numbered ` +
    `WHERE ${table}.${id.equated} = numbered.id`
}

export async function makeMissing (database: SqliteDatabase, layout: Layout, timeout: number): Promise<void> {
  // Locks only to write, so that a restarting process does not wait for others.
  if (listMissing(database, layout).length === 0) return
  const transact = prepareTransaction(database)
  await waitUntilFree(timeout, () => {
    transact(() => {
      for (const sql of listMissing(database, layout)) database.exec(sql)
    })
  })
}
