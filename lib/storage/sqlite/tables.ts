import type { Layout, TableMapping } from '../sql/layout.js'
import { layOutMappedTable, layOutOwnTable } from '../sql/make-layout.js'
import type { Index } from '../sql/steps.js'
import type { FamilyShape } from '../storage.js'
import { readForeignColumns, readIndexes } from './catalog.js'
import { sqliteDialect as dialect } from './dialect.js'
import type { SqliteDatabase } from './driver.js'
import { runInTransaction, waitUntilFree } from './driver.js'
import { listMissing } from './missing.js'

/** Makes what is missing of the family's table, and returns how the family is kept. */
export async function prepareTable (
  database: SqliteDatabase,
  shape: FamilyShape,
  mapping: TableMapping | undefined,
  timeout: number
): Promise<{ layout: Layout, indexes: Index[] }> {
  if (mapping !== undefined) {
    const layout = layOutMappedTable(shape, mapping, readForeignColumns(database, mapping.table), dialect)
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
