import t from 'tap'
import { errorCodes } from '../../lib/core/errors.js'
import {
  BusyError, ConflictError, ConstraintError, DuplicateError, ReadOnlyError, type Storage
} from '../../lib/core/storage/storage.js'
import { defineFamily, readMetrics, Type } from '../../lib/index.js'
import { memoryStorage } from '../../lib/storage/memory/memory-storage.js'
import { loadItems } from '../../lib/tools/index.js'
import type { Book } from './book.js'
import { makeDeal, openBook, refusal } from './book.js'

type Method = 'prepare' | 'get' | 'find' | 'commit'

/** A storage of which one method fails, before or after it has done its work. */
function makeUnreliable (): { storage: Storage, fail (method?: Method, error?: unknown, after?: boolean): void } {
  const inner = memoryStorage()
  let failing: { method: Method | undefined, error: unknown, after: boolean } | undefined
  const attempt = async <T>(method: Method, work: () => Promise<T>): Promise<T> => {
    const isFailing = failing?.method === method
    if (isFailing && failing?.after === false) throw failing.error
    const result = await work()
    if (isFailing) throw failing?.error
    return result
  }
  return {
    storage: {
      prepare: shape => attempt('prepare', () => inner.prepare(shape)),
      get: (family, id) => attempt('get', () => inner.get(family, id)),
      find: (family, query) => attempt('find', () => inner.find(family, query)),
      commit: changes => attempt('commit', () => inner.commit(changes)),
      close: () => inner.close()
    },
    fail (method, error = new Error('password=tiger'), after = false) { failing = { method, error, after } }
  }
}

interface Call {
  /** The methods of the storage that it needs. */
  readonly methods: readonly Method[]
  call (book: Book, id: string): Promise<unknown>
}

const calls: Readonly<Record<string, Call>> = {
  create: { methods: ['commit'], call: book => book.create({ name: 'Tea', price: 5 }) },
  run: { methods: ['get', 'commit'], call: (book, id) => book.run('hold', id, { reason: 'a' }) },
  remove: { methods: ['get', 'commit'], call: (book, id) => book.remove(id) },
  get: { methods: ['get'], call: (book, id) => book.get(id) },
  find: { methods: ['find'], call: book => book.find() },
  log: { methods: ['get', 'find'], call: (book, id) => book.log(id) }
}

t.test('a storage that fails is unavailable, by any call, and nothing has happened', async t => {
  const { storage, fail } = makeUnreliable()
  const book = openBook(storage)
  const id = await makeDeal(book)
  for (const [name, { methods, call }] of Object.entries(calls)) {
    for (const method of methods) {
      fail(method)
      const problem = await refusal(call(book, id))
      fail()
      const expected = { name: 'Problem', code: 'storage-unavailable', headers: { 'retry-after': '1' } }
      t.match(problem, expected, `${name}, ${method}`)
      t.match(problem.cause, { message: 'password=tiger' }, 'whose cause a program may see')
      t.notMatch(problem.message, 'tiger')
    }
  }
  t.equal(readMetrics(storage).commands_failed_total, 5, 'of those that would have changed something')
  t.match(await book.get(id), { revision: 1 })
  t.match(await book.log(id), { items: { length: 1 } })
  t.match(await book.find(), { items: { length: 1 } })
})

t.test('a storage that cannot be prepared is unavailable, until it can', async t => {
  const { storage, fail } = makeUnreliable()
  for (const [name, { call }] of Object.entries(calls)) {
    for (const error of [new Error('refused'), undefined, 'refused']) {
      fail('prepare', error)
      const book = openBook(storage)
      await t.rejects(call(book, 'a'), { name: 'Problem', code: 'storage-unavailable' }, name)
      fail()
      t.same(await book.find(), { items: [], hasNext: false }, 'the same service serves then')
    }
  }
})

t.test('a mistake of the host is no failure of the storage', async t => {
  const { storage, fail } = makeUnreliable()
  const book = openBook(storage)
  fail('prepare', new errorCodes.FST_DEALBOOK_NO_TABLE('deals', 'orders'))
  await t.rejects(book.find(), { code: 'FST_DEALBOOK_NO_TABLE', message: /the mapped table "orders" does not exist/ })
})

t.test('a commit that was made but not acknowledged is found by the same id', async t => {
  const { storage, fail } = makeUnreliable()
  const book = openBook(storage)
  const id = await makeDeal(book)
  const hold = () => book.run('hold', id, { reason: 'a' }, { command: 'c1' })
  const create = () => book.create({ name: 'Tea', price: 5 }, { key: 'k1' })
  for (const call of [hold, create]) {
    fail('commit', undefined, true)
    await t.rejects(call(), { code: 'storage-unavailable' })
    fail()
    t.match(await call(), { changed: true, replayed: true })
  }
  t.match([await book.get(id), await book.find()], [{ revision: 2 }, { items: { length: 2 } }])
})

t.test('a rule of the database for the log is no duplicate: it is refused once', async t => {
  const { storage, fail } = makeUnreliable()
  const book = openBook(storage)
  await book.create({ name: 'Tea', price: 5 })
  let commits = 0
  const { commit } = storage
  storage.commit = async changes => {
    commits++
    await commit(changes)
  }
  fail('commit', new ConstraintError('commands', 'x', 'value', { constraint: 'short_logs' }))
  await t.rejects(book.create({ name: 'Ink', price: 5 }), { code: 'constraint' })
  t.equal(commits, 1)
})

t.test('what a storage throws is the problem that it means', async t => {
  const { storage, fail } = makeUnreliable()
  const book = openBook(storage)
  const id = await makeDeal(book)
  const rows: readonly (readonly [error: Error, expected: object])[] = [
    [new BusyError('Too many wait'), { code: 'busy', message: 'Too many wait', headers: { 'retry-after': '1' } }],
    [new ReadOnlyError('deals'), { code: 'read-only', message: /^deals is read-only/, headers: {} }],
    [new ConstraintError('deals', id, 'unique'), { code: 'constraint' }],
    [new ConstraintError('commands', id, 'other'), { code: 'constraint' }],
    [new TypeError('broken'), { code: 'storage-unavailable' }]
  ]
  for (const [error, expected] of rows) {
    for (const method of ['get', 'commit'] as const) {
      fail(method, error)
      const problem = await refusal(book.run('hold', id, { reason: 'a' }))
      fail()
      t.match({ ...problem, message: problem.message }, expected, `${error.name}, ${method}`)
      t.strictSame(problem.headers, 'headers' in expected ? expected.headers : problem.headers)
    }
  }
})

t.test('after these errors a command is decided again', async t => {
  const { storage, fail } = makeUnreliable()
  const book = openBook(storage)
  let id = await makeDeal(book)
  for (const error of [
    new ConflictError('deals', id), new DuplicateError('deals', id), new ConstraintError('commands', id, 'unique')
  ]) {
    const { commit } = storage
    let commits = 0
    storage.commit = async changes => {
      fail(commits++ === 0 ? 'commit' : undefined, error)
      await commit(changes)
    }
    t.match(await book.run('hold', id, { reason: 'a' }), { changed: true }, error.name)
    t.equal(commits, 2)
    storage.commit = commit
    id = await makeDeal(book)
  }
})

t.test('ids of the storage are used, unless an item had them', async t => {
  const inner = memoryStorage()
  const given = [5, 5, 9]
  const asked: unknown[] = []
  const storage: Storage = {
    ...inner,
    async nextId (family, signal) {
      asked.push([family, signal])
      return given.shift() ?? 77
    }
  }
  const tickets = defineFamily({
    name: 'tickets', singular: 'ticket', fields: Type.Object({ id: Type.Integer() }), create: []
  })
  const book = tickets.service({ storage })
  const { signal } = new AbortController()
  t.equal((await book.create({}, { signal })).item.id, 5)
  t.strictSame(asked, [['tickets', signal]])
  await book.remove(5)
  t.equal((await book.create({})).item.id, 9, 'one that is gone is not given again')
  t.equal(asked.length, 3)
  t.equal((await tickets.service({ storage, makeId: () => 3 }).create({})).item.id, 3)
  t.equal(asked.length, 3, 'the host is asked first')
})

t.test('an id is taken by an item that has no log', async t => {
  const storage = memoryStorage()
  const rooms = defineFamily({
    name: 'rooms', singular: 'room', fields: Type.Object({ id: Type.String() }), create: ['id']
  })
  await loadItems(storage, rooms, [{ id: 'a' }])
  const book = rooms.service({ storage })
  t.match(await refusal(book.create({ id: 'a' })), { code: 'taken', errors: [{ pointer: '/id' }] })
  t.equal(readMetrics(storage).retries_total, 0)
})
