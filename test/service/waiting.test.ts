import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { maybeMade } from '../../lib/core/problems.js'
import type { Storage } from '../../lib/index.js'
import { deals, defineFamily, memoryStorage, readMetrics, Type } from '../../lib/index.js'
import { createDeal, dealsApp, home, readDeal } from '../deals/app.js'
import { makeDeal, openBook, refusal } from './book.js'

/** A storage whose commits wait until they are let through, and which counts them. */
function makeGate (): { storage: Storage, close (): void, open (): void, count (): number } {
  const inner = memoryStorage()
  let gate = Promise.resolve()
  let open = (): void => {}
  let commits = 0
  return {
    storage: {
      ...inner,
      async commit (changes) {
        commits++
        await gate
        await inner.commit(changes)
      }
    },
    close () { gate = new Promise(resolve => { open = resolve }) },
    open: () => open(),
    count: () => commits
  }
}

const price = (newPrice: number) => ({ newPrice, reason: 'a' })

t.test('a command reads its item once, in its turn', async t => {
  const { storage, close, open } = makeGate()
  let reads = 0
  const watched: Storage = {
    ...storage,
    get (family, id, signal) {
      if (family === 'deals') reads++
      return storage.get(family, id, signal)
    }
  }
  const book = openBook(watched)
  const id = await makeDeal(book)
  reads = 0
  close()
  const changes = [1, 2, 3].map(each => book.run('change-price', id, price(each)))
  open()
  t.strictSame((await Promise.all(changes)).map(({ item }) => item?.revision), [2, 3, 4])
  t.equal(reads, 3)
})

t.test('so many writers wait for one item, and those beyond are refused with nothing done', async t => {
  const { storage, close, open, count } = makeGate()
  const app = await dealsApp(storage)
  t.teardown(() => app.close())
  const [{ id }, other] = [await createDeal(app), await createDeal(app)]
  const before = count()
  close()
  const change = async (newPrice: number, url = `${home}/${id}/change-price`) =>
    await app.inject({ method: 'PUT', url, payload: price(newPrice) })
  // One is at work, a hundred wait.
  const answers = Promise.all(Array.from({ length: 103 }, (_, index) => change(index + 1)))
  const elsewhere = change(1, `${home}/${other.id}/change-price`)
  const headers = { 'idempotency-key': 'beyond' }
  const named = await app.inject({ method: 'POST', url: `${home}/${id}/price-changes`, headers, payload: price(9) })
  t.match(named.json(), { status: 503, type: 'urn:dealbook:problem:busy', detail: /100 of them for this item/ })
  t.equal(named.headers['retry-after'], '1')
  open()
  t.strictSame((await answers).map(({ statusCode }) => statusCode), [...Array<number>(101).fill(200), 503, 503])
  t.equal((await elsewhere).statusCode, 200, 'writers of another item have a line of their own')
  t.equal(count() - before, 102, 'those that were refused came to no commit')
  t.match(await readDeal(app, id), { price: 101, revision: 102 })
  const again = await app.inject({ method: 'POST', url: `${home}/${id}/price-changes`, headers, payload: price(9) })
  t.equal(again.statusCode, 201, 'and may come again')
  t.equal((await readDeal(app, id)).revision, 103)
})

t.test('so many wait in all, by whatever door they come to a storage', async t => {
  const { storage, close, open } = makeGate()
  const app = await dealsApp(storage)
  t.teardown(() => app.close())
  const book = openBook(storage)
  const ids = await Promise.all(Array.from({ length: 11 }, () => makeDeal(book)))
  const last = ids.pop() as string
  const free = await makeDeal(book)
  close()
  const running = ids.flatMap(id => Array.from({ length: 101 }, (_, newPrice) =>
    book.run('change-price', id, price(newPrice + 2))))
  const first = book.run('change-price', last, price(2))
  // Eleven are at work, a thousand wait.
  const second = await refusal(book.run('change-price', last, price(3)))
  t.match(second, { code: 'busy', statusCode: 503, headers: { 'retry-after': '1' } })
  const put = async (id: string) =>
    await app.inject({ method: 'PUT', url: `${home}/${id}/hold`, payload: { reason: 'a' } })
  const unhindered = put(free)
  open()
  t.equal((await unhindered).statusCode, 200, 'who need not wait is not refused')
  t.equal((await Promise.all([...running, first])).length, 1011)
  const revisions = await Promise.all([...ids, last].map(async id => (await book.get(id)).revision))
  t.strictSame(revisions, [...Array<number>(10).fill(102), 2])
})

t.test('a hundred wait for one item by default', async t => {
  const { storage, close, open } = makeGate()
  const book = openBook(storage)
  const id = await makeDeal(book)
  close()
  const calls = Array.from({ length: 110 }, (_, index) => book.run('change-price', id, price(index)))
  const settled = Promise.allSettled(calls)
  const detail = 'Too many writers are waiting, 100 of them for this item'
  const change = { operation: 'change-price', id, params: price(111) } as const
  const run = (options: object) => book.run('change-price', id, price(111), options)
  const runAll = (options: object) => book.runAll([change, { ...change, ...options }], { atomic: true })
  for (const call of [run, runAll]) {
    t.equal((await refusal(call({}))).message, `${detail}; nothing was done`)
    t.equal((await refusal(call({ command: 'c-1' }))).message, `${detail}. ${maybeMade}`, 'an earlier try may be done')
  }
  open()
  const done = (await settled).filter(({ status }) => status === 'fulfilled')
  t.equal(done.length, 101, 'one at work, and a hundred behind it')
})

t.test('a line goes on after a writer that failed', async t => {
  const book = openBook(memoryStorage())
  const id = await makeDeal(book)
  const results = await Promise.allSettled([
    book.run('unhold', id, {}, { revision: 7 }),
    book.run('hold', id, { reason: 'a' }),
    book.run('complete', id),
    book.run('unhold', id)
  ])
  t.strictSame(results.map(({ status }) => status), ['rejected', 'fulfilled', 'rejected', 'fulfilled'])
})

t.test('clients that have left wait no longer, and nothing is done for them', async t => {
  const { storage, close, open, count } = makeGate()
  const app = await dealsApp(storage)
  t.teardown(() => app.close())
  await app.listen()
  const { id } = await createDeal(app)
  const before = count()
  close()
  const first = app.inject({ method: 'PUT', url: `${home}/${id}/change-price`, payload: price(1) })
  const body = JSON.stringify(price(7))
  const request = `PUT ${home}/${id}/change-price HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n` +
    `Content-Length: ${body.length}\r\n\r\n${body}`
  const { port } = app.server.address() as AddressInfo
  const isWaiting = async (number: number): Promise<boolean> => {
    for (let tries = 0; tries < 200 && readMetrics(storage).writers_waiting !== number; tries++) await pause(10)
    return readMetrics(storage).writers_waiting === number
  }
  // One sends several without waiting for the answers.
  const clients = [request, request.repeat(12), request].map(text => {
    const client = connect(port)
    client.write(text)
    return client
  })
  const staying = connect(port)
  staying.write(request)
  t.ok(await isWaiting(15))
  await Promise.all(clients.map(async client => await once(client.destroy(), 'close')))
  t.ok(await isWaiting(1), 'long before the deadline')
  open()
  t.equal((await first).statusCode, 200)
  t.match(String(await once(staying, 'data')), /^HTTP\/1.1 200/)
  staying.destroy()
  t.equal(count() - before, 2)
})

const words = (verb: string) => ({ name: verb, verb, participle: `${verb}-ed`, noun: `${verb}s`, action: `Do${verb}` })

const lines = defineFamily({
  name: 'lines',
  singular: 'line',
  fields: Type.Object({ id: Type.Integer(), text: Type.String() }),
  create: ['text'],
  edit: ['text']
})
const cards = defineFamily({
  name: 'cards', singular: 'card', fields: Type.Object({ id: Type.String() }), create: ['id']
})
const marks = defineFamily({
  name: 'marks', singular: 'mark', fields: Type.Object({ id: Type.String(), text: Type.String() }), create: ['text']
})
const orders = defineFamily({
  name: 'orders',
  singular: 'order',
  fields: Type.Object({ id: Type.Integer(), total: Type.Integer() }),
  create: ['total'],
  edit: ['total'],
  operations: {
    give: {
      ...words('give'),
      params: Type.Object({ to: Type.Integer() }),
      with: { to: { family: 'orders', id: ({ to }) => to } },
      apply: (order, _params, { items: { to } }) =>
        ({ item: { ...order, total: order.total - 1 }, others: { to: { ...to, total: to.total + 1 } } })
    },
    bill: {
      ...words('bill'),
      params: Type.Object({}),
      creates: { line: lines },
      apply: order => ({ item: { ...order, total: order.total + 1 }, created: { line: { text: 'a' } } })
    },
    mark: {
      ...words('mark'),
      params: Type.Object({}),
      creates: { mark: marks },
      apply: order => ({ item: { ...order, total: order.total + 1 }, created: { mark: { text: 'a' } } })
    }
  }
})

async function settle (): Promise<void> {
  for (let turns = 0; turns < 5; turns++) await new Promise(resolve => { setImmediate(resolve) })
}

t.test('who changes the same waits, and nobody else', async t => {
  const { storage, close, open } = makeGate()
  const book = orders.service({ storage })
  const [log, desk, own] = [lines.service({ storage }), cards.service({ storage }), openBook(storage)]
  let made = 100
  const numbered = lines.service({ storage, makeId: () => ++made })
  for (let total = 1; total <= 4; total++) await book.create({ total })
  await log.create({ text: 'a' })
  await desk.create({ id: 'first' })
  await book.run('mark', 4)
  const add = (options = {}) => own.create({ name: 'Tea', price: 1 }, options)
  let total = 0
  const edit = (id: number) => {
    total += 1000
    return book.run('edit', id, { total })
  }
  const give = (id: number, to: number) => ({ operation: 'give', id, params: { to } }) as const
  const several = (...commands: readonly ReturnType<typeof give>[]) => book.runAll(commands, { atomic: true })
  type Row = readonly [what: string, waits: boolean, first: () => Promise<unknown>, second: () => Promise<unknown>]
  const rows: readonly Row[] = [
    ['one item', true, () => edit(1), () => edit(1)],
    ['two items', false, () => edit(1), () => edit(2)],
    ['ids that are counted', true, () => log.create({ text: 'b' }), () => log.create({ text: 'c' })],
    ['one of them', false, () => log.create({ text: 'b' }), () => log.run('edit', 1, { text: String(total) })],
    ['ids of the host', false, () => numbered.create({ text: 'b' }), () => numbered.create({ text: 'c' })],
    ['ids that are random', false, () => add(), () => add()],
    ['one key', true, () => add({ key: 'k' }), () => add({ key: 'k' })],
    ['two keys', false, () => add({ key: 'k-1' }), () => add({ key: 'k-2' })],
    ['one id of the client', true, () => desk.create({ id: 'a' }), () => desk.create({ id: 'a' })],
    ['two ids of the client', false, () => desk.create({ id: 'b' }), () => desk.create({ id: 'c' })],
    ['another item that is changed', true, () => book.run('give', 1, { to: 2 }), () => edit(2)],
    ['the item that changes another', true, () => book.run('give', 1, { to: 2 }), () => edit(1)],
    ['an item that neither changes', false, () => book.run('give', 1, { to: 2 }), () => edit(3)],
    ['items that are created, and counted', true, () => book.run('bill', 1), () => book.run('bill', 2)],
    ['such a creation alone', true, () => book.run('bill', 1), () => log.create({ text: 'd' })],
    ['items that are created under random ids', false, () => book.run('mark', 1), () => book.run('mark', 2)],
    ['one item of several in a commit', true, () => several(give(3, 4), give(1, 3)), () => edit(1)],
    ['another item of several', true, () => several(give(3, 4), give(1, 2)), () => edit(2)],
    ['an item of no command', false, () => several(give(3, 4), give(1, 3)), () => edit(2)],
    ['other items of several', false, () => several(give(1, 2)), () => several(give(3, 4))],
    ['ids that are counted in a commit', true,
      () => log.runAll([{ operation: 'create', params: { text: 'e' } }], { atomic: true }),
      () => log.create({ text: 'f' })]
  ]
  for (const [what, waits, first, second] of rows) {
    const { retries_total: before } = readMetrics(storage)
    close()
    const calls = [first()]
    await settle()
    calls.push(second())
    await settle()
    t.equal(readMetrics(storage).writers_waiting, waits ? 1 : 0, what)
    open()
    const refused = (await Promise.allSettled(calls)).filter(({ status }) => status === 'rejected')
    t.match(refused, what === 'one id of the client' ? [{ reason: { code: 'taken' } }] : { length: 0 }, what)
    t.equal(readMetrics(storage).retries_total, before, `${what}: nothing is decided twice`)
  }

  close()
  const calls = [edit(1), book.run('give', 1, { to: 2 }), book.run('give', 2, { to: 1 })]
  await settle()
  t.equal(readMetrics(storage).writers_waiting, 2)
  open()
  t.equal((await Promise.all(calls)).length, 3, 'no two wait for each other')

  close()
  const named = (id: number, to: number) => book.runAll([{ ...give(id, to), command: 'same' }], { atomic: true })
  const twins = Promise.allSettled([named(1, 2), named(3, 4)])
  await settle()
  t.equal(readMetrics(storage).writers_waiting, 0, 'nor two with one id, which is found when they commit')
  open()
  t.match(await twins, [{ status: 'fulfilled' }, { reason: { code: 'id-reused' } }])

  close()
  const crossed = [edit(1), several(give(1, 3), give(2, 4)), several(give(2, 4), give(1, 3))]
  await settle()
  t.equal(readMetrics(storage).writers_waiting, 2)
  open()
  for (let turns = 0; turns < 100 && readMetrics(storage).writers_waiting !== 0; turns++) await settle()
  // Without it, this would wait for ever.
  if (t.equal(readMetrics(storage).writers_waiting, 0, 'nor two commits')) await Promise.all(crossed)
})

t.test('who may not see or change an item does not wait for it', async t => {
  const { storage, close, open } = makeGate()
  const book = orders.service({ storage })
  const guarded = orders.service({
    storage,
    authorize: ({ principal }) => ({ where: principal === 'ann' ? [] : [{ field: 'total', op: 'lt', value: 2 }] })
  })
  for (const total of [1, 2]) await book.create({ total })
  close()
  const writing = [book.run('edit', 1, { total: 3 }), book.run('edit', 2, { total: 3 })]
  await settle()
  t.equal((await refusal(guarded.run('edit', 2, { total: 1 }))).code, 'not-found')
  t.equal((await refusal(book.run('give', 1, { to: 9 }))).code, 'invalid-body')
  const waiting = guarded.run('edit', 2, { total: 4 }, { principal: 'ann' })
  await settle()
  t.equal(readMetrics(storage).writers_waiting, 1, 'who may waits')
  open()
  await Promise.all(writing)
  t.match(await waiting, { item: { total: 4 } })
})

t.test('an item is read once for a change, unless somebody must be refused first', async t => {
  const inner = memoryStorage()
  let reads = 0
  const storage: Storage = { ...inner, get: (...args) => { reads++; return inner.get(...args) } }
  const { item: { id } } = await deals.service({ storage }).create({ name: 'Tea', price: 1 })
  const granted = deals.service({ storage, authorize: () => ({}) })
  for (const [index, book] of [deals.service({ storage }), granted].entries()) {
    reads = 0
    await book.run('hold', id, { reason: String(index) }).catch(() => {})
    t.equal(reads, 1)
  }
})

t.test('what was read before a change counts, unless that waited, was prepared, or has a chosen id', async t => {
  const { storage: inner, close, open, count } = makeGate()
  const reads: string[] = []
  const storage: Storage = { ...inner, get: (...args) => { reads.push(args[0]); return inner.get(...args) } }
  const fields = Type.Object({ id: Type.String(), size: Type.Integer() })
  const rooms = defineFamily({ name: 'rooms', singular: 'room', fields, create: ['id', 'size'], edit: ['size'] })
  const hall = { name: 'halls', singular: 'hall', fields, create: ['size'], edit: ['size'] } as const
  const [halls, prepared] = [defineFamily(hall), defineFamily({ ...hall, prepare: async () => ({}) })]
  // A promise, so that it is read before: who may not see an item must not wait for it.
  const authorize = async () => ({ where: [{ field: 'size', op: 'gt', value: 0 } as const] })
  const [book, guarded] = [rooms.service({ storage }), rooms.service({ storage, authorize })]
  const [guardedHalls, preparedHalls] = [halls.service({ storage, authorize }), prepared.service({ storage })]
  await book.create({ id: 'attic', size: 1 })
  const { item: { id } } = await halls.service({ storage }).create({ size: 1 })
  const rows: Readonly<Record<string, readonly [run: () => Promise<unknown>, reads: readonly string[]]>> = {
    plain: [() => book.run('edit', 'attic', { size: 2 }), ['rooms']],
    guarded: [() => guarded.run('edit', 'attic', { size: 3 }), ['rooms']],
    prepared: [() => preparedHalls.run('edit', id, { size: 4 }), ['halls', 'halls']],
    'a new item': [() => guardedHalls.create({ size: 1 }, { key: 'k' }), ['commands']],
    'a chosen id': [() => guarded.create({ id: 'cellar', size: 1 }, { key: 'l' }), ['commands', 'commands', 'rooms']]
  }
  for (const [what, [run, expected]] of Object.entries(rows)) {
    reads.length = 0
    await run()
    t.strictSame(reads, expected, what)
  }
  reads.length = 0
  const before = count()
  close()
  const changes = [book.run('edit', 'attic', { size: 5 }), guarded.run('edit', 'attic', { size: 6 })]
  await settle()
  t.strictSame(reads, ['rooms', 'rooms'])
  open()
  await Promise.all(changes)
  t.strictSame(reads, ['rooms', 'rooms', 'rooms'], 'after it has waited')
  t.equal(count() - before, 2, 'so that no commit is refused')
})
