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

export async function withClient<T> (run: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: await postgresUrl() })
  await client.connect()
  try {
    return await run(client)
  } finally {
    await client.end()
  }
}
