import { HeavyReadQueue, type QueueLimits } from '../../core/storage/turns.js'
import { DefaultFilling } from '../sql/filling.js'
import type { SqlConnection } from '../sql/sql-storage.js'
import { ChangeNotifier, CommitBurst, ReadBurst } from './bursts.js'
import { findFile, openDatabase, type SqliteDatabase } from './driver.js'
import { FileGuard } from './file-guard.js'
import { HeavyReads } from './heavy-reads.js'
import { Anchors, pathLimits } from './paths.js'
import { SqliteTableReader } from './reader.js'
import { addFunctions, TableStatements } from './statements.js'
import {
  checkFlags, listIndexNames, listMissing, listUnique, makeMissing, readForeignColumns, readIndexes, sqliteDialect
} from './tables.js'
import { SqliteTableWriter, type TableWrite } from './writer.js'

/** Either a file or an open database. */
export interface OpenOptions extends QueueLimits {
  readonly file?: string
  readonly database?: SqliteDatabase
  readonly busyTimeout?: number
  readonly maxWaitingCommits?: number
}

/** An open database belongs to the host, which closes it. */
export async function openSqlite (options: OpenOptions, limits = pathLimits): Promise<SqlConnection<TableWrite>> {
  const { file, busyTimeout = 5000, maxWaitingCommits = 1000 } = options
  const database = options.database ?? await openDatabase(file as string)
  addFunctions(database)
  const burst = new ReadBurst(database, file !== undefined, busyTimeout)
  const anchors = new Anchors(database, limits.anchorRows)
  const changes = new ChangeNotifier(database)
  const path = findFile(database)
  const guard = path === undefined ? undefined : new FileGuard(path, file === undefined ? undefined : `${path}-wal`)
  const queue = new CommitBurst(database, { busyTimeout, maxWaitingCommits, anchors, changes, guard })
  const heavyQueue = new HeavyReadQueue(options)
  // Only a file that was opened by its name can be opened again by a worker.
  const heavy = new HeavyReads(heavyQueue, file === undefined ? undefined : path)

  return {
    dialect: sqliteDialect,
    readMapped: async ({ table }) => readForeignColumns(database, table),
    listMissing: async layout => listMissing(database, layout),
    async makeMissing (layout) {
      // The only connection may be in a transaction.
      await queue.idle()
      await makeMissing(database, layout, busyTimeout)
    },
    listUnique: async layout => listUnique(database, layout),
    async openTable (layout) {
      checkFlags(layout)
      const statements = new TableStatements(database, layout)
      return {
        layout,
        reader: new SqliteTableReader(statements, () => {
          const indexes = readIndexes(database, layout)
          const fields = indexes.map(({ fields }) => fields)
          const names = listIndexNames(database, layout)
          return { indexes, filling: new DefaultFilling(layout, { fields, names }, sqliteDialect) }
        }, { limits, burst, heavy, anchors }),
        writer: layout.writable ? new SqliteTableWriter(database, layout) : undefined
      }
    },
    check: () => { guard?.check() },
    commit: writes => queue.add(writes),
    watch: wake => changes.watch(wake),
    async idle () {
      await burst.idle()
      await queue.idle()
    },
    async close () {
      changes.stop()
      await heavy.close()
      if (file !== undefined) database.close()
    },
    metrics: () => ({ ...queue.metrics(), ...heavyQueue.metrics() })
  }
}
