import type { Storage } from '../../core/storage/storage.js'
import { readQueueLimits } from '../../core/storage/turns.js'
import { checkBoolean, checkSize, checkText, checkTime } from '../../core/values/checks.js'
import type { OptionChecks } from '../check-options.js'
import { checkSource, checkStorageOptions } from '../check-options.js'
import { readMigrate } from '../sql/migrate.js'
import type { SqlOptions } from '../sql/options.js'
import { sqlChecks } from '../sql/options.js'
import { createSqlStorage } from '../sql/sql-storage.js'
import { openConnection } from './connection.js'
import type { PostgresPool } from './driver.js'

export type { PostgresPool, PostgresClient, PostgresQuery } from './driver.js'
export type { IndexedFields } from '../sql/choose-indexes.js'
export type { TableMapping, TableMappings } from '../sql/layout.js'
export type { Migrate } from '../sql/migrate.js'
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
  checkStorageOptions<AllOptions>(options, optionChecks)
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
  const { tables, indexes, connectionString = '', pool }: AllOptions = options
  const migrate = readMigrate(options.migrate)
  const source = pool === undefined ? { connectionString } : { pool }
  const place = pool === undefined ? describePlace(connectionString) : 'PostgreSQL'
  return createSqlStorage(() => openConnection(source, settings), { tables, indexes, migrate, place })
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

const optionChecks: OptionChecks<AllOptions> = {
  ...sqlChecks,
  connectionString: checkText,
  pool: value => typeof (Object(value) as PostgresPool).connect === 'function' ? undefined : 'must be a pool of pg',
  schema: checkText,
  statementTimeout: checkTime,
  migrationTimeout: checkTime,
  connectionTimeout: checkTime,
  poolSize: checkSize,
  preparedStatements: checkBoolean
}
