import { setTimeout as delay } from 'node:timers/promises'
import { errorCodes } from '../../core/errors.js'

/** What is used of an SQLite database: node:sqlite, @photostructure/sqlite and better-sqlite3 all have it. */
export interface SqliteDatabase {
  exec (sql: string): unknown
  prepare (sql: string): SqliteStatement
  close (): void
  function (name: string, options: FunctionOptions, run: (...values: never[]) => unknown): unknown
}

/** How a function is called. */
interface FunctionOptions {
  readonly deterministic: boolean
  /** Whether it takes any number of values. */
  readonly varargs?: boolean
}

/** What is used of a statement of such a database. */
export interface SqliteStatement {
  all (...parameters: never[]): unknown[]
  get? (...parameters: never[]): unknown
  run (...parameters: never[]): { changes: number | bigint }
}

/** A statement that reads, with rows as arrays: half the cost of rows as objects. */
export interface ReadStatement {
  all (parameters: readonly unknown[]): unknown[][]
  /** The first row alone, at less cost. */
  get (parameters: readonly unknown[]): unknown[] | undefined
}
/** A statement that writes, and returns how many rows it changed. */
export type WriteStatement = (parameters: readonly unknown[]) => number

type Run<T> = (...parameters: unknown[]) => T

export function prepareRead (database: SqliteDatabase, sql: string): ReadStatement {
  // node:sqlite and better-sqlite3 name it differently, and a host's own driver may have neither.
  const statement = database.prepare(sql) as SqliteStatement & Partial<Record<'setReturnArrays' | 'raw', Run<void>>>
  const hasArrays = statement.setReturnArrays !== undefined || statement.raw !== undefined
  if (statement.setReturnArrays !== undefined) statement.setReturnArrays(true)
  else statement.raw?.(true)
  const all = statement.all.bind(statement) as Run<object[]>
  const get = statement.get?.bind(statement) as Run<object | undefined> | undefined
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
  const run = statement.run.bind(statement) as Run<{ changes: number | bigint }>
  return parameters => Number(run(...parameters).changes)
}

// In KiB. With SQLite's 2 MB, pages that are read often are read from the file again and again.
const cacheSize = 'PRAGMA cache_size = -16000'

/** Opens a file so that a commit survives a power cut once it is answered. */
export async function openDatabase (file: string): Promise<SqliteDatabase> {
  const database = new (await loadDatabaseClass())(file)
  await waitUntilFree(5000, () => {
    // With a timeout, SQLite would block the event loop. FULL is not kept in the file: a reopened one may be NORMAL,
    // and lose the last commits. A log that became long is truncated when it restarts.
    database.exec('PRAGMA busy_timeout = 0; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; ' +
      `${cacheSize}; PRAGMA journal_size_limit = 8388608`)
  })
  return database
}

/** Opens a file for reading, in a thread that may block. */
export async function openReader (file: string): Promise<SqliteDatabase> {
  const database = new (await loadDatabaseClass())(file)
  database.exec(`PRAGMA busy_timeout = 5000; PRAGMA query_only = 1; ${cacheSize}`)
  return database
}

/** The file of an open database; undefined where it has none that can be opened again. */
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

/** Runs this, and again from a timer as long as another process holds the lock that it needs. */
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

/** Whether another process holds a lock. */
// node:sqlite has errcode 5 (and extended codes ending in it), better-sqlite3 the code SQLITE_BUSY.
export function isBusy (error: unknown): boolean {
  const { errcode, code, message } = error as { errcode?: number, code?: string, message?: string }
  if (typeof errcode === 'number') return (errcode & 0xff) === 5
  return code?.startsWith('SQLITE_BUSY') === true || message?.includes('database is locked') === true
}

/** Runs something in a transaction that has the write lock from the beginning, so that it cannot lose it. */
export function prepareTransaction (database: SqliteDatabase): (run: () => void) => void {
  const begin = prepareWrite(database, 'BEGIN IMMEDIATE')
  const commit = prepareWrite(database, 'COMMIT')
  return run => {
    begin([])
    try {
      run()
      commit([])
    } catch (error) {
      // Some errors, such as a full disk, have rolled back already.
      try { database.exec('ROLLBACK') } catch {}
      throw error
    }
  }
}
