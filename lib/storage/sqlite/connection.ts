import type { FamilyShape } from '../../core/storage/storage.js'
import type { QueueLimits } from '../../core/storage/turns.js'
import { HeavyReadQueue, queueLimits } from '../../core/storage/turns.js'
import type { Layout, TableMapping } from '../sql/layout.js'
import type { SqlConnection } from '../sql/sql-storage.js'
import type { PlanLimits } from '../sql/steps.js'
import { planLimits } from '../sql/steps.js'
import type { AnchorLimits } from './anchors.js'
import { anchorLimits, Anchors } from './anchors.js'
import { listUnique, readIndexes } from './catalog.js'
import type { CommitSettings } from './commits.js'
import { CommitQueue } from './commits.js'
import type { SqliteDatabase } from './driver.js'
import { findFile, openDatabase } from './driver.js'
import { HeavyWorkers } from './heavy-workers.js'
import { enableJson } from './json.js'
import { listMissing } from './missing.js'
import { TableReader } from './reader.js'
import { Round } from './round.js'
import type { SliceLimits } from './sliced-reader.js'
import { sliceLimits } from './sliced-reader.js'
import { ReadStatements } from './statements.js'
import { layOutTable, makeMissing } from './tables.js'
import type { Write } from './writer.js'
import { TableWriter } from './writer.js'

interface SqliteTable {
  readonly layout: Layout
  readonly reader: TableReader
  readonly writer: TableWriter | undefined
}

/** Where the tables are: in a file, or in a database that the host has opened, and closes. */
type SqliteSource = { readonly file: string } | { readonly database: SqliteDatabase }

export interface ConnectionLimits extends PlanLimits, SliceLimits, QueueLimits, AnchorLimits {}

/** An open database with its queue of commits. */
export async function openConnection (
  source: SqliteSource,
  settings: Pick<CommitSettings, 'busyTimeout' | 'maxWaitingCommits'>,
  given: Partial<ConnectionLimits> = {}
): Promise<SqlConnection<Write, SqliteTable>> {
  const database = 'file' in source ? await openDatabase(source.file) : source.database
  const limits = { ...planLimits, ...sliceLimits, ...queueLimits, ...anchorLimits, ...given }
  const round = new Round(database, 'file' in source)
  const anchors = new Anchors(database, round, limits)
  const queue = new CommitQueue(database, { ...settings, anchors })
  // Only what was opened by its name here can be opened once more, with the same meaning.
  const file = 'file' in source ? findFile(database) : undefined
  const workers = file === undefined ? undefined : new HeavyWorkers(file)
  const line = new HeavyReadQueue(limits)
  const reading = { writesJson: enableJson(database), limits, line, workers, round, anchors }

  return {
    layOut: async (shape: FamilyShape, mapping: TableMapping | undefined) => layOutTable(database, shape, mapping),
    listMissing: async (layout: Layout) => listMissing(database, layout),
    async makeMissing (layout: Layout) {
      // There is one connection, which may be in a transaction.
      await queue.idle()
      await makeMissing(database, layout, settings.busyTimeout)
    },
    listUnique: async (layout: Layout) => listUnique(database, layout),
    async openTable (layout: Layout) {
      const indexes = readIndexes(database, layout)
      return {
        layout,
        reader: new TableReader(new ReadStatements(database, layout), indexes, reading),
        writer: layout.writable ? new TableWriter(database, layout) : undefined
      }
    },
    commit: writes => queue.add(writes),
    async idle () {
      await round.idle()
      await queue.idle()
    },
    async close () {
      await workers?.close()
      if ('file' in source) database.close()
    },
    metrics: () => ({ ...queue.metrics(), ...line.metrics() })
  }
}
