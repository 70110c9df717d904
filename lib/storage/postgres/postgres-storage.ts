import { setTimeout as delay } from 'node:timers/promises'
import { Type } from '@sinclair/typebox'
import type { Storage } from '../../core/storage/storage.js'
import { HeavyReadQueue } from '../../core/storage/turns.js'
import { rules } from '../../core/values/rules.js'
import { checkSource, checkStorageOptions, type OptionRules } from '../check-options.js'
import { qualifyName } from '../sql/dialect.js'
import type { Layout } from '../sql/layout.js'
import { type SqlOptions, sqlRules } from '../sql/options.js'
import { createSqlStorage, type SqlConnection } from '../sql/sql-storage.js'
import { ChangeWatch } from './changes.js'
import { CommitQueue } from './commits.js'
import { Connections } from './connections.js'
import { postgresDialect as dialect } from './dialect.js'
import { ignore, type PostgresPool, removeErrorListeners } from './driver.js'
import { describeHost, openPool, splitHosts, usePool } from './hosts.js'
import { Migration } from './migrate.js'
import { Positions } from './positions.js'
import { KeptText, ReadQueue } from './read-queue.js'
import { PostgresTableReader } from './reader.js'
import { addReplicas, type PostgresServer, type WalPosition } from './replicas.js'
import { type IndexedTable, readIndexed, readTableColumns, readUniqueColumns } from './tables.js'
import { checkColumnType, mappableTypes } from './types.js'
import { type EncodedWrite, PostgresTableWriter } from './writer.js'

export type { PostgresPool, PostgresClient, PostgresQuery } from './driver.js'
export type { MappedFlag } from '../sql/flags.js'
export type { TableMapping, TableMappings } from '../sql/layout.js'
export type { Migrate, SqlOptions } from '../sql/options.js'

/** Options of a PostgreSQL storage, besides the connection string or the pool. */
export interface PostgresOptions extends SqlOptions {
  /** The schema for the tables, created if missing. Default: the first of the search path. */
  readonly schema?: string
  /** Milliseconds that a statement may take. Default: 10,000. */
  readonly statementTimeout?: number
  /** Milliseconds that creating a table, a column or an index may take. Default: 600,000. */
  readonly migrationTimeout?: number
  /** Milliseconds to wait for a connection. Default: 5000. */
  readonly connectionTimeout?: number
  /** Maximum number of connections. Default: 10. Ignored with your own `pool`. */
  readonly poolSize?: number
  /** URLs of replicas for clients' reads, each of one server. Default: none. */
  readonly replicas?: string | readonly string[]
  /**
   * Set it to `false` behind a proxy that pins a connection to a client that prepares statements, and with your own
   * `pool` behind one that pools transactions.
   */
  readonly preparedStatements?: boolean
}

/**
 * Keeps everything in PostgreSQL, which any number of processes may share.
 *
 * Takes a connection string, or a pool of `pg`, which you close. Each family is a table with the family's name in
 * snake_case and a column per field (`holdReason` is `hold_reason`): bigint, double precision, text, boolean, date,
 * timestamptz, json. An absent member is NULL. Fields that are added later have their default in existing rows.
 *
 * @example
 * const storage = postgresStorage({ connectionString: 'postgres://localhost/crm' })
 * app.register(deals, { storage, version: 'v1' })
 */
export function postgresStorage (
  options: PostgresOptions & ({ readonly connectionString: string } | { readonly pool: PostgresPool })
): Storage {
  checkSource(options, ['connectionString', 'pool'])
  checkStorageOptions<AllOptions>(options, postgresRules)
  const location = 'pool' in options ? 'PostgreSQL' : describeLocation(options.connectionString)
  if (options.replicas === undefined) return createSqlStorage(() => openPostgres(options), options, location)
  const primary = openServer(options, location)
  const { pool, replicas, ...others } = options as AllOptions
  const urls = [replicas].flat().flatMap(url => splitHosts(url as string))
  return addReplicas(primary, urls.map(connectionString =>
    openServer({ ...others, connectionString, migrate: 'off' }, describeLocation(connectionString), true)))
}

function openServer (options: AllOptions, location: string, isReplica = false): PostgresServer {
  let opening: ReturnType<typeof openPostgres> | undefined
  const open = (): ReturnType<typeof openPostgres> => {
    opening ??= openPostgres(options, isReplica).catch(error => {
      opening = undefined
      throw error
    })
    return opening
  }
  const storage = createSqlStorage(open, options, location)
  return {
    storage,
    readPosition: async () => await (await open()).readPosition(),
    async close () {
      const opened = opening
      opening = undefined
      await storage.close()
      await (await opened?.catch(ignore))?.close()
    }
  }
}

// Host and database, but no user and no password.
function describeLocation (connectionString: string): string {
  const urls = splitHosts(connectionString)
  if (!urls.every(url => URL.canParse(url))) return 'PostgreSQL'
  return `PostgreSQL, ${urls.map(describeHost).join()}${new URL(urls[0] as string).pathname}`
}

interface AllOptions extends PostgresOptions {
  readonly connectionString?: string
  readonly pool?: PostgresPool
}

const postgresRules: OptionRules<AllOptions> = {
  ...sqlRules,
  connectionString: rules.text,
  pool: Type.Object({ connect: rules.callback }, { description: 'a pool of pg' }),
  schema: rules.text,
  statementTimeout: rules.time,
  migrationTimeout: rules.time,
  connectionTimeout: rules.time,
  poolSize: rules.size,
  replicas: Type.Union([rules.text, Type.Array(rules.text, { minItems: 1 })], { description: 'a URL, or a list' }),
  preparedStatements: rules.flag
}

/** Reads and commits have separate connections, so that neither waits for the other. */
async function connect (options: AllOptions) {
  const { connectionString, poolSize: max = 10, connectionTimeout = 5000, statementTimeout = 10_000 } = options
  const { schema, preparedStatements = true, maxWaitingCommits = 1000, migrationTimeout = 600_000 } = options
  const own = { max, connectionTimeoutMillis: connectionTimeout, keepAlive: true, keepAliveInitialDelayMillis: 10_000 }
  // The host limits the time of statements in its own pool.
  const { pool, limitsTime } = connectionString !== undefined
    ? await openPool({ ...own, connectionString }, preparedStatements ? statementTimeout : undefined)
    : { pool: usePool(options.pool as PostgresPool, connectionTimeout), limitsTime: preparedStatements }
  // The default of pg.
  const size = pool.options.max ?? 10
  const forCommits = size < 4 ? 1 : Math.max(2, Math.floor(size * 0.4))
  const forReads = Math.max(1, size - forCommits)
  const connections = new Connections(pool, { statementTimeout, connectionTimeout, limitsTime, preparedStatements })
  const reads = new ReadQueue(connections, forReads)
  const changes = new ChangeWatch(connections, schema, size >= 4)
  // Leaves some connections for short reads.
  const maxHeavyReads = Math.min(options.maxHeavyReads ?? 2, Math.max(1, Math.floor(forReads / 3)))
  return {
    pool,
    connections,
    reads,
    changes,
    commits: new CommitQueue(connections, forCommits, maxWaitingCommits, () => { changes.notify() }),
    heavyReads: new HeavyReadQueue({ ...options, maxHeavyReads }),
    migration: new Migration(connections, schema, migrationTimeout, size > 1)
  }
}

async function openPostgres (options: AllOptions, isReplica = false) {
  const { schema } = options
  const { pool, connections, reads, changes, commits, heavyReads, migration } = await connect(options)
  const close = async (): Promise<void> => {
    changes.stop()
    connections.close()
    if (options.pool !== undefined) removeErrorListeners(options.pool)
    else await pool.end()
  }
  let closing: Promise<void> | undefined

  const connection: SqlConnection<EncodedWrite> = {
    dialect,
    schema,
    readMapped: ({ schema, table }) => readTableColumns(connections.run, qualifyName(schema, table)),
    listMissing: layout => migration.listMissing(layout),
    makeMissing: layout => migration.makeMissing(layout),
    listUnique: layout => readUniqueColumns(connections.run, layout),
    async openTable (given) {
      const table = await openTable(connections, given)
      const { layout } = table
      // Where there is a log, commands are decided: the connections so far are checked, too.
      if (layout.sequence !== undefined && !isReplica) pool.mustWrite = true
      const positions = layout.sequence && new Positions(connections, layout, layout.sequence)
      return {
        layout,
        reader: new PostgresTableReader(reads, table, heavyReads, positions),
        writer: layout.writable ? new PostgresTableWriter(layout) : undefined
      }
    },
    commit: writes => commits.add(writes),
    watch: wake => changes.watch(wake),
    async idle () {
      while (!reads.isIdle || !commits.isIdle) await delay(5)
    },
    close () {
      closing ??= close()
      return closing
    },
    metrics: () => ({
      ...commits.metrics(),
      ...heavyReads.metrics(),
      statement_retries_total: connections.retries,
      pool_waits_total: reads.waits,
      pool_waiting: reads.waiting
    })
  }
  const position = new KeptText(positionText, undefined, true, { text: positionText })
  const readPosition = async (): Promise<WalPosition> => {
    const [[timeline, bytes] = []] = await reads.read('', position, [])
    return { timeline: Number(timeline), bytes: BigInt(String(bytes)) }
  }
  return { ...connection, readPosition }
}

async function openTable (connections: Connections, given: Layout): Promise<IndexedTable> {
  const table = await readIndexed(connections.run, given)
  for (const column of table.layout.columns) {
    if (column.present !== undefined) checkColumnType(table.layout, column, column.present, mappableTypes)
  }
  return table
}

// What a replica has replayed. In its own statement: one that reads may see less than the server has by then.
// Not every role sees the receiver; then a new timeline is known from the next restart point on.
const positionText = `SELECT CASE WHEN pg_is_in_recovery() THEN greatest(
    (SELECT timeline_id FROM pg_control_checkpoint()), (SELECT min_recovery_end_timeline FROM pg_control_recovery()),
    (SELECT received_tli FROM pg_stat_wal_receiver))
  ELSE ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::int END,
  (CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn()
  WHEN current_setting('synchronous_commit') = 'off' THEN pg_current_wal_insert_lsn()
  ELSE pg_current_wal_flush_lsn() END - '0/0')::text`
