import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { NoPostgresError, postgresUrl } from './url.js'

/** A name that no other test has. */
export function newSchema (): string {
  return `test_${randomUUID().replaceAll('-', '')}`
}

export async function dropSchema (schema: string): Promise<void> {
  try {
    await withClient(client => client.query(`DROP SCHEMA IF EXISTS "${schema}" CASCADE`))
  } catch (error) {
    // Then there is no such schema either.
    if (!(error instanceof NoPostgresError)) throw error
  }
}

/** The URL of an empty database of the server that all tests share. */
export async function makeDatabase (t: { teardown (drop: () => Promise<unknown>): void }): Promise<string> {
  const name = newSchema()
  await withClient(client => client.query(`CREATE DATABASE "${name}"`))
  t.teardown(() => withClient(client => client.query(`DROP DATABASE "${name}" WITH (FORCE)`)))
  const url = new URL(await postgresUrl())
  url.pathname = name
  return url.href
}

let pool: pg.Pool | undefined

/** Runs this on a connection that is kept for the next, and keeps no process alive. */
export async function withClient<T> (run: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  if (pool === undefined) {
    pool = new pg.Pool({ connectionString: await postgresUrl(), max: 2, allowExitOnIdle: true })
    pool.on('error', () => {})
  }
  const client = await pool.connect()
  try {
    return await run(client)
  } finally {
    client.release()
  }
}
