import type { Index } from '../sql/indexes.js'
import { mappedLayout, ownLayout } from '../sql/layout.js'
import type { Layout, TableMapping } from '../sql/layout.js'
import { quote, shorten } from '../sql/names.js'
import type { FamilyShape } from '../storage.js'
import { sqliteDialect as dialect } from './dialect.js'
import { readStatement, transaction, whenFree } from './driver.js'
import type { SqliteDatabase } from './driver.js'

/** Makes what is missing of the family's table, and answers how the family is kept. */
export async function prepareTable (database: SqliteDatabase, shape: FamilyShape, mapping: TableMapping | undefined, timeout: number): Promise<{ layout: Layout, indexes: Index[] }> {
  if (mapping !== undefined) {
    const present = columnsOf(database, mapping.table)
    if (present.size === 0) throw new Error(`${shape.name}: there is no table "${mapping.table}" to map it to`)
    const layout = mappedLayout(shape, mapping, new Set(present.keys()), dialect)
    return { layout, indexes: indexesOf(database, layout) }
  }

  const layout = ownLayout(shape, dialect)
  // The lock for writing is taken only where there is something to write, so a process that starts again waits for nobody.
  if (missing(database, layout).length > 0) {
    await whenFree(timeout, () => {
      transaction(database, () => {
        for (const sql of missing(database, layout)) database.exec(sql)
      })
    })
  }
  return { layout, indexes: indexesOf(database, layout) }
}

function missing (database: SqliteDatabase, layout: Layout): string[] {
  const present = columnsOf(database, layout.tableName)
  const statements: string[] = []
  if (present.size === 0) statements.push(creation(layout))
  else {
    for (const { name, kind, field } of layout.columns) {
      const type = present.get(name as string)
      // Without NOT NULL: rows from before the field have no value for it, and are left as they are.
      if (type === undefined) statements.push(`ALTER TABLE ${layout.table} ADD COLUMN ${quote(name as string)} ${dialect.types[kind]}`)
      else if (affinity(type) !== affinity(dialect.types[kind])) {
        throw new Error(`${layout.family}: the column "${name}" of the table "${layout.tableName}" has the type ${type || 'BLOB'}, ` +
          `which does not fit the field "${field.name}" (${kind}, ${dialect.types[kind]})`)
      }
    }
  }
  const there = new Set(indexesOf(database, layout).map(({ name }) => name))
  for (const fields of layout.indexes) {
    const columns = fields.map(field => layout.columns.find(column => column.field.name === field)?.name as string)
    const name = shorten(`${layout.tableName}_${columns.join('_')}_idx`)
    if (!there.has(name)) statements.push(`CREATE INDEX IF NOT EXISTS ${quote(name)} ON ${layout.table} (${columns.map(quote).join(', ')})`)
  }
  return statements
}

// An integer id is the row's number; a table with other ids is ordered by them. Either way every index ends with the id.
function creation (layout: Layout): string {
  const always = ['revision', 'createdAt', 'updatedAt']
  const columns = layout.columns.map(({ name, kind, field }) => {
    const type = `${quote(name as string)} ${dialect.types[kind]}`
    if (field.name === 'id') return `${type} PRIMARY KEY NOT NULL`
    return always.includes(field.name) ? `${type} NOT NULL` : type
  })
  return `CREATE TABLE ${layout.table} (${columns.join(', ')})${layout.id.kind === 'integer' ? '' : ' WITHOUT ROWID'}`
}

function columnsOf (database: SqliteDatabase, table: string): Map<string, string> {
  const rows = readStatement(database, 'SELECT name, type FROM pragma_table_info(?)')([table])
  return new Map(rows as [string, string][])
}

/** The indexes as they are in the file, whoever made them. */
function indexesOf (database: SqliteDatabase, layout: Layout): Index[] {
  const rows = readStatement(database, `SELECT l.name, i.name, i.coll = 'BINARY' AND i."desc" = 0
    FROM pragma_index_list(?) l, pragma_index_xinfo(l.name) i WHERE l.partial = 0 AND i.key = 1 ORDER BY l.name, i.seqno`)([layout.tableName])
  const indexes = new Map<string, { columns: string[], plain: boolean }>()
  for (const [name, column, plain] of rows as [string, string | null, number][]) {
    const { columns, plain: before } = indexes.get(name) ?? { columns: [], plain: true }
    indexes.set(name, { columns: [...columns, column ?? ''], plain: before && plain === 1 && column !== null })
  }
  // Those over expressions, descending or with a collation of their own are left to SQLite.
  return [...indexes].flatMap(([name, { columns, plain }]) => {
    const fields = columns.map(column => layout.columns.find(({ name }) => name === column)?.field.name ?? '')
    return plain ? [{ name, fields }] : []
  })
}

// The rules of SQLite itself (datatype3.html, 3.1); whole numbers and booleans are kept alike, so NUMERIC goes with INTEGER.
function affinity (type: string): 'INTEGER' | 'TEXT' | 'REAL' | 'BLOB' {
  if (/INT/i.test(type)) return 'INTEGER'
  if (/CHAR|CLOB|TEXT/i.test(type)) return 'TEXT'
  if (/BLOB/i.test(type) || type === '') return 'BLOB'
  return /REAL|FLOA|DOUB/i.test(type) ? 'REAL' : 'INTEGER'
}
