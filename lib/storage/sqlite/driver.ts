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

// node:sqlite and better-sqlite3 name it differently.
interface ArrayStatement extends SqliteStatement {
  setReturnArrays? (on: boolean): void
  raw? (on: boolean): void
}

/** A statement that reads, with rows as arrays: half the cost of rows as objects. */
export interface ReadStatement {
  all (parameters: readonly unknown[]): unknown[][]
  /** The first row alone, at less cost. */
  get (parameters: readonly unknown[]): unknown[] | undefined
}
/** A statement that writes, and returns how many rows it changed. */
export type WriteStatement = (parameters: readonly unknown[]) => number

export function prepareRead (database: SqliteDatabase, sql: string): ReadStatement {
  const statement = database.prepare(sql) as ArrayStatement
  const all = statement.all.bind(statement) as (...parameters: unknown[]) => unknown[]
  const get = statement.get?.bind(statement) as ((...parameters: unknown[]) => unknown) | undefined
  const first = get ?? ((...parameters: unknown[]) => all(...parameters)[0])
  if (switchToArrays(statement)) {
    return {
      all: parameters => all(...parameters) as unknown[][],
      get: parameters => first(...parameters) as unknown[] | undefined
    }
  }
  return {
    all: parameters => all(...parameters).map(row => Object.values(row as object)),
    get (parameters) {
      const row = first(...parameters)
      return row === undefined ? undefined : Object.values(row as object)
    }
  }
}

function switchToArrays (statement: ArrayStatement): boolean {
  if (statement.setReturnArrays !== undefined) statement.setReturnArrays(true)
  else if (statement.raw !== undefined) statement.raw(true)
  else return false
  return true
}

export function prepareWrite (database: SqliteDatabase, sql: string): WriteStatement {
  const statement = database.prepare(sql)
  const run = statement.run.bind(statement) as (...parameters: unknown[]) => { changes: number | bigint }
  return parameters => Number(run(...parameters).changes)
}

// In KiB. With its usual 2 MB, what is read often is read anew from the file again and again.
const cacheSize = 'PRAGMA cache_size = -16000'

/** Opens a file so that a commit which was answered survives a power cut. */
export async function openDatabase (file: string): Promise<SqliteDatabase> {
  const database = new (await loadDatabaseClass())(file)
  // FULL is not kept in the file: without it a reopened WAL file may fall back to NORMAL and lose the last commits.
  await waitUntilFree(5000, () => {
    // SQLite would wait with the event loop stopped; here it is tried again from a timer.
    database.exec('PRAGMA busy_timeout = 0; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
    database.exec(cacheSize)
    // A log that became long is made short again when it begins anew.
    database.exec('PRAGMA journal_size_limit = 8388608')
  })
  return database
}

/** Opens a file that is open elsewhere in this process, to read from it in a thread that may wait. */
export async function openReader (file: string): Promise<SqliteDatabase> {
  const database = new (await loadDatabaseClass())(file)
  database.exec(`PRAGMA busy_timeout = 5000; PRAGMA query_only = 1; ${cacheSize}`)
  return database
}

/** The file of an open database; undefined where it has none that could be opened once more. */
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

/** Runs this once no other process holds the lock that it needs, and tries again from a timer until then. */
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

/** Runs something in a transaction that has the lock for writing from the beginning, so that it cannot lose it. */
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
