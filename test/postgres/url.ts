import { readFile } from 'node:fs/promises'
import { stateFile } from './server.js'

/** There is no PostgreSQL to test with; in `npm run test:fast`, what needs one is skipped. */
export class NoPostgresError extends Error {
  constructor () {
    super(
      'No PostgreSQL: run the tests with tap, start one with "node build/test/postgres/before.js", or set TEST_PG_URL'
    )
  }
}

/** The PostgreSQL to test with: TEST_PG_URL, or the one that was started for this run. */
export async function postgresUrl (): Promise<string> {
  const given = process.env['TEST_PG_URL']
  if (given !== undefined) return given
  const state = await readFile(stateFile, 'utf8').catch(() => {
    throw new NoPostgresError()
  })
  return (JSON.parse(state) as { url: string }).url
}
