import { EventEmitter, once, setMaxListeners } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { connect } from 'node:http2'
import { setImmediate, setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import Fastify from 'fastify'
import t from 'tap'
import { commandsShape } from '../../lib/core/family/fields.js'
import { getTail } from '../../lib/core/feed/feed.js'
import { writePosition } from '../../lib/core/service/log-reads.js'
import { prunedId } from '../../lib/core/service/record.js'
import { makeStorageAccess } from '../../lib/core/service/storage-access.js'
import { measureAll } from '../../lib/core/values/json.js'
import { deals, defineFamily, memoryStorage, type Storage, type Stored, Type } from '../../lib/index.js'
import { openBook } from '../service/book.js'
import { storages } from '../storages.js'
import { type EventReader, type ReadEvent, readEvents } from './events.js'
import { makeOld } from './old-entries.js'
import { captureTimers, holdPauses, stopClock } from './timers.js'

/** A book whose reads of the log are counted. */
function openCounted () {
  const memory = memoryStorage()
  const counts = { reads: 0, marks: 0, wake () {} }
  const book = openBook({
    ...memory,
    watch (wake) {
      counts.wake = wake
      return memory.watch?.(wake) ?? (() => {})
    },
    find (...args) {
      if (args[0] === 'commands') counts.reads++
      return memory.find(...args)
    },
    get (...args) {
      if (args[1] === prunedId) counts.marks++
      return memory.get(...args)
    }
  })
  return { book, counts }
}

t.test('followers that are at the same position share their reads', async t => {
  const { book, counts } = openCounted()
  // Far more than are read at once.
  for (let made = 0; made < 250; made++) await book.create({ name: 'x', price: 1 })
  const stop = new AbortController()
  setMaxListeners(20, stop.signal)
  const seen = Array.from({ length: 20 }, () => 0)
  counts.reads = 0
  const following = Promise.all(seen.map(async (_, index) => {
    for await (const { action } of book.follow({ signal: stop.signal })) if (action === 'CreateDeal') seen[index]!++
  }))
  while (seen.some(count => count < 250)) await delay(10)
  await delay(50)
  const behind = counts.reads
  Object.assign(counts, { reads: 0, marks: 0 })
  await book.create({ name: 'last', price: 1 })
  while (seen.some(count => count < 251)) await delay(10)
  await delay(50)
  t.strictSame([behind, counts.reads, counts.marks], [5, 2, 0], 'for 250 entries, for one, and of the mark')
  stop.abort()
  await following
})

t.test('what is committed in quick succession is read together', async t => {
  const { book, counts } = openCounted()
  const stop = new AbortController()
  const following = book.follow({ from: 'now', signal: stop.signal })[Symbol.asyncIterator]().next()
  await delay(50)
  counts.reads = 0
  for (let made = 0; made < 100; made++) {
    counts.wake()
    await setImmediate()
  }
  t.ok(counts.reads < 50, `${counts.reads} reads for 100 commits`)
  stop.abort()
  await following
})

t.test('the pause between reads has a limit, however many follow', async t => {
  let wake = (): void => {}
  const watch = (given: () => void): () => void => {
    wake = given
    return () => {}
  }
  const timers = captureTimers(t)
  for (const count of [1, 200, 5000]) {
    const tail = getTail(await makeStorageAccess([commandsShape])({ ...memoryStorage(), watch }))
    const leaving = Array.from({ length: count }, () => tail.follow(() => {}))
    wake()
    for (const leave of leaving) leave()
  }
  t.strictSame(timers, [20, 40, 100])
})

t.test('a storage is watched until the last follower has left', async t => {
  const steps: string[] = []
  let wake = (): void => {}
  const watch = (given: () => void): () => void => {
    steps.push('watch')
    wake = given
    return () => { steps.push('end') }
  }
  const tail = getTail(await makeStorageAccess([commandsShape])({ ...memoryStorage(), watch }))
  const [leaveFirst, leaveSecond] = ['first', 'second'].map(name => tail.follow(() => { steps.push(name) })) as [
    () => void, () => void
  ]
  leaveFirst()
  wake()
  t.strictSame(steps, ['watch', 'second'])
  leaveSecond()
  leaveSecond()
  t.strictSame(steps, ['watch', 'second', 'end'], 'it may leave twice')
})

t.test('a storage that cannot be watched is asked again each second, until the last follower has left', async t => {
  const clock = stopClock(t)
  const { watch, ...memory } = memoryStorage()
  const tail = getTail(await makeStorageAccess([commandsShape])(memory as Storage))
  let wakes = 0
  const leave = tail.follow(() => { wakes++ })
  t.strictSame(clock.repeated, [1000])
  clock.ring()
  t.equal(wakes, 1)
  leave()
  t.strictSame(clock.repeated, [])
})

t.test('commits during a pause wake followers once, after it', async t => {
  const pauses = holdPauses(t, 20)
  let wake = (): void => {}
  const watch = (given: () => void): () => void => {
    wake = given
    return () => {}
  }
  const tail = getTail(await makeStorageAccess([commandsShape])({ ...memoryStorage(), watch }))
  let wakes = 0
  const leave = tail.follow(() => { wakes++ })
  wake()
  t.equal(wakes, 1)
  pauses.end()
  t.strictSame([wakes, pauses.times], [1, []], 'nothing was committed in the pause')
  for (let made = 0; made < 3; made++) wake()
  t.equal(wakes, 2)
  pauses.end()
  t.strictSame([wakes, pauses.times], [3, []])
  leave()
})

t.test('what was read for followers that have left is not shared', async t => {
  const memory = memoryStorage()
  const reads = new EventEmitter()
  let held: Promise<unknown> = Promise.resolve()
  const book = openBook({
    ...memory,
    async find (...args) {
      const found = await memory.find(...args)
      if (args[0] === 'commands') reads.emit('read')
      await held
      return found
    }
  })
  const leaving = new AbortController()
  const following = book.follow({ from: 'now', signal: leaving.signal })[Symbol.asyncIterator]().next()
  await delay(50)
  held = once(reads, 'release')
  const reading = once(reads, 'read')
  await book.create({ name: 'a', price: 1 })
  await reading
  leaving.abort()
  await following
  // Its read ends after it has left.
  reads.emit('release')
  await setImmediate()
  await book.create({ name: 'b', price: 1 })
  const next = book.follow({ after: writePosition(1), signal: AbortSignal.timeout(3000) })[Symbol.asyncIterator]()
  t.match(await next.next(), { value: { params: { name: 'b' } } })
  await next.return?.()
})

t.test('without followers, every read is made', async t => {
  const storage = await makeStorageAccess([commandsShape])(memoryStorage())
  const tail = getTail(storage)
  t.equal((await tail.readAfter(0, 10)).part.count, 0)
  await storage.commit(makeOld(1))
  t.equal((await tail.readAfter(0, 10)).part.count, 1)
})

t.test('what was read is shared for a moment, and then forgotten', async t => {
  const tail = getTail(await makeStorageAccess([commandsShape])(memoryStorage()))
  const leave = tail.follow(() => {})
  const first = tail.readAfter(0, 10)
  await first
  t.equal(tail.readAfter(0, 10), first)
  await delay(50)
  t.not(tail.readAfter(0, 10), first)
  leave()
})

t.test('a read that fails is not shared, and leaves later ones alone', async t => {
  const memory = memoryStorage()
  let wake = (): void => {}
  let fail = (_error: Error): void => {}
  const failing = new Promise<never>((_resolve, reject) => { fail = reject })
  let reads = 0
  const storage: Storage = {
    ...memory,
    watch (given) {
      wake = given
      return () => {}
    },
    find: (...asked) => ++reads === 1 ? failing : memory.find(...asked)
  }
  const tail = getTail(await makeStorageAccess([commandsShape])(storage))
  const leave = tail.follow(() => {})
  const first = tail.readAfter(0, 10)
  wake()
  const second = tail.readAfter(0, 10)
  fail(new Error('down'))
  await t.rejects(first, { code: 'storage-unavailable' })
  t.equal(tail.readAfter(0, 10), second)
  leave()
})

t.test('long entries are not kept', async t => {
  for (const [more, isKept] of [[0, true], [1, false]] as const) {
    const guarded = await makeStorageAccess([commandsShape])(memoryStorage())
    const entries = makeOld(1).map(change =>
      'item' in change ? { ...change.item, params: { text: '' }, position: 1 } : {})
    const text = 'x'.repeat(1_000_000 - measureAll(entries) + more)
    await guarded.commit(entries.map(entry => ({
      type: 'insert', family: 'commands', item: { ...entry, params: { text } } as unknown as Stored
    })))
    const tail = getTail(guarded)
    t.equal(getTail(guarded), tail)
    const leave = tail.follow(() => {})
    const reading = tail.readAfter(0, 10)
    t.equal((await reading).part.length, 1_000_000 + more)
    t.equal(tail.readAfter(0, 10) === reading, isKept)
    leave()
  }
})

t.test('followers continue after an outage, with what they missed', async t => {
  const { watch, ...memory } = memoryStorage()
  for (const parts of [{ watch }, {}]) {
    let failures = 0
    const find: typeof memory.find = async (...asked) => {
      if (failures-- > 0) throw new Error('down')
      return await memory.find(...asked)
    }
    const book = openBook({ ...memory, ...parts, find } as Storage)
    const narrowed = openBook({ ...memory, ...parts, find } as Storage, {
      authorize: () => ({ where: [{ field: 'price', op: 'gte', value: 2 }] })
    })
    const stop = new AbortController()
    const seen: unknown[] = []
    const following = [book, narrowed].map(async book => {
      for await (const { params } of book.follow({ from: 'now', signal: stop.signal })) seen.push(params?.['price'])
    })
    await delay(50)
    failures = 3
    for (const price of [1, 2]) await book.create({ name: 'x', price })
    while (seen.length < 3) await delay(10)
    t.strictSame(seen.sort(), [1, 2, 2])
    stop.abort()
    await Promise.all(following)
  }
})

const accounts = defineFamily({
  name: 'accounts',
  singular: 'account',
  fields: Type.Object({ id: Type.Integer(), region: Type.Integer(), text: Type.String(), points: Type.Integer() }),
  create: ['region', 'text', 'points'],
  edit: ['region']
})

const rewards = defineFamily({
  name: 'rewards',
  singular: 'reward',
  fields: Type.Object({ id: Type.Integer(), area: Type.Integer(), account: Type.Integer() }),
  create: { fields: ['area', 'account'], with: { account: 'account' } },
  references: { account: accounts },
  initial: (reward, { items: { account } }) =>
    ({ item: reward, others: { account: { ...account, points: Number(account['points']) + 1 } } })
})

for (const { name, make } of storages) {
  t.test(`${name}: followers with conditions share the reads of items`, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    const reads: string[] = []
    const { findText } = storage
    const counted: Storage = {
      ...storage,
      find (family, ...rest) { reads.push(family); return storage.find(family, ...rest) },
      get (family, ...rest) { reads.push(family); return storage.get(family, ...rest) },
      ...(findText && {
        findText (family, ...rest) { reads.push(family); return findText.call(storage, family, ...rest) }
      })
    }
    const app = Fastify({ forceCloseConnections: true })
    t.teardown(() => app.close())
    // A version with a different name, in which its grants are.
    for (const [family, version, field] of [
      [accounts, 'v1', 'region'], [accounts.rename({ region: 'place' }), 'v2', 'place'], [rewards, 'v1', 'area']
    ] as const) {
      await app.register(family as typeof accounts, {
        storage: counted,
        version,
        authorize ({ headers: { region } }) {
          return region === undefined ? {} : { where: [{ field, op: 'eq', values: [Number(region)] }] } as object
        }
      })
    }
    const url = await app.listen({ port: 0 })
    const change = async (method: 'POST' | 'DELETE' | 'PATCH', path: string, payload?: object) => {
      const { statusCode } = await app.inject({ method, url: `/rest/v1/${path}`, ...payload && { payload } })
      t.ok(statusCode < 300, `${method} ${path}: ${statusCode}`)
    }
    await change('POST', 'accounts', { region: 0, text: 'a', points: 0 })
    const streams = await Promise.all(Array.from({ length: 20 }, (_, index) =>
      readEvents(`${url}/rest/v${1 + index % 2}/accounts/commands`, { region: String(index >> 1) })))
    t.teardown(() => { for (const stream of streams) stream.close() })
    const boss = await readEvents(`${url}/rest/v1/accounts/commands`)
    t.teardown(boss.close)

    for (const [method, path, payload, shownTo] of [
      ['POST', 'accounts', { region: 1, text: 'b', points: 0 }, [2, 3]],
      ['PATCH', 'accounts/1', { region: 2 }, [4, 5]],
      ['POST', 'rewards', { area: 1, account: 2 }, [2, 3]],
      ['POST', 'rewards', { area: 3, account: 2 }, [2, 3]]
    ] as const) {
      reads.length = 0
      await change(method, path, payload)
      const [event] = await boss.take(1) as [ReadEvent]
      for (const index of shownTo) {
        const [shown] = await (streams[index] as EventReader).take(1) as [ReadEvent]
        t.equal(shown.id, event.id)
        const isHidden = 'area' in payload && payload.area === 3
        t.strictSame(shown.data['about'], isHidden ? undefined : event.data['about'])
      }
      await app.inject('/rest/v1/accounts/1')
      t.ok(reads.length < 15, `${method} ${path}: ${reads.length} reads for ${streams.length} followers`)
    }
    await change('DELETE', 'accounts/1')
    await boss.take(1)
    await change('POST', 'accounts', { region: 2, text: 'c', points: 0 })
    const [last, ...shown] = await Promise.all([boss, ...streams.slice(4, 6)].map(stream => stream.take(1)))
    t.strictSame(shown.map(([event]) => event?.id), [last?.[0]?.id, last?.[0]?.id], 'none of them sees a deletion')
  })
}

const headers = { accept: 'text/event-stream' }

/** Each opens a stream, and leaves when it has begun. */
const leavers: Record<string, (url: string, path: string) => Promise<unknown>> = {
  async 'HTTP/1.1' (url, path) {
    const request = get(url + path, { agent: false, headers })
    const [response] = await once(request, 'response') as [IncomingMessage]
    await once(response, 'data')
    request.destroy()
  },
  async 'HTTP/2' (url, path) {
    const session = connect(url)
    await once(session.request({ ':path': path, ...headers }), 'data')
    session.destroy()
  }
}

for (const [name, openAndLeave] of Object.entries(leavers)) {
  t.test(`streams whose clients have left keep no timer, over ${name}`, async t => {
    const app = Fastify(name === 'HTTP/2' ? { http2: true } as never : { forceCloseConnections: true })
    app.register(deals, { storage: memoryStorage(), version: 'v1' })
    const url = await app.listen({ port: 0 })
    const countTimers = (): number => process.getActiveResourcesInfo().filter(name => name === 'Timeout').length
    const before = countTimers()
    await Promise.all(Array.from({ length: 20 }, () => openAndLeave(url, '/rest/v1/deals/commands')))
    // The server sees it later than the clients.
    while (await promisify(app.server.getConnections.bind(app.server))() > 0) await delay(10)
    await app.close()
    for (let wait = 0; wait < 50 && countTimers() > before; wait++) await delay(20)
    t.ok(countTimers() < before + 10, `${countTimers() - before} more than before`)
  })
}
