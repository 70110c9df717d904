import { DatabaseSync } from '@photostructure/sqlite'
import pg from 'pg'
import type { Storage } from '../../lib/core/storage/storage.js'
import { lineLimits } from '../../lib/core/storage/waiting-line.js'
import { openConnection as openPostgres } from '../../lib/storage/postgres/connection.js'
import type { PostgresClient, PostgresPool } from '../../lib/storage/postgres/postgres-storage.js'
import type { IndexedFields } from '../../lib/storage/sql/choose-indexes.js'
import { createSqlStorage } from '../../lib/storage/sql/sql-storage.js'
import { openConnection as openSqlite } from '../../lib/storage/sqlite/connection.js'
import type { SqliteDatabase } from '../../lib/storage/sqlite/sqlite-storage.js'
import { dropSchema, newSchema } from '../postgres/schema.js'
import { postgresUrl } from '../postgres/url.js'

/** An empty storage, and the texts of all statements that it has run. */
export interface RecordedStorage {
  readonly storage: Storage
  readonly statements: ReadonlySet<string>
  dispose (): Promise<void>
}

/** So low that the planner takes all its ways with a handful of rows. */
export const limits = {
  lookRows: 3, fewEntries: 4, skipRows: 12, sliceRows: 4, maxSliceRows: 5, sliceMs: 5, anchorRows: 3
}

export async function makeSqlite (indexes?: IndexedFields): Promise<RecordedStorage> {
  const statements = new Set<string>()
  const database = new DatabaseSync(':memory:')
  const recording: SqliteDatabase = {
    exec: sql => { database.exec(sql) },
    prepare (sql) {
      statements.add(sql)
      return database.prepare(sql)
    },
    close: () => { database.close() },
    function: (name, options, run) => { database.function(name, options, run) }
  }
  const settings = { busyTimeout: 5000, maxWaitingCommits: 1000 }
  const storage = createSqlStorage(() => openSqlite({ database: recording }, settings, limits), { indexes })
  return {
    storage,
    statements,
    async dispose () {
      await storage.close()
      database.close()
    }
  }
}

export async function makePostgres (indexes?: IndexedFields): Promise<RecordedStorage> {
  const statements = new Set<string>()
  const schema = newSchema()
  const pool = new pg.Pool({ connectionString: await postgresUrl(), max: 4 })
  const recording: PostgresPool = {
    async connect () {
      const client = await pool.connect() as unknown as PostgresClient
      return {
        async query (config) {
          statements.add(config.text)
          return await client.query(config)
        },
        release: error => { client.release(error) },
        on: (event, listener) => client.on(event, listener),
        off: (event, listener) => client.off(event, listener)
      }
    },
    end: () => pool.end(),
    on: pool.on.bind(pool) as PostgresPool['on'],
    off: pool.off.bind(pool) as PostgresPool['off']
  }
  const settings = {
    schema,
    statementTimeout: 10_000,
    migrationTimeout: 60_000,
    connectionTimeout: 5000,
    poolSize: 4,
    preparedStatements: true,
    maxWaitingCommits: 1000,
    line: lineLimits
  }
  const storage = createSqlStorage(() => openPostgres({ pool: recording }, settings, limits), { indexes })
  return {
    storage,
    statements,
    async dispose () {
      await storage.close()
      await pool.end()
      await dropSchema(schema)
    }
  }
}
