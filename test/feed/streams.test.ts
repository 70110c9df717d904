import { getEventListeners, once } from 'node:events'
import { connect } from 'node:http2'
import { setTimeout as delay } from 'node:timers/promises'
import Fastify, { type FastifyInstance, type FastifyServerOptions } from 'fastify'
import t, { type Test } from 'tap'
import { getFamily } from '../../lib/core/family/family.js'
import { Feed } from '../../lib/core/feed/feed.js'
import { followFeed } from '../../lib/core/feed/follow.js'
import type { Caller } from '../../lib/core/service/caller.js'
import { writePosition } from '../../lib/core/service/log-reads.js'
import { Reader } from '../../lib/core/service/reader.js'
import { guardStorage } from '../../lib/core/service/storage-access.js'
import type { FamilyOptions, Storage } from '../../lib/index.js'
import { deals, defineFamily, memoryStorage, Problem, Type } from '../../lib/index.js'
import { prune } from '../../lib/tools/index.js'
import { readEvents } from './events.js'
import { later, makeOld } from './old-entries.js'
import { captureTimers } from './timers.js'

const notes = defineFamily({
  name: 'notes',
  singular: 'note',
  fields: Type.Object({ id: Type.String(), text: Type.String() }),
  create: ['text']
})

const forbidden = new Problem('forbidden', 'No longer')

/** Makes the clock for intervals go on at once. */
function makeClock (t: Test): (ms: number) => void {
  const { now } = performance
  let skipped = 0
  performance.now = () => now.call(performance) + skipped
  t.teardown(() => { performance.now = now })
  return ms => { skipped += ms }
}

/** A storage whose reads of the log can be held up, or fail. */
function makeStorage () {
  const memory = memoryStorage()
  const state = { watching: 0, read: async (_after: number): Promise<void> => {} }
  const storage: Storage = {
    ...memory,
    async find (family, query, signal) {
      const [bound] = query.where
      if (family === 'commands') await state.read(bound?.op === 'gt' ? bound.value as number : -1)
      return await memory.find(family, query, signal)
    },
    watch (wake) {
      state.watching++
      return memory.watch?.(wake) as () => void
    }
  }
  return { storage, state }
}

async function start (
  t: Test, options: Partial<FamilyOptions> & { storage: Storage }, server: FastifyServerOptions = {}
) {
  const app: FastifyInstance = Fastify(server)
  t.teardown(() => app.close())
  await app.register(deals, { version: 'v1', ...options } as FamilyOptions)
  await app.register(notes, { version: 'v1', ...options } as FamilyOptions)
  const address = await app.listen({ port: 0, host: '127.0.0.1' })
  const { storage } = options
  return { app, address, deals: deals.service({ storage }), notes: notes.service({ storage }) }
}

async function until (holds: () => boolean): Promise<void> {
  while (!holds()) await delay(5)
}

const interval = 15_000

t.test('what a caller may see is asked again before the next batch, also of a slow one', async t => {
  const skip = makeClock(t)
  const { storage, state } = makeStorage()
  const book = deals.service({ storage })
  await book.create({ name: 'first', price: 1 })
  await storage.commit(makeOld(250))
  const guarded = guardStorage(storage)
  const family = getFamily(deals)
  const reader = new Reader({ family, caller: { isGuarded: false } as Caller }, guarded, {})
  const feed = new Feed(guarded, [{ family, reader }], undefined)
  const steps: string[] = []
  state.read = async after => { steps.push(`read after ${after}`) }
  const renew = async (): Promise<void> => {
    steps.push('renew')
    if (steps.length > 4) throw forbidden
  }
  const batches = followFeed(feed, 0, { interval, renew })
  // Few entries first, since they may be long.
  t.equal((await batches.next()).value?.position, 10)
  skip(interval)
  t.equal((await batches.next()).value?.position, 110)
  t.strictSame(steps, ['read after 0', 'renew', 'read after 10'])
  // It becomes due while the storage does not answer.
  state.read = async after => {
    steps.push(`read after ${after}`)
    skip(interval)
  }
  t.strictSame((await batches.next()).value?.entries, [], 'a comment, since nothing else may be shown')
  await t.rejects(batches.next(), forbidden)
  t.strictSame(steps.slice(3), ['read after 110', 'renew'])
})

t.test('what a caller may not see does not put off the next batch', async t => {
  const skip = makeClock(t)
  const { storage, state } = makeStorage()
  const guarded = guardStorage(storage)
  const family = getFamily(deals)
  const others = notes.service({ storage })
  await others.create({ text: 'a' })
  const reader = new Reader({ family, caller: { isGuarded: false } as Caller }, guarded, {})
  const reads: number[] = []
  state.read = async after => { reads.push(after) }
  const timers = captureTimers(t)
  const batches = followFeed(new Feed(guarded, [{ family, reader }], undefined), 1, { interval, quietTime: 5000 })
  const next = batches.next()
  await until(() => reads.includes(1))
  skip(4000)
  await others.create({ text: 'b' })
  await until(() => reads.includes(2))
  await delay(10)
  const pauses = timers.filter(ms => ms > 5000)
  t.ok(Number(pauses.at(-1)) <= interval - 4000, `then it waits for ${pauses.at(-1)} ms`)
  skip(2000)
  await others.create({ text: 'c' })
  t.match(await next, { value: { entries: [], position: 3 } })
  await batches.return(undefined)
})

/** A feed of all deals. */
function openFeed (storage: Storage): Feed {
  const guarded = guardStorage(storage)
  const family = getFamily(deals)
  const reader = new Reader({ family, caller: { isGuarded: false } as Caller }, guarded, {})
  return new Feed(guarded, [{ family, reader }], undefined)
}

t.test('a follower that ends yields nothing more, and leaves nothing behind', async t => {
  const inner = memoryStorage()
  let watching = 0
  const storage: Storage = {
    ...inner,
    watch () {
      watching++
      return () => { watching-- }
    }
  }
  await deals.service({ storage }).create({ name: 'first', price: 1 })
  const ending = new AbortController()
  const batches = followFeed(openFeed(storage), undefined, { signal: ending.signal, interval })
  const { value } = await batches.next()
  t.strictSame([value?.position, value?.dueAt], [1, Infinity], 'nothing is asked again')
  const held = (): number[] => [watching, getEventListeners(ending.signal, 'abort').length]
  t.strictSame(held(), [1, 1])
  const next = batches.next()
  await new Promise(resolve => { setImmediate(resolve) })
  ending.abort()
  t.strictSame(await next, { value: undefined, done: true })
  t.strictSame(held(), [0, 0])
})

t.test('a caller is asked for before the first entries, if that is due', async t => {
  for (const [isDue, expected] of [
    [undefined, ['read after 0']], [false, ['read after 0']], [true, ['renew', 'read after 0']]
  ] as const) {
    const { storage, state } = makeStorage()
    await deals.service({ storage }).create({ name: 'first', price: 1 })
    const steps: string[] = []
    state.read = async after => { steps.push(`read after ${after}`) }
    const renew = async (): Promise<void> => { steps.push('renew') }
    const batches = followFeed(openFeed(storage), 0, { interval, renew, ...(isDue !== undefined && { isDue }) })
    t.equal((await batches.next()).value?.position, 1)
    t.strictSame(steps, expected)
    await batches.return(undefined)
  }
})

t.test('a follower ends where it has missed entries, unless it knows of them', async t => {
  const { storage } = makeStorage()
  await deals.service({ storage }).create({ name: 'first', price: 1 })
  await storage.commit(makeOld(3))
  t.equal(await prune(storage, { before: later }), 3)
  await deals.service({ storage }).create({ name: 'second', price: 1 })
  for (const [start, known, expected] of [
    [undefined, undefined, 5], [1, undefined, 'pruned'], [1, 4, 5], [1, 3, 'pruned'], [4, undefined, 5]
  ] as const) {
    const batches = followFeed(openFeed(storage), start, known === undefined ? {} : { known })
    const found = await batches.next().then(({ value }) => value?.position, ({ code }) => code)
    t.equal(found, expected, `${start} ${known}`)
    await batches.return(undefined)
  }
  await storage.commit(makeOld(12))
  const batches = followFeed(openFeed(storage), undefined, {})
  t.equal((await batches.next()).value?.position, 12)
  t.equal(await prune(storage, { before: later }), 12)
  await t.rejects(batches.next(), { code: 'pruned' })
})

t.test('a stream that is behind ends when the client may no longer read', async t => {
  const skip = makeClock(t)
  const { storage, state } = makeStorage()
  let mayRead = true
  const authorize = (): void => { if (!mayRead) throw forbidden }
  const { address } = await start(t, { storage, authorize })
  await storage.commit(makeOld(250))
  let release = (): void => {}
  const held = new Promise<void>(resolve => { release = resolve })
  let isHeld = false
  state.read = async after => {
    if (after !== 10) return
    isHeld = true
    await held
  }
  const stream = await readEvents(`${address}/rest/commands`, { 'last-event-id': writePosition(0) })
  t.equal((await stream.take(10)).length, 10)
  await until(() => isHeld)
  mayRead = false
  skip(interval)
  release()
  await t.rejects(stream.ended, { message: 'terminated' })
  t.strictSame(stream.rest(), [])
})

t.test('a batch that a client takes slowly ends when the client may no longer read', async t => {
  const skip = makeClock(t)
  const storage = memoryStorage()
  let mayRead = true
  const authorize = (): void => { if (!mayRead) throw forbidden }
  const { address, notes: book } = await start(t, { storage, authorize }, { http2: true } as never)
  const count = 20
  for (let made = 0; made < count; made++) await book.create({ text: 'x'.repeat(70_000) })
  const session = connect(address)
  t.teardown(() => { session.destroy() })
  // HTTP/2 sends no more than 64 kB ahead.
  const stream = session.request({
    ':path': '/rest/commands', accept: 'text/event-stream', 'last-event-id': writePosition(0)
  })
  let text = ''
  const read = (part: Buffer): void => { text += part.toString('latin1') }
  stream.on('data', read)
  await once(stream, 'data')
  stream.pause()
  mayRead = false
  skip(interval)
  stream.resume()
  await t.rejects(once(stream, 'close'), { code: 'ERR_HTTP2_STREAM_ERROR' })
  const seen = text.split('event: CreateNote').length - 1
  t.ok(seen > 0 && seen < count / 2, `${seen} of ${count}`)
})

t.test('families that the client may read later are shown from then on', async t => {
  const skip = makeClock(t)
  const storage = memoryStorage()
  let hidden = 'notes'
  const authorize: FamilyOptions['authorize'] = (_request, { family }) => { if (family === hidden) throw forbidden }
  const { address, deals: book, notes: others } = await start(t, { storage, authorize })
  const stream = await readEvents(`${address}/rest/commands`)
  await others.create({ text: 'a' })
  await book.create({ name: 'b', price: 1 })
  t.strictSame((await stream.take(1)).map(({ event }) => event), ['CreateDeal'])
  hidden = 'deals'
  skip(interval)
  await others.create({ text: 'c' })
  t.strictSame((await stream.take(1)).map(({ event }) => event), ['CreateNote'])
  hidden = ''
  skip(interval)
  await book.create({ name: 'd', price: 1 })
  t.strictSame((await stream.take(1)).map(({ event }) => event), ['CreateDeal'])
  stream.close()
})

t.test('a page that waits is answered as authorized then', async t => {
  const skip = makeClock(t)
  const { storage, state } = makeStorage()
  let hidden = ['notes']
  const authorize: FamilyOptions['authorize'] = (_request, { family }) => {
    if (hidden.includes(family)) throw forbidden
  }
  const { app, deals: book, notes: others } = await start(t, { storage, authorize })
  await book.create({ name: 'a', price: 1 })
  const { links } = (await app.inject('/rest/commands')).json<{ links: { follow: string } }>()
  const wait = async () => {
    const before = state.watching
    const waiting = app.inject({ url: links.follow, headers: { prefer: 'wait=30' } })
    await until(() => state.watching > before)
    // Longer than a request may take.
    skip(10_000)
    return { waiting }
  }
  const widened = await wait()
  hidden = []
  await others.create({ text: 'b' })
  await book.create({ name: 'c', price: 1 })
  const { items } = (await widened.waiting).json<{ items: { action: string }[] }>()
  t.strictSame(items.map(({ action }) => action), ['CreateNote', 'CreateDeal'])
  const { links: { follow } } = (await app.inject(links.follow)).json<{ links: { follow: string } }>()
  links.follow = follow
  const revoked = await wait()
  hidden = ['deals', 'notes']
  await book.create({ name: 'd', price: 1 })
  t.equal((await revoked.waiting).statusCode, 403)
})

t.test('a page that waits is answered when the application closes', async t => {
  const { storage, state } = makeStorage()
  const { app, address } = await start(t, { storage })
  const waiting = fetch(`${address}/rest/commands`, { headers: { prefer: 'wait=60' } })
  await until(() => state.watching > 0)
  const closing = app.close()
  const answer = await waiting
  t.equal(answer.status, 200)
  t.match(await answer.json(), { items: [], links: { follow: String } })
  await closing
})

t.test('what begins while the application closes ends at once', async t => {
  let release = (): void => {}
  const held = new Promise<void>(resolve => { release = resolve })
  let asked = 0
  const authorize = async (): Promise<void> => {
    asked++
    await held
  }
  const { app, address } = await start(t, { storage: memoryStorage(), authorize })
  const answers = ['text/event-stream', 'application/json'].map(async accept => {
    const answer = await fetch(`${address}/rest/v1/deals/commands`, { headers: { accept, prefer: 'wait=60' } })
    return [answer.status, (await answer.text()).length > 0]
  })
  await until(() => asked === 2)
  const closing = app.close()
  await until(() => !app.server.listening)
  release()
  t.strictSame(await Promise.all(answers), [[200, true], [200, true]])
  await closing
})

t.test('a stream outlives a storage that hangs, and one that fails', async t => {
  const skip = makeClock(t)
  const { storage, state } = makeStorage()
  const { address, deals: book } = await start(t, { storage })
  const stream = await readEvents(`${address}/rest/commands`)
  let release = (): void => {}
  const held = new Promise<void>(resolve => { release = resolve })
  let reads = 0
  state.read = async () => {
    reads++
    await held
  }
  await book.create({ name: 'a', price: 1 })
  await until(() => reads > 0)
  // While it hangs, comments keep the connection.
  for (let sent = 1; sent <= 3; sent++) {
    skip(interval)
    await book.create({ name: 'b', price: 1 })
    await until(() => stream.comments.length === sent)
  }
  let failures = 2
  state.read = async () => { if (failures-- > 0) throw new Error('down') }
  release()
  await book.create({ name: 'c', price: 1 })
  const names = (await stream.take(5)).map(({ data }) => (data.params as { name: string }).name)
  t.strictSame(names, ['a', 'b', 'b', 'b', 'c'])
  stream.close()
})

t.test('a stream waits while what the client may see cannot be found out', async t => {
  const skip = makeClock(t)
  const storage = memoryStorage()
  let isDown = false
  let asked = 0
  const logged: string[] = []
  const authorize = (): void => {
    asked++
    if (isDown) throw new Error('no sessions')
  }
  const logger = { level: 'warn', stream: { write (line: string) { logged.push(line) } } }
  const { address, deals: book } = await start(t, { storage, authorize }, { logger })
  const stream = await readEvents(`${address}/rest/v1/deals/commands`)
  isDown = true
  const before = asked
  skip(interval)
  await book.create({ name: 'a', price: 1 })
  await until(() => asked > before + 1)
  t.strictSame(stream.rest(), [])
  isDown = false
  t.match(await stream.take(1), [{ data: { params: { name: 'a' } } }])
  t.match(logged, [/no sessions/])
  t.equal(logged.length, 1, 'not for every attempt')
  stream.close()
})

t.test('a stream begins during an outage, if the client has a cursor', async t => {
  const { storage, state } = makeStorage()
  const { app, address, deals: book } = await start(t, { storage })
  const { item: { id } } = await book.create({ name: 'a', price: 1 })
  const refuse = async (url: string, cursor: object = {}): Promise<number> =>
    (await app.inject({ url, headers: { accept: 'text/event-stream', ...cursor } })).statusCode
  const down = async (): Promise<void> => { throw new Error('down') }
  state.read = down
  t.equal(await refuse('/rest/commands'), 503, 'where it starts is not known')
  t.equal(await refuse('/rest/commands', { 'last-event-id': 'x' }), 400)
  const cursor = { 'last-event-id': writePosition(1) }
  const streams = await Promise.all([
    readEvents(`${address}/rest/commands`, cursor), readEvents(`${address}/rest/v1/deals/${id}/commands`, cursor)
  ])
  state.read = async () => {}
  await book.run('hold', id, { reason: 'b' })
  for (const stream of streams) {
    t.strictSame((await stream.take(1)).map(({ event }) => event), ['HoldDeal'])
    stream.close()
  }
  await storage.commit(makeOld(3))
  t.equal(await prune(storage, { before: later }), 3)
  state.read = down
  const behind = await readEvents(`${address}/rest/commands`, cursor)
  const unknown = await readEvents(`${address}/rest/v1/deals/none/commands`, cursor)
  state.read = async () => {}
  // Both at once: a promise that is rejected before somebody listens ends the process.
  await Promise.all([behind, unknown].map(stream => t.rejects(stream.ended, { message: 'terminated' })))
  t.equal(await refuse('/rest/commands', cursor), 410)
  t.equal(await refuse('/rest/v1/deals/none/commands', cursor), 404)
})

t.test('a stream logs each outage once, also if there was nothing to read in between', async t => {
  const { storage, state } = makeStorage()
  const warnings: string[] = []
  const stream = { write: (line: string) => { warnings.push((JSON.parse(line) as { msg: string }).msg) } }
  const { address } = await start(t, { storage }, { logger: { level: 'warn', stream }, forceCloseConnections: true })
  const events = await readEvents(`${address}/rest/commands`)
  let reads = 0
  let failing = 0
  state.read = async () => {
    reads++
    if (failing-- > 0) throw new Error('down')
  }
  for (const count of [1, 2]) {
    failing = 1
    // It wakes followers, with nothing to read.
    await storage.commit([])
    await until(() => warnings.length === count)
    reads = 0
    if (count === 1) await until(() => reads > 0)
    await delay(50)
  }
  t.strictSame(warnings, Array(2).fill('An event stream cannot read; it tries again'))
  events.close()
})
