import { DatabaseSync } from '@photostructure/sqlite'
import pg from 'pg'
import type { Storage } from '../../lib/core/storage/storage.js'
import type { PostgresClient, PostgresPool } from '../../lib/storage/postgres/postgres-storage.js'
import { postgresStorage } from '../../lib/storage/postgres/postgres-storage.js'
import { createSqlStorage } from '../../lib/storage/sql/sql-storage.js'
import { openSqlite } from '../../lib/storage/sqlite/connection.js'
import type { SqliteDatabase } from '../../lib/storage/sqlite/sqlite-storage.js'
import { dropSchema, newSchema } from '../postgres/schema.js'
import { postgresUrl } from '../postgres/url.js'

/** An empty storage, and the texts of all statements that it has run. */
export interface RecordedStorage {
  readonly storage: Storage
  readonly statements: ReadonlySet<string>
  dispose (): Promise<void>
}

/** So low that a handful of rows is read in every way that there is. */
export const limits = { keyRows: 6, indexRows: 3, skipRows: 12, anchorRows: 3 }

export async function makeSqlite (): Promise<RecordedStorage> {
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
  const storage = createSqlStorage(() => openSqlite({ database: recording }, limits), {})
  return {
    storage,
    statements,
    async dispose () {
      await storage.close()
      database.close()
    }
  }
}

export async function makePostgres (): Promise<RecordedStorage> {
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
  const storage = postgresStorage({ pool: recording, schema })
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
