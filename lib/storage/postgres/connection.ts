import type { Layout, TableMapping } from '../sql/layout.js'
import type { PlanLimits } from '../sql/planner.js'
import { planLimits } from '../sql/planner.js'
import type { SqlConnection } from '../sql/sql-storage.js'
import type { FamilyShape } from '../storage.js'
import { CommitQueue } from './commits.js'
import type { PoolSettings, PostgresPool } from './driver.js'
import { openPool, StatementRunner } from './driver.js'
import { TableReader } from './reader.js'
import { ReadStatements } from './statements.js'
import { prepareTable } from './tables.js'
import type { Write } from './writer.js'
import { TableWriter } from './writer.js'

interface PostgresTable {
  readonly layout: Layout
  readonly reader: TableReader
  readonly writer: TableWriter | undefined
}

/** Where the tables are: at a server, or at that of a pool that the host has made, and ends. */
type PostgresSource = { readonly connectionString: string } | { readonly pool: PostgresPool }

interface PostgresSettings extends PoolSettings {
  readonly schema: string | undefined
}

/** A pool with its queue of commits. */
export async function openConnection (
  source: PostgresSource,
  settings: PostgresSettings,
  limits: PlanLimits = planLimits
): Promise<SqlConnection<Write, PostgresTable>> {
  const { schema, preparedStatements, statementTimeout } = settings
  const pool = 'pool' in source ? source.pool : await openPool(source.connectionString, settings)
  // An idle connection that breaks is replaced by the next; unheard, the event would end the process.
  const ignore = (): void => {}
  pool.on('error', ignore)
  // The driver's own clock is for a server that has gone silent; one that still works ends the statement itself.
  const runner = new StatementRunner(pool, preparedStatements, statementTimeout + 1000)
  const queue = new CommitQueue(runner)

  return {
    async prepareTable (shape: FamilyShape, mapping: TableMapping | undefined) {
      const layout = await prepareTable(runner, shape, mapping, schema)
      return {
        layout,
        reader: new TableReader(new ReadStatements(runner, layout), limits),
        writer: layout.writable ? new TableWriter(layout) : undefined
      }
    },
    commit: writes => queue.add(writes),
    idle: () => queue.idle(),
    async close () {
      if ('pool' in source) pool.off('error', ignore)
      else await pool.end()
    }
  }
}
