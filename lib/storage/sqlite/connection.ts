import type { Layout, TableMapping } from '../sql/layout.js'
import type { PlanLimits } from '../sql/planner.js'
import { planLimits } from '../sql/planner.js'
import type { SqlConnection } from '../sql/sql-storage.js'
import type { FamilyShape } from '../storage.js'
import { CommitQueue } from './commits.js'
import type { SqliteDatabase } from './driver.js'
import { openDatabase } from './driver.js'
import { enableJson } from './json.js'
import type { SliceLimits } from './reader.js'
import { sliceLimits, TableReader } from './reader.js'
import { ReadStatements } from './statements.js'
import { prepareTable } from './tables.js'
import type { Write } from './writer.js'
import { TableWriter } from './writer.js'

interface SqliteTable {
  readonly layout: Layout
  readonly reader: TableReader
  readonly writer: TableWriter | undefined
}

/** Where the tables are: in a file, or in a database that the host has opened, and closes. */
type SqliteSource = { readonly file: string } | { readonly database: SqliteDatabase }

/** An open database with its queue of commits. */
export async function openConnection (
  source: SqliteSource,
  busyTimeout: number,
  limits: PlanLimits & SliceLimits = { ...planLimits, ...sliceLimits }
): Promise<SqlConnection<Write, SqliteTable>> {
  const database = 'file' in source ? await openDatabase(source.file) : source.database
  const queue = new CommitQueue(database, busyTimeout)
  const writesJson = enableJson(database)

  return {
    async prepareTable (shape: FamilyShape, mapping: TableMapping | undefined) {
      // There is one connection, which may be in a transaction.
      await queue.idle()
      const { layout, indexes } = await prepareTable(database, shape, mapping, busyTimeout)
      return {
        layout,
        reader: new TableReader(new ReadStatements(database, layout), indexes, writesJson, limits),
        writer: layout.writable ? new TableWriter(database, layout) : undefined
      }
    },
    commit: writes => queue.add(writes),
    idle: () => queue.idle(),
    async close () {
      if ('file' in source) database.close()
    }
  }
}
