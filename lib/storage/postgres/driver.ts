import { errorCodes } from '../../core/errors.js'

/** What is used of a pool of `pg`. */
export interface PostgresPool {
  /** Of these `max`: how many connections it has at most; 10 where it does not say. */
  readonly options?: { readonly max?: number }
  /** How many others wait for a connection. */
  readonly waitingCount?: number
  connect (): Promise<PostgresClient>
  end (): Promise<void>
  on (event: 'error', listener: (error: Error) => void): unknown
  on (event: 'connect', listener: (client: PostgresClient) => void): unknown
  off (event: 'error', listener: (error: Error) => void): unknown
  off (event: 'connect', listener: (client: PostgresClient) => void): unknown
}

/** What is used of one connection of it. */
export interface PostgresClient {
  query (config: PostgresQuery): Promise<{ rows: unknown[] }>
  release (error?: Error | boolean): void
  on (event: 'error', listener: (error: Error) => void): unknown
  off (event: 'error', listener: (error: Error) => void): unknown
}

/** A statement as `pg` takes it; several, joined by semicolons, have no values, and an array of results. */
export interface PostgresQuery {
  text: string
  values?: unknown[]
  name?: string
  rowMode?: 'array'
  /** Milliseconds after which the answer is no longer waited for. */
  query_timeout?: number
  types?: { getTypeParser: () => (value: string) => unknown }
}

export interface OpenPool {
  readonly pool: PostgresPool
  /** Whether its sessions have the time limit for statements: a proxy that pools transactions refuses settings. */
  readonly limitsTime: boolean
}

/**
 * A pool of our own, once it has reached the server. It connects again after the server was away.
 *
 * @param options of `pg`
 * @param statementTimeout of each session; undefined where none can have one
 */
export async function openPool (options: object, statementTimeout: number | undefined): Promise<OpenPool> {
  const { Pool } = await loadDriver()
  if (statementTimeout === undefined) return { pool: listenTo(new Pool(options)), limitsTime: false }
  const pool = listenTo(new Pool({ ...options, statement_timeout: statementTimeout }))
  try {
    (await pool.connect()).release()
    return { pool, limitsTime: true }
  } catch (error) {
    await pool.end()
    if (getCode(error) !== refusedStart) throw error
    return await openPool(options, undefined)
  }
}

/**
 * Listens to errors of connections, which the next read or commit reports: without a listener the event would end the
 * process. A server may end a connection in the same packet in which it accepts it, so each has one from the beginning.
 */
export function listenTo (pool: PostgresPool): PostgresPool {
  pool.on('error', ignore)
  pool.on('connect', listenToClient)
  return pool
}

export function leaveAlone (pool: PostgresPool): void {
  pool.off('error', ignore)
  pool.off('connect', listenToClient)
}

function listenToClient (client: PostgresClient): void {
  client.on('error', ignore)
}

export function ignore (): void {}

// SQLSTATE of a proxy that refuses a setting for the session.
const refusedStart = '08P01'

interface Driver {
  readonly Pool: new (options: object) => PostgresPool
}

async function loadDriver (): Promise<Driver> {
  const name = 'pg'
  try {
    const module = await import(name) as Driver & { default?: Driver }
    return module.default ?? module
  } catch (error) {
    if ((error as { code?: string }).code?.endsWith('MODULE_NOT_FOUND') !== true) throw error
    const message = 'PostgreSQL needs the package pg: npm install pg'
    throw new errorCodes.FST_DEALBOOK_DRIVER_MISSING(message, { cause: error })
  }
}

/** The SQLSTATE of an error of the server, or the code of one on the way to it. */
export function getCode (error: unknown): string {
  return (error as { code?: string } | undefined)?.code ?? ''
}

/** The code of a statement that took longer than it may, or was cancelled. */
export const statementTimedOut = '57014'

/** Whether the server refused a statement and continues to serve the connection. */
export function isRefusal (error: unknown): boolean {
  // Classes 08 (connection) and 57P (the server shuts down); a session that was idle in its transaction for too long.
  return (error as { severity?: string }).severity !== undefined && !/^(08|57P|25P0[34])/.test(getCode(error))
}

/** Whether the server has undone everything, and the same may succeed. */
export function isUndone (error: unknown): boolean {
  // Not serializable, a deadlock, and the error by which a batch of commits undoes itself.
  return ['40001', '40P01', '2201G'].includes(getCode(error))
}

/** Whether a lock was not granted in time: nothing was done. */
export function isLockTimeout (error: unknown): boolean {
  return getCode(error) === '55P03'
}

// SQLSTATE: classes that have to do with the server, the session or the statement. 54000 has not: an entry of an index
// is too long.
const notAboutData = /^(0[0-8A-Z]|2[4568BD]|3[4BDF]|4[02]|5[3578]|54(?!000)|72|F0|HV|XX)/

/** Whether the server refused the data: broken constraints, and whatever a trigger raises. */
export function isAboutData (error: unknown): boolean {
  return (error as { severity?: string }).severity !== undefined && !notAboutData.test(getCode(error))
}

/** Whether the server may have refused one commit of several, and not the others. */
export function isAboutOne (error: unknown): boolean {
  // 42: also a broken trigger, such as one that reads a table that was dropped.
  return isAboutData(error) || isUndone(error) || (isRefusal(error) && getCode(error).startsWith('42'))
}
