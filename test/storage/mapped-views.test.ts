import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import Fastify from 'fastify'
import type { Test } from 'tap'
import t from 'tap'
import { deals, defineFamily, type Storage, Type } from '../../lib/index.js'
import { postgresStorage } from '../../lib/storage/postgres/postgres-storage.js'
import { sqliteStorage } from '../../lib/storage/sqlite/sqlite-storage.js'
import { dropSchema, newSchema, withClient } from '../postgres/schema.js'
import { postgresUrl } from '../postgres/url.js'

const largeDeals = defineFamily({
  name: 'large-deals',
  singular: 'large-deal',
  fields: Type.Object({ id: Type.String(), name: Type.String(), price: Type.Number() })
})

const tables = { 'large-deals': { table: 'large_deals' } }

/** The view needs the table of deals, which is made when that family is registered. */
async function check (t: Test, storage: Storage, run: (sql: string) => Promise<unknown>): Promise<void> {
  const app = Fastify()
  t.teardown(() => app.close())
  app.register(deals, { storage, version: 'v1' })
  app.register(async () => {
    await run('CREATE VIEW large_deals AS SELECT id, name, price FROM deals WHERE price > 100')
  })
  app.register(largeDeals, { storage })
  await app.ready()
  for (const price of [5, 500, 600]) {
    await app.inject({ method: 'POST', url: '/rest/v1/deals', payload: { name: `at ${price}`, price } })
  }
  const { items } = (await app.inject('/large-deals?max-price=550')).json()
  t.match(items, [{ name: 'at 500', price: 500 }])
  t.equal(items.length, 1)
  t.match((await app.inject(`/large-deals/${items[0].id}`)).json(), { name: 'at 500' })
  t.equal((await app.inject('/large-deals?count=exact')).json().total, 2)
}

t.test('sqlite: a view of families is a family', async t => {
  const folder = await mkdtemp(join(tmpdir(), 'dealbook-'))
  const file = join(folder, 'test.db')
  const storage = sqliteStorage({ file, tables })
  t.teardown(async () => { await storage.close(); await rm(folder, { recursive: true }) })
  await check(t, storage, async sql => {
    const database = new DatabaseSync(file)
    database.exec(sql)
    database.close()
  })
})

t.test('postgres: a view of families is a family', async t => {
  const schema = newSchema()
  const mapped = { 'large-deals': { table: 'large_deals', schema } }
  const storage = postgresStorage({ connectionString: await postgresUrl(), schema, tables: mapped })
  t.teardown(async () => { await storage.close(); await dropSchema(schema) })
  await check(t, storage, sql => withClient(client =>
    client.query(`SET search_path = ${schema}; ${sql}; RESET search_path`)))
})
