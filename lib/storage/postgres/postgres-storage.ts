import { setTimeout as delay } from 'node:timers/promises'
import { Type } from '@sinclair/typebox'
import type { Storage } from '../../core/storage/storage.js'
import { HeavyReadQueue, readQueueLimits } from '../../core/storage/turns.js'
import { rules } from '../../core/values/rules.js'
import { checkSource, checkStorageOptions, type OptionRules } from '../check-options.js'
import { qualifyName } from '../sql/dialect.js'
import { type SqlOptions, sqlRules } from '../sql/options.js'
import { createSqlStorage, type SqlConnection } from '../sql/sql-storage.js'
import { CommitQueue } from './commits.js'
import { Connections } from './connections.js'
import { postgresDialect as dialect } from './dialect.js'
import { leaveAlone, listenTo, openPool, type PostgresPool } from './driver.js'
import { Migration } from './migrate.js'
import { ReadQueue } from './read-queue.js'
import { TableReader } from './reader.js'
import { listIndexed, readColumns, readUniqueColumns } from './tables.js'
import { checkType, mappableTypes } from './types.js'
import { TableWriter, type Write } from './writer.js'

export type { PostgresPool, PostgresClient, PostgresQuery } from './driver.js'
export type { TableMapping, TableMappings } from '../sql/layout.js'
export type { Migrate, SqlOptions } from '../sql/options.js'

/** How a PostgreSQL storage works, besides the connection string or the pool. */
export interface PostgresOptions extends SqlOptions {
  /** The schema for the tables, made where it is missing; without one the first of the search path. */
  readonly schema?: string
  /** Milliseconds that one statement may take; 10,000 unless given. */
  readonly statementTimeout?: number
  /** Milliseconds that a statement may take which makes a table, a column or an index; 600,000 unless given. */
  readonly migrationTimeout?: number
  /** Milliseconds to wait for a connection; 5000 unless given. Not for a pool of the host. */
  readonly connectionTimeout?: number
  /** Connections at most; 10 unless given. Not for a pool of the host. */
  readonly poolSize?: number
  /** `false` behind a proxy that keeps a connection for a client which has prepared something on it. */
  readonly preparedStatements?: boolean
}

/**
 * Keeps everything in PostgreSQL, which any number of processes may share.
 *
 * Takes a connection string, or a pool of `pg`, which is then not closed here. A family is a table of its name in
 * snake_case, with a column per field (`holdReason` is `hold_reason`): bigint, double precision, text, boolean, date,
 * timestamptz, json. An absent member is NULL. Fields that are added later have their default in the rows from
 * before.
 *
 * @example
 * const storage = postgresStorage({ connectionString: 'postgres://localhost/crm' })
 * app.register(deals, { storage, version: 'v1' })
 */
export function postgresStorage (
  options: PostgresOptions & ({ readonly connectionString: string } | { readonly pool: PostgresPool })
): Storage {
  checkSource(options, ['connectionString', 'pool'])
  checkStorageOptions<AllOptions>(options, optionRules)
  const place = 'pool' in options ? 'PostgreSQL' : describePlace(options.connectionString)
  return createSqlStorage(() => openConnection(options), options, place)
}

// Host and database, and never who connects by which password.
function describePlace (connectionString: string): string {
  const url = URL.canParse(connectionString) ? new URL(connectionString) : undefined
  const host = url?.host || url?.searchParams.get('host') || 'localhost'
  return url === undefined ? 'PostgreSQL' : `PostgreSQL, ${host}${url.pathname}`
}

interface AllOptions extends PostgresOptions {
  readonly connectionString?: string
  readonly pool?: PostgresPool
}

const optionRules: OptionRules<AllOptions> = {
  ...sqlRules,
  connectionString: rules.text,
  pool: Type.Object({ connect: rules.callback }, { description: 'a pool of pg' }),
  schema: rules.text,
  statementTimeout: rules.time,
  migrationTimeout: rules.time,
  connectionTimeout: rules.time,
  poolSize: rules.size,
  preparedStatements: rules.flag
}

/** A pool with its queues of reads and commits. Each has its own connections, so that neither waits for the other. */
async function openConnection (options: AllOptions): Promise<SqlConnection<Write>> {
  const { connectionString, poolSize: max = 10, connectionTimeout = 5000, statementTimeout = 10_000 } = options
  const { schema, preparedStatements = true, maxWaitingCommits = 1000, migrationTimeout = 600_000 } = options
  const own = { connectionString, max, connectionTimeoutMillis: connectionTimeout, keepAlive: true }
  // What limits the time of a statement in a pool of the host is the host's.
  const { pool, limitsTime } = options.pool === undefined
    ? await openPool(own, preparedStatements ? statementTimeout : undefined)
    : { pool: listenTo(options.pool), limitsTime: true }
  // As many as a pool of pg has where nothing is said.
  const size = pool.options?.max ?? 10
  const forCommits = size < 4 ? 1 : Math.max(2, Math.floor(size * 0.4))
  const forReads = Math.max(1, size - forCommits)
  const connections = new Connections(pool, { statementTimeout, limitsTime, preparedStatements })
  const reads = new ReadQueue(connections, forReads, connectionTimeout)
  const commits = new CommitQueue(connections, forCommits, maxWaitingCommits)
  const limits = readQueueLimits(options)
  // Some connections are left to reads that are soon done.
  const maxHeavyReads = Math.min(limits.maxHeavyReads, Math.max(1, Math.floor(forReads / 3)))
  const heavyReads = new HeavyReadQueue({ ...limits, maxHeavyReads })
  const migration = new Migration(connections, schema, migrationTimeout, size > 1)

  return {
    dialect,
    schema,
    readMapped: ({ schema, table }) => readColumns(connections.run, qualifyName(schema, table)),
    listMissing: layout => migration.listMissing(layout),
    makeMissing: layout => migration.makeMissing(layout),
    listUnique: layout => readUniqueColumns(connections.run, layout),
    async openTable (layout) {
      for (const column of layout.columns) {
        if (column.present !== undefined) checkType(layout, column, column.present, mappableTypes)
      }
      return {
        layout,
        reader: new TableReader(reads, layout, await listIndexed(connections.run, layout), heavyReads),
        writer: layout.writable ? new TableWriter(layout) : undefined
      }
    },
    commit: writes => commits.add(writes),
    async idle () {
      while (!reads.isIdle || !commits.isIdle) await delay(5)
    },
    async close () {
      connections.releaseIdle()
      if (options.pool !== undefined) leaveAlone(pool)
      else await pool.end()
    },
    metrics: () => ({
      ...commits.metrics(),
      ...heavyReads.metrics(),
      statement_retries_total: connections.retries,
      pool_waits_total: reads.waits,
      pool_waiting: reads.waiting
    })
  }
}
