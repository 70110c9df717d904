import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import '../process-time.js'
import Fastify from 'fastify'
import t, { type Test } from 'tap'
import { commandsShape } from '../../lib/core/family/fields.js'
import { real, useRuntime } from '../../lib/core/runtime.js'
import { guardStorage } from '../../lib/core/service/storage-access.js'
import { ConflictError, ConstraintError, DuplicateError } from '../../lib/core/storage/storage.js'
import type { Change, Storage } from '../../lib/index.js'
import { deals, defineFamily, keepRow, memoryStorage, openLog, Type } from '../../lib/index.js'
import { addPlace } from '../../lib/tools/consumer-places.js'
import type { ConsumeOptions } from '../../lib/tools/index.js'
import { consume, listConsumers, prune } from '../../lib/tools/index.js'
import { consumersShape, getPlace, Lease, updatePlace } from '../../lib/tools/leases.js'
import { transport } from '../../lib/webhooks/request.js'
import { makeWebhooks } from '../../lib/webhooks/webhooks.js'
import { storages } from '../storages.js'
import { later, makeOld, old } from './old-entries.js'
import { stopClock } from './timers.js'

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
  await storage.commit([makePlace({ id: 'further', position: 4 })])
  await deals.service({ storage }).remove(String((await deals.service({ storage }).find()).items[0]?.id))
  const further = start(t, storage, { name: 'further' })
  await until(() => further.handled.length > 0)
  t.strictSame(further.handled, ['DeleteDeal'])
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
  const storage = memoryStorage()
  const clock = stopClock(t)
  const steps: string[] = []
  const own: Storage = {
    ...storage,
    async commit (changes) {
      await storage.commit(changes)
      if (!changes.some(({ family }) => family === table)) return
      // The first is slow: another process may take the lease soon after.
      if (steps.length === 0) clock.time += 480
      steps.push('saved')
    }
  }
  await deals.service({ storage: own }).create({ name: 'a', price: 1 })
  start(t, own, { leaseTime: 600, handler: () => { steps.push('handled') } })
  await until(() => steps.includes('handled'))
  t.strictSame(steps.slice(0, 4), ['saved', 'saved', 'saved', 'handled'], 'given back, and taken again')
})

t.test('a lease is taken from a holder that has not renewed it for its time', async t => {
  const inner = memoryStorage()
  await listConsumers(inner)
  await inner.commit([makePlace({ holder: 'other' })])
  const clock = stopClock(t)
  let looks = 0
  const storage: Storage = {
    ...inner,
    async get (family, id) {
      if (family === table) looks++
      return await inner.get(family, id)
    }
  }
  const findHolder = async () => (await getPlace(inner, 'mailer')).holder
  start(t, storage, { leaseTime: 100 })
  for (const [passed, renews, isTaken] of [
    [0, false, false], [100, false, false], [1, true, false], [100, false, false], [1, false, true]
  ] as const) {
    if (renews) {
      const place = await getPlace(inner, 'mailer')
      await inner.commit([keepRow(table, place, place)])
    }
    clock.time += passed
    const before = looks
    await until(async () => looks > before + 1 || await findHolder() !== 'other')
    t.equal(await findHolder() !== 'other', isTaken, `${clock.time}`)
  }
})

t.test('a process that has stood still handles nothing that another one may handle', async t => {
  for (const [skipped, count] of [[70, 2], [71, 1]] as const) {
    const inner = memoryStorage()
    const book = deals.service({ storage: inner })
    for (const name of ['a', 'b']) await book.create({ name, price: 1 })
    const clock = stopClock(t)
    let looks = 0
    const storage: Storage = {
      ...inner,
      async get (family, id) {
        if (family === table) looks++
        return await inner.get(family, id)
      }
    }
    let handled = 0
    const { stop } = start(t, storage, {
      leaseTime: 100,
      async handler () {
        if (++handled > 1) return
        const place = await getPlace(inner, 'mailer')
        await inner.commit([keepRow(table, { ...place, holder: 'another process' }, place)])
        looks = 0
        // No timer has run meanwhile.
        clock.time += skipped
      }
    })
    await until(() => looks > 1)
    await stop()
    t.equal(handled, count, `after ${skipped} of 100 ms`)
  }
})

t.test('a process that has stood still is not ended by what was pruned after another one handled it', async t => {
  const inner = memoryStorage()
  await inner.prepare(commandsShape)
  const entries = makeOld(2)
  await inner.commit(entries.slice(0, 1))
  const clock = stopClock(t)
  let looks = 0
  const storage: Storage = {
    ...inner,
    async get (family, id) {
      if (family === table) looks++
      return await inner.get(family, id)
    }
  }
  const { running, stop } = start(t, storage, { leaseTime: 100 })
  let hasEnded = false
  running.finally(() => { hasEnded = true }).catch(() => {})
  await until(async () => (await inner.get(table, 'mailer').catch(() => undefined))?.position === 1)
  const place = await getPlace(inner, 'mailer')
  await inner.commit([keepRow(table, { ...place, holder: 'another process', position: 2 }, place)])
  clock.time += 71
  looks = 0
  await inner.commit(entries.slice(1))
  t.equal(await prune(inner, { before: later }), 2)
  await until(() => looks > 2 || hasEnded)
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

/** Leases of a second in a storage, whose commits of places can fail once and be held. */
async function openLeases (t: Test) {
  const inner = memoryStorage()
  const commits: string[][] = []
  const state = { error: undefined as Error | undefined, held: undefined as Promise<void> | undefined }
  const storage = guardStorage({
    ...inner,
    async commit (changes) {
      commits.push(changes.map(change => 'item' in change ? String(change.item.id) : ''))
      await state.held
      const { error } = state
      state.error = undefined
      if (error !== undefined) throw error
      await inner.commit(changes)
    }
  })
  await storage.prepare(consumersShape)
  const clock = stopClock(t)
  const takeAll = async (ages: Readonly<Record<string, number>>, time = 1000): Promise<Lease[]> => {
    const changes = Object.keys(ages).map(id =>
      keepRow(table, { id, position: 5, holder: 'own', parked: [], retried: [] }, undefined))
    await inner.commit(changes)
    const leases = changes.map(({ item }) => new Lease(storage, item, time, clock.time - Number(ages[item.id])))
    t.teardown(() => { for (const lease of leases) lease.lose() })
    return leases
  }
  const take = async (id: string, age = 0, time?: number): Promise<Lease> =>
    (await takeAll({ [id]: age }, time))[0] as Lease
  const check = async (...leases: readonly Lease[]): Promise<void> => {
    clock.ring()
    await until(() => leases.every(({ isSaving }) => !isSaving))
  }
  return { inner, commits, state, clock, take, takeAll, check }
}

t.test('leases are renewed together when one is due, and lost if they could not be', async t => {
  const rows: [ages: number[], renewed: string[], lost: string[]][] = [
    [[100, 299], [], []],
    [[300], ['0'], []],
    [[300, 150], ['0', '1'], []],
    [[149, 300, 151], ['1', '2'], []],
    [[299, 299], [], []],
    [[700], ['0'], []],
    [[701], [], ['0']],
    [[701, 299], [], ['0']],
    [[701, 300, 702], ['1'], ['0', '2']]
  ]
  for (const [ages, renewed, lost] of rows) {
    const { inner, commits, clock, takeAll, check } = await openLeases(t)
    const leases = await takeAll(Object.fromEntries(ages.entries()))
    t.strictSame(clock.repeated, [84], 'they share a timer')
    t.strictSame(leases.map(({ age }) => age), ages.map(age => age / 1000))
    await check(...leases)
    const title = ages.join()
    t.strictSame(commits, renewed.length > 0 ? [renewed] : [], title)
    const named = leases.map((lease, index) => [String(index), lease] as const)
    t.strictSame(named.flatMap(([name, { signal }]) => signal.aborted ? name : []), lost, title)
    t.strictSame(named.flatMap(([name, { age }]) => age === 0 ? name : []), renewed, title)
    for (const name of renewed) t.strictSame(await getPlace(inner, name), leases[Number(name)]?.place)
    t.strictSame(clock.repeated, lost.length < ages.length ? [84] : [], 'without a lease, there is no timer')
  }
})

t.test('leases have a timer for each duration, as long as there are some', async t => {
  const { clock, take } = await openLeases(t)
  const [one, two] = [await take('one'), await take('two')]
  const long = await take('long', 0, 2400)
  t.strictSame(clock.repeated, [84, 200])
  await one.release()
  t.strictSame(clock.repeated, [84, 200])
  two.lose()
  t.strictSame(clock.repeated, [200])
  long.lose()
  t.strictSame(clock.repeated, [])
  await take('next')
  t.strictSame(clock.repeated, [84])
})

t.test('at most 500 leases are renewed in a commit', async t => {
  for (const [count, sizes] of [[500, [500]], [501, [500, 1]]] as const) {
    const { commits, takeAll, check } = await openLeases(t)
    const leases = await takeAll(Object.fromEntries(Array.from({ length: count }, (_, index) => [index, 300])))
    await check(...leases)
    t.strictSame(commits.map(({ length }) => length), sizes)
    t.strictSame(new Set(commits.flat()).size, count)
  }
})

t.test('a lease whose place is being saved is not renewed besides', async t => {
  const { commits, state, clock, take, check } = await openLeases(t)
  const [busy, idle] = [await take('busy', 300), await take('idle', 300)]
  t.strictSame(busy.isSaving, false)
  let release = (): void => {}
  state.held = new Promise(resolve => { release = resolve })
  const first = busy.keep()
  const second = busy.keep(() => ({ position: 9 }))
  t.strictSame(busy.isSaving, true)
  await until(() => commits.length === 1)
  clock.ring()
  await until(() => commits.length === 2)
  t.strictSame(commits, [['busy'], ['idle']])
  clock.time += 50
  state.held = undefined
  let rest = (): void => {}
  const saved = first.then(() => {
    t.strictSame(busy.isSaving, true, 'the second is waiting')
    t.strictSame(busy.age, 0.05, 'since it began')
    state.held = new Promise(resolve => { rest = resolve })
  })
  release()
  await saved
  rest()
  await second
  t.strictSame(busy.isSaving, false)
  t.strictSame(busy.place.position, 9)
  state.held = undefined
  await until(() => !idle.isSaving)
  clock.time += 260
  busy.position = 12
  await check(busy, idle)
  t.strictSame(commits.slice(3), [['busy', 'idle']], 'those of 0.26 with those of 0.31')
  t.strictSame([busy.place.position, idle.place.position], [12, 5])
})

t.test('leases that another process has changed are renewed or lost alone', async t => {
  const { inner, commits, take, check } = await openLeases(t)
  const leases = [await take('kept', 300), await take('moved', 300), await take('taken', 300)] as const
  await updatePlace(inner, leases[1].place, () => ({ position: 1000 }))
  await updatePlace(inner, leases[2].place, () => ({ holder: 'other' }))
  await check(...leases)
  t.strictSame(commits[0], ['kept', 'moved', 'taken'])
  t.strictSame(leases.map(({ signal }) => signal.aborted), [false, false, true])
  t.strictSame(leases.map(({ age }) => age), [0, 0, 0.3])
  const ids = ['kept', 'moved', 'taken']
  const places = await Promise.all(ids.map(id => getPlace(inner, id)))
  t.strictSame(places.map(({ holder }) => holder), ['own', 'own', 'other'])
  t.strictSame(places.map(({ position }) => position), [5, 1000, 5])
  await t.rejects(leases[2].keep(), { message: 'The lease is lost' })
  t.strictSame(await getPlace(inner, 'taken'), places[2])
})

t.test('leases that could not be renewed are renewed together at the next check', async t => {
  const { commits, state, take, check } = await openLeases(t)
  const leases = [await take('one', 300), await take('two', 300)]
  state.error = new Error('down')
  await check(...leases)
  t.strictSame(leases.map(({ age }) => age), [0.3, 0.3])
  t.strictSame(commits, [['one', 'two']])
  await check(...leases)
  t.strictSame(leases.map(({ age }) => age), [0, 0])
  t.strictSame(commits, [['one', 'two'], ['one', 'two']])
})

t.test('a change of a place is made again after a conflict, but not after another error', async t => {
  const { inner, commits, state, take } = await openLeases(t)
  const { storage, place } = await take('one')
  state.error = new Error('down')
  await t.rejects(updatePlace(storage, place, () => ({ position: 6 })), { code: 'storage-unavailable' })
  t.strictSame(await getPlace(inner, 'one'), place)
  state.error = new ConflictError(table, 'one')
  t.strictSame((await updatePlace(storage, place, ({ position }) => ({ position: position + 1 }))).position, 6)
  t.strictSame(commits.length, 3)
  await t.rejects(getPlace(storage, 'none'), {
    code: 'FST_DEALBOOK_INVALID_CONSUMER', message: /there is no consumer "none"$/
  })
})

t.test('a new place says what it does not miss', async t => {
  const rows: [start: number | undefined, mark: number | undefined, position: number, pruned: number][] = [
    [undefined, undefined, 0, 0],
    [undefined, 5, 0, 5],
    [7, undefined, 7, 7],
    [7, 5, 7, 7],
    [0, 5, 0, 0]
  ]
  for (const [start, mark, position, pruned] of rows) {
    const storage = memoryStorage()
    await listConsumers(storage)
    if (mark !== undefined) {
      await storage.commit(makeOld(mark))
      t.equal(await prune(storage, { before: later }), mark)
    }
    const place = await addPlace(await openLog(storage), { id: 'mailer', holder: 'own' }, start)
    const { revision, createdAt, updatedAt, ...members } = await getPlace(storage, 'mailer')
    t.strictSame(members, { id: 'mailer', holder: 'own', position, pruned, parked: [], retried: [] })
    t.strictSame({ revision, createdAt, updatedAt, ...members }, { ...place })
  }
})

t.test('a place is added again where the mark was changed meanwhile, and not after another error', async t => {
  const rows: [error: Error, isAdded: boolean][] = [
    [new ConflictError('commands', 'x'), true],
    [new DuplicateError('commands', 'x'), true],
    [new ConflictError(table, 'mailer'), false],
    [new DuplicateError(table, 'mailer'), false],
    [new ConstraintError('commands', 'x', 'other'), false],
    [new Error('down'), false]
  ]
  for (const [error, isAdded] of rows) {
    const inner = memoryStorage()
    await listConsumers(inner)
    let commits = 0
    const storage: Storage = {
      ...inner,
      async commit (changes) {
        if (++commits === 1) throw error
        await inner.commit(changes)
      }
    }
    const added: unknown = await addPlace(await openLog(storage), { id: 'mailer' }).catch((error: unknown) => error)
    if (isAdded) t.strictSame(added, await getPlace(inner, 'mailer'))
    else t.equal(added, error)
    t.strictSame(commits, isAdded ? 2 : 1, String(error))
  }
})

t.test('the table of consumers is that of earlier versions', t => {
  t.strictSame(consumersShape.fields, [
    { name: 'id', kind: 'string', optional: false, maxLength: 200 },
    { name: 'revision', kind: 'integer', optional: false },
    { name: 'createdAt', kind: 'date-time', optional: false },
    { name: 'updatedAt', kind: 'date-time', optional: false },
    { name: 'position', kind: 'integer', optional: false },
    { name: 'pruned', kind: 'integer', optional: true },
    { name: 'holder', kind: 'string', optional: true, maxLength: 100 },
    { name: 'parked', kind: 'json', optional: false },
    { name: 'retried', kind: 'json', optional: false }
  ])
  t.end()
})
