import type { Test } from 'tap'
import t from 'tap'
import {
  ids, insert, note, notes, query, replace, shape, thing, things, where
} from '../../lib/conformance/fixture.js'
import type { Storage, Stored } from '../../lib/core/storage/storage.js'
import { ConflictError } from '../../lib/core/storage/storage.js'
import type { PostgresOptions } from '../../lib/storage/postgres/postgres-storage.js'
import { postgresStorage } from '../../lib/storage/postgres/postgres-storage.js'
import { hasPreparedStatements, needsPgbouncer, startPgbouncer } from '../postgres/pgbouncer.js'
import { dropSchema, newSchema, withClient } from '../postgres/schema.js'
import { postgresUrl } from '../postgres/url.js'

// A connection is anybody's after each transaction, so nothing may be left to it, and nothing relied on.
const servers = 3

async function open (t: Test, settings: string[] = []): Promise<(options?: Partial<PostgresOptions>) => Storage> {
  const schema = newSchema()
  const connectionString = await startPgbouncer(t, await postgresUrl(), servers, settings)
  const opened: Storage[] = []
  t.teardown(async () => {
    for (const storage of opened) await storage.close()
    await dropSchema(schema)
  })
  return (options = {}) => {
    const storage = postgresStorage({ connectionString, schema, poolSize: 5, ...options })
    opened.push(storage)
    return storage
  }
}

/** Reads and writes from several storages at once, so that each meets connections that the others have used. */
async function work (t: Test, storages: readonly Storage[]): Promise<void> {
  await Promise.all(storages.flatMap(storage => [storage.prepare(things), storage.prepare(notes)]))
  const [first] = storages as [Storage]
  await first.commit(insert('things', ...Array.from({ length: 20 }, (_, id) => thing(id, { integer: 0, string: 'a' }))))
  await Promise.all(storages.map(async (storage, index) => {
    for (let round = 0; round < 20; round++) {
      await Promise.all(Array.from({ length: 5 }, async (_, n) => {
        const id = `${index} ${round} ${n}`
        await storage.commit(insert('notes', note(id)))
        t.equal((await storage.get('notes', id))?.id, id)
        const filters = [where('integer', 'gte', 0), where('string', 'eq', 'a')]
        t.equal((await ids(storage, query({ where: filters, limit: n + 1 }))).length, n + 1)
      }))
      await raise(storage)
    }
  }))
  t.equal((await first.get('things', 1))?.['integer'], 20 * storages.length)
}

/** Adds one to a number that all others raise as well. */
async function raise (storage: Storage): Promise<void> {
  for (;;) {
    const item = await storage.get('things', 1) as Stored
    const next = { ...item, integer: Number(item['integer']) + 1, revision: item.revision + 1 }
    try {
      return await storage.commit([replace('things', next)])
    } catch (error) {
      if (!(error instanceof ConflictError)) throw error
    }
  }
}

const knowsNames = hasPreparedStatements()

t.test('through a pgbouncer that knows nothing of prepared statements', needsPgbouncer, async t => {
  const openStorage = await open(t, knowsNames ? ['max_prepared_statements = 0'] : [])
  await work(t, [openStorage(), openStorage(), openStorage({ preparedStatements: false })])
})

const needsNames = needsPgbouncer.skip === false && !knowsNames ? { skip: 'pgbouncer before 1.21' } : needsPgbouncer
t.test('through a pgbouncer that knows of prepared statements', needsNames, async t => {
  const openStorage = await open(t, ['max_prepared_statements = 100'])
  await work(t, [openStorage(), openStorage()])
})

t.test('through pgbouncer: a statement that takes too long is ended by the server', needsPgbouncer, async t => {
  const connectionString = await startPgbouncer(t, await postgresUrl(), servers)
  const schema = newSchema()
  const sleepers = shape('sleepers', 'integer', [])
  await withClient(client => client.query(`CREATE SCHEMA "${schema}";
    CREATE VIEW "${schema}".sleepers AS SELECT 1::bigint AS id, pg_sleep(60)::text AS slept`))
  const storage = postgresStorage({
    connectionString, schema, statementTimeout: 300, tables: { sleepers: { table: 'sleepers', schema } }
  })
  t.teardown(async () => {
    await storage.close()
    await dropSchema(schema)
  })
  await storage.prepare(sleepers)
  await t.rejects(storage.find('sleepers', query({ where: [where('id', 'gte', 0)] })), { code: '57014' })
})
