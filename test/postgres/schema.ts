import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { postgresUrl } from './url.js'

/** A name that no other test has. */
export function newSchema (): string {
  return `test_${randomUUID().replaceAll('-', '')}`
}

export async function dropSchema (schema: string): Promise<void> {
  await withClient(client => client.query(`DROP SCHEMA IF EXISTS "${schema}" CASCADE`))
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
