import { errorCodes } from '../../core/errors.js'

/** The part of a pool of `pg` that is used. */
export interface PostgresPool {
  /** `max`: connections at most. Default: 10. */
  readonly options?: { readonly max?: number }
  /** Number of callers that wait for a connection. */
  readonly waitingCount?: number
  connect (): Promise<PostgresClient>
  end (): Promise<void>
  on (event: 'error', listener: (error: Error) => void): unknown
  on (event: 'connect', listener: (client: PostgresClient) => void): unknown
  off (event: 'error', listener: (error: Error) => void): unknown
  off (event: 'connect', listener: (client: PostgresClient) => void): unknown
}

/** The part of it by which connections are made. */
export interface ConnectionSource extends Pick<PostgresPool, 'options' | 'waitingCount' | 'connect' | 'end'> {
  /** Whether connections to a standby are refused. Default: false. */
  readonly mustWrite?: boolean
}

/** The part of a connection that is used. */
export interface PostgresClient {
  query (config: PostgresQuery): Promise<{ rows: unknown[] }>
  release (error?: Error | boolean): void
  on (event: 'error' | 'notification', listener: (error: Error) => void): unknown
  off (event: 'error' | 'notification', listener: (error: Error) => void): unknown
}

/** Several statements, joined by semicolons, have no values and return an array of results. */
export interface PostgresQuery {
  text: string
  values?: unknown[]
  name?: string
  rowMode?: 'array'
  types?: { getTypeParser: () => (value: string) => unknown }
}

/** Without a listener, an error event would end the process. The next read or commit reports the error. */
export function addErrorListeners (pool: PostgresPool): PostgresPool {
  pool.on('error', ignore)
  // From the start: a server may end a connection in the same packet that accepts it.
  pool.on('connect', ignoreClientErrors)
  return pool
}

export function removeErrorListeners (pool: PostgresPool): void {
  pool.off('error', ignore)
  pool.off('connect', ignoreClientErrors)
}

function ignoreClientErrors (client: PostgresClient): void {
  client.on('error', ignore)
}

export function ignore (): void {}

interface Driver {
  readonly Pool: new (options: object) => PostgresPool
}

export async function loadDriver (): Promise<Driver> {
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

/** The SQLSTATE of an error of the server, or the code of a network error. */
export function getCode (error: unknown): string {
  return (error as { code?: string } | undefined)?.code ?? ''
}

/** Timed out, or cancelled. */
export const statementTimedOut = '57014'
export const lockTimedOut = '55P03'

/** Whether the connection can still be used. */
export function isFromServer (error: unknown): boolean {
  // Classes 08 (connection) and 57P (shutdown); a session that was idle in its transaction for too long; a standby.
  return (error as { severity?: string }).severity !== undefined && !/^(08|57P|25P0[34]|25006)/.test(getCode(error))
}

/** Whether nothing was done, and a retry may succeed. */
export function isUndone (error: unknown): boolean {
  // Not serializable, a deadlock, a standby, and the error by which a batch of commits undoes itself.
  return ['40001', '40P01', '25006', '2201G'].includes(getCode(error))
}

// Classes about the server, the session or the statement. Not 54000: an index entry is too long.
const notAboutData = /^(0[0-8A-Z]|2[4568BD]|3[4BDF]|4[02]|5[3578]|54(?!000)|72|F0|HV|XX)/

/** Broken constraints, and errors that a trigger raises. */
export function isAboutData (error: unknown): boolean {
  return (error as { severity?: string }).severity !== undefined && !notAboutData.test(getCode(error))
}

/** Whether the error may be about one commit of a batch only. */
export function isAboutOne (error: unknown): boolean {
  // 42: also a broken trigger, such as one that reads a dropped table.
  return isFromServer(error) && (isAboutData(error) || isUndone(error) || getCode(error).startsWith('42'))
}
