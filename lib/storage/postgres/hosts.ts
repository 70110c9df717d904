import { Socket } from 'node:net'
import { describeError } from '../sql/sql-storage.js'
import {
  addErrorListeners, type ConnectionSource, getCode, ignore, loadDriver, type PostgresClient, type PostgresPool
} from './driver.js'

// SQLSTATE of a proxy that refuses a setting for the session.
const refusedStart = '08P01'
const isStandby = "SELECT CASE WHEN pg_is_in_recovery() THEN 'on' ELSE 'off' END"
// Milliseconds for a server to close its connections.
const endTimeout = 1000

interface PoolOptions {
  readonly connectionString: string
  readonly max: number
  readonly connectionTimeoutMillis: number
  readonly keepAlive: boolean
}

/**
 * Resolves once it has reached the server. `limitsTime`: sessions have the time limit for statements. A proxy that
 * pools transactions refuses or ignores that; then `statementTimeout` is undefined.
 */
export async function openPool (
  options: PoolOptions, statementTimeout: number | undefined
): Promise<{ readonly pool: Hosts, readonly limitsTime: boolean }> {
  const { Pool } = await loadDriver()
  const urls = splitHosts(options.connectionString)
  const { connectionTimeoutMillis } = options
  const timeout = shareTimeout(connectionTimeoutMillis, urls.length)
  const open = (session: object): Hosts => {
    const sockets = new Set<Socket>()
    const stream = (): Socket => keepSocket(sockets, new Socket())
    const hosts = urls.map(connectionString => {
      const own = { ...options, ...session, connectionString, connectionTimeoutMillis: timeout, stream }
      return { name: describeHost(connectionString), pool: addErrorListeners(new Pool(own)) }
    })
    return new Hosts(hosts, connectionTimeoutMillis, sockets)
  }
  if (statementTimeout === undefined) return { pool: open({}), limitsTime: false }
  const pool = open({ statement_timeout: statementTimeout })
  try {
    const end = performance.now() + connectionTimeoutMillis
    const client = await pool.connect()
    const source = await ask(client, "SELECT source FROM pg_settings WHERE name = 'statement_timeout'", end)
    client.release()
    if (source === 'client') return { pool, limitsTime: true }
  } catch (error) {
    if (!listCauses(error).some(cause => getCode(cause) === refusedStart)) {
      await pool.end()
      throw error
    }
  }
  await pool.end()
  return await openPool(options, undefined)
}

export function usePool (pool: PostgresPool, timeout: number): Hosts {
  return new Hosts([{ name: '', pool: addErrorListeners(pool) }], timeout)
}

/** Milliseconds for each host, of those to wait for a connection: leaves time to report the errors of all. */
function shareTimeout (timeout: number, hosts: number): number {
  return Math.ceil(timeout * 0.9 / hosts)
}

function keepSocket (sockets: Set<Socket>, socket: Socket): Socket {
  sockets.add(socket)
  return socket.once('close', () => { sockets.delete(socket) })
}

/** Without user and password. */
export function describeHost (url: string): string {
  if (!URL.canParse(url)) return 'PostgreSQL'
  const { host, searchParams } = new URL(url)
  return host || searchParams.get('host') || 'localhost'
}

/** The URLs of `postgres://user@first:5432,second:5432/crm`, one for each host. */
export function splitHosts (connectionString: string): string[] {
  const [, start, hosts = '', rest = ''] =
    /^([a-z]+:\/\/(?:[^/?#]*@)?)([^/?#@]*)([/?#].*)?$/is.exec(connectionString) ?? []
  return start === undefined ? [connectionString] : hosts.split(',').map(host => `${start}${host}${rest}`)
}

interface Host {
  readonly name: string
  readonly pool: PostgresPool
}

/**
 * Connects to the first host that accepts writes, as libpq does with `target_session_attrs=read-write`. Begins with the
 * last good one: an old primary that is started again may not know yet that there is a new one. A single host may be a
 * proxy, which does not know either.
 */
export class Hosts implements ConnectionSource {
  /**
   * A standby may have entries that it loses later, so commands must not be decided there. A session of a primary
   * remains one until it ends. A single host may be a standby, for families that are only read.
   */
  mustWrite: boolean
  readonly #writable = new WeakSet<PostgresClient>()
  readonly #timeout: number
  #good = 0

  constructor (readonly hosts: readonly Host[], timeout: number, readonly sockets: ReadonlySet<Socket> = new Set()) {
    this.mustWrite = hosts.length > 1
    this.#timeout = shareTimeout(timeout, hosts.length)
  }

  get options (): NonNullable<ConnectionSource['options']> {
    return this.hosts[0]?.pool.options ?? {}
  }

  get waitingCount (): number {
    return this.hosts[this.#good]?.pool.waitingCount ?? 0
  }

  async connect (): Promise<PostgresClient> {
    const failures: Failure[] = []
    const left = new Set(this.hosts.keys())
    while (left.size > 0) {
      // Another call may find it meanwhile.
      const [next = 0] = left
      const at = left.has(this.#good) ? this.#good : next
      left.delete(at)
      const { name, pool } = this.hosts[at] as Host
      const end = performance.now() + this.#timeout
      try {
        const client = await pool.connect()
        if (this.mustWrite && !this.#writable.has(client)) await this.#check(client, end)
        this.#good = at
        return client
      } catch (error) {
        failures.push({ name, error })
      }
    }
    throw failures.length === 1 ? failures[0]?.error : joinErrors(failures)
  }

  async #check (client: PostgresClient, end: number): Promise<void> {
    // A single primary may be read-only for a while, such as for maintenance, and still be read.
    const text = this.hosts.length > 1 ? 'SHOW transaction_read_only' : isStandby
    if (await ask(client, text, end) === 'off') this.#writable.add(client)
    else {
      client.release(true)
      throw new Error('The server accepts no writes')
    }
  }

  /** A server that has vanished never closes its end. */
  async end (): Promise<void> {
    setTimeout(() => { for (const socket of this.sockets) socket.destroy() }, endTimeout).unref()
    await Promise.all(this.hosts.map(({ pool }) => pool.end()))
  }
}

/** The first value. Closes the connection if there is none at the `end`, a moment of `performance.now()`. */
async function ask (client: PostgresClient, text: string, end: number): Promise<unknown> {
  let isLate = false
  const timer = setTimeout(() => {
    isLate = true
    client.release(true)
  }, end - performance.now()).unref()
  // The host's pool has taken its own listener away; without one, an error would end the process.
  client.on('error', ignore)
  try {
    const { rows: [row] } = await client.query({ text, rowMode: 'array' })
    client.off('error', ignore)
    return (row as [unknown])[0]
  } catch (error) {
    if (isLate) throw new Error('The server did not answer before the timeout', { cause: error })
    client.release(true)
    throw error
  } finally {
    clearTimeout(timer)
  }
}

interface Failure extends Pick<Host, 'name'> {
  readonly error: unknown
}

function joinErrors (failures: readonly Failure[]): Error {
  const errors = failures.map(({ error }) => error)
  const message = failures.map(({ name, error }) => `${name}: ${describeError(error)}`).join('; ')
  const codes = new Set(errors.map(getCode))
  const [code] = codes
  return Object.assign(new AggregateError(errors, message), codes.size === 1 && code !== '' ? { code } : {})
}

function listCauses (error: unknown): readonly unknown[] {
  return error instanceof AggregateError ? error.errors : [error]
}
