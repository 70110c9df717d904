import type { Layout, TableMapping } from '../sql/layout.js'
import type { SqlConnection } from '../sql/sql-storage.js'
import type { PlanLimits } from '../sql/steps.js'
import { planLimits } from '../sql/steps.js'
import type { FamilyShape } from '../storage.js'
import type { LineLimits } from '../waiting-line.js'
import { lineLimits, WaitingLine } from '../waiting-line.js'
import { CommitQueue } from './commits.js'
import type { SqliteDatabase } from './driver.js'
import { findFile, openDatabase } from './driver.js'
import { HeavyWorkers } from './heavy-workers.js'
import { enableJson } from './json.js'
import { TableReader } from './reader.js'
import type { SliceLimits } from './sliced-reader.js'
import { sliceLimits } from './sliced-reader.js'
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

export interface ConnectionLimits extends PlanLimits, SliceLimits, LineLimits {}

export interface SqliteSettings {
  readonly busyTimeout: number
  readonly maxWaitingCommits: number
}

/** An open database with its queue of commits. */
export async function openConnection (
  source: SqliteSource,
  { busyTimeout, maxWaitingCommits }: SqliteSettings,
  given: Partial<ConnectionLimits> = {}
): Promise<SqlConnection<Write, SqliteTable>> {
  const database = 'file' in source ? await openDatabase(source.file) : source.database
  const queue = new CommitQueue(database, busyTimeout, maxWaitingCommits)
  const limits = { ...planLimits, ...sliceLimits, ...lineLimits, ...given }
  // Only what was opened by its name here can be opened once more, with the same meaning.
  const file = 'file' in source ? findFile(database) : undefined
  const workers = file === undefined ? undefined : new HeavyWorkers(file)
  const line = new WaitingLine(limits)
  const settings = { writesJson: enableJson(database), limits, line, workers }

  return {
    async prepareTable (shape: FamilyShape, mapping: TableMapping | undefined) {
      // There is one connection, which may be in a transaction.
      await queue.idle()
      const { layout, indexes } = await prepareTable(database, shape, mapping, busyTimeout)
      return {
        layout,
        reader: new TableReader(new ReadStatements(database, layout), indexes, settings),
        writer: layout.writable ? new TableWriter(database, layout) : undefined
      }
    },
    commit: writes => queue.add(writes),
    idle: () => queue.idle(),
    async close () {
      await workers?.close()
      if ('file' in source) database.close()
    },
    metrics: () => ({ ...queue.metrics(), ...line.metrics() })
  }
}
