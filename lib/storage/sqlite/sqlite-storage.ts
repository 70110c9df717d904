import { Type } from '@sinclair/typebox'
import type { Storage } from '../../core/storage/storage.js'
import { rules } from '../../core/values/rules.js'
import { checkSource, checkStorageOptions, type OptionRules } from '../check-options.js'
import { type SqlOptions, sqlRules } from '../sql/options.js'
import { createSqlStorage } from '../sql/sql-storage.js'
import { type OpenOptions, openSqlite } from './connection.js'
import type { SqliteDatabase } from './driver.js'

export type { SqliteDatabase, SqliteStatement } from './driver.js'
export type { MappedFlag } from '../sql/flags.js'
export type { TableMapping, TableMappings } from '../sql/layout.js'
export type { Migrate, SqlOptions } from '../sql/options.js'

/** Options of an SQLite storage, besides the file or the open database. */
export interface SqliteOptions extends SqlOptions {
  /** Milliseconds to wait for another process that is writing. Default: 5000. */
  readonly busyTimeout?: number
  /** Heavy reads at once, in worker threads. In memory, or given `database`, they block the main thread. Default: 2. */
  readonly maxHeavyReads?: number
}

/**
 * Keeps everything in an SQLite file, which several processes may share. A commit is on disk when its promise resolves.
 *
 * Takes the name of a file (created if missing), or an open database: a `DatabaseSync` of node:sqlite or
 * `@photostructure/sqlite`, or one of better-sqlite3. An open database keeps its settings, and you close it.
 *
 * Each family is a table with the family's name in snake_case and a column per field (`holdReason` is `hold_reason`):
 * INTEGER, REAL, TEXT (also JSON, and dates such as `2026-01-31` and `2026-01-31T12:00:00.000Z`), BOOLEAN (0 and 1).
 * An absent member is NULL. Fields that are added later have their default in existing rows.
 *
 * @example
 * const storage = sqliteStorage({ file: 'dealbook.db' })
 * app.register(deals, { storage, version: 'v1' })
 */
export function sqliteStorage (
  options: SqliteOptions & ({ readonly file: string } | { readonly database: SqliteDatabase })
): Storage {
  checkSource(options, ['file', 'database'])
  checkStorageOptions<SqliteOptions & OpenOptions>(options, sqliteRules)
  const { file }: OpenOptions = options
  const location = file === undefined ? 'SQLite' : `SQLite, ${file}`
  return createSqlStorage(() => openSqlite(options), options, location)
}

const sqliteRules: OptionRules<SqliteOptions & OpenOptions> = {
  ...sqlRules,
  file: rules.text,
  database: Type.Object({ prepare: rules.callback, function: rules.callback }, { description: 'an open database' }),
  busyTimeout: rules.count
}
