import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { FastifyPluginAsync } from 'fastify'
import Fastify from 'fastify'
import type { Test } from 'tap'
import t from 'tap'
import { shape } from '../../lib/conformance/fixture.js'
import type { AnyFamily, FamilyOptions, Storage } from '../../lib/index.js'
import { customers, deals, memoryStorage, Type } from '../../lib/index.js'
import type { PostgresOptions } from '../../lib/storage/postgres/postgres-storage.js'
import { postgresStorage } from '../../lib/storage/postgres/postgres-storage.js'
import { openDatabase } from '../../lib/storage/sqlite/driver.js'
import type { SqliteOptions } from '../../lib/storage/sqlite/sqlite-storage.js'
import { sqliteStorage } from '../../lib/storage/sqlite/sqlite-storage.js'
import { listConsumers, prune, writeMigration } from '../../lib/tools/index.js'
import { webhooks } from '../../lib/webhooks/webhooks.js'
import { later, makeOld, old } from '../feed/old-entries.js'
import { dropSchema, newSchema, withClient } from '../postgres/schema.js'
import { postgresUrl } from '../postgres/url.js'

/** An empty database. */
interface Database {
  readonly schema?: string
  open (options?: SqliteOptions & PostgresOptions): Storage
  /** Runs a text as a tool for migrations does: one statement after the other. */
  run (sql: string): Promise<void>
  listIndexes (table: string): Promise<string[]>
}

const databases: Record<string, (t: Test) => Promise<Database>> = {
  async sqlite (t) {
    const folder = await mkdtemp(join(tmpdir(), 'dealbook-migrate-'))
    const file = join(folder, 'test.db')
    const database = await openDatabase(file)
    t.teardown(() => {
      database.close()
      return rm(folder, { recursive: true })
    })
    return {
      open: options => closing(t, sqliteStorage({ file, ...options })),
      async run (sql) { database.exec(sql) },
      async listIndexes (table) {
        const rows = database.prepare(`SELECT name FROM pragma_index_list('${table}') WHERE origin = 'c'`).all()
        return (rows as { name: string }[]).map(({ name }) => name).sort()
      }
    }
  },
  async postgres (t) {
    const connectionString = await postgresUrl()
    const schema = newSchema()
    t.teardown(() => dropSchema(schema))
    return {
      schema,
      open: options => closing(t, postgresStorage({ connectionString, schema, poolSize: 4, ...options })),
      async run (sql) {
        await withClient(async client => {
          for (const statement of sql.split(';\n')) await client.query(statement)
        })
      },
      async listIndexes (table) {
        const { rows } = await withClient(client => client.query(`SELECT indexname AS name FROM pg_indexes
          WHERE schemaname = '${schema}' AND tablename = '${table}' AND indexname NOT LIKE '%_pkey'`))
        return (rows as { name: string }[]).map(({ name }) => name).sort()
      }
    }
  }
}

// A storage is closed before its database goes: what is registered last is done first.
function closing (t: Test, storage: Storage): Storage {
  t.teardown(() => storage.close())
  return storage
}

/** Boots an application with these families over a storage. */
async function boot (t: Test, storage: Storage, ...families: readonly FastifyPluginAsync<FamilyOptions>[]) {
  const app = Fastify()
  t.teardown(() => app.close())
  for (const family of families) app.register(family, { storage, version: 'v1' })
  await app.ready()
  return app
}

/** The SQL that a boot which only checks asks for. */
async function refusedBoot (t: Test, storage: Storage, family: typeof deals | typeof ourDeals): Promise<string> {
  const error = await boot(t, storage, family).then(() => new Error('booted'), error => error as Error)
  t.match(error, { code: 'FST_DEALBOOK_MIGRATION_NEEDED' })
  return error.message.split('\n\n')[1] as string
}

const tea = { name: 'Tea', price: 100 }
const ourDeals = deals.extend({
  fields: Type.Object({
    region: Type.String({ default: 'it\'s "here"; or there\\' }),
    seats: Type.Optional(Type.Integer())
  }),
  create: ['region']
})

for (const [name, make] of Object.entries(databases)) {
  t.test(`${name}, check: the boot fails with the SQL that an empty database lacks, and passes after it`, async t => {
    const { open, run, listIndexes } = await make(t)
    const storage = open({ migrate: 'check' })
    const sql = await refusedBoot(t, storage, deals)
    t.match(sql, /^CREATE [^]+"deals" [^]+CREATE TABLE [^;]+"commands"/, 'that of the commands too')
    t.same(await listIndexes('deals'), [], 'nothing was made')
    t.equal(await refusedBoot(t, storage, deals), sql)
    await run(sql)
    const app = await boot(t, storage, deals)
    t.equal((await app.inject({ method: 'POST', url: '/rest/v1/deals', payload: tea })).statusCode, 201)
    t.match((await app.inject('/rest/v1/deals?name=Tea&sort=price')).json(), { items: [tea] })
    const made = await listIndexes('deals')
    t.equal(made.length, 2, made.join())
    await boot(t, open(), deals)
    t.same(await listIndexes('deals'), made, 'as those that are made at the start')
  })

  t.test(`${name}: the SQL of several families as text, without an application`, async t => {
    const { open, run } = await make(t)
    const storage = open()
    const families = [customers, deals, ourDeals]
    const sql = await writeMigration(storage, families)
    t.equal(sql.match(/CREATE TABLE/g)?.length, 3, 'versions of a family share a table, all share the commands')
    t.match(sql, /region/)
    await run(sql)
    t.equal(await writeMigration(storage, families), '')
    await run(sql)
    t.equal(await writeMigration(storage, families), '', 'and twice is harmless')
    await boot(t, open({ migrate: 'check' }), ourDeals)
    t.equal((await ourDeals.service({ storage: open({ migrate: 'check' }) }).create(tea)).item.revision, 1)
  })

  t.test(`${name}: the SQL of webhooks is all that they need`, async t => {
    const { open, run } = await make(t)
    await run(await writeMigration(open(), [webhooks]))
    const app = await boot(t, open({ migrate: 'check' }), webhooks)
    const made = await app.inject({ method: 'POST', url: '/rest/v1/webhooks', payload: { url: 'https://example.org' } })
    t.equal(made.statusCode, 201)
    t.equal((await app.inject(`${made.headers.location}/deliveries`)).statusCode, 200)
    const storage = open({ migrate: 'check' })
    while ((await listConsumers(storage)).length === 0) await delay(10)
  })

  t.test(`${name}: the SQL for a database that is there`, async t => {
    const { open, run } = await make(t)
    const { item: { id } } = await deals.service({ storage: open() }).create(tea)
    const checking = open({ migrate: 'check' })
    const sql = await refusedBoot(t, checking, ourDeals)
    t.notMatch(sql, /CREATE TABLE/)
    t.equal(await writeMigration(open(), [ourDeals]), sql)
    await boot(t, checking, deals).then(() => t.pass('what was there before is still complete'))
    await run(sql)
    await boot(t, checking, ourDeals)
    t.match(await ourDeals.service({ storage: checking }).get(id), { ...tea, region: 'it\'s "here"; or there\\' })
    t.equal(await writeMigration(open(), [ourDeals]), '')
  })

  t.test(`${name}, off: nothing is looked at, and nothing made`, async t => {
    const { open, run, listIndexes } = await make(t)
    const service = deals.service({ storage: open({ migrate: 'off' }) })
    await t.rejects(service.find(), { code: 'storage-unavailable' })
    const sql = await writeMigration(open(), [deals])
    await run(sql.replace(/^CREATE INDEX.*\n/gm, ''))
    await service.create(tea)
    t.match(await service.find('sort=name&name=Tea'), { items: [tea] })
    t.same(await listIndexes('deals'), [])
  })

  t.test(`${name}: prune finds consumers, or that there can be none`, async t => {
    const { open, run, schema } = await make(t)
    const table = schema === undefined ? 'command_consumers' : `"${schema}".command_consumers`
    const storage = open()
    await deals.service({ storage }).find()
    for (const migrate of ['check', 'off'] as const) {
      await storage.commit(makeOld(3))
      t.equal(await prune(open({ migrate }), { before: later }), 3, `${migrate}, without the table`)
    }
    t.strictSame(await listConsumers(storage), [])
    const item = { id: 'mailer', position: 0, parked: [], retried: [], revision: 1, createdAt: old, updatedAt: old }
    await storage.commit([...makeOld(3), { type: 'insert', family: 'command-consumers', item }])
    await run(`ALTER TABLE ${table} DROP COLUMN pruned`)
    for (const migrate of ['check', 'off'] as const) {
      await t.rejects(prune(open({ migrate }), { before: later }), /pruned/, `${migrate}, with an older one`)
    }
    await run(await writeMigration(open(), [webhooks]))
    t.equal(await prune(open({ migrate: 'check' }), { before: later }), 0, 'and it keeps what was not handled')
  })

  t.test(`${name}: what has an index, the family says; what else is there stays`, async t => {
    const { open, run, listIndexes, schema } = await make(t)
    await boot(t, open(), deals, customers)
    const ofName = name === 'postgres' ? 'deals_name_left_200_idx' : 'deals_name_idx'
    t.same(await listIndexes('deals'), [ofName, 'deals_status_idx'])
    t.same(await listIndexes('customers'), ['customers_age_idx', 'customers_children_idx'])
    t.equal((await listIndexes('commands')).length, 5, 'the log has its own')

    const added = deals.extend({ indexes: ['price', ['held', 'updatedAt']], order: ['-createdAt'] })
    t.equal((await writeMigration(open(), [added])).match(/CREATE INDEX/g)?.length, 3)
    await boot(t, open(), added)
    const all = ['deals_created_at_id_idx', 'deals_held_updated_at_idx', ofName, 'deals_price_idx', 'deals_status_idx']
    t.same(await listIndexes('deals'), all)
    await run(`CREATE INDEX deals_by_hand ON ${schema === undefined ? '' : `"${schema}".`}deals (amercement)`)
    await boot(t, open({ migrate: 'check' }), deals, customers).then(() => t.pass('more than it says is no flaw'))
    await boot(t, open(), deals)
    t.same(await listIndexes('deals'), ['deals_by_hand', ...all], 'and nothing is dropped')
  })

  t.test(`${name}: a mapped table is never asked for`, async t => {
    const { open, schema } = await make(t)
    await open().prepare(shape('others', 'integer', []))
    const tables = { customers: { table: 'others', columns: { age: 'id', children: 'id' }, ...schema && { schema } } }
    t.equal(await writeMigration(open({ tables }), [customers]), '')
    t.match(await customers.service({ storage: open({ tables, migrate: 'check' }) }).find(), { items: [] })
  })
}

t.test('what cannot be is refused', async t => {
  t.throws(() => sqliteStorage({ file: 'x.db', migrate: 'never' as never }), {
    code: 'FST_DEALBOOK_INVALID_STORAGE_OPTION',
    message: /the option "migrate" must be "auto", "check" or "off"/
  })
  t.throws(() => postgresStorage({ connectionString: 'postgres://nowhere', migrate: true as never }), /"migrate"/)
  await t.rejects(writeMigration(memoryStorage(), [deals]), { code: 'FST_DEALBOOK_NO_MIGRATIONS' })
  await t.rejects(writeMigration(sqliteStorage({ file: ':memory:' }), [{} as AnyFamily]), {
    code: 'FST_DEALBOOK_NO_FAMILY'
  })
})
