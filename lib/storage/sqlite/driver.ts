import { setTimeout as delay } from 'node:timers/promises'
import { errorCodes } from '../../core/errors.js'

/** The part of a database that is used. node:sqlite, @photostructure/sqlite and better-sqlite3 all have it. */
export interface SqliteDatabase {
  exec (sql: string): unknown
  prepare (sql: string): SqliteStatement
  close (): void
  function (name: string, options: FunctionOptions, run: (...values: never[]) => unknown): unknown
}

interface FunctionOptions {
  readonly deterministic: boolean
  readonly varargs?: boolean
}

/** The part of a statement that is used. */
export interface SqliteStatement {
  all (...parameters: never[]): unknown[]
  get? (...parameters: never[]): unknown
  run (...parameters: never[]): { changes: number | bigint }
}

/** Rows are arrays: half the cost of objects. */
export interface ReadStatement {
  all (parameters: readonly unknown[]): unknown[][]
  get (parameters: readonly unknown[]): unknown[] | undefined
}
/** Returns the number of changed rows. */
export type WriteStatement = (parameters: readonly unknown[]) => number

type RunStatement<T> = (...parameters: unknown[]) => T

export function prepareRead (database: SqliteDatabase, sql: string): ReadStatement {
  // node:sqlite and better-sqlite3 name it differently, and other drivers may have neither.
  const statement = database.prepare(sql) as
    SqliteStatement & Partial<Record<'setReturnArrays' | 'raw', RunStatement<void>>>
  const hasArrays = statement.setReturnArrays !== undefined || statement.raw !== undefined
  if (statement.setReturnArrays !== undefined) statement.setReturnArrays(true)
  else statement.raw?.(true)
  const all = statement.all.bind(statement) as RunStatement<object[]>
  const get = statement.get?.bind(statement) as RunStatement<object | undefined> | undefined
  const first = get ?? ((...parameters) => all(...parameters)[0])
  if (hasArrays) {
    return {
      all: parameters => all(...parameters) as unknown[][],
      get: parameters => first(...parameters) as unknown[] | undefined
    }
  }
  return {
    all: parameters => all(...parameters).map(row => Object.values(row)),
    get (parameters) {
      const row = first(...parameters)
      return row && Object.values(row)
    }
  }
}

export function prepareWrite (database: SqliteDatabase, sql: string): WriteStatement {
  const statement = database.prepare(sql)
  const run = statement.run.bind(statement) as RunStatement<{ changes: number | bigint }>
  return parameters => Number(run(...parameters).changes)
}

// In KiB. With SQLite's 2 MB, hot pages are read from the file again and again.
const cacheSize = 'PRAGMA cache_size = -16000'

/** Opens a file so that a finished commit survives a power cut. */
export async function openDatabase (file: string): Promise<SqliteDatabase> {
  const database = new (await loadDatabaseClass())(file)
  await waitUntilFree(5000, () => {
    // With a timeout, SQLite would block the event loop. FULL is not kept in the file: a reopened one may be NORMAL,
    // and lose the last commits.
    database.exec('PRAGMA busy_timeout = 0; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; ' +
      `${cacheSize}; PRAGMA journal_size_limit = 8388608`)
  })
  return database
}

/** For a worker thread, which may block. */
export async function openReadOnly (file: string): Promise<SqliteDatabase> {
  const database = new (await loadDatabaseClass())(file)
  database.exec(`PRAGMA busy_timeout = 5000; PRAGMA query_only = 1; ${cacheSize}`)
  return database
}

/** Undefined if the database has no file. */
export function findFile (database: SqliteDatabase): string | undefined {
  const file = prepareRead(database, "SELECT file FROM pragma_database_list WHERE name = 'main'").get([])?.[0]
  return typeof file === 'string' && file !== '' ? file : undefined
}

type DatabaseClass = new (file: string) => SqliteDatabase

async function loadDatabaseClass (): Promise<DatabaseClass> {
  for (const name of ['node:sqlite', '@photostructure/sqlite']) {
    try {
      return (await import(name) as { DatabaseSync: DatabaseClass }).DatabaseSync
    } catch (error) {
      const { code } = error as { code?: string }
      if (code !== 'ERR_UNKNOWN_BUILTIN_MODULE' && code?.endsWith('MODULE_NOT_FOUND') !== true) throw error
    }
  }
  throw new errorCodes.FST_DEALBOOK_DRIVER_MISSING(
    'SQLite needs Node 22.13 or later, or the package @photostructure/sqlite: npm install @photostructure/sqlite')
}

/** Retries from a timer while another process holds the lock. */
export async function waitUntilFree<T> (timeout: number, run: () => T): Promise<T> {
  const began = performance.now()
  for (;;) {
    try {
      return run()
    } catch (error) {
      if (!isBusy(error) || performance.now() - began > timeout) throw error
    }
    await delay(1 + Math.random() * 10)
  }
}

// node:sqlite has errcode 5 (and extended codes ending in it), better-sqlite3 the code SQLITE_BUSY.
export function isBusy (error: unknown): boolean {
  const { errcode, code, message } = error as { errcode?: number, code?: string, message?: string }
  if (typeof errcode === 'number') return (errcode & 0xff) === 5
  return code?.startsWith('SQLITE_BUSY') === true || message?.includes('database is locked') === true
}

/** Takes the write lock at BEGIN, so that the transaction cannot fail to get it later. */
export function prepareTransaction (database: SqliteDatabase): (run: () => void) => void {
  const begin = prepareWrite(database, 'BEGIN IMMEDIATE')
  const commit = prepareWrite(database, 'COMMIT')
  return run => {
    begin([])
    try {
      run()
      commit([])
    } catch (error) {
      // Some errors, such as a full disk, have already rolled back.
      try { database.exec('ROLLBACK') } catch {}
      throw error
    }
  }
}
