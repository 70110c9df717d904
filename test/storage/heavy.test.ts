import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import Fastify from 'fastify'
import t from 'tap'
import type { Query, Storage } from '../../lib/index.js'
import { BusyError, memoryStorage } from '../../lib/index.js'
import { postgresStorage } from '../../lib/storage/postgres/postgres-storage.js'
import { sqliteStorage } from '../../lib/storage/sqlite/sqlite-storage.js'
import { heavyQueries, loadPeople, people } from '../heavy-reads.js'
import { dropSchema, newSchema } from '../postgres/schema.js'
import { postgresUrl } from '../postgres/url.js'
import { isLong } from '../size.js'

// How long they hold the loop, bench/stalls.ts shows.
const rows = isLong ? 1_000_000 : 20_000
// Pages that are as deep among fewer rows.
const queries = isLong
  ? heavyQueries
  : heavyQueries.map(query => query.replace(/(?<=\bpage=)\d+00\b/, page => String(Number(page) * 3 / 10)))

const folder = await mkdtemp(join(tmpdir(), 'dealbook-heavy-'))
const schema = newSchema()
const limits = { maxHeavyReads: 1, maxWaitingReads: 2 }
const storages: Record<string, Storage> = {
  memory: memoryStorage(limits),
  sqlite: sqliteStorage({ file: join(folder, 'people.db'), ...limits }),
  'sqlite in memory': sqliteStorage({ file: ':memory:', ...limits }),
  postgres: postgresStorage({ connectionString: await postgresUrl(), schema, ...limits })
}
t.teardown(async () => {
  for (const storage of Object.values(storages)) await storage.close()
  await rm(folder, { recursive: true })
  await dropSchema(schema)
})

interface Teardown { teardown (close: () => Promise<unknown>): void }

async function serve (t: Teardown, storage: Storage): Promise<FastifyInstance> {
  const app = Fastify({ forceCloseConnections: true })
  t.teardown(() => app.close())
  // However busy the machine is.
  await app.register(people, { storage, timeout: 600_000 })
  return app
}

interface Answer { readonly items: { readonly id: number }[], readonly total?: number }
const answers = new Map<string, unknown>()

for (const [name, storage] of Object.entries(storages)) {
  t.test(`${name}: all answer alike`, async t => {
    await loadPeople(storage, rows)
    const app = await serve(t, storage)
    for (const query of queries) {
      const result = await app.inject(`/customers?${query}`)
      t.equal(result.statusCode, 200, query)
      const { items, total } = result.json<Answer>()
      const answer = { ids: items.map(({ id }) => id), total }
      if (answers.has(query)) t.strictSame(answer, answers.get(query), `${query}: as elsewhere`)
      else answers.set(query, answer)
    }
  })
}

const byChildren = [{ field: 'children', descending: true }, { field: 'age', descending: false }] as const
/** Takes long on every storage: all rows are sorted. */
const slow: Query = {
  where: [{ field: 'name', op: 'ne', values: ['x'] }],
  order: [...byChildren, { field: 'id', descending: true }],
  offset: 5000,
  limit: 10,
  count: false
}

for (const [name, storage] of Object.entries(storages)) {
  // SQLite in memory has no other thread to go to.
  t.test(`${name}: what takes long holds up nothing else`, { skip: name === 'sqlite in memory' }, async t => {
    // Turns of the loop, not of a clock. What holds it up does so each time; a collection of garbage does not.
    let most = 0
    for (let attempt = 0; attempt < 5 && most <= 2; attempt++) {
      let turns = 0
      const state = { isOver: false }
      const reading = storage.find('customers', slow).finally(() => { state.isOver = true })
      for (; !state.isOver; turns++) await new Promise(resolve => setImmediate(resolve))
      await reading
      most = Math.max(most, turns)
    }
    t.ok(most > 2, `${most} turns for others meanwhile; bench/stalls.ts has the time`)
  })

  t.test(`${name}: a queue of bounded length, in which none is forgotten`, async t => {
    const reads = await Promise.allSettled(Array.from({ length: 12 }, () => storage.find('customers', slow)))
    const refused = reads.filter(({ status }) => status === 'rejected') as PromiseRejectedResult[]
    // One is at work, and two wait; a database may have done one before the last has come.
    t.ok(refused.length >= 1 && refused.length <= 9, `${refused.length} are refused`)
    for (const { reason } of refused) t.ok(reason instanceof BusyError)
    const { items } = await storage.find('customers', slow)
    for (const read of reads) if (read.status === 'fulfilled') t.strictSame(read.value.items, items)
    const small = { where: [], order: [{ field: 'id', descending: false }], offset: 0, limit: 3, count: false }
    const heavy = storage.find('customers', slow)
    t.equal((await storage.find('customers', small)).items.length, 3, 'what is small does not stand in it')
    await heavy
  })

  t.test(`${name}: a full queue is 503 with Retry-After`, async t => {
    const app = await serve(t, storage)
    const url = '/customers?sort=-children,age,-id&page=100&age.ne=200'
    const all = await Promise.all(Array.from({ length: 12 }, () => app.inject(url)))
    const statuses = all.map(({ statusCode }) => statusCode)
    t.strictSame([...new Set(statuses)].sort(), [200, 503])
    t.ok(statuses.filter(status => status === 200).length >= 3, 'one at work and two that wait are served')
    const refused = all.find(({ statusCode }) => statusCode === 503)
    t.match(refused?.json(), { type: 'urn:dealbook:problem:busy' })
    t.equal(refused?.headers['retry-after'], '1')
  })

  t.test(`${name}: a signal ends what is under way, and the waiting for it`, async t => {
    const controller = new AbortController()
    const { signal } = controller
    const reason = new Error('enough')
    const reads = [1, 2].map(() => storage.find('customers', slow, signal).catch((error: unknown) => error))
    // No callback runs while a statement holds this thread.
    if (name === 'sqlite in memory') controller.abort(reason)
    else setImmediate(() => { controller.abort(reason) })
    t.strictSame((await Promise.all(reads)).map(outcome => outcome === reason), [true, true])
    await t.rejects(storage.find('customers', slow, signal), reason)
    await t.rejects(storage.get('customers', 1, signal), reason)
    // The place in the line is free when the work has ended, so both must have.
    t.equal((await storage.find('customers', slow)).items.length, 10)
    t.equal((await storage.find('customers', slow, new AbortController().signal)).items.length, 10)
  })

  t.test(`${name}: a client that has left ends its work`, async t => {
    const app = await serve(t, storage)
    await app.listen({ port: 0 })
    const { port } = app.server.address() as AddressInfo
    const url = `http://127.0.0.1:${port}/customers?sort=-children,age,-id&page=100&age.ne=200`
    for (let round = 0; round < 3; round++) {
      const requests = Array.from({ length: 3 }, () => http.get(url).on('error', () => {}))
      await Promise.all(requests.map(request => once(request, 'socket')))
      await pause(30)
      for (const request of requests) request.destroy()
      await pause(30)
    }
    // Nine requests; had their work gone on, the line would be full.
    let answer = await fetch(url)
    for (let again = 0; again < 20 && answer.status === 503; again++, answer = await fetch(url)) await pause(50)
    t.equal(answer.status, 200)
  })

  t.test(`${name}: what is committed is seen by all that is read after it`, async t => {
    const revision = (await storage.get('customers', 5))?.revision as number
    const before = await storage.get('customers', 5)
    for (let n = 1; n <= 5; n++) {
      const item = { ...before, id: 5, name: `~${n}`, revision: revision + n } as never
      await storage.commit([{ type: 'replace', family: 'customers', item, expected: revision + n - 1 }])
      const last = [{ field: 'age', op: 'ne', values: [200] }] as const
      const order = [
        { field: 'name', descending: true }, { field: 'age', descending: true }, { field: 'id', descending: false }
      ]
      const { items } = await storage.find('customers', { where: last, order, offset: 0, limit: 1, count: true })
      t.equal(items[0]?.['name'], `~${n}`)
    }
  })
}

t.test('sqlite: many rows by their ids are read in a worker', async t => {
  const storage = storages['sqlite'] as Storage
  const countWaits = () => storage.metrics?.()['heavy_reads_waited_total'] as number
  for (const [limit, waits] of [[100, 0], [101, 2]] as const) {
    const values = Array.from({ length: limit }, (_, index) => index + 1)
    const where = [{ field: 'id', op: 'eq', values } as const]
    const query: Query = { where, order: [{ field: 'id', descending: false }], offset: 0, limit, count: false }
    const before = countWaits()
    // One runs at a time, so that the others have to wait.
    const found = await Promise.all([1, 2, 3].map(() => storage.find(people.definition.name, query)))
    t.equal(countWaits() - before, waits)
    for (const { items } of found) t.equal(items.length, limit)
  }
})

t.test('sqlite: a worker that is at work when the storage is closed does not hold it up', async t => {
  const storage = sqliteStorage({ file: join(folder, 'people.db') })
  const app = await serve(t, storage)
  const reading = app.inject('/customers?sort=-children,age,-id&page=100')
  await pause(20)
  await storage.close()
  t.equal((await reading).statusCode, 503)
})

t.test('sqlite: reads that are queued when the storage is closed start no further worker', async t => {
  const storage = sqliteStorage({ file: join(folder, 'people.db'), maxHeavyReads: 1 })
  await serve(t, storage).then(app => app.ready())
  // So that the worker is within a statement when it has to go, which may not end the process.
  await storage.find('customers', slow)
  const reads = Promise.allSettled([1, 2, 3].map(() => storage.find('customers', slow)))
  await pause(10)
  await storage.close()
  // On a busy machine, the first may have ended before.
  t.match((await reads).at(-1), { reason: { message: 'the storage was closed' } })
})
