import type { Column, Layout } from '../sql/layout.js'
import { quoteName, quoteText } from '../sql/names.js'
import type { PresentColumn } from '../sql/present-column.js'
import { isSpaced } from './dialect.js'
import type { SqliteDatabase } from './driver.js'
import { prepareRead } from './driver.js'
import type { Index } from './paths.js'
import { makeIndex } from './paths.js'

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

/** The indexes as they are in the file, whoever made them. */
export function readIndexes (database: SqliteDatabase, { tableName, columns, mapped }: Layout): Index[] {
  const rows = prepareRead(database, `SELECT l.name, i.name, i.coll = 'BINARY' AND i."desc" = 0
    FROM pragma_index_list(?) l, pragma_index_xinfo(l.name) i
    WHERE l.partial = 0 AND l.origin <> 'pk' AND i.key = 1 ORDER BY l.name, i.seqno`).all([tableName])
  const indexes = new Map<string, { fields: string[], plain: boolean }>()
  for (const [name, columnName, plain] of rows as [string, string | null, number][]) {
    const index = indexes.get(name) ?? { fields: [], plain: true }
    index.fields.push(columns.find(column => column.name === columnName && isPlain(column))?.field.name ?? '')
    indexes.set(name, { fields: index.fields, plain: index.plain && plain === 1 && columnName !== null })
  }
  // Those over expressions, descending or with a collation of their own are left to SQLite.
  return [...indexes].flatMap(([name, { fields, plain }]) => plain ? [makeIndex(name, fields, !mapped)] : [])
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
