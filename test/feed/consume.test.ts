import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { real } from '../../lib/core/runtime.js'
import { writePosition } from '../../lib/core/service/log-reads.js'
import type { Change, FollowedCommand, Storage, Stored } from '../../lib/index.js'
import { deals, memoryStorage } from '../../lib/index.js'
import { addConsumer, copyPlaces, findHandled } from '../../lib/tools/consumer-places.js'
import type { ConsumeOptions } from '../../lib/tools/index.js'
import { consume, copyStorage, listConsumers, prune, retryParked } from '../../lib/tools/index.js'
import { openBook } from '../service/book.js'
import { anyStorage, storages } from '../storages.js'
import { later, makeOld, old } from './old-entries.js'
import { holdPauses } from './timers.js'

interface Started {
  readonly handled: FollowedCommand[]
  readonly running: Promise<void>
  stop (): Promise<void>
}

function start (storage: Storage, options: Partial<ConsumeOptions> = {}): Started {
  const stopping = new AbortController()
  const handled: FollowedCommand[] = []
  const running = consume(storage, {
    name: 'mailer',
    families: [deals],
    retryDelay: 1,
    signal: stopping.signal,
    ...options,
    async handler (entry, context) {
      await options.handler?.(entry, context)
      handled.push(entry)
    }
  })
  return {
    handled,
    running,
    async stop () {
      stopping.abort()
      await running
    }
  }
}

async function until (holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!await holds()) await delay(10)
}

const names = (entries: readonly FollowedCommand[]): unknown[] => entries.map(({ params }) => params?.['name'])

for (const { name, make } of storages) {
  t.test(name, async t => {
    t.test('handles each entry in order, keeps its place, and goes on from there', async t => {
      const { storage, dispose } = await make()
      t.teardown(dispose)
      const book = openBook(storage)
      for (const name of ['a', 'b']) await book.create({ name, price: 1 })
      const first = start(storage)
      await until(() => first.handled.length >= 2)
      await book.create({ name: 'c', price: 1 })
      await until(() => first.handled.length >= 3)
      t.strictSame(names(first.handled), ['a', 'b', 'c'])
      t.match(first.handled[0], { family: 'deals', action: 'CreateDeal', revision: 1, cursor: String })
      await first.stop()
      const [state] = await listConsumers(storage)
      t.match(state, { name: 'mailer', lag: 0, holder: undefined, parked: [] })
      t.equal(state?.cursor, first.handled[2]?.cursor)
      await book.create({ name: 'd', price: 1 })
      const second = start(storage)
      await until(() => second.handled.length > 0)
      await second.stop()
      t.strictSame(names(second.handled), ['d'])
    })

    t.test('retries, sets aside what keeps failing, and tries that again when asked', async t => {
      const { storage, dispose } = await make()
      t.teardown(dispose)
      const book = openBook(storage)
      for (const name of ['a', 'bad', 'c']) await book.create({ name, price: 1 })
      let isBroken = true
      const errors: string[] = []
      const attempts: number[] = []
      const consumer = start(storage, {
        maxAttempts: 3,
        onError: error => { errors.push((error as Error).message) },
        handler (entry, { attempt }) {
          if (entry.params?.['name'] !== 'bad') return
          attempts.push(attempt)
          if (isBroken) throw new Error(`no ${attempt}`)
        }
      })
      await until(() => consumer.handled.length >= 2)
      t.strictSame(names(consumer.handled), ['a', 'c'])
      t.strictSame(errors, ['no 1', 'no 2', 'no 3'])
      const [state] = await listConsumers(storage)
      t.match(state?.parked, [{ family: 'deals', attempts: 3, error: 'no 3', id: String, at: String }])
      isBroken = false
      t.equal(await retryParked(storage, 'mailer'), 1)
      await until(() => consumer.handled.length >= 3)
      t.strictSame(names(consumer.handled), ['a', 'c', 'bad'])
      await until(async () => (await listConsumers(storage))[0]?.parked.length === 0)
      t.equal(await retryParked(storage, 'mailer'), 0)
      await consumer.stop()
      await t.rejects(retryParked(storage, 'other'), { code: 'FST_DEALBOOK_INVALID_CONSUMER' })
    })

    t.test('works in one process at a time, and another takes over', async t => {
      const { storage, another, dispose } = await make()
      t.teardown(dispose)
      const other = another?.() ?? storage
      if (other !== storage) t.teardown(() => other.close())
      const book = openBook(storage)
      let running = 0
      let most = 0
      const handler = async (): Promise<void> => {
        most = Math.max(most, ++running)
        await delay(2)
        running--
      }
      const one = start(storage, { handler })
      for (let index = 0; index < 20; index++) await book.create({ name: `d${index}`, price: 1 })
      const two = start(other, { handler })
      await until(() => one.handled.length + two.handled.length >= 20)
      await one.stop()
      await book.create({ name: 'last', price: 1 })
      await until(() => two.handled.length > 0)
      await two.stop()
      t.equal(most, 1)
      const all = names([...one.handled, ...two.handled])
      t.strictSame(all, [...Array.from({ length: 20 }, (_, index) => `d${index}`), 'last'])
    })

    t.test('a dead holder is replaced; an operation under a command id is done once', async t => {
      const { storage, dispose } = await make()
      t.teardown(dispose)
      const book = openBook(storage)
      const { item: { id } } = await book.create({ name: 'Tea', price: 1 })
      const hold = async (entry: FollowedCommand): Promise<void> => {
        if (entry.action !== 'CreateDeal') return
        await book.run('hold', id, { reason: 'Papers' }, { command: `hold-${entry.id}` })
      }
      // It dies after it has acted and before its place is kept.
      const died = start(storage, { handler: hold, name: 'dead' })
      await until(() => died.handled.length > 0)
      await died.stop()
      const place = await storage.get('command-consumers', 'dead')
      if (place === undefined) throw new Error('no place')
      await storage.commit([{
        type: 'replace',
        family: 'command-consumers',
        item: { ...place, position: 0, holder: 'gone', revision: place.revision + 1 },
        expected: place.revision
      }])
      // A short lease may be lost on a busy machine, and an entry be handled again.
      const next = start(storage, { handler: hold, name: 'dead', leaseTime: 600 })
      await until(() => next.handled.length > 0)
      await next.stop()
      t.strictSame((await book.log(id)).items.map(({ action }) => action), ['CreateDeal', 'HoldDeal'])
    })

    t.test('a holder that lost its lease stops, and leaves the place to the next', async t => {
      const { storage, dispose } = await make()
      t.teardown(dispose)
      const book = openBook(storage)
      await book.create({ name: 'a', price: 1 })
      let lost: AbortSignal | undefined
      let release = (): void => {}
      const held = new Promise<void>(resolve => { release = resolve })
      const late = start(storage, {
        leaseTime: 3000,
        async handler (_entry, { signal }) {
          lost ??= signal
          await held
        }
      })
      await until(() => lost !== undefined)
      const takeOver = async (): Promise<boolean> => {
        const place = await storage.get('command-consumers', 'mailer')
        if (place === undefined) return false
        const item = { ...place, holder: 'other', revision: place.revision + 1 }
        const change = { type: 'replace', family: 'command-consumers', item, expected: place.revision } as const
        return await storage.commit([change]).then(() => true, () => false)
      }
      await until(takeOver)
      await until(() => lost?.aborted === true)
      release()
      await late.stop()
      t.match(await storage.get('command-consumers', 'mailer'), { holder: 'other', position: 0 })
    })

    t.test('prune keeps what a consumer has not handled, unless told', async t => {
      const { storage, dispose } = await make()
      t.teardown(dispose)
      const book = openBook(storage)
      await book.create({ name: 'a', price: 1 })
      const consumer = start(storage)
      await until(() => consumer.handled.length >= 1)
      await consumer.stop()
      await book.create({ name: 'b', price: 1 })
      await delay(5)
      const before = new Date()
      t.equal(await prune(storage, { before }), 1)
      t.equal(await prune(storage, { before }), 0)
      t.equal(await prune(storage, { before, ignoreConsumers: true }), 1)
    })

    t.test('prune keeps what a consumer that is added meanwhile has not handled', async t => {
      const { storage, dispose } = await make()
      t.teardown(dispose)
      const book = openBook(storage)
      await book.create({ name: 'a', price: 1 })
      for (const hadMark of [false, true]) {
        await storage.commit(makeOld(3))
        let release = (): void => {}
        const held = new Promise<void>(resolve => { release = resolve })
        let consumer: Started | undefined
        const adding: Storage = {
          ...storage,
          async commit (changes) {
            if (consumer === undefined) {
              consumer = start(storage, { name: `added-${hadMark}`, handler: () => held })
              await until(async () => (await listConsumers(storage)).length > 0)
            }
            await storage.commit(changes)
          }
        }
        t.equal(await prune(adding, { before: later }), 0)
        release()
        await until(() => consumer?.handled.length === 4)
        await consumer?.stop()
        t.equal(await prune(storage, { before: later }), 3)
        const row = await storage.get('command-consumers', `added-${hadMark}`) as Stored
        await storage.commit([{ type: 'delete', family: 'command-consumers', id: row.id, expected: row.revision }])
      }
    })

    t.test('a consumer from before what was pruned fails, and begins with what there is', async t => {
      const { storage, dispose } = await make()
      t.teardown(dispose)
      const book = openBook(storage)
      await book.create({ name: 'a', price: 1 })
      const { value } = await book.follow()[Symbol.asyncIterator]().next() as { value: FollowedCommand }
      await storage.commit(makeOld(150))
      // It has read ten, since entries may be long, and not the next.
      const behind = start(storage, {
        after: value.cursor,
        async handler () { await prune(storage, { before: later, ignoreConsumers: true }) }
      })
      await t.rejects(behind.running, { code: 'pruned', statusCode: 410 })
      t.equal(behind.handled.length, 10)
      t.match(await listConsumers(storage), [{ name: 'mailer', holder: undefined }])
      await t.rejects(start(storage).running, { code: 'pruned' })
      await t.rejects(start(storage, { name: 'late', after: value.cursor }).running, { code: 'pruned' })
      const other = start(storage, { name: 'other' })
      await until(() => other.handled.length > 0)
      await other.stop()
      t.strictSame(names(other.handled), ['a'])
    })

    t.test('a copy keeps the order and the places', async t => {
      const { storage, dispose } = await make()
      t.teardown(dispose)
      const book = openBook(storage)
      for (const name of ['c', 'a', 'b']) await book.create({ name, price: 1 })
      const consumer = start(storage)
      await until(() => consumer.handled.length >= 3)
      await consumer.stop()
      await book.create({ name: 'd', price: 1 })
      const copy = memoryStorage()
      await copyStorage(storage, copy, { families: [deals] })
      const copied = start(copy)
      await until(() => copied.handled.length > 0)
      await copied.stop()
      t.strictSame(names(copied.handled), ['d'])
      const followed: FollowedCommand[] = []
      for await (const entry of openBook(copy).follow()) {
        if (followed.push(entry) === 4) break
      }
      t.strictSame(names(followed), ['c', 'a', 'b', 'd'])
    })
  })
}

for (const { name, make } of anyStorage) {
  t.test(`on ${name}, many consumers renew their leases in one commit, and one loses its lease alone`, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    const count = 30
    const renewed: string[][] = []
    // All have the first position, so that a commit only renews.
    const recording: Storage = {
      ...bindAll(storage),
      async commit (changes) {
        await storage.commit(changes)
        const places = changes.flatMap(change => change.type === 'replace' ? [String(change.item.id)] : [])
        if (places.length > 0) renewed.push(places.sort())
      }
    }
    const warnings: string[] = []
    const note = ({ name }: Error): void => { warnings.push(name) }
    process.on('warning', note)
    const stopping = new AbortController()
    const names = Array.from({ length: count }, (_, index) => `c${String(index).padStart(2, '0')}`)
    const lost: string[] = []
    const consuming = names.map(async name => {
      await consume(recording, {
        name,
        families: [deals],
        leaseTime: 3000,
        signal: stopping.signal,
        handler: async (_entry, { signal }) => {
          await once(signal, 'abort')
          if (!stopping.signal.aborted) lost.push(name)
        }
      })
    })
    const listHeld = async () => (await listConsumers(storage)).filter(({ holder }) => holder !== undefined)
    await until(async () => (await listHeld()).length === count)
    await openBook(storage).create({ name: 'a', price: 1 })
    const sum = (lists: readonly string[][]): number => lists.reduce((total, { length }) => total + length, 0)
    renewed.length = 0
    await until(() => sum(renewed) >= 2 * count)
    // Not one for each.
    t.ok(renewed.length <= 4, `${renewed.length} commits for ${sum(renewed)} renewals`)
    await until(() => renewed.at(-1)?.length === count)
    t.strictSame(renewed.at(-1), names)

    const place = await storage.get('command-consumers', 'c07')
    if (place === undefined) throw new Error('no place')
    const item = { ...place, holder: 'other', revision: place.revision + 1 }
    await storage.commit([{ type: 'replace', family: 'command-consumers', item, expected: place.revision }])
    await until(() => lost.length > 0)
    const others = names.filter(name => name !== 'c07')
    renewed.length = 0
    await until(() => renewed.at(-1)?.length === others.length)
    t.strictSame(renewed.at(-1), others)
    t.strictSame(lost, ['c07'])
    stopping.abort()
    await Promise.all(consuming)
    process.off('warning', note)
    t.strictSame(warnings, [], 'also not of many listeners to one signal')
    t.strictSame((await listHeld()).map(({ name, holder }) => ({ name, holder })), [{ name: 'c07', holder: 'other' }])
  })
}

t.test('begins with what is new, if told', async t => {
  const storage = memoryStorage()
  const book = openBook(storage)
  await book.create({ name: 'old', price: 1 })
  const consumer = start(storage, { from: 'now' })
  await until(async () => (await listConsumers(storage)).length === 1)
  await book.create({ name: 'new', price: 1 })
  await until(() => consumer.handled.length > 0)
  await consumer.stop()
  t.strictSame(names(consumer.handled), ['new'])
})

t.test('options are checked', async t => {
  const handler = (): void => {}
  const wrong: [object, string][] = [
    [{ families: [deals], handler }, '"name"'],
    [{ name: 'a', families: [], handler }, '"families" must be a list of at least one family'],
    [{ name: 'a', families: [deals] }, '"handler"'],
    [{ name: 'a', families: [deals], handler, maxAttemps: 3 }, 'maxAttempts'],
    [{ name: 'a', families: [deals], handler, from: 'later' }, '"from"']
  ]
  for (const [options, part] of wrong) {
    await t.rejects(consume(memoryStorage(), options as never), { message: new RegExp(part) })
  }
})

t.test('follow: from the beginning, from now, after a cursor, and under the grant', async t => {
  const storage = memoryStorage()
  const book = openBook(storage)
  for (const [index, name] of ['a', 'b', 'c'].entries()) await book.create({ name, price: index })
  const take = async (count: number, following: AsyncIterable<FollowedCommand>): Promise<FollowedCommand[]> => {
    const taken: FollowedCommand[] = []
    for await (const entry of following) if (taken.push(entry) === count) break
    return taken
  }
  const [first] = await take(1, book.follow())
  t.strictSame(names(await take(2, book.follow({ after: first?.cursor as string }))), ['b', 'c'])
  const following = take(1, book.follow({ from: 'now' }))
  await delay(20)
  await book.create({ name: 'd', price: 3 })
  t.strictSame(names(await following), ['d'])
  const narrowed = openBook(storage, { authorize: () => ({ where: [{ field: 'price', op: 'gte', value: 2 }] }) })
  t.strictSame(names(await take(2, narrowed.follow())), ['c', 'd'])
  const ending = new AbortController()
  const ended = take(9, book.follow({ signal: ending.signal }))
  await delay(20)
  ending.abort()
  t.equal((await ended).length, 4)
  await t.rejects(take(1, book.follow({ after: 'x' })), { code: 'bad-request' })
})

t.test('a consumer that is stopped while it takes its lease ends, and gives it back', async t => {
  const storage = memoryStorage()
  const stop = new AbortController()
  const stopping: Storage = {
    ...bindAll(storage),
    async commit (changes) {
      await storage.commit(changes)
      stop.abort()
    }
  }
  await consume(stopping, { name: 'mailer', families: [deals], handler: () => {}, signal: stop.signal })
  t.match(await listConsumers(storage), [{ name: 'mailer', holder: undefined }])
})

function bindAll (storage: Storage): Storage {
  const { prepare, find, get, commit, close } = storage
  return {
    prepare: prepare.bind(storage),
    find: find.bind(storage),
    get: get.bind(storage),
    commit: commit.bind(storage),
    close: close.bind(storage)
  }
}

t.test('a holder that could not save its place goes on after the outage, without waiting for its lease', async t => {
  const shared = memoryStorage()
  let isDown = false
  let reads = 0
  const storage: Storage = {
    ...shared,
    async get (family, ...rest) {
      if (family === 'command-consumers') reads++
      return await shared.get(family, ...rest)
    },
    async commit (changes) {
      if (isDown && changes.some(({ family }) => family === 'command-consumers')) throw new Error('down')
      await shared.commit(changes)
    }
  }
  const book = openBook(shared)
  const consumer = start(storage, { leaseTime: 3000 })
  await book.create({ name: 'a', price: 1 })
  await until(async () => (await listConsumers(shared))[0]?.lag === 0)
  isDown = true
  reads = 0
  await book.create({ name: 'b', price: 1 })
  await until(() => reads > 0)
  isDown = false
  reads = 0
  await book.create({ name: 'c', price: 1 })
  await until(() => names(consumer.handled).includes('c'))
  t.ok(reads <= 1, `it has read its place ${reads} times`)
  await consumer.stop()
})

t.test('a new consumer begins after a cursor', async t => {
  const storage = memoryStorage()
  const book = openBook(storage)
  for (const name of ['a', 'b', 'c']) await book.create({ name, price: 1 })
  const { value } = await book.follow()[Symbol.asyncIterator]().next() as { value: FollowedCommand }
  const after = value.cursor
  const { handled, stop } = start(storage, { after, from: 'now' })
  while (handled.length < 2) await delay(10)
  await stop()
  t.strictSame(names(handled), ['b', 'c'])
  await t.rejects(consume(storage, { name: 'x', families: [deals], handler: () => {}, after: 'x' }),
    { code: 'FST_DEALBOOK_INVALID_CONSUMER' })
})

t.test('retryParked counts what it found where another process was faster', async t => {
  const storage = memoryStorage()
  for (const name of ['a', 'b']) await openBook(storage).create({ name, price: 1 })
  const handler = (): never => { throw new Error('no') }
  const { stop } = start(storage, { handler, maxAttempts: 1 })
  await until(async () => (await listConsumers(storage))[0]?.parked.length === 2)
  await stop()
  const both = await Promise.all([retryParked(storage, 'mailer'), retryParked(storage, 'mailer')])
  t.strictSame(both.sort(), [0, 2])
})

t.test('a storage that cannot be opened has no list of consumers', async t => {
  const down = { ...bindAll(memoryStorage()), async prepare () { throw new Error('database "x" does not exist') } }
  await t.rejects(listConsumers(down), { message: /does not exist/ })
})

const table = 'command-consumers'

function makePlace (members: object = {}): Change {
  const item = { id: 'mailer', position: 0, pruned: 0, parked: [], retried: [], revision: 1 }
  return { type: 'insert', family: table, item: { ...item, createdAt: old, updatedAt: old, ...members } }
}

const getPlace = async (storage: Storage, name = 'mailer'): Promise<Stored> =>
  await storage.get(table, name) as Stored

/** The entries of the log that have a position, in their order. */
async function findEntries (storage: Storage): Promise<readonly Stored[]> {
  const where = [{ field: 'position', op: 'gte', value: 1 } as const]
  const order = [{ field: 'position', descending: false }]
  return (await storage.find('commands', { where, order, offset: 0, limit: 100, count: false })).items
}

/** A storage of consumers that were saved before. */
async function openWith (...changes: readonly Change[]): Promise<Storage> {
  const storage = memoryStorage()
  await openBook(storage).find()
  await listConsumers(storage)
  if (changes.length > 0) await storage.commit(changes)
  return storage
}

t.test('another process takes a place after the time of the lease, measured from what it has seen', async t => {
  const rows: [title: string, place: object | undefined, chance: number, event: number, looks: number][] = [
    ['none yet', undefined, 0, 0, 1],
    ['none yet, and it cannot be saved', undefined, 0, 1, 2],
    ['free', {}, 0, 0, 1],
    ['held', { holder: 'other' }, 0, 0, 22],
    ['held, with longer pauses', { holder: 'other' }, 0.5, 0, 12],
    ['renewed at the fifth look', { holder: 'other' }, 0, 5, 26]
  ]
  for (const [title, place, chance, event, looks] of rows) {
    const inner = await openWith(...place === undefined ? [] : [makePlace(place)])
    await openBook(inner).create({ name: 'a', price: 1 })
    const stop = new AbortController()
    let looked = 0
    let failures = place === undefined ? event : 0
    const storage: Storage = {
      ...inner,
      async get (family, ...rest) {
        if (family !== table) return await inner.get(family, ...rest)
        if (++looked === event && place !== undefined) {
          const current = await getPlace(inner)
          const item = { ...current, revision: current.revision + 1 }
          await inner.commit([{ type: 'replace', family, item, expected: current.revision }])
        }
        // Otherwise it would wait forever.
        if (looked === 40) stop.abort()
        return await inner.get(family, ...rest)
      },
      async commit (changes) {
        if (failures-- > 0) throw new Error('down')
        await inner.commit(changes)
      }
    }
    let time = 0
    holdPauses(t, Infinity, {
      random: () => chance,
      elapsed: () => time,
      // Timers that are left of other tests of this process do not move the time.
      setTimeout: (run, pause) => pause !== 1000 * (0.05 + chance / 10)
        ? real.setTimeout(run, pause)
        : real.setTimeout(() => {
          time += pause
          run()
        }, 0)
    })
    const handled: string[] = []
    const handler: ConsumeOptions['handler'] = ({ action }) => {
      handled.push(action)
      stop.abort()
    }
    await consume(storage, { name: 'mailer', families: [deals], leaseTime: 1000, signal: stop.signal, handler })
    t.strictSame(handled, ['CreateDeal'], title)
    t.strictSame(looked, looks, title)
  }
})

t.test('a consumer that is stopped does not wait for the end of a pause', async t => {
  const rows: [title: string, place: object, fails: 'handler' | 'commit' | '', time: number][] = [
    ['for the lease', { holder: 'other' }, '', 100_001 * 0.05],
    ['until the next attempt', {}, 'handler', 70_000],
    ['after it could not save its place', {}, 'commit', 10_001]
  ]
  for (const [title, place, fails, time] of rows) {
    const inner = await openWith(makePlace(place))
    await openBook(inner).create({ name: 'a', price: 1 })
    const pauses = holdPauses(t, 5000)
    let hasHandled = false
    let hasFailed = fails !== 'commit'
    const storage: Storage = {
      ...inner,
      async commit (changes) {
        const isFailing = hasHandled && !hasFailed
        if (isFailing) {
          hasFailed = true
          throw new Error('down')
        }
        await inner.commit(changes)
      }
    }
    const { running, stop } = start(storage, {
      leaseTime: 100_001,
      retryDelay: 70_000,
      maxRetryDelay: 70_000,
      handler () {
        hasHandled = true
        if (fails === 'handler') throw new Error('no')
      }
    })
    await until(() => hasFailed && pauses.times.includes(time))
    t.strictSame(pauses.times, [time], title)
    const stopped = stop()
    t.strictSame(pauses.times, [], title)
    pauses.end()
    await Promise.all([running, stopped])
  }
})

t.test('pauses between attempts grow up to a maximum', async t => {
  const storage = await openWith()
  await openBook(storage).create({ name: 'a', price: 1 })
  const times: number[] = []
  holdPauses(t, Infinity, {
    setTimeout (run, time) {
      if (time > 5000) times.push(time)
      return real.setTimeout(run, time > 5000 ? 0 : time)
    }
  })
  const handler = (): never => { throw new Error('no') }
  const { stop } = start(storage, { handler, maxAttempts: 6, retryDelay: 7001, maxRetryDelay: 50_000 })
  await until(async () => (await listConsumers(storage))[0]?.parked.length === 1)
  await stop()
  t.strictSame(times, [7001, 14_002, 28_004, 50_000, 50_000])
})

t.test('an entry that is set aside has the text of the last error', async t => {
  const at = '2030-01-02T03:04:05.678Z'
  const thrown: [error: unknown, text: string][] = [
    [new Error('no'), 'no'],
    ['text', 'text'],
    [undefined, 'undefined'],
    [null, 'null'],
    [{ message: undefined, toString: () => 'own' }, 'own'],
    [new Error('x'.repeat(600)), 'x'.repeat(500)]
  ]
  const storage = await openWith()
  for (const index of thrown.keys()) await openBook(storage).create({ name: `${index}`, price: 1 })
  holdPauses(t, Infinity, { now: () => Date.parse(at) })
  let attempts = 0
  const { stop } = start(storage, {
    maxAttempts: 2,
    leaseTime: 3000,
    handler ({ params }) {
      attempts++
      throw thrown[Number(params?.['name'])]?.[0]
    }
  })
  const countParked = async (): Promise<number | undefined> => (await listConsumers(storage))[0]?.parked.length
  await until(async () => attempts > 2 * thrown.length || await countParked() === thrown.length)
  await stop()
  const parked = (await findEntries(storage)).map(({ id }, index) =>
    ({ id, family: 'deals', position: index + 1, attempts: 2, error: thrown[index]?.[1], at }))
  t.strictSame((await listConsumers(storage))[0]?.parked, parked)
})

t.test('no more than 1000 entries are set aside', async t => {
  const old = Array.from({ length: 999 }, (_, index) => ({ id: `${index}`, position: 1 }))
  const storage = await openWith(makePlace({ parked: old }))
  for (const name of ['a', 'b', 'c']) await openBook(storage).create({ name, price: 1 })
  const stopping = new AbortController()
  const attempts: unknown[] = []
  let errors = 0
  await consume(storage, {
    name: 'mailer',
    families: [deals],
    maxAttempts: 2,
    retryDelay: 1,
    signal: stopping.signal,
    onError: () => { errors++ },
    handler ({ params }, { attempt }) {
      attempts.push([params?.['name'], attempt])
      if (attempts.length === 6) stopping.abort()
      throw new Error('no')
    }
  })
  t.strictSame(attempts, [['a', 1], ['a', 2], ['b', 1], ['b', 2], ['b', 3], ['b', 4]])
  t.strictSame(errors, 5, 'not what comes of being stopped')
  const { parked, position } = await getPlace(storage) as Stored & { parked: { error: unknown }[] }
  t.strictSame([parked.length, parked.at(-1)?.error, position], [1000, 'no', 1])
})

t.test('an attempt that ends with the consumer is not a failure', async t => {
  const storage = await openWith(makePlace())
  await openBook(storage).create({ name: 'a', price: 1 })
  const stopping = new AbortController()
  const failed: unknown[] = []
  await consume(storage, {
    name: 'mailer',
    families: [deals],
    maxAttempts: 1,
    signal: stopping.signal,
    onError: error => { failed.push(error) },
    handler () {
      stopping.abort()
      throw new Error('stopped')
    }
  })
  t.strictSame(failed, [])
  t.match(await getPlace(storage), { position: 0, parked: { length: 0 } })
})

t.test('a consumer that is stopped between two attempts does not make the next', async t => {
  const storage = await openWith()
  await openBook(storage).create({ name: 'a', price: 1 })
  const pauses = holdPauses(t, 5000)
  let attempts = 0
  const { stop } = start(storage, {
    retryDelay: 5001,
    handler () {
      attempts++
      throw new Error('no')
    }
  })
  await until(() => pauses.times.includes(5001))
  await stop()
  t.equal(attempts, 1)
})

t.test('each entry that is tried again is taken from the list when it is handled', async t => {
  const inner = await openWith()
  for (const name of ['a', 'b', 'c']) await openBook(inner).create({ name, price: 1 })
  const entries = await findEntries(inner)
  const waiting = entries.map(({ id }) => ({ id, position: 1 }))
  await inner.commit([makePlace({ position: 3, retried: [{ id: 'gone', position: 1 }, ...waiting] })])
  holdPauses(t, Infinity)
  let reads = 0
  const handled: unknown[] = []
  for (const [last, left] of [['b', waiting.slice(1)], ['c', waiting.slice(2)]] as const) {
    const stopping = new AbortController()
    const storage: Storage = {
      ...inner,
      async get (family, id, ...rest) {
        // Otherwise it may try forever.
        if (id === 'gone' && ++reads === 3) stopping.abort()
        return await inner.get(family, id, ...rest)
      }
    }
    await consume(storage, {
      name: 'mailer',
      families: [deals],
      leaseTime: 100,
      signal: stopping.signal,
      handler ({ params }) {
        handled.push(params?.['name'])
        if (params?.['name'] === last) stopping.abort()
      }
    })
    t.strictSame((await getPlace(inner))['retried'], left)
  }
  t.strictSame(handled, ['a', 'b', 'b', 'c'], 'one that was handled when it was stopped is handled once more')
})

t.test('the place is saved after ten entries, and after those that were read together', async t => {
  const inner = await openWith(makePlace())
  await inner.commit(makeOld(35))
  const saved: unknown[] = []
  const storage: Storage = {
    ...inner,
    async commit (changes) {
      await inner.commit(changes)
      for (const change of changes) if (change.type === 'replace') saved.push(change.item['position'])
    }
  }
  holdPauses(t, Infinity)
  let count = 0
  const { stop } = start(storage, { handler: () => { count++ } })
  await until(() => count === 35 && saved.at(-1) === 35)
  await stop()
  t.strictSame(saved, [0, 10, 20, 30, 35, 35], 'first its holder, and last that there is none')
})

t.test('where a new consumer begins', async t => {
  const storage = await openWith()
  const book = openBook(storage)
  await storage.commit(makeOld(2))
  t.equal(await prune(storage, { before: later }), 2)
  for (const name of ['a', 'b']) await book.create({ name, price: 1 })
  const [gone, first, far] = [1, 3, 1000].map(writePosition) as [string, string, string]
  const begins: [options: Partial<ConsumeOptions>, handled: string[]][] = [
    [{}, ['a', 'b', 'new']],
    [{ from: 'beginning' }, ['a', 'b', 'new']],
    [{ from: 'now' }, ['new']],
    [{ after: first }, ['b', 'new']],
    [{ after: first, from: 'beginning' }, ['b', 'new']],
    [{ after: first, from: 'now' }, ['b', 'new']]
  ]
  const started = begins.map(([options], index) => start(storage, { ...options, name: `c${index}` }))
  await until(async () => (await listConsumers(storage)).length === begins.length)
  await book.create({ name: 'new', price: 1 })
  await until(() => started.every(({ handled }) => names(handled).includes('new')))
  for (const { stop } of started) await stop()
  t.strictSame(started.map(({ handled }) => names(handled)), begins.map(([, handled]) => handled))
  for (const after of [gone, far]) {
    const stopping = new AbortController()
    let looks = 0
    const own: Storage = {
      ...storage,
      async get (family, ...rest) {
        // Otherwise it may wait forever.
        if (family === table && ++looks === 3) stopping.abort()
        return await storage.get(family, ...rest)
      }
    }
    const handler = (): void => { stopping.abort() }
    const consuming = consume(own, {
      name: 'late', families: [deals], after, leaseTime: 100, signal: stopping.signal, handler
    })
    await t.rejects(consuming, { code: 'pruned' })
  }
  t.equal((await listConsumers(storage)).length, begins.length)
})

t.test('the list of consumers', async t => {
  const [parked, retried] = [{ id: 'a', position: 1 }, { id: 'b', position: 2 }]
  const storage = await openWith(
    makePlace({ id: 'ahead', position: 9 }),
    makePlace({ id: 'behind', position: 1, holder: 'own', parked: [parked], retried: [retried] }),
    makePlace({ id: 'last', position: 3 }))
  await storage.commit(makeOld(3))
  const others = { holder: undefined, parked: [], updatedAt: old }
  t.strictSame(await listConsumers(storage), [
    { name: 'ahead', cursor: writePosition(9), lag: 0, ...others },
    { name: 'behind', cursor: writePosition(1), lag: 2, ...others, holder: 'own', parked: [parked, retried] },
    { name: 'last', cursor: writePosition(3), lag: 0, ...others }
  ])
})

t.test('what is set aside is tried after what is already tried again', async t => {
  const [parked, retried] = [{ id: 'a', position: 1 }, { id: 'b', position: 2 }]
  const storage = await openWith(makePlace({ parked: [parked], retried: [retried] }), makePlace({ id: 'idle' }))
  const before = await getPlace(storage, 'idle')
  t.strictSame(await retryParked(storage, 'idle'), 0)
  t.strictSame(await getPlace(storage, 'idle'), before, 'nothing is saved')
  t.strictSame(await retryParked(storage, 'mailer'), 1)
  const place = await getPlace(storage)
  t.strictSame([place['parked'], place['retried']], [[], [retried, parked]])
})

t.test('places are copied, without their holders, unless they are there', async t => {
  const empty = memoryStorage()
  const none: Storage = { ...empty, prepare: async () => { throw new Error('it is not needed') } }
  await copyPlaces(empty, none)
  const from = await openWith(makePlace({ id: 'both', position: 1 }), makePlace({ id: 'new', holder: 'own' }))
  const to = await openWith(makePlace({ id: 'both', position: 2 }))
  const both = await getPlace(to, 'both')
  for (const round of ['first', 'again']) {
    await copyPlaces(from, to)
    t.strictSame(await getPlace(to, 'both'), both, round)
    const { holder, ...place } = await getPlace(from, 'new')
    t.strictSame([holder, await getPlace(to, 'new')], ['own', place], round)
  }
})

t.test('what all consumers have handled', async t => {
  const rows: [places: object[], handled: number][] = [
    [[], Number.MAX_SAFE_INTEGER],
    [[{ position: 7 }], 7],
    [[{ position: 7 }, { position: 5 }, { position: 6 }], 5],
    [[{ position: 7, parked: [{ position: 4 }, { position: 3 }] }, { position: 5 }], 2],
    [[{ position: 7, retried: [{ position: 3 }] }, { position: 2 }], 2]
  ]
  for (const [places, handled] of rows) {
    const storage = await openWith(...places.map((members, index) => makePlace({ id: `c${index}`, ...members })))
    t.strictSame(await findHandled(storage), handled)
    const confirmed: unknown[] = []
    const confirm: Storage['confirm'] = async (...given) => { confirmed.push(given) }
    t.strictSame(await findHandled({ ...storage, confirm }), handled)
    t.strictSame(confirmed, places.length === 0 ? [] : [[table, 'c0']])
  }
})

t.test('without a table, there are no consumers; other errors are thrown', async t => {
  const rows: [message: string, isNone: boolean][] = [
    ['no such table: command_consumers', true],
    ['relation "command_consumers" does not exist', true],
    ['Run this: CREATE TABLE "command_consumers" ("id" text)', true],
    ['no such column: holder', false],
    ['CREATE TABLE "deals"', false]
  ]
  for (const [message, isNone] of rows) {
    const memory = memoryStorage()
    const failing = { find: async () => { throw new Error(message) } }
    const preparing = { prepare: async () => { throw new Error(message) } }
    for (const storage of [{ ...memory, ...failing, prepare: async () => {} }, { ...memory, ...preparing }]) {
      if (isNone) t.equal(await findHandled(storage), Number.MAX_SAFE_INTEGER, message)
      else await t.rejects(findHandled(storage), { message })
    }
  }
})

t.test('a consumer may be added after what was pruned, once, and not without the storage', async t => {
  const storage = await openWith()
  await storage.commit(makeOld(3))
  t.equal(await prune(storage, { before: later }), 3)
  await addConsumer(storage, { name: 'mailer', after: writePosition(1) })
  await addConsumer(storage, { name: 'mailer', after: writePosition(2) })
  t.match(await getPlace(storage), { position: 1, pruned: 1 })
  const error = new Error('down')
  const broken: Storage = { ...storage, commit: async () => { throw error } }
  await t.rejects(addConsumer(broken, { name: 'other' }), error)
})

t.test('a consumer needs no signal, and prepares what it reads', async t => {
  const memory = memoryStorage()
  const prepared: string[] = []
  const storage: Storage = {
    ...memory,
    async prepare (shape) {
      prepared.push(shape.name)
      await memory.prepare(shape)
    }
  }
  const after = writePosition(9)
  await t.rejects(consume(storage, { name: 'mailer', families: [deals], after, handler () {} }), { code: 'pruned' })
  t.strictSame(prepared, ['commands', table, 'deals'])
})

t.test('a consumer sees what commands did to items of families that it does not know', async t => {
  const storage = await openWith(makePlace())
  await storage.commit(makeOld(1).map(change => 'item' in change
    ? { ...change, item: { ...change.item, about: { family: 'ships', id: 's1' }, params: { reason: 'a', load: 3 } } }
    : change) as Change[])
  const { handled, stop } = start(storage)
  await until(() => handled.length > 0)
  await stop()
  t.match(handled, [{ action: 'HoldDeal', params: { reason: 'a', load: 3 }, about: { family: 'ships', id: 's1' } }])
})
