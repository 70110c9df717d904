import { EventEmitter } from 'node:events'
import { HeavyReadQueue } from '../../core/storage/turns.js'
import type { SqlOptions } from '../sql/options.js'
import type { SqlConnection } from '../sql/sql-storage.js'
import { CommitQueue, ReadBurst } from './bursts.js'
import { findFile, openDatabase, prepareRead, type SqliteDatabase } from './driver.js'
import { HeavyReads } from './heavy-reads.js'
import { Anchors, pathLimits } from './paths.js'
import { TableReader } from './reader.js'
import { addFunctions, TableStatements } from './statements.js'
import { listMissing, listUnique, makeMissing, readForeignColumns, readIndexes, sqliteDialect } from './tables.js'
import { TableWriter, type Write } from './writer.js'

/** Options of an SQLite storage, besides the file or the open database. */
export interface SqliteOptions extends SqlOptions {
  /** Milliseconds to wait for another process that is writing. Default: 5000. */
  readonly busyTimeout?: number
}

/** Either a file or an open database. */
export interface OpenOptions extends SqliteOptions {
  readonly file?: string
  readonly database?: SqliteDatabase
}

// Milliseconds between two looks for commits of other processes, which take a few microseconds.
const lookEvery = 100

/** An open database belongs to the host, which closes it. */
export async function openConnection (options: OpenOptions, limits = pathLimits): Promise<SqlConnection<Write>> {
  const { file, busyTimeout = 5000, maxWaitingCommits = 1000 } = options
  const database = options.database ?? await openDatabase(file as string)
  addFunctions(database)
  const burst = new ReadBurst(database, file !== undefined, busyTimeout)
  const anchors = new Anchors(database, limits.anchorRows)
  const commits = new EventEmitter().setMaxListeners(0)
  const notify = (): void => { commits.emit('commit') }
  const queue = new CommitQueue(database, anchors, notify, busyTimeout, maxWaitingCommits)
  const heavyQueue = new HeavyReadQueue(options)
  // Only a file that was opened by its name can be opened again by a worker.
  const heavy = new HeavyReads(heavyQueue, file === undefined ? undefined : findFile(database))
  let looking: NodeJS.Timeout | undefined

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
      const statements = new TableStatements(database, layout)
      return {
        layout,
        reader: new TableReader(statements, () => readIndexes(database, layout), { limits, burst, heavy, anchors }),
        writer: layout.writable ? new TableWriter(database, layout) : undefined
      }
    },
    commit: writes => queue.add(writes),
    watch (wake) {
      commits.on('commit', wake)
      looking ??= lookForChanges()
      return () => {
        commits.off('commit', wake)
        if (commits.listenerCount('commit') === 0) stopLooking()
      }
    },
    async idle () {
      await burst.idle()
      await queue.idle()
    },
    async close () {
      stopLooking()
      await heavy.close()
      if (file !== undefined) database.close()
    },
    metrics: () => ({ ...queue.metrics(), ...heavyQueue.metrics() })
  }

  /** The change counter of the file shows commits of other connections. */
  function lookForChanges (): NodeJS.Timeout {
    const counter = prepareRead(database, 'PRAGMA data_version')
    let last = counter.get([])?.[0]
    return setInterval(() => {
      const now = counter.get([])?.[0]
      if (now !== last) notify()
      last = now
    }, lookEvery).unref()
  }

  function stopLooking (): void {
    clearInterval(looking)
    looking = undefined
  }
}
