import type { FamilyShape } from '../../core/storage/storage.js'
import type { Layout, TableMapping } from '../sql/layout.js'
import { layOutMappedTable, layOutOwnTable } from '../sql/make-layout.js'
import { readForeignColumns } from './catalog.js'
import { sqliteDialect as dialect } from './dialect.js'
import type { SqliteDatabase } from './driver.js'
import { prepareTransaction, waitUntilFree } from './driver.js'
import { listMissing } from './missing.js'

/** How the family is kept. */
export function layOutTable (
  database: SqliteDatabase,
  shape: FamilyShape,
  mapping: TableMapping | undefined
): Layout {
  return mapping === undefined
    ? layOutOwnTable(shape, dialect)
    : layOutMappedTable(shape, mapping, readForeignColumns(database, mapping.table), dialect)
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
