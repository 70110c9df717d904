import { errorCodes } from '../../errors.js'
import type { Layout, TableMapping } from '../sql/layout.js'
import { layOutMappedTable, layOutOwnTable, nameIndexes } from '../sql/layout.js'
import { quoteName } from '../sql/names.js'
import type { Index } from '../sql/steps.js'
import { makeIndex } from '../sql/steps.js'
import type { FamilyShape } from '../storage.js'
import { sqliteDialect as dialect } from './dialect.js'
import type { SqliteDatabase } from './driver.js'
import { prepareRead, runInTransaction, waitUntilFree } from './driver.js'

/** Makes what is missing of the family's table, and returns how the family is kept. */
export async function prepareTable (
  database: SqliteDatabase,
  shape: FamilyShape,
  mapping: TableMapping | undefined,
  timeout: number
): Promise<{ layout: Layout, indexes: Index[] }> {
  if (mapping !== undefined) {
    const layout = layOutMappedTable(shape, mapping, readColumns(database, mapping.table), dialect)
    return { layout, indexes: readIndexes(database, layout) }
  }

  const layout = layOutOwnTable(shape, dialect)
  // The lock for writing is taken only where there is something to write, so a process that starts again waits for
  // nobody.
  if (listMissing(database, layout).length > 0) {
    await waitUntilFree(timeout, () => {
      runInTransaction(database, () => {
        for (const sql of listMissing(database, layout)) database.exec(sql)
      })
    })
  }
  return { layout, indexes: readIndexes(database, layout) }
}

/** The statements that make what is missing. */
function listMissing (database: SqliteDatabase, layout: Layout): string[] {
  const present = readColumns(database, layout.tableName)
  const statements = present.size === 0 ? [writeCreate(layout)] : listMissingColumns(layout, present)
  const there = new Set(readIndexes(database, layout).map(({ name }) => name))
  const { made, replaced } = nameIndexes(layout)
  for (const name of replaced) if (there.has(name)) statements.push(`DROP INDEX IF EXISTS ${quoteName(name)}`)
  for (const [name, columns] of made) {
    if (there.has(name)) continue
    const terms = columns.map(quoteName).join(', ')
    statements.push(`CREATE INDEX IF NOT EXISTS ${quoteName(name)} ON ${layout.table} (${terms})`)
  }
  return statements
}

function listMissingColumns (layout: Layout, present: ReadonlyMap<string, string>): string[] {
  const { family, table, tableName, columns } = layout
  return columns.flatMap(({ name, kind, field }) => {
    const expected = dialect.types[kind]
    const type = present.get(name as string)
    // Without NOT NULL: rows from before the field have no value for it, and are left as they are.
    if (type === undefined) return [`ALTER TABLE ${table} ADD COLUMN ${quoteName(name as string)} ${expected}`]
    if (getAffinity(type) === getAffinity(expected)) return []
    throw new errorCodes.FST_DEALBOOK_COLUMN_TYPE(family, name, tableName, type || 'BLOB', field.name, kind, expected)
  })
}

// An integer id is the row's number; a table with other ids is ordered by them. Either way every index ends with the
// id.
function writeCreate ({ table, columns, id }: Layout): string {
  const required = ['revision', 'createdAt', 'updatedAt']
  const definitions = columns.map(({ name, kind, field }) => {
    const definition = `${quoteName(name as string)} ${dialect.types[kind]}`
    if (field.name === 'id') return `${definition} PRIMARY KEY NOT NULL`
    return required.includes(field.name) ? `${definition} NOT NULL` : definition
  })
  return `CREATE TABLE ${table} (${definitions.join(', ')})${id.kind === 'integer' ? '' : ' WITHOUT ROWID'}`
}

/** The types of the columns by their names; none where there is no such table. */
function readColumns (database: SqliteDatabase, tableName: string): Map<string, string> {
  const rows = prepareRead(database, 'SELECT name, type FROM pragma_table_info(?)').all([tableName])
  return new Map(rows as [string, string][])
}

/** The indexes as they are in the file, whoever made them. */
function readIndexes (database: SqliteDatabase, { tableName, columns, mapped }: Layout): Index[] {
  const rows = prepareRead(database, `SELECT l.name, i.name, i.coll = 'BINARY' AND i."desc" = 0
    FROM pragma_index_list(?) l, pragma_index_xinfo(l.name) i
    WHERE l.partial = 0 AND i.key = 1 ORDER BY l.name, i.seqno`).all([tableName])
  const indexes = new Map<string, { fields: string[], plain: boolean }>()
  for (const [name, columnName, plain] of rows as [string, string | null, number][]) {
    const index = indexes.get(name) ?? { fields: [], plain: true }
    index.fields.push(columns.find(column => column.name === columnName)?.field.name ?? '')
    indexes.set(name, { fields: index.fields, plain: index.plain && plain === 1 && columnName !== null })
  }
  // Those over expressions, descending or with a collation of their own are left to SQLite.
  return [...indexes].flatMap(([name, { fields, plain }]) => plain ? [makeIndex(name, fields, !mapped)] : [])
}

// The rules of SQLite itself (datatype3.html, 3.1); whole numbers and booleans are kept alike, so NUMERIC goes with
// INTEGER.
function getAffinity (type: string): 'INTEGER' | 'TEXT' | 'REAL' | 'BLOB' {
  if (/INT/i.test(type)) return 'INTEGER'
  if (/CHAR|CLOB|TEXT/i.test(type)) return 'TEXT'
  if (/BLOB/i.test(type) || type === '') return 'BLOB'
  return /REAL|FLOA|DOUB/i.test(type) ? 'REAL' : 'INTEGER'
}
