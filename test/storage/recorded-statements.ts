import type pg from 'pg'
import type { PostgresClient, PostgresPool } from '../../lib/storage/postgres/postgres-storage.js'
import type { SqliteDatabase } from '../../lib/storage/sqlite/sqlite-storage.js'

/** The database, for a storage that leaves it open, and the texts of all that was prepared with it. */
export function recordSqlite (database: SqliteDatabase): { recording: SqliteDatabase, texts: Set<string> } {
  const texts = new Set<string>()
  const recording: SqliteDatabase = {
    exec: sql => { database.exec(sql) },
    prepare (sql) {
      texts.add(sql)
      return database.prepare(sql)
    },
    close: () => {},
    function: (name, options, run) => database.function(name, options, run)
  }
  return { recording, texts }
}

/** The pool, for a storage that leaves it open, and the values that each text was last sent with. */
export function recordPostgres (pool: pg.Pool): { recording: PostgresPool, asked: Map<string, unknown[]> } {
  const asked = new Map<string, unknown[]>()
  const recording: PostgresPool = {
    async connect () {
      const client = await pool.connect() as unknown as PostgresClient
      return {
        async query (config) {
          asked.set(config.text, config.values ?? [])
          return await client.query(config)
        },
        release: error => { client.release(error) },
        on: (event, listener) => client.on(event, listener),
        off: (event, listener) => client.off(event, listener)
      }
    },
    end: async () => {},
    on: pool.on.bind(pool) as PostgresPool['on'],
    off: pool.off.bind(pool) as PostgresPool['off']
  }
  return { recording, asked }
}
