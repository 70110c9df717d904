import { createHash } from 'node:crypto'
import { Bounded } from '../sql/bounded.js'

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

export interface ConnectionOptions {
  readonly connectionString: string
  readonly poolSize: number
  readonly connectionTimeout: number
  readonly statementTimeout: number
  readonly preparedStatements: boolean
}

/** A pool of our own. It connects when it is asked, and again after the server was away. */
export async function openPool ({ connectionString, poolSize, connectionTimeout, statementTimeout, preparedStatements }: ConnectionOptions): Promise<PostgresPool> {
  const { Pool } = await driver()
  return new Pool({
    connectionString,
    max: poolSize,
    connectionTimeoutMillis: connectionTimeout,
    keepAlive: true,
    // A pooling proxy refuses settings that belong to a session; there only the driver's own clock is left.
    ...preparedStatements ? { statement_timeout: statementTimeout } : {}
  })
}

interface Driver {
  readonly Pool: new (options: Record<string, unknown>) => PostgresPool
}

async function driver (): Promise<Driver> {
  const name = 'pg'
  try {
    const module = await import(name) as Driver & { default?: Driver }
    return module.default ?? module
  } catch (error) {
    if ((error as { code?: string }).code !== 'ERR_MODULE_NOT_FOUND') throw error
    throw new Error('PostgreSQL needs the package pg: npm install pg', { cause: error })
  }
}

// Every value as its text: a host may have set other parsers for all of the process.
const types = { getTypeParser: () => (value: string) => value }
// A server keeps what is prepared until the connection ends, so only so many texts are ever prepared.
const preparedAtMost = 200

/** Runs statements on a pool, prepared on each connection where the same text comes again. */
export class Runner {
  readonly #names = new Map<string, string>()
  readonly #seen = new Bounded<true>(1000)

  constructor (readonly pool: PostgresPool, readonly preparedStatements: boolean, readonly timeout: number) {}

  async rows (text: string, values: unknown[]): Promise<unknown[][]> {
    const name = this.#name(text)
    const config: PostgresQuery = { text, values, rowMode: 'array', types, query_timeout: this.timeout }
    const { rows } = await this.pool.query(name === undefined ? config : { ...config, name })
    return rows as unknown[][]
  }

  // From the second time on: what a client asks once does not take up a place.
  #name (text: string): string | undefined {
    if (!this.preparedStatements) return undefined
    const name = this.#names.get(text)
    if (name !== undefined || this.#names.size >= preparedAtMost) return name
    let known = true
    this.#seen.get(text, () => { known = false; return true })
    if (known) this.#names.set(text, `dealbook_${createHash('sha256').update(text).digest('hex').slice(0, 24)}`)
    return undefined
  }
}

/** Runs this on one connection, in a transaction. */
export async function transaction (pool: PostgresPool, run: (rows: (text: string, values?: unknown[]) => Promise<unknown[][]>) => Promise<void>): Promise<void> {
  const client = await pool.connect()
  // A connection that breaks between two statements tells so by an event, which would end the process if nobody listened.
  const ignore = (): void => {}
  client.on('error', ignore)
  let failure: Error | undefined
  const rows = async (text: string, values?: unknown[]): Promise<unknown[][]> =>
    rowsOf(await client.query(values === undefined ? { text, rowMode: 'array', types } : { text, values, rowMode: 'array', types }))
  try {
    await rows('BEGIN')
    await run(rows)
    await rows('COMMIT')
  } catch (error) {
    failure = error as Error
    await rows('ROLLBACK').then(() => { failure = undefined }, () => {})
    throw error
  } finally {
    client.off('error', ignore)
    client.release(failure)
  }
}

// Several statements in one text have several results, of which nobody reads the rows.
function rowsOf (result: { rows?: unknown[] }): unknown[][] {
  return (result.rows ?? []) as unknown[][]
}
