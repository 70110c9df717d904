import { setTimeout as delay } from 'node:timers/promises'
import { DatabaseSync } from '@photostructure/sqlite'
import t from 'tap'
import { insert, remove, replace, shape, thing } from '../../lib/conformance/fixture.js'
import type { FamilyShape, Storage } from '../../lib/core/storage/storage.js'
import { postgresStorage } from '../../lib/storage/postgres/postgres-storage.js'
import { sqliteStorage } from '../../lib/storage/sqlite/sqlite-storage.js'
import { dropSchema, newSchema, withClient } from '../postgres/schema.js'
import { postgresUrl } from '../postgres/url.js'
import { isFast } from '../size.js'

const products = shape('products', 'string', [])
const plain = shape('orders', 'integer', [
  { name: 'lines', kind: 'json', optional: true }, { name: 'tags', kind: 'json', optional: true },
  { name: 'note', kind: 'string', optional: true }
])
const orders: FamilyShape = { ...plain, pathReferences: { 'lines.product': 'products', tags: 'products' } }

const lines = (...ids: string[]): Record<string, unknown> => ({ lines: ids.map(product => ({ product })) })

async function prepare (storage: Storage, ...shapes: FamilyShape[]): Promise<Storage> {
  for (const each of shapes) await storage.prepare(each)
  return storage
}

const inUse = { name: 'ConstraintError', rule: 'in-use', other: 'orders' }
const dangling = (missing: unknown) => ({ name: 'ConstraintError', rule: 'reference', missing: [missing] })
const moments = ['2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z']

t.test('SQLite: triggers see what other programs write, and earlier versions', async t => {
  const database = new DatabaseSync(':memory:')
  const storage = await prepare(sqliteStorage({ database }), products, orders)
  await storage.commit(insert('products', ...['a', 'b', 'c', 'd'].map(id => thing(id))))
  const listing = database.prepare('SELECT referred, id FROM orders_lines_product_links ORDER BY 1, 2')
  const links = (): unknown[] => listing.all().map(row => ({ ...row as object }))
  const run = (sql: string, ...values: unknown[]): void => { database.prepare(sql).run(...values as never[]) }
  run('INSERT INTO orders VALUES (1, 1, ?, ?, ?, ?, ?)', ...moments, '[{"product":"a"},{"product":"a"}]', '["b"]', null)
  t.strictSame(links(), [{ referred: 'a', id: 1 }])
  for (const id of ['a', 'b']) await t.rejects(storage.commit([remove('products', id)]), inUse)
  run('UPDATE orders SET lines = ?', '[{"product":"c"},{"product":null},{},7,null]')
  t.strictSame(links(), [{ referred: 'c', id: 1 }])
  await storage.commit([remove('products', 'a')])
  run('UPDATE orders SET note = ?', 'x')
  await t.rejects(storage.commit([remove('products', 'c')]), inUse)
  run('UPDATE orders SET id = 2')
  t.strictSame(links(), [{ referred: 'c', id: 2 }])
  const earlier = await prepare(sqliteStorage({ database }), products, plain)
  await earlier.commit([...insert('orders', thing(3, lines('d', 'c'))), replace('orders', thing(2, lines('d'), 2))])
  t.strictSame(links(), [{ referred: 'c', id: 3 }, { referred: 'd', id: 2 }, { referred: 'd', id: 3 }])
  run('DELETE FROM orders WHERE id = 3')
  t.strictSame(links(), [{ referred: 'd', id: 2 }])
  run('UPDATE orders SET lines = NULL, tags = NULL')
  t.strictSame(links(), [])
  for (const id of ['b', 'c', 'd']) await storage.commit([remove('products', id)])
})

t.test('SQLite: links are made, and made again if they are not as they should be', async t => {
  const database = new DatabaseSync(':memory:')
  const storage = await prepare(sqliteStorage({ database }), products, plain)
  await storage.commit([...insert('products', thing('a'), thing('b')), ...insert('orders', thing(1, lines('a', 'a')))])
  const checking = await prepare(sqliteStorage({ database, migrate: 'check' }), products)
  await t.rejects(checking.prepare(orders), { code: 'FST_DEALBOOK_MIGRATION_NEEDED', message: /CREATE TRIGGER/ })
  const unmade = await prepare(sqliteStorage({ database, migrate: 'off' }), products, orders)
  await t.rejects(unmade.commit([remove('products', 'a')]), inUse, 'without links')
  const sql = await storage.writeMigration?.([products, orders]) ?? ''
  database.exec(sql)
  await checking.prepare(orders)
  t.equal(await checking.writeMigration?.([products, orders]), '')
  await t.rejects(checking.commit([remove('products', 'a')]), inUse)
  await storage.commit([remove('products', 'b')])
  // Such as by a program that copies tables without their triggers, or by another version of this library.
  database.exec('DROP TRIGGER orders_lines_product_links_changed')
  await storage.commit([...insert('products', thing('c')), replace('orders', thing(1, lines('c'), 2))])
  const again = await prepare(sqliteStorage({ database }), products, orders)
  t.equal(await again.writeMigration?.([products, orders]), '')
  await again.commit([remove('products', 'a')])
  await t.rejects(again.commit([remove('products', 'c')]), inUse)
})

t.test('SQLite: an existing table', async t => {
  const database = new DatabaseSync(':memory:')
  database.exec('CREATE TABLE sales (id INTEGER PRIMARY KEY, revision INTEGER, created_at TEXT, updated_at TEXT, ' +
    'lines TEXT, tags TEXT, note TEXT)')
  const storage = await prepare(sqliteStorage({ database, tables: { orders: { table: 'sales' } } }), products, orders)
  await storage.commit([...insert('products', thing('a'), thing('b')), ...insert('orders', thing(1, lines('a')))])
  await t.rejects(storage.commit(insert('orders', thing(2, lines('x')))), dangling('x'))
  await t.rejects(storage.commit([remove('products', 'a')]), inUse)
  await storage.commit([remove('products', 'b')])
  await storage.commit([remove('orders', 1), remove('products', 'a')])
  const tables = database.prepare("SELECT name FROM sqlite_master WHERE type = 'trigger'").all()
  t.strictSame(tables, [], 'is not altered')
})

t.test('PostgreSQL', { skip: isFast && 'needs a database' }, async t => {
  const schema = newSchema()
  const connectionString = await postgresUrl()
  const opened: Storage[] = []
  t.teardown(async () => {
    for (const storage of opened) await storage.close()
    await dropSchema(schema)
  })
  const open = (options: object = {}): Storage => {
    const storage = postgresStorage({ connectionString, schema, poolSize: 4, ...options })
    opened.push(storage)
    return storage
  }
  const query = async (sql: string): Promise<Record<string, unknown>[]> =>
    await withClient(async client => (await client.query(sql)).rows as Record<string, unknown>[])

  await t.test('an index finds what refers to an item', async t => {
    const storage = await prepare(open(), products, plain)
    await storage.commit(insert('products', ...Array.from({ length: 300 }, (_, n) => thing(`p${n}`))))
    await query(`INSERT INTO "${schema}".orders (id, revision, created_at, updated_at, lines)
      SELECT n, 1, now(), now(), json_build_array(json_build_object('product', 'p' || n % 200),
        json_build_object('product', 'p' || n % 199)) FROM generate_series(1, 20000) n`)
    const checking = await prepare(open({ migrate: 'check' }), products)
    await t.rejects(checking.prepare(orders), { code: 'FST_DEALBOOK_MIGRATION_NEEDED', message: /USING gin/ })
    await storage.prepare(orders)
    await checking.prepare(orders)
    t.equal(await storage.writeMigration?.([products, orders]), '')
    await query(`ANALYZE "${schema}".orders`)
    await t.rejects(storage.commit([remove('products', 'p1')]), inUse)
    for (let n = 200; n < 220; n++) await storage.commit([remove('products', `p${n}`)])
    await storage.close()
    // The statistics of a connection arrive some time after it is closed.
    const scans = async (): Promise<number> => Number((await query(`SELECT idx_scan AS by_index
      FROM pg_stat_user_indexes WHERE schemaname = '${schema}' AND indexrelname = 'orders_lines_product_links'`
    ))[0]?.['by_index'])
    for (let tries = 0; tries < 600 && await scans() < 20; tries++) await delay(50)
    t.ok(await scans() >= 20)
    const plan = await query(`EXPLAIN SELECT 1 FROM "${schema}".orders t WHERE ` +
      'jsonb_path_query_array(t.lines::jsonb, \'$[*]."product"[*]\') @> \'["p1"]\'')
    t.match(JSON.stringify(plan), /orders_lines_product_links/)
  })

  await t.test('existing tables, with JSON and with lists of other types', async t => {
    await query(`CREATE TABLE "${schema}".sales (id bigint PRIMARY KEY, revision bigint, created_at timestamptz,
      updated_at timestamptz, lines jsonb, tags uuid[], note text)`)
    await query(`CREATE TABLE "${schema}".goods (id uuid PRIMARY KEY, revision bigint, created_at timestamptz,
      updated_at timestamptz)`)
    const tables = { orders: { schema, table: 'sales' }, products: { schema, table: 'goods' } }
    const storage = await prepare(open({ tables }), products, orders)
    const [a, b, c] = ['a', 'b', 'c'].map(letter => '00000000-0000-4000-8000-00000000000x'.replace('x', letter))
    await storage.commit([...insert('products', thing(a as string), thing(b as string)),
      ...insert('orders', thing(1, { ...lines(a as string), tags: [b] }))])
    for (const [members, missing] of [[lines(c as string), c], [{ tags: [a, c] }, c], [lines('x'), 'x']] as const) {
      await t.rejects(storage.commit(insert('orders', thing(2, members))), dangling(missing))
    }
    for (const id of [a, b]) await t.rejects(storage.commit([remove('products', id as string)]), inUse)
    const current = thing(1, { ...lines(a as string), tags: [b] })
    await storage.commit([{ type: 'replace', family: 'orders', item: thing(1, { tags: [b] }, 2), expected: 1, current },
      remove('products', a as string)])
    await t.rejects(storage.commit([remove('products', b as string)]), inUse)
    await storage.commit([remove('orders', 1, 2), remove('products', b as string)])
  })
})
