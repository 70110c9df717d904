import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Fastify from 'fastify'
import type { Test } from 'tap'
import t from 'tap'
import { decimal, defineFamily, type Storage, Type } from '../../lib/index.js'
import type { PostgresOptions } from '../../lib/storage/postgres/postgres-storage.js'
import { postgresStorage } from '../../lib/storage/postgres/postgres-storage.js'
import { openDatabase } from '../../lib/storage/sqlite/driver.js'
import type { SqliteOptions } from '../../lib/storage/sqlite/sqlite-storage.js'
import { sqliteStorage } from '../../lib/storage/sqlite/sqlite-storage.js'
import { writeMigration } from '../../lib/tools/index.js'
import { dropSchema, newSchema, withClient } from '../postgres/schema.js'
import { postgresUrl } from '../postgres/url.js'

interface Database {
  readonly schema?: string
  open (options?: SqliteOptions & PostgresOptions): Storage
  run (sql: string): Promise<unknown[][]>
}

const databases: Record<string, (t: Test) => Promise<Database>> = {
  async sqlite (t) {
    const folder = await mkdtemp(join(tmpdir(), 'dealbook-decimals-'))
    const file = join(folder, 'test.db')
    const database = await openDatabase(file)
    t.teardown(async () => {
      database.close()
      await rm(folder, { recursive: true })
    })
    return {
      open (options) {
        const storage = sqliteStorage({ file, ...options })
        t.teardown(() => storage.close())
        return storage
      },
      async run (sql) {
        if (!sql.startsWith('SELECT')) {
          database.exec(sql)
          return []
        }
        return (database.prepare(sql).all() as object[]).map(row => Object.values(row))
      }
    }
  },
  async postgres (t) {
    const connectionString = await postgresUrl()
    const schema = newSchema()
    t.teardown(() => dropSchema(schema))
    await withClient(client => client.query(`CREATE SCHEMA ${schema}`))
    return {
      schema,
      open (options) {
        const storage = postgresStorage({ connectionString, schema, poolSize: 2, ...options })
        t.teardown(() => storage.close())
        return storage
      },
      async run (sql) {
        return await withClient(async client => {
          await client.query(`SET search_path TO ${schema}`)
          const rows: object[] = []
          for (const text of sql.split(';\n')) rows.push(...(await client.query(text)).rows)
          return rows.map(row => Object.values(row))
        })
      }
    }
  }
}

const fees = (scale: number, isUnique = true) => defineFamily({
  name: 'fees',
  singular: 'fee',
  fields: Type.Object({
    id: Type.Integer(),
    amount: decimal({ scale, default: '1.5' }),
    rate: Type.Optional(decimal({ scale: 0 }))
  }),
  create: ['amount', 'rate'],
  edit: ['amount', 'rate'],
  unique: isUnique ? [['amount', 'rate']] : [],
  indexes: ['amount']
})

for (const [name, make] of Object.entries(databases)) {
  t.test(`${name}: the column has the digits of the field`, async t => {
    const { open, run } = await make(t)
    await t.rejects(fees(2).service({ storage: open({ migrate: 'check' }) }).find(), {
      code: 'FST_DEALBOOK_MIGRATION_NEEDED', message: /"amount" numeric\(15,2\) DEFAULT .*1\.5/i
    })
    const sql = await writeMigration(open(), [fees(2)])
    await run(sql)
    const storage = open({ migrate: 'check' })
    const book = fees(2).service({ storage })
    t.match(await book.create({ amount: '19.9', rate: '7' }), { item: { amount: '19.90', rate: '7' } })
    t.match(await book.create({}), { item: { amount: '1.50' } })
    t.same((await run('SELECT amount + 0.05, rate FROM fees ORDER BY id')).map(row => row.map(each => Number(each))),
      [[19.95, 7], [1.55, 0]])
    await run('INSERT INTO fees (id, revision, created_at, updated_at) ' +
      'SELECT 3, 1, created_at, updated_at FROM fees WHERE id = 1')
    t.match(await book.get(3), { amount: '1.50' })
    await t.rejects(book.create({ amount: '19.90', rate: '7' }), { code: 'taken' })
    t.equal(await writeMigration(open(), [fees(2)]), '')

    const message = /the column "amount" of the table "fees" has the type numeric\(15,2\), .*numeric\(15,3\)/i
    await t.rejects(fees(3).service({ storage: open() }).find(), { code: 'FST_DEALBOOK_COLUMN_TYPE', message })
    const asInteger = defineFamily({
      name: 'fees', singular: 'fee', fields: Type.Object({ id: Type.Integer(), amount: Type.Optional(Type.Integer()) })
    })
    await t.rejects(asInteger.service({ storage: open() }).find(), { code: 'FST_DEALBOOK_COLUMN_TYPE' })
  })
}

const service = 'revision bigint NOT NULL DEFAULT 1, created_at timestamptz NOT NULL DEFAULT now(), ' +
  'updated_at timestamptz NOT NULL DEFAULT now()'

t.test('postgres: numeric columns of others are read, filtered and written', async t => {
  const { open, run, schema } = await databases['postgres']?.(t) as Database & { schema: string }
  await run(`CREATE TABLE fees (id bigint PRIMARY KEY, amount numeric(12,4), rate integer, ${service});
INSERT INTO fees (id, amount, rate) VALUES (1, 9, 5), (2, 10.5, 40), (3, 0.125, NULL), (4, NULL, -3), (5, 'NaN', 0)`)
  const app = Fastify()
  t.teardown(() => app.close())
  app.register(fees(2, false), { storage: open({ tables: { fees: { table: 'fees', schema } } }) })
  const show = async (search: string) => (await app.inject(`/fees?${search}`)).json().items.map(
    ({ id, amount, rate }: Record<string, unknown>) => [id, amount, rate])
  t.same(await show('sort=amount'), [
    [3, '0.1250', undefined], [4, '1.50', '-3'], [1, '9.00', '5'], [2, '10.50', '40'], [5, 'NaN', '0']
  ])
  t.same(await show('amount=1.5'), [[4, '1.50', '-3']], 'NULL means the default')
  t.same(await show('amount>0.12&amount<10.5&sort=-rate'), [
    [1, '9.00', '5'], [4, '1.50', '-3'], [3, '0.1250', undefined]
  ])
  t.same(await show('rate>=5'), [[1, '9.00', '5'], [2, '10.50', '40']])
  t.same(await show('amount.regex=25'), [[3, '0.1250', undefined]])
  const edit = async (id: number, payload: object) => await app.inject({ method: 'PATCH', url: `/fees/${id}`, payload })
  t.match((await edit(2, { amount: 11, rate: '41' })).json(), { amount: '11.00', rate: '41' })
  t.match((await edit(3, { rate: '1' })).json(), { amount: '0.1250', rate: '1' })
  t.match((await edit(1, { rate: '99999999999' })).json(), {
    status: 409, errors: [{ pointer: '/rate', detail: 'must be from -2147483648 to 2147483647' }]
  })
  t.match((await edit(1, { amount: '123456789' })).json(), { status: 409, errors: [{ pointer: '/amount' }] })
  const rows = await run('SELECT amount::text, rate FROM fees WHERE id IN (2, 3) ORDER BY id')
  t.same(rows, [['11.0000', 41], ['0.1250', 1]])
})

t.test('postgres: a column of integers takes decimals that are whole', async t => {
  const { open, run, schema } = await databases['postgres']?.(t) as Database & { schema: string }
  await run(`CREATE TABLE fees (id bigint PRIMARY KEY, amount integer, rate numeric(3,1), ${service});
INSERT INTO fees (id, amount, rate) VALUES (1, 9, 5)`)
  const book = fees(2, false).service({ storage: open({ tables: { fees: { table: 'fees', schema } } }) })
  t.match(await book.get(1), { amount: '9.00', rate: '5' })
  t.match(await book.run('edit', 1, { amount: '12.00' }), { item: { amount: '12.00' } })
  t.match(await book.create({ amount: '7' }), { item: { amount: '7.00' } })
  await t.rejects(book.run('edit', 1, { amount: '12.5' }), {
    code: 'constraint', errors: [{ pointer: '/amount', detail: 'must be a whole number' }]
  })
  t.same(await run('SELECT amount, rate FROM fees ORDER BY id'), [[12, '5.0'], [7, null]])
})

t.test('sqlite: columns of others are read, filtered and written', async t => {
  const { open, run } = await databases['sqlite']?.(t) as Database
  for (const type of ['REAL', 'NUMERIC', 'DECIMAL(10,2)', 'INTEGER']) {
    await run(`DROP TABLE IF EXISTS others; CREATE TABLE others (id INTEGER PRIMARY KEY, amount ${type}, rate ${type},
      revision INTEGER NOT NULL DEFAULT 1, created_at TEXT DEFAULT '2026-01-01T00:00:00.000Z',
      updated_at TEXT DEFAULT '2026-01-01T00:00:00.000Z');
      INSERT INTO others (id, amount, rate) VALUES (1, 9, 5), (2, 10.5, 40), (3, 0.125, NULL), (4, NULL, -3)`)
    const app = Fastify()
    const storage = open({ tables: { fees: { table: 'others' } } })
    app.register(fees(2, false), { storage })
    const show = async (search: string) => (await app.inject(`/fees?${search}`)).json().items.map(
      ({ id, amount, rate }: Record<string, unknown>) => [id, amount, rate])
    t.same(await show('sort=amount'), [
      [3, '0.125', undefined], [4, '1.50', '-3'], [1, '9.00', '5'], [2, '10.50', '40']
    ], type)
    t.same(await show('amount=1.5'), [[4, '1.50', '-3']], 'NULL means the default')
    t.same(await show('rate>=5'), [[1, '9.00', '5'], [2, '10.50', '40']])
    t.same(await show('amount.regex=5$'), [[3, '0.125', undefined]])
    const edited = await app.inject({ method: 'PATCH', url: '/fees/2', payload: { amount: 11.1, rate: '41' } })
    t.match(edited.json(), { amount: '11.10', rate: '41' })
    t.match((await app.inject('/fees/2')).json(), { amount: '11.10', rate: '41' })
    await app.close()
    await storage.close()
  }
})
