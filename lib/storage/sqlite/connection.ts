import { HeavyReadQueue, type QueueLimits, queueLimits } from '../../core/storage/turns.js'
import type { Layout } from '../sql/layout.js'
import type { SqlConnection } from '../sql/sql-storage.js'
import { CommitQueue, type CommitSettings, ReadBurst } from './bursts.js'
import { findFile, openDatabase, type SqliteDatabase } from './driver.js'
import { HeavyReads } from './heavy-reads.js'
import { Anchors, type PathLimits, pathLimits } from './paths.js'
import { TableReader } from './reader.js'
import { addFunctions, TableStatements } from './statements.js'
import { listMissing, listUnique, makeMissing, readForeignColumns, readIndexes, sqliteDialect } from './tables.js'
import { TableWriter, type Write } from './writer.js'

/** An open database belongs to the host, which closes it. */
type SqliteSource = { readonly file: string } | { readonly database: SqliteDatabase }

export async function openConnection (
  source: SqliteSource,
  settings: Pick<CommitSettings, 'busyTimeout' | 'maxWaitingCommits'>,
  given: Partial<PathLimits & QueueLimits> = {}
): Promise<SqlConnection<Write>> {
  const database = 'file' in source ? await openDatabase(source.file) : source.database
  const limits = { ...pathLimits, ...queueLimits, ...given }
  addFunctions(database)
  const burst = new ReadBurst(database, 'file' in source, settings.busyTimeout)
  const anchors = new Anchors(database, limits.anchorRows)
  const queue = new CommitQueue(database, { ...settings, anchors })
  const line = new HeavyReadQueue(limits)
  // Only a file that was opened by its name can be opened again by a worker.
  const heavy = new HeavyReads(line, 'file' in source ? findFile(database) : undefined)
  const reading = { limits, burst, heavy, anchors }

  return {
    dialect: sqliteDialect,
    readMapped: async ({ table }) => readForeignColumns(database, table),
    listMissing: async (layout: Layout) => listMissing(database, layout),
    async makeMissing (layout: Layout) {
      // The only connection may be in a transaction.
      await queue.idle()
      await makeMissing(database, layout, settings.busyTimeout)
    },
    listUnique: async (layout: Layout) => listUnique(database, layout),
    async openTable (layout: Layout) {
      const statements = new TableStatements(database, layout)
      return {
        layout,
        reader: new TableReader(statements, () => readIndexes(database, layout), reading),
        writer: layout.writable ? new TableWriter(database, layout) : undefined
      }
    },
    commit: writes => queue.add(writes),
    async idle () {
      await burst.idle()
      await queue.idle()
    },
    async close () {
      await heavy.close()
      if ('file' in source) database.close()
    },
    metrics: () => ({ ...queue.metrics(), ...line.metrics() })
  }
}
