import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import type { Test } from 'tap'
import t from 'tap'
import type { Storage } from '../../lib/index.js'
import { defineFamily, memoryStorage, Type } from '../../lib/index.js'
import type { PostgresOptions } from '../../lib/storage/postgres/postgres-storage.js'
import { postgresStorage } from '../../lib/storage/postgres/postgres-storage.js'
import type { SqliteOptions } from '../../lib/storage/sqlite/sqlite-storage.js'
import { sqliteStorage } from '../../lib/storage/sqlite/sqlite-storage.js'
import { copyStorage, loadItems, writeMigration } from '../../lib/tools/index.js'
import { bills, people } from '../family/keyed.js'
import { dropSchema, newSchema, withClient } from '../postgres/schema.js'
import { postgresUrl } from '../postgres/url.js'
import { storages } from '../storages.js'

/** An empty database. */
interface Database {
  readonly schema?: string
  open (options?: SqliteOptions & PostgresOptions): Storage
  run (sql: string): Promise<void>
}

const databases: Record<string, (t: Test) => Promise<Database>> = {
  async sqlite (t) {
    const folder = await mkdtemp(join(tmpdir(), 'dealbook-keys-'))
    const file = join(folder, 'test.db')
    const database = new DatabaseSync(file)
    t.teardown(() => {
      database.close()
      return rm(folder, { recursive: true })
    })
    return {
      open: options => closing(t, sqliteStorage({ file, ...options })),
      async run (sql) { database.exec(sql) }
    }
  },
  async postgres (t) {
    const connectionString = await postgresUrl()
    const schema = newSchema()
    t.teardown(() => dropSchema(schema))
    const run = (sql: string): Promise<void> => withClient(async client => {
      await client.query(`SET search_path TO "${schema}"`)
      try {
        for (const statement of sql.split(';\n')) await client.query(statement)
      } finally {
        await client.query('RESET search_path')
      }
    })
    await run(`CREATE SCHEMA "${schema}"`)
    const settings = { connectionString, schema, poolSize: 5 }
    return { schema, run, open: options => closing(t, postgresStorage({ ...settings, ...options })) }
  }
}

function closing (t: Test, storage: Storage): Storage {
  t.teardown(() => storage.close())
  return storage
}

const fields = Type.Object({
  id: Type.Integer(), number: Type.Optional(Type.String()), room: Type.Integer({ default: 0 })
})
const plain = defineFamily({ name: 'orders', singular: 'order', fields, create: ['number', 'room'], edit: ['number'] })
const strict = plain.extend({ unique: [['number'], ['number', 'room']] })

for (const [name, open] of Object.entries(databases)) {
  t.test(`${name}: a UNIQUE index is made as all others are`, async t => {
    const { open: reopen, run } = await open(t)
    const old = plain.service({ storage: reopen() })
    for (const number of ['a', 'b', 'a']) await old.create({ number })
    const clash = { code: 'FST_DEALBOOK_NOT_UNIQUE', message: /orders.*"number".*1, 3/ }
    await t.rejects(strict.service({ storage: reopen({ migrate: 'check' }) }).find(), clash)
    await t.rejects(writeMigration(reopen(), [strict]), clash)
    const off = strict.service({ storage: reopen({ migrate: 'off' }) })
    await off.run('edit', 3, { number: 'c' })

    await t.rejects(strict.service({ storage: reopen({ migrate: 'check' }) }).find(), {
      code: 'FST_DEALBOOK_MIGRATION_NEEDED', message: /CREATE UNIQUE INDEX .*"orders_number_key"/
    })
    const sql = await writeMigration(reopen(), [strict])
    t.match(sql, /CREATE UNIQUE INDEX (CONCURRENTLY )?IF NOT EXISTS "orders_number_key" ON .*;\nCREATE UNIQUE INDEX /)
    // Where it has a digest of the text, another finds by it.
    t.equal(/^CREATE INDEX [^;]*"number"/.test(sql), name === 'postgres')
    t.equal(sql.includes('CONCURRENTLY'), name === 'postgres')
    await run(sql)
    const checked = reopen({ migrate: 'check' })
    t.equal(await writeMigration(checked, [strict]), '')
    await t.rejects(strict.service({ storage: checked }).create({ number: 'a' }), { code: 'taken' })
    await t.rejects(off.create({ number: 'a', room: 7 }), { code: 'taken' }, 'it holds for every writer')
    await t.rejects(old.create({ number: 'a', room: 7 }), { code: 'constraint' }, 'for others it is a rule like any')
  })

  t.test(`${name}: a table of the host's keeps what is declared, or the boot fails`, async t => {
    const { open: reopen, run, schema } = await open(t)
    const columns = 'id bigint PRIMARY KEY, number text, room bigint, revision bigint NOT NULL DEFAULT 1, ' +
      'created_at timestamptz(3) NOT NULL, updated_at timestamptz(3) NOT NULL'
    await run(`CREATE TABLE old_orders (${columns})`)
    const tables = { orders: { table: 'old_orders', ...(schema === undefined ? {} : { schema }) } }
    const unique = plain.extend({ unique: [['number']] })
    const missing = { code: 'FST_DEALBOOK_UNIQUE_MISSING', message: /"old_orders" does not keep "number" unique/ }
    await t.rejects(unique.service({ storage: reopen({ tables }) }).find(), missing)
    await run('CREATE UNIQUE INDEX old_some ON old_orders (number) WHERE room = 1')
    await t.rejects(unique.service({ storage: reopen({ tables }) }).find(), missing, 'of some rows only')
    await run('CREATE UNIQUE INDEX old_number ON old_orders (number)')
    const book = unique.service({ storage: reopen({ tables }) })
    await book.create({ number: 'a' })
    await t.rejects(book.create({ number: 'a' }), { code: 'taken', errors: [{ pointer: '/number' }] })
    await book.create({})
    await book.create({})
    await t.rejects(plain.extend({ unique: [['room']] }).service({ storage: reopen({ tables }) }).find(), {
      code: 'FST_DEALBOOK_UNIQUE_MISSING', message: /"room" may be NULL/
    })
  })

  t.test(`${name}: tables of the host's refer to each other, and have foreign keys of their own`, async t => {
    const { open: reopen, run, schema } = await open(t)
    const isPostgres = schema !== undefined
    const service = 'revision bigint NOT NULL DEFAULT 1, created_at timestamptz(3) NOT NULL, ' +
      'updated_at timestamptz(3) NOT NULL'
    const id = isPostgres ? 'uuid' : 'text'
    await run(`CREATE TABLE old_agents (id ${id} PRIMARY KEY, ${service});
CREATE TABLE old_calls (id bigint PRIMARY KEY, agent text, deputy ${id} REFERENCES old_agents, ${service})`)
    const agents = defineFamily({
      name: 'agents', singular: 'agent', fields: Type.Object({ id: Type.String() }), create: []
    })
    const calls = defineFamily({
      name: 'calls',
      singular: 'call',
      fields: Type.Object({
        id: Type.Integer(), agent: Type.Optional(Type.String()), deputy: Type.Optional(Type.String())
      }),
      create: ['agent', 'deputy'],
      edit: ['agent', 'deputy'],
      references: { agent: agents, deputy: agents }
    })
    const place = isPostgres ? { schema } : {}
    const tables = { agents: { table: 'old_agents', ...place }, calls: { table: 'old_calls', ...place } }
    const storage = reopen({ tables })
    const [service1, book] = [agents.service({ storage }), calls.service({ storage })]
    const { item: { id: agent } } = await service1.create({})
    for (const field of ['agent', 'deputy']) {
      for (const missing of ['no uuid', '00000000-0000-0000-0000-000000000000']) {
        const refused = book.create({ [field]: missing })
        const code = isPostgres && field === 'deputy' && missing === 'no uuid' ? 'constraint' : 'invalid-body'
        await t.rejects(refused, { code, errors: [{ pointer: `/${field}` }] }, `${field} ${missing}`)
      }
      const { item: call } = await book.create({ [field]: agent })
      await t.rejects(service1.remove(agent), { code: 'in-use', members: { family: 'calls' } })
      await book.run('edit', call.id, { [field]: null })
    }
    await service1.remove(agent)
  })
}

for (const { name, make } of storages) {
  t.test(`${name}: a load obeys the rules, and a copy brings what is there`, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    const persons = Array.from({ length: 30 }, (_, n) => ({ id: n + 1, name: `P${n}`, boss: 30 - n }))
    t.equal(await loadItems(storage, people, persons), 30, 'in one batch they may refer to each other')
    t.equal(await loadItems(storage, people, persons, { batchSize: 7 }), 30, 'again')
    const rows = (change: object) => Array.from({ length: 20 }, (_, n) =>
      ({ id: `b${n}`, number: `N${n}`, customer: 1 + n, ...(n === 12 ? change : {}) }))
    await t.rejects(loadItems(storage, bills, rows({ number: 'N3' })), {
      code: 'FST_DEALBOOK_INVALID_LOAD', message: 'bills, item 13: /number is already taken', item: 13
    })
    await t.rejects(loadItems(storage, bills, rows({ customer: 99 })), {
      message: 'bills, item 13: /customer must be an existing id of people', item: 13
    })
    t.equal(await loadItems(storage, bills, rows({})), 20)

    const target = memoryStorage()
    const copied = await copyStorage(storage, target, { families: [bills, people] })
    t.match(copied, { bills: 20, people: 30 }, 'what refers to it may come first')
    await t.rejects(people.service({ storage: target }).remove(1), { code: 'in-use' })
  })
}

t.test('a copy of what clashes says where', async t => {
  const [from, to] = [memoryStorage(), memoryStorage()]
  await loadItems(from, plain, [{ id: 1, number: 'a' }, { id: 2, number: 'a' }])
  await strict.service({ storage: to }).find()
  await t.rejects(copyStorage(from, to, { families: [plain] }), {
    code: 'FST_DEALBOOK_INVALID_COPY', message: /rejects one of orders from "1" to "2": unique number/
  })
})

t.test('postgres: a lock on what is referred to holds up only who refers to it, or deletes it', async t => {
  const { open, schema } = await databases['postgres']?.(t) as Database
  const storage = open()
  const [book, persons] = [bills.service({ storage }), people.service({ storage })]
  const ids: number[] = []
  for (const name of ['Ann', 'Bob', 'Cat']) ids.push((await persons.create({ name })).item.id)
  const [ann, bob, cat] = ids as [number, number, number]
  await book.find()
  await withClient(async client => {
    await client.query(`BEGIN; SELECT FROM "${schema}".people WHERE id = ${ann} FOR UPDATE`)
    // From the beginning: one of them is refused, perhaps before the lock is known to be gone.
    const held = Promise.allSettled([book.create({ customer: ann }), persons.remove(ann)])
    await Promise.all([book.create({ customer: bob }), persons.remove(cat), persons.run('edit', bob, { name: 'B' })])
    await t.rejects(persons.remove(bob), { code: 'in-use' })
    await client.query('ROLLBACK')
    const [created, removed] = await held
    t.not(created?.status, removed?.status, 'one of them wins')
  })
})

t.test('postgres: a deletion sees what another process has made while it waited', async t => {
  const { open, schema } = await databases['postgres']?.(t) as Database
  const storage = open()
  const [book, persons] = [bills.service({ storage }), people.service({ storage })]
  const { item: { id } } = await persons.create({ name: 'Ann' })
  await book.find()
  await withClient(async client => {
    const table = (name: string): string => `"${schema}".${name}`
    await client.query(`BEGIN; SELECT FROM ${table('people')} WHERE id = ${id} FOR KEY SHARE;
      INSERT INTO ${table('bills')} (id, customer, revision, created_at, updated_at)
      VALUES ('b', ${id}, 1, now(), now())`)
    const removal = persons.remove(id).then(() => 'deleted', (problem: { code: string }) => problem.code)
    const waiting = `SELECT FROM pg_locks WHERE NOT granted AND transactionid IS NOT NULL AND pid <> pg_backend_pid()
      AND transactionid = pg_current_xact_id()::xid`
    while ((await client.query(waiting)).rowCount === 0) await new Promise(resolve => { setTimeout(resolve, 5) })
    await client.query('COMMIT')
    t.equal(await removal, 'in-use')
  })
})
