import type { FamilyShape } from '../../core/storage/storage.js'
import type { QueueLimits } from '../../core/storage/turns.js'
import { HeavyReadQueue } from '../../core/storage/turns.js'
import type { Layout, TableMapping } from '../sql/layout.js'
import type { SqlConnection } from '../sql/sql-storage.js'
import type { PlanLimits } from '../sql/steps.js'
import { planLimits } from '../sql/steps.js'
import { readUniqueColumns } from './catalog.js'
import { CommitQueue } from './commits.js'
import type { PoolSettings, PostgresPool } from './driver.js'
import { leaveAlone, listenTo, openPool } from './driver.js'
import { markCut, readIndexes, toIndex } from './indexes.js'
import { getLanes } from './lanes.js'
import type { MigrationSettings } from './migrate.js'
import { Migration } from './migrate.js'
import { StatementNames } from './names.js'
import { TableReader } from './reader.js'
import { StatementRunner } from './runner.js'
import { ReadStatements } from './statements.js'
import { layOutTable, readWith } from './tables.js'
import type { Write } from './writer.js'
import { TableWriter } from './writer.js'

interface PostgresTable {
  readonly layout: Layout
  readonly reader: TableReader
  readonly writer: TableWriter | undefined
}

/** Where the tables are: at a server, or at that of a pool that the host has made, and ends. */
type PostgresSource = { readonly connectionString: string } | { readonly pool: PostgresPool }

interface PostgresSettings extends PoolSettings, MigrationSettings {
  readonly line: QueueLimits
  readonly maxWaitingCommits: number
}

// As many as a pool of pg has where nothing is said.
const defaultPoolSize = 10

/** A pool with its queue of commits. */
export async function openConnection (
  source: PostgresSource,
  settings: PostgresSettings,
  limits: PlanLimits = planLimits
): Promise<SqlConnection<Write, PostgresTable>> {
  const { statementTimeout, connectionTimeout, maxWaitingCommits } = settings
  // What limits the time of a statement in a pool of the host is the host's.
  const { pool, limitsTime } = 'pool' in source
    ? { pool: listenTo(source.pool), limitsTime: true }
    : await openPool(source.connectionString, settings)
  const lanes = getLanes(pool, pool.options?.max ?? defaultPoolSize)
  const names = new StatementNames(settings.preparedStatements)
  const runner = new StatementRunner(pool, { lanes, names, statementTimeout, connectionTimeout, limitsTime })
  const queue = new CommitQueue(runner, { maxWaiting: maxWaitingCommits, timeout: statementTimeout })
  // Some connections are left to reads that are soon done.
  const maxHeavyReads = Math.min(settings.line.maxHeavyReads, Math.max(1, Math.floor(lanes.reads.size / 3)))
  const line = new HeavyReadQueue({ ...settings.line, maxHeavyReads })
  const migration = new Migration(runner, settings)

  return {
    layOut: (shape: FamilyShape, mapping: TableMapping | undefined) =>
      layOutTable(runner, shape, mapping, settings.schema),
    listMissing: (layout: Layout) => migration.listMissing(layout),
    makeMissing: (layout: Layout) => migration.makeMissing(layout),
    listUnique: (layout: Layout) => readUniqueColumns(readWith(runner, layout.table), layout),
    async openTable (given: Layout) {
      // Of a mapped table nothing is known.
      const present = given.mapped ? [] : (await readIndexes(readWith(runner, given.table), given)).whole
      const indexes = present.map(toIndex)
      const layout = markCut(given, indexes)
      return {
        layout,
        reader: new TableReader(new ReadStatements(runner, layout), indexes, limits, line),
        writer: layout.writable ? new TableWriter(layout) : undefined
      }
    },
    commit: writes => queue.add(writes),
    async idle () {
      await runner.reads.idle()
      await queue.idle()
    },
    async close () {
      if ('pool' in source) leaveAlone(pool)
      else await pool.end()
    },
    metrics: () => ({
      ...queue.metrics(),
      ...line.metrics(),
      statement_retries_total: runner.retries,
      pool_waits_total: runner.reads.waits + lanes.reads.waits,
      pool_waiting: runner.reads.waiting + lanes.reads.waiting
    })
  }
}
