import { createHash } from 'node:crypto'
import { BoundedCache } from '../../cache.js'
import { errorCodes } from '../../errors.js'
import { raceSignal } from '../patience.js'
import { runCancellably } from './cancel.js'

/** What is used of a pool of `pg`. */
export interface PostgresPool {
  query (config: PostgresQuery): Promise<{ rows: unknown[] }>
  connect (): Promise<PostgresClient>
  end (): Promise<void>
  on (event: 'error', listener: (error: Error) => void): unknown
  off (event: 'error', listener: (error: Error) => void): unknown
}

/** What is used of one connection of it. */
export interface PostgresClient {
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

/** A pool of our own. It connects when it is asked, and again after the server was away. */
export async function openPool (connectionString: string, settings: PoolSettings): Promise<PostgresPool> {
  const { Pool } = await loadDriver()
  return new Pool({
    connectionString,
    max: settings.poolSize,
    connectionTimeoutMillis: settings.connectionTimeout,
    keepAlive: true,
    // A pooling proxy refuses settings that belong to a session; there only the driver's own clock is left.
    ...settings.preparedStatements ? { statement_timeout: settings.statementTimeout } : {}
  })
}

interface Driver {
  readonly Pool: new (options: Record<string, unknown>) => PostgresPool
}

async function loadDriver (): Promise<Driver> {
  const name = 'pg'
  try {
    const module = await import(name) as Driver & { default?: Driver }
    return module.default ?? module
  } catch (error) {
    if ((error as { code?: string }).code !== 'ERR_MODULE_NOT_FOUND') throw error
    const message = 'PostgreSQL needs the package pg: npm install pg'
    throw new errorCodes.FST_DEALBOOK_DRIVER_MISSING(message, { cause: error })
  }
}

// Every value as its text: a host may have set other parsers for all of the process.
const types = { getTypeParser: () => (value: string) => value }
// A server keeps what is prepared until the connection ends, so only so many texts are ever prepared.
const maxPrepared = 200

/** Runs statements on a pool, prepared on each connection where the same text comes again. */
export class StatementRunner {
  readonly #names = new Map<string, string>()
  readonly #seen = new BoundedCache<true>(1000)

  constructor (readonly pool: PostgresPool, readonly preparedStatements: boolean, readonly timeout: number) {}

  async run (text: string, values: unknown[], signal?: AbortSignal): Promise<unknown[][]> {
    const name = this.#nameStatement(text)
    const unnamed: PostgresQuery = { text, values, rowMode: 'array', types, query_timeout: this.timeout }
    const config = name === undefined ? unnamed : { ...unnamed, name }
    const { rows } = signal === undefined
      ? await this.pool.query(config)
      : await raceSignal(signal, this.#runOnOne(config, signal))
    return rows as unknown[][]
  }

  async #runOnOne (config: PostgresQuery, signal: AbortSignal): Promise<{ rows: unknown[] }> {
    const client = await this.pool.connect()
    let failure: Error | undefined
    try {
      return await runCancellably(client, signal, () => client.query(config))
    } catch (error) {
      failure = error as Error
      throw error
    } finally {
      client.release(failure)
    }
  }

  // From the second time on: what a client asks once does not take up a place.
  #nameStatement (text: string): string | undefined {
    if (!this.preparedStatements) return undefined
    const name = this.#names.get(text)
    if (name !== undefined || this.#names.size >= maxPrepared) return name
    let seenBefore = true
    this.#seen.get(text, () => {
      seenBefore = false
      return true
    })
    if (seenBefore) this.#names.set(text, `dealbook_${createHash('sha256').update(text).digest('hex').slice(0, 24)}`)
    return undefined
  }
}

/** Runs one statement, or several without values in one text, and returns the rows. */
export type Run = (text: string, values?: unknown[]) => Promise<unknown[][]>

/** Runs this on one connection, in a transaction. */
export async function runInTransaction (pool: PostgresPool, work: (run: Run) => Promise<void>): Promise<void> {
  const client = await pool.connect()
  // A connection that breaks between two statements tells so by an event, which would end the process if nobody
  // listened.
  const ignore = (): void => {}
  client.on('error', ignore)
  let failure: Error | undefined
  const run: Run = async (text, values) => {
    const config = { text, rowMode: 'array' as const, types }
    // Several statements in one text have several results, of which nobody reads the rows.
    const { rows }: { rows?: unknown[] } = await client.query(values === undefined ? config : { ...config, values })
    return (rows ?? []) as unknown[][]
  }
  try {
    await run('BEGIN')
    await work(run)
    await run('COMMIT')
  } catch (error) {
    failure = error as Error
    await run('ROLLBACK').then(() => { failure = undefined }, () => {})
    throw error
  } finally {
    client.off('error', ignore)
    client.release(failure)
  }
}
