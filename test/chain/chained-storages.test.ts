import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import t from 'tap'
import { storageConformance } from '../../lib/conformance/storage-conformance.js'
import { deals, memoryStorage, type Storage } from '../../lib/index.js'
import { type PostgresPool, postgresStorage } from '../../lib/storage/postgres/postgres-storage.js'
import { sqliteStorage } from '../../lib/storage/sqlite/sqlite-storage.js'
import { copyStorage, verifyLog, writeMigration } from '../../lib/tools/index.js'
import { dropSchema, newSchema } from '../postgres/schema.js'
import { postgresUrl } from '../postgres/url.js'
import { isFast } from '../size.js'
import { storages } from '../storages.js'
import { readLog, testChained } from './chained.js'

async function hold (storage: Storage, count = 1): Promise<void> {
  const book = deals.service({ storage })
  for (let n = 0; n < count; n++) {
    const { item: { id } } = await book.create({ name: 'Tea', price: n })
    await book.run('hold', id, { reason: 'Papers' })
  }
}

for (const { name, make } of storages) {
  const isAboutLogs = (name: string): boolean => /^(sequence|chain|commit|atomic|text: one by)/.test(name)
  storageConformance((of, run) => isAboutLogs(of) && t.test(`${name}, chained: ${of}`, t => run(t)), async () => {
    const { storage, another, dispose } = await make({ chain: true })
    return {
      storage,
      dispose,
      ...another && {
        async reopen () {
          await storage.close()
          return another()
        }
      }
    }
  })

  t.test(`${name}: without the option, nothing is added`, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    await hold(storage)
    const [entry = {}] = await readLog(storage)
    t.notOk(Object.keys(entry).some(member => ['salt', 'seal', 'hash', 'erasure'].includes(member)))
    t.equal(storage.chain, undefined)
    await t.rejects(verifyLog(storage), { code: 'FST_DEALBOOK_INVALID_VERIFICATION' })
  })

  t.test(`${name}: copies`, async t => {
    const [from, plain, chained] = [await make({ chain: true }), await make(), await make({ chain: true })]
    for (const { dispose } of [from, plain, chained]) t.teardown(dispose)
    await hold(from.storage, 3)
    const whole = await verifyLog(from.storage)
    t.match(whole, { checked: 6, first: 1 })
    await copyStorage(from.storage, plain.storage, { families: [deals] })
    await copyStorage(from.storage, plain.storage, { families: [deals] })
    t.notOk((await readLog(plain.storage)).some(({ hash, seal }) => hash ?? seal), 'into one without a chain')
    await copyStorage(plain.storage, chained.storage, { families: [deals] })
    await copyStorage(plain.storage, chained.storage, { families: [deals] })
    t.strictSame(await verifyLog(chained.storage), { checked: 0, erased: 0 }, 'entries had none')
    await hold(chained.storage)
    t.match(await verifyLog(chained.storage), { checked: 2, first: 7, broken: undefined })
    const last = memoryStorage({ chain: true })
    await copyStorage(from.storage, last, { families: [deals] })
    t.strictSame(await verifyLog(last, { expected: whole.head as NonNullable<typeof whole.head> }), whole)
    await hold(last)
    t.match(await verifyLog(last), { checked: 8, broken: undefined })
  })
}

testChained('a process without the option is refused, unless it says so', async (t, { storage, fixture }) => {
  const { another } = fixture
  if (another === undefined) return
  await hold(storage)
  const forgotten = another({ chain: undefined } as never)
  await t.rejects(hold(forgotten), { code: 'FST_DEALBOOK_CHAINED', message: /"commands" is chained: give the storage/ })
  const off = another({ chain: false })
  await hold(off, 2)
  const log = await readLog(storage)
  t.strictSame(log.map(({ hash }) => hash !== undefined), [true, true, false, false, false, false])
  await hold(storage)
  t.match(await verifyLog(storage), { checked: 2, broken: { position: 3, reason: 'unchained', family: 'deals' } })
  t.match(await verifyLog(storage, { after: 6 }), { checked: 2, first: 7, broken: undefined })
  t.match((await verifyLog(storage, { after: 5 })).broken, { position: 6, reason: 'unchained' })
}, t)

for (const { name, make } of storages) {
  t.test(`${name}: the option is set later`, async t => {
    const { storage, another, dispose } = await make()
    t.teardown(dispose)
    if (another === undefined) return
    await hold(storage, 2)
    await storage.close()
    const later = another({ chain: true })
    t.strictSame(await verifyLog(later), { checked: 0, erased: 0 })
    await hold(later)
    t.match(await verifyLog(later), { checked: 2, first: 5, broken: undefined })
    const [first] = await readLog(later)
    await later.commit([{ type: 'delete', family: 'commands', id: String(first?.id), expected: 1 }])
    t.match(await verifyLog(later), { checked: 2, first: 5, broken: undefined }, 'earlier entries are not checked')
  })
}

testChained('several processes write at once', async (t, { storage, fixture: { another } }) => {
  const others = another === undefined ? [storage] : [storage, another(), another()]
  await hold(storage)
  let isWriting = true
  const verify = async (): Promise<number> => {
    for (let count = 0; ; count++) {
      const isLast = !isWriting
      const { broken } = await verifyLog(others.at(-1) as Storage, { batch: 3 })
      if (broken !== undefined) return NaN
      if (isLast) return count
      await delay(1)
    }
  }
  const verifying = verify()
  await Promise.all(others.flatMap(each => [hold(each, 10), hold(each, 10)]))
  isWriting = false
  t.ok(await verifying > 0, 'it is valid all the time')
  t.match(await verifyLog(storage), { checked: 2 + others.length * 40, broken: undefined })
}, t)

if (!isFast) {
  t.test('the missing columns are made, checked and written', async t => {
    const folder = await mkdtemp(join(tmpdir(), 'dealbook-chain-'))
    const file = join(folder, 'test.db')
    const connectionString = await postgresUrl()
    const schema = newSchema()
    t.teardown(async () => {
      await rm(folder, { recursive: true })
      await dropSchema(schema)
    })
    const kinds: ((options: object) => Storage)[] = [
      options => sqliteStorage({ file, ...options }),
      options => postgresStorage({ connectionString, schema, poolSize: 3, ...options })
    ]
    for (const open of kinds) {
      const plain = open({})
      await hold(plain)
      t.equal(await writeMigration(plain, [deals]), '')
      await plain.close()
      const checking = open({ chain: true, migrate: 'check' })
      const added = /ALTER TABLE .*"commands" ADD COLUMN "hash" text/i
      await t.rejects(hold(checking), { code: 'FST_DEALBOOK_MIGRATION_NEEDED', message: added })
      t.match(await writeMigration(checking, [deals]), added)
      await checking.close()
      for (const options of [{ chain: true }, { chain: true, migrate: 'off' }]) {
        const chained = open(options)
        await hold(chained)
        t.equal((await verifyLog(chained)).broken, undefined)
        t.equal(await writeMigration(chained, [deals]), '')
        await chained.close()
      }
      const forgotten = open({ migrate: 'off' })
      await t.rejects(hold(forgotten), { code: 'FST_DEALBOOK_CHAINED' })
      await forgotten.close()
    }
  })

  t.test('PostgreSQL: a chain takes no statement more', async t => {
    const counts: number[] = []
    for (const chain of [true, false]) {
      const schema = newSchema()
      const pool = new pg.Pool({ connectionString: await postgresUrl(), max: 4 })
      let count = 0
      const counting = Object.assign(Object.create(pool) as PostgresPool, {
        async connect () {
          const client = await pool.connect()
          const query = async (config: { readonly text: string }): Promise<unknown> => {
            if (/INSERT INTO|UPDATE |pg_advisory_xact_lock/.test(config.text)) count++
            return await client.query(config)
          }
          return Object.assign(Object.create(client), { query, release: (error?: Error) => { client.release(error) } })
        }
      })
      const storage = postgresStorage({ pool: counting, schema, preparedStatements: false, chain })
      t.teardown(async () => {
        await storage.close()
        await pool.end()
        await dropSchema(schema)
      })
      await hold(storage)
      const before = count
      await hold(storage, 20)
      await readLog(storage)
      counts.push(count - before)
      if (chain) t.match(await verifyLog(storage), { checked: 42, broken: undefined })
    }
    t.equal(counts[0], counts[1])
    t.ok(counts[0] as number > 40, String(counts[0]))
  })
}
