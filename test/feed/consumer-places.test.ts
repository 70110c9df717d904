import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import Fastify from 'fastify'
import t, { type Test } from 'tap'
import { real, useRuntime } from '../../lib/core/runtime.js'
import type { Change, ConsumeOptions, Storage } from '../../lib/index.js'
import {
  consume, deals, defineFamily, listConsumers, makeWebhooks, memoryStorage, prune, Type
} from '../../lib/index.js'
import { getPlace, updatePlace } from '../../lib/tools/leases.js'
import { transport } from '../../lib/webhooks/request.js'
import { storages } from '../storages.js'
import { later, makeOld, old } from './old-entries.js'

const table = 'command-consumers'

const notes = defineFamily({
  name: 'notes',
  singular: 'note',
  fields: Type.Object({ id: Type.Integer(), text: Type.String() }),
  create: ['text']
})

async function until (holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!await holds()) await delay(10)
}

function start (t: Test, storage: Storage, options: Partial<ConsumeOptions> = {}) {
  const stopping = new AbortController()
  const handled: string[] = []
  const running = consume(storage, {
    name: 'mailer',
    families: [deals],
    signal: stopping.signal,
    handler: ({ action }) => { handled.push(action) },
    ...options
  })
  const stop = async (): Promise<void> => {
    stopping.abort()
    await running
  }
  t.teardown(() => stop().catch(() => {}))
  return { handled, running, stop }
}

/** The same storage, and the places that are saved in it. */
function recordPlaces (storage: Storage) {
  const saved: Change['type'][] = []
  const own: Storage = {
    ...storage,
    async commit (changes) {
      await storage.commit(changes)
      saved.push(...changes.filter(({ family }) => family === table).map(({ type }) => type))
    }
  }
  return { own, saved }
}

/** Waits for the end of the lease. */
async function waitForEnd (_entry: unknown, { signal }: { readonly signal: AbortSignal }): Promise<void> {
  await once(signal, 'abort')
}

for (const { name, make } of storages) {
  t.test(`${name}: a consumer that has handled nothing misses what is pruned, but a new one does not`, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    const book = deals.service({ storage })
    await book.create({ name: 'a', price: 1 })
    for (const consumer of ['first', 'second']) {
      await storage.commit(makeOld(3))
      let isCalled = false
      const { stop } = start(t, storage, {
        name: consumer,
        async handler (entry, context) {
          isCalled = true
          await waitForEnd(entry, context)
        }
      })
      await until(() => isCalled)
      await stop()
      t.equal(await prune(storage, { before: later }), 0)
      t.equal(await prune(storage, { before: later, ignoreConsumers: true }), 3)
      await t.rejects(start(t, storage, { name: consumer }).running, { code: 'pruned', statusCode: 410 })
      const place = await storage.get(table, consumer)
      await storage.commit([{ type: 'delete', family: table, id: consumer, expected: Number(place?.revision) }])
    }
    const late = start(t, storage, { name: 'new' })
    await until(() => late.handled.length > 0)
    t.strictSame(late.handled, ['CreateDeal'])
  })
}

/** A place as an earlier version saved it. */
function makePlace (members: object = {}): Change {
  const item = { id: 'mailer', position: 0, parked: [], retried: [], revision: 1, createdAt: old, updatedAt: old }
  return { type: 'insert', family: table, item: { ...item, ...members } }
}

t.test('a consumer of an earlier version begins with what there is', async t => {
  const storage = memoryStorage()
  await deals.service({ storage }).create({ name: 'a', price: 1 })
  await storage.commit(makeOld(3))
  t.equal(await prune(storage, { before: later }), 3)
  t.strictSame(await listConsumers(storage), [])
  await storage.commit([makePlace()])
  const { handled } = start(t, storage)
  await until(() => handled.length > 0)
  t.strictSame(handled, ['CreateDeal'])
})

t.test('prune keeps what a consumer has not handled, also if a failover sets it back', async t => {
  const back = { ...makePlace({ position: 1, revision: 2 }), type: 'replace', expected: 1 } as Change
  const rows: [title: string, fails: boolean, pruned: number | RegExp, change?: Change][] = [
    ['it is set back', false, 1, back],
    ['it stays', false, 3],
    ['it is deleted meanwhile', true, 4, { type: 'delete', family: table, id: 'mailer', expected: 1 }],
    ['the storage fails', true, /lost/]
  ]
  for (const [title, fails, pruned, change] of rows) {
    const storage = memoryStorage()
    await deals.service({ storage }).find()
    await listConsumers(storage)
    await storage.commit([...makeOld(4), makePlace({ position: 3 })])
    let confirmed = 0
    const own: Storage = {
      ...storage,
      async confirm (family, id) {
        t.strictSame([family, id], [table, 'mailer'])
        if (change !== undefined && confirmed === 0) await storage.commit([change])
        confirmed++
        if (fails) throw new Error('It was lost')
      }
    }
    if (pruned instanceof RegExp) await t.rejects(prune(own, { before: later }), pruned, title)
    else t.equal(await prune(own, { before: later }), pruned, title)
    t.ok(confirmed > 0)
  }
})

t.test('a consumer that was added to an empty log misses what is pruned', async t => {
  const storage = memoryStorage()
  const { stop } = start(t, storage, { from: 'now' })
  await until(async () => (await listConsumers(storage)).length > 0)
  await stop()
  await storage.commit(makeOld(3))
  t.equal(await prune(storage, { before: later, ignoreConsumers: true }), 3)
  await t.rejects(start(t, storage, { from: 'now' }).running, { code: 'pruned' })
})

t.test('a process that dies has saved all but the last ten entries', async t => {
  const storage = memoryStorage()
  let isDead = false
  const own: Storage = {
    ...storage,
    async commit (changes) {
      if (isDead) throw new Error('dead')
      await storage.commit(changes)
    }
  }
  await deals.service({ storage }).find()
  await storage.commit(makeOld(100))
  const stopping = new AbortController()
  let count = 0
  await consume(own, {
    name: 'mailer',
    families: [deals],
    signal: stopping.signal,
    handler () {
      if (++count < 99) return
      isDead = true
      stopping.abort()
    }
  })
  const { position } = await storage.get(table, 'mailer') as { position?: number }
  t.ok(Number(position) >= 89 && Number(position) < 99, `handled ${count}, saved ${position}`)
})

t.test('any number of entries may be set aside', async t => {
  const storage = memoryStorage()
  await deals.service({ storage }).find()
  await storage.commit(makeOld(3))
  t.strictSame(await listConsumers(storage), [])
  const parked = Array.from({ length: 200_000 }, () => ({ position: 3 }))
  await storage.commit([makePlace({ position: 3, parked })])
  t.equal(await prune(storage, { before: later }), 2, 'those before them')
})

t.test('the place of entries that are not for a consumer is saved with its lease', async t => {
  const { own, saved } = recordPlaces(memoryStorage())
  const others = notes.service({ storage: own })
  const createMany = async (): Promise<void> => {
    for (let made = 0; made < 20; made++) await others.create({ text: 'x' })
  }
  const long = start(t, own, { leaseTime: 600_000 })
  await until(() => saved.length > 0)
  await createMany()
  await deals.service({ storage: own }).create({ name: 'a', price: 1 })
  await until(() => long.handled.length === 1)
  await createMany()
  await long.stop()
  t.strictSame(saved, ['insert', 'replace', 'replace'], 'what it handled, and its end')

  start(t, own, { name: 'short', from: 'now', leaseTime: 300 })
  await until(async () => (await listConsumers(own)).length === 2)
  await createMany()
  await until(async () => (await listConsumers(own)).some(({ name, lag }) => name === 'short' && lag === 0))
})

t.test('no renewal sets back a consumer that was moved past what was pruned', async t => {
  const storage = memoryStorage()
  await deals.service({ storage }).create({ name: 'a', price: 1 })
  let isHandling = false
  const handler: ConsumeOptions['handler'] = async (entry, context) => {
    isHandling = true
    await waitForEnd(entry, context)
  }
  start(t, storage, { leaseTime: 300, handler })
  await until(() => isHandling)
  await updatePlace(storage, await getPlace(storage, 'mailer'), () => ({ position: 1000 }))
  const positions = new Map<number, number>()
  await until(async () => {
    const { revision, position } = await getPlace(storage, 'mailer')
    positions.set(revision, position)
    return positions.size === 4
  })
  t.strictSame(new Set(positions.values()), new Set([1000]))
})

t.test('commands that are not for a webhook save nothing', async t => {
  const { own, saved } = recordPlaces(memoryStorage())
  // Positions are saved with the renewal of leases too, which a slow machine would come to.
  useRuntime({ ...real, setInterval: () => real.setInterval(() => {}, 1e6) })
  t.teardown(() => { useRuntime() })
  const app = Fastify()
  t.teardown(() => app.close())
  const sent: string[] = []
  const { post } = transport
  transport.post = async posting => {
    if (!posting.url.startsWith('https://nowhere.example/')) return await post(posting)
    sent.push(String((JSON.parse(posting.body) as { type: unknown }).type))
    return 200
  }
  t.teardown(() => { transport.post = post })
  await app.register(deals, { storage: own, prefix: '/crm', version: 'v1' })
  await app.register(makeWebhooks(), { storage: own, prefix: '/crm' })
  await app.ready()
  const payload = { url: 'https://nowhere.example/events', actions: ['HoldDeal'] }
  for (const count of [1, 2]) {
    t.equal((await app.inject({ method: 'POST', url: '/crm/webhooks', payload })).statusCode, 201)
    // The place, and the lease of it.
    await until(() => saved.length >= 2 * count)
  }
  const book = deals.service({ storage: own })
  const { item: { id } } = await book.create({ name: 'x', price: 1 })
  for (let made = 0; made < 20; made++) await book.create({ name: 'x', price: 1 })
  await book.run('hold', id, { reason: 'Papers' })
  await until(async () => sent.length > 1 && (await listConsumers(own)).every(({ lag }) => lag === 0))
  t.strictSame([sent, saved], [
    ['deal.holded', 'deal.holded'], ['insert', 'replace', 'insert', 'replace', 'replace', 'replace']
  ])
})

t.test('all consumers are listed, however many', async t => {
  const storage = memoryStorage()
  t.strictSame(await listConsumers(storage), [])
  const now = new Date().toISOString()
  const places = Array.from({ length: 10_001 }, (_, index) => ({
    id: `c${String(index).padStart(5, '0')}`,
    position: 0,
    parked: [],
    retried: [],
    revision: 1,
    createdAt: now,
    updatedAt: now
  }))
  await storage.commit(places.map(item => ({ type: 'insert', family: table, item })))
  t.equal((await listConsumers(storage)).length, 10_001)
})

t.test('consumers that are added at once do not wait for each other', async t => {
  const storage = memoryStorage()
  let looks = 0
  const own: Storage = {
    ...storage,
    async get (...asked) {
      if (asked[0] === table) looks++
      return await storage.get(...asked)
    }
  }
  const started = Array.from({ length: 20 }, (_, index) => start(t, own, { name: `c${index}`, leaseTime: 3000 }))
  await until(async () => (await listConsumers(storage)).length === 20)
  t.equal(looks, 20, 'each looks for its place once')
  await Promise.all(started.map(({ stop }) => stop()))
})

t.test('the time of a lease begins before it is saved', async t => {
  const { now } = performance
  let skipped = 0
  performance.now = () => now.call(performance) + skipped
  t.teardown(() => { performance.now = now })
  const leaseTime = 600
  const storage = memoryStorage()
  const steps: string[] = []
  const own: Storage = {
    ...storage,
    async commit (changes) {
      await storage.commit(changes)
      if (!changes.some(({ family }) => family === table)) return
      // The first is slow: another process may take the lease soon after.
      if (steps.length === 0) skipped += leaseTime * 0.8
      steps.push('saved')
    }
  }
  await deals.service({ storage: own }).create({ name: 'a', price: 1 })
  const { stop } = start(t, own, {
    leaseTime,
    async handler (entry, context) {
      await waitForEnd(entry, context)
      steps.push('lost')
    }
  })
  await until(() => steps.length > 1)
  t.strictSame(steps.slice(0, 2), ['saved', 'lost'])
  await stop()
})

t.test('a place that a failover has lost is not taken for the one that is there now', async t => {
  const revisions: unknown[] = []
  for (const timeline of ['lost', 'kept']) {
    const storage = memoryStorage()
    await deals.service({ storage }).create({ name: timeline, price: 1 })
    const { handled, stop } = start(t, storage)
    await until(() => handled.length === 1)
    await stop()
    revisions.push((await storage.get(table, 'mailer'))?.revision)
  }
  t.equal(new Set(revisions).size, 2)
})
