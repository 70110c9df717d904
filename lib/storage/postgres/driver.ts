import { errorCodes } from '../../core/errors.js'

/** What is used of a pool of `pg`. */
export interface PostgresPool {
  /** Of these `max`: how many connections it has at most; 10 where it does not say. */
  readonly options?: { readonly max?: number }
  connect (): Promise<PostgresClient>
  end (): Promise<void>
  on (event: 'error', listener: (error: Error) => void): unknown
  on (event: 'connect', listener: (client: PostgresClient) => void): unknown
  off (event: 'error', listener: (error: Error) => void): unknown
  off (event: 'connect', listener: (client: PostgresClient) => void): unknown
}

/** What is used of one connection of it. */
export interface PostgresClient {
  /** Whether it sends a statement before the one before it is answered. */
  readonly pipeline?: boolean
  /** The connection itself, which can wait for further writes before it sends anything. */
  readonly connection?: { readonly stream?: { cork? (): void, uncork? (): void } }
  query (config: PostgresQuery): Promise<{ rows: unknown[] }>
  release (error?: Error | boolean): void
  on (event: 'error', listener: (error: Error) => void): unknown
  off (event: 'error', listener: (error: Error) => void): unknown
}

/** A statement as `pg` takes it. */
export interface PostgresQuery {
  text: string
  values?: unknown[]
  name?: string
  rowMode?: 'array'
  types?: { getTypeParser: () => (value: string) => unknown }
  query_timeout?: number
}

export interface PoolSettings {
  readonly poolSize: number
  readonly connectionTimeout: number
  readonly statementTimeout: number
  readonly preparedStatements: boolean
}

export interface OpenPool {
  readonly pool: PostgresPool
  /** Whether its sessions have the time limit for statements; a proxy that pools transactions takes no such thing. */
  readonly limitsTime: boolean
}

/** A pool of our own, once it has reached the server. It connects again after the server was away. */
export async function openPool (connectionString: string, settings: PoolSettings): Promise<OpenPool> {
  const { Pool } = await loadDriver()
  const options = {
    connectionString,
    max: settings.poolSize,
    connectionTimeoutMillis: settings.connectionTimeout,
    keepAlive: true,
    pipeline: true
  }
  if (!settings.preparedStatements) return { pool: listenTo(new Pool(options)), limitsTime: false }
  const pool = listenTo(new Pool({ ...options, statement_timeout: settings.statementTimeout }))
  try {
    (await pool.connect()).release()
    return { pool, limitsTime: true }
  } catch (error) {
    await pool.end()
    if (getCode(error) !== refusedStart) throw error
    return { pool: listenTo(new Pool(options)), limitsTime: false }
  }
}

/**
 * Listens to what breaks, which the next read or commit finds out: unheard, the event would end the process. To every
 * connection too, from its beginning: a server may greet it and end it in one piece, before anybody has it in hand.
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

// SQLSTATE of a proxy that refuses a setting for the session.
const refusedStart = '08P01'

interface Driver {
  readonly Pool: new (options: Record<string, unknown>) => PostgresPool
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

/** The code of a statement that took longer than it may. */
export const statementTimedOut = '57014'

/** Takes a connection for some work. One that broke, or is spent, is closed and not given back. */
export async function useClient<T> (
  pool: PostgresPool,
  work: (client: PostgresClient) => Promise<T>,
  isSpent: (client: PostgresClient) => boolean
): Promise<T> {
  const client = await pool.connect()
  // A connection that breaks between two statements tells so by an event, which would end the process if nobody
  // listened.
  client.on('error', ignore)
  let broken: Error | undefined
  try {
    return await work(client)
  } catch (error) {
    if (!isRefusal(error)) broken = error as Error
    throw error
  } finally {
    const end = broken ?? isSpent(client)
    // A connection that is thrown away may still tell what else broke, and nobody else listens to it.
    if (end === false) client.off('error', ignore)
    client.release(end)
  }
}

export function ignore (): void {}

/** What is written meanwhile is sent in one go, where the connection can. */
export function sendTogether (client: PostgresClient, write: () => void): void {
  const stream = client.connection?.stream
  stream?.cork?.()
  try {
    write()
  } finally {
    stream?.uncork?.()
  }
}

/** Whether the server refused a statement and goes on serving the connection. */
export function isRefusal (error: unknown): boolean {
  // Classes 08 (connection) and 57P (the server shuts down); a session that was idle in its transaction for too long.
  return (error as { severity?: string }).severity !== undefined && !/^(08|57P|25P0[34])/.test(getCode(error))
}

// SQLSTATE: classes that have to do with the server, the session or the statement. 54000 has not: an entry of an index
// is too long.
const notAboutData = /^(0[0-8A-Z]|2[4568BD]|3[4BDF]|4[02]|5[3578]|54(?!000)|72|F0|HV|XX)/

/** Whether it may have been one commit of several that the server refused, and not the others. */
export function isAboutOne (error: unknown): boolean {
  // 42: also a trigger that is broken, as it asks for a table that is gone.
  return isAboutData(error) || (isRefusal(error) && getCode(error).startsWith('42'))
}

/** Whether it was the data that the server refused: broken constraints, and whatever a trigger raises. */
export function isAboutData (error: unknown): boolean {
  return (error as { severity?: string }).severity !== undefined && !notAboutData.test(getCode(error))
}
