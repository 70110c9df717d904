import type { Layout } from '../sql/layout.js'
import type { PresentColumn } from '../sql/make-layout.js'
import type { Index } from '../sql/steps.js'
import { makeIndex } from '../sql/steps.js'
import type { SqliteDatabase } from './driver.js'
import { prepareRead } from './driver.js'

/** The columns of a table by their names; none where there is no such table. */
export function readColumns (database: SqliteDatabase, tableName: string): Map<string, PresentColumn> {
  const sql = 'SELECT name, type, "notnull", dflt_value IS NOT NULL FROM pragma_table_info(?)'
  const rows = prepareRead(database, sql).all([tableName]) as [string, string, number, number][]
  return new Map(rows.map(([name, type, isNotNull, hasDefault]) =>
    [name, { type, isNotNull: isNotNull === 1, hasDefault: hasDefault === 1 }]))
}

/** The indexes as they are in the file, whoever made them. */
export function readIndexes (database: SqliteDatabase, { tableName, columns, mapped }: Layout): Index[] {
  const rows = prepareRead(database, `SELECT l.name, i.name, i.coll = 'BINARY' AND i."desc" = 0
    FROM pragma_index_list(?) l, pragma_index_xinfo(l.name) i
    WHERE l.partial = 0 AND i.key = 1 ORDER BY l.name, i.seqno`).all([tableName])
  const indexes = new Map<string, { fields: string[], plain: boolean }>()
  for (const [name, columnName, plain] of rows as [string, string | null, number][]) {
    const index = indexes.get(name) ?? { fields: [], plain: true }
    index.fields.push(columns.find(column => column.name === columnName && !column.isFilled)?.field.name ?? '')
    indexes.set(name, { fields: index.fields, plain: index.plain && plain === 1 && columnName !== null })
  }
  // Those over expressions, descending or with a collation of their own are left to SQLite.
  return [...indexes].flatMap(([name, { fields, plain }]) => plain ? [makeIndex(name, fields, !mapped)] : [])
}
