// How long a migration may take.
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import t, { type Test } from 'tap'
import { insert, notes, shape, thing } from '../../lib/conformance/fixture.js'
import type { Storage } from '../../lib/core/storage/storage.js'
import type {
  PostgresClient, PostgresOptions, PostgresPool, PostgresQuery
} from '../../lib/storage/postgres/postgres-storage.js'
import { postgresStorage } from '../../lib/storage/postgres/postgres-storage.js'
import { dropSchema, newSchema, withClient } from '../postgres/schema.js'
import { postgresUrl } from '../postgres/url.js'

const connectionString = await postgresUrl()
const pool = new pg.Pool({ connectionString, allowExitOnIdle: true })
pool.on('error', () => {})

/** A schema of its own, cleared away with the test. */
function make (t: Test): { schema: string, open: (options?: PostgresOptions, own?: PostgresPool) => Storage } {
  const schema = newSchema()
  const opened: Storage[] = []
  t.teardown(async () => {
    for (const storage of opened) await storage.close()
    await dropSchema(schema)
  })
  return {
    schema,
    open (options = {}, own) {
      const source = own === undefined ? { connectionString, poolSize: 4 } : { pool: own }
      const storage = postgresStorage({ ...source, schema, ...options })
      opened.push(storage)
      return storage
    }
  }
}

/** A pool whose server does not answer a statement that begins so, until the connection is closed, or one of `ends`. */
function hangAt (text: string, ends: (() => void)[] = []): PostgresPool {
  const connect = async (): Promise<PostgresClient> => {
    const client = await pool.connect()
    const query = (config: PostgresQuery): Promise<unknown> => config.text.startsWith(text)
      ? new Promise((_resolve, reject) => { ends.push(() => { reject(new Error('gone')) }) })
      : client.query(config)
    const release = (error?: Error): void => {
      for (const end of ends) end()
      client.release(error)
    }
    return Object.assign(Object.create(client), { query, release })
  }
  return Object.assign(Object.create(pool), { connect })
}

t.test('what is made at the start may take longer than a request', async t => {
  const { schema, open } = make(t)
  const visits = shape('visits', 'integer', [{ name: 'place', kind: 'string', optional: true }], [['place']])
  const before = open()
  await before.prepare(visits)
  await before.commit(insert('visits', thing(1)))
  await withClient(client => client.query(`CREATE FUNCTION "${schema}".slow () RETURNS trigger LANGUAGE plpgsql
    AS 'BEGIN PERFORM pg_sleep(2.5); RETURN NEW; END';
    CREATE TRIGGER slow BEFORE UPDATE ON "${schema}".visits FOR EACH ROW EXECUTE FUNCTION "${schema}".slow()`))
  const later = {
    ...visits,
    fields: visits.fields.map(field =>
      field.name === 'place' ? { ...field, optional: false, default: 'here' } : field)
  }
  await t.rejects(open({ migrationTimeout: 1000 }).prepare(later), { code: '57014' })
  // Some that start together: the others wait for the first, however long that takes. Nothing ends the statements in
  // the host's pool.
  const timeouts = { statementTimeout: 1500 }
  const all = [open(timeouts), open(timeouts), open({ statementTimeout: 500 }, pool)]
  await Promise.all(all.map(async (storage, at) => {
    // The first has locked the table by then.
    await delay(at === 0 ? 0 : 500)
    await storage.prepare(later)
  }))
  for (const storage of all) t.match(await storage.get('visits', 1), { place: 'here' })
})

t.test('only what a migration itself does may take longer than a request', async t => {
  const tryHanging = async (text: string, ends?: (() => void)[]): Promise<string> => {
    const storage = make(t).open({ statementTimeout: 200 }, hangAt(text, ends))
    return await storage.prepare(notes).then(() => 'done', (error: Error) => error.message)
  }
  const short = ['BEGIN', 'SELECT pg_try_advisory', 'SET LOCAL statement_timeout', 'COMMIT']
  const outcomes = Promise.all(short.map(text => tryHanging(text)))
  const ends: (() => void)[] = []
  const long = tryHanging('CREATE ', ends)
  t.equal(await Promise.race([long, outcomes.then(() => 'waits')]), 'waits')
  t.strictSame(await outcomes, short.map(() => 'PostgreSQL: PostgreSQL did not answer before the timeout'))
  for (const end of ends) end()
  t.equal(await long, 'PostgreSQL: gone')
})
