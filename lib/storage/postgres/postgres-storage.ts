import { setTimeout as delay } from 'node:timers/promises'
import { Type } from '@sinclair/typebox'
import type { FamilyShape, Storage } from '../../core/storage/storage.js'
import type { QueueLimits } from '../../core/storage/turns.js'
import { HeavyReadQueue, readQueueLimits } from '../../core/storage/turns.js'
import { rules } from '../../core/values/rules.js'
import type { OptionRules } from '../check-options.js'
import { checkSource, checkStorageOptions } from '../check-options.js'
import { quoteName } from '../sql/dialect.js'
import type { Layout, TableMapping } from '../sql/layout.js'
import { layOutMappedTable, layOutOwnTable } from '../sql/layout.js'
import type { SqlOptions } from '../sql/options.js'
import { sqlRules } from '../sql/options.js'
import type { SqlConnection } from '../sql/sql-storage.js'
import { createSqlStorage } from '../sql/sql-storage.js'
import { CommitQueue } from './commits.js'
import type { Run } from './connections.js'
import { Connections } from './connections.js'
import { postgresDialect as dialect } from './dialect.js'
import type { PoolSettings, PostgresPool } from './driver.js'
import { leaveAlone, listenTo, openPool } from './driver.js'
import type { MigrationSettings } from './migrate.js'
import { Migration } from './migrate.js'
import { ReadQueue } from './read-queue.js'
import { TableReader } from './reader.js'
import { listIndexed, readColumns, readUniqueColumns } from './tables.js'
import { checkTypes, mappableTypes } from './types.js'
import type { Write } from './writer.js'
import { TableWriter } from './writer.js'

export type { PostgresPool, PostgresClient, PostgresQuery } from './driver.js'
export type { TableMapping, TableMappings } from '../sql/layout.js'
export type { Migrate } from '../sql/options.js'
export type { SqlOptions } from '../sql/options.js'

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
  const settings = {
    schema: options.schema,
    statementTimeout: options.statementTimeout ?? 10_000,
    migrationTimeout: options.migrationTimeout ?? 600_000,
    connectionTimeout: options.connectionTimeout ?? 5000,
    poolSize: options.poolSize ?? 10,
    preparedStatements: options.preparedStatements ?? true,
    line: readQueueLimits(options),
    maxWaitingCommits: options.maxWaitingCommits ?? 1000
  }
  const { tables, connectionString = '', pool }: AllOptions = options
  const source = pool === undefined ? { connectionString } : { pool }
  const place = pool === undefined ? describePlace(connectionString) : 'PostgreSQL'
  return createSqlStorage(() => openConnection(source, settings), { tables, migrate: options.migrate, place })
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

/** A pool with its queues of reads and commits. Each has its own connections, so that neither waits for the other. */
async function openConnection (
  source: PostgresSource,
  settings: PostgresSettings
): Promise<SqlConnection<Write, PostgresTable>> {
  // What limits the time of a statement in a pool of the host is the host's.
  const { pool, limitsTime } = 'pool' in source
    ? { pool: listenTo(source.pool), limitsTime: true }
    : await openPool(source.connectionString, settings)
  const { statementTimeout, preparedStatements } = settings
  const size = pool.options?.max ?? defaultPoolSize
  const forCommits = size < 4 ? 1 : Math.max(2, Math.floor(size * 0.4))
  const forReads = Math.max(1, size - forCommits)
  const connections = new Connections(pool, { statementTimeout, limitsTime, preparedStatements })
  const reads = new ReadQueue(connections, forReads, settings.connectionTimeout)
  const commits = new CommitQueue(connections, {
    maxWaiting: settings.maxWaitingCommits, timeout: statementTimeout, connections: forCommits
  })
  // Some connections are left to reads that are soon done.
  const maxHeavyReads = Math.min(settings.line.maxHeavyReads, Math.max(1, Math.floor(forReads / 3)))
  const line = new HeavyReadQueue({ ...settings.line, maxHeavyReads })
  const migration = new Migration(connections, settings, size > 1)

  return {
    layOut: (shape, mapping) => layOutTable(connections.run, shape, mapping, settings.schema),
    listMissing: layout => migration.listMissing(layout),
    makeMissing: layout => migration.makeMissing(layout),
    listUnique: layout => readUniqueColumns(connections.run, layout),
    openTable: async layout => ({
      layout,
      reader: new TableReader(reads, layout, await listIndexed(connections.run, layout), line),
      writer: layout.writable ? new TableWriter(layout) : undefined
    }),
    commit: writes => commits.add(writes),
    async idle () {
      while (!reads.isIdle || !commits.isIdle) await delay(5)
    },
    async close () {
      connections.releaseIdle()
      if ('pool' in source) leaveAlone(pool)
      else await pool.end()
    },
    metrics: () => ({
      ...commits.metrics(),
      ...line.metrics(),
      statement_retries_total: connections.retries,
      pool_waits_total: reads.waits,
      pool_waiting: reads.waiting
    })
  }
}

/** How the family is kept. */
async function layOutTable (
  run: Run,
  shape: FamilyShape,
  mapping: TableMapping | undefined,
  schema: string | undefined
): Promise<Layout> {
  if (mapping === undefined) return layOutOwnTable(shape, dialect, schema)
  const schemaPart = mapping.schema === undefined ? '' : `${quoteName(mapping.schema)}.`
  const present = await readColumns(run, schemaPart + quoteName(mapping.table))
  const layout = layOutMappedTable(shape, mapping, present, dialect)
  checkTypes(layout, present, mappableTypes)
  return layout
}
