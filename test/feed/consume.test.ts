import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import type { ConsumeOptions, FollowedCommand, Storage, Stored } from '../../lib/index.js'
import { consume, copyStorage, deals, listConsumers, memoryStorage, prune, retryParked } from '../../lib/index.js'
import { openBook } from '../service/book.js'
import { anyStorage, storages } from '../storages.js'
import { later, makeOld } from './old-entries.js'

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
