import { Readable } from 'node:stream'
import { Type } from '@sinclair/typebox'
import t from 'tap'
import type { Change, Storage } from '../../lib/index.js'
import {
  ConstraintError, customers, deals, decimal, defineFamily, DuplicateError, memoryStorage
} from '../../lib/index.js'
import type { LoadOptions } from '../../lib/tools/index.js'
import { loadItems } from '../../lib/tools/index.js'
import { people } from '../customers-app.js'
import { countTurns } from '../loop-holds.js'
import { storages } from '../storages.js'

const all = { where: [], order: [{ field: 'id', descending: false }], offset: 0, limit: 10_000, count: true }

async function idsIn (storage: Storage): Promise<unknown[]> {
  return (await storage.find('customers', all)).items.map(({ id }) => id)
}

t.test('from anything that gives items', async t => {
  const sources: Record<string, () => Iterable<unknown> | AsyncIterable<unknown>> = {
    'an array': () => people(2500),
    'a generator': function * () { yield * people(2500) },
    'an async generator': async function * () { yield * people(2500) },
    'a stream of objects': () => Readable.from(people(2500)),
    'a set': () => new Set(people(2500))
  }
  for (const [name, make] of Object.entries(sources)) {
    const storage = memoryStorage()
    const progress: number[] = []
    const loaded = await loadItems(storage, customers, make(), { onProgress: count => progress.push(count) })
    t.equal(loaded, 2500, name)
    t.strictSame(progress, [1000, 2000, 2500], `${name}: progress`)
    t.strictSame(await idsIn(storage), people(2500).map(({ id }) => id), `${name}: all there`)
  }
})

t.test('what is loaded is a first revision with its times', async t => {
  const storage = memoryStorage()
  await loadItems(storage, customers, people(1))
  const item = await storage.get('customers', 1)
  t.match(item, { ...people(1)[0], revision: 1, createdAt: /^\d{4}-.*Z$/ })
  t.equal(item?.createdAt, item?.updatedAt)
})

t.test('batches', async t => {
  const commits: number[] = []
  const inner = memoryStorage()
  const storage: Storage = {
    ...inner,
    commit: async changes => {
      commits.push(changes.length)
      await inner.commit(changes)
    }
  }
  await loadItems(storage, customers, people(7), { batchSize: 3 })
  t.strictSame(commits, [3, 3, 1])
  t.equal(await loadItems(storage, customers, []), 0)
  t.strictSame(commits, [3, 3, 1], 'nothing is no commit')
})

t.test('a restart of the database stops it; called again, it continues', async t => {
  const inner = memoryStorage()
  let commits = 0
  const storage: Storage = {
    ...inner,
    commit: async changes => {
      const isRestarted = ++commits === 2
      // It was made, though its answer is lost.
      await inner.commit(changes)
      if (isRestarted) {
        const error = new Error('terminating connection due to administrator command')
        throw Object.assign(error, { code: '57P01', severity: 'FATAL' })
      }
    }
  }
  const load = () => loadItems(storage, customers, people(9), { batchSize: 3 })
  await t.rejects(load(), {
    code: 'FST_DEALBOOK_INTERRUPTED',
    message: 'loadItems: the storage failed: terminating connection due to administrator command. ' +
      'If this was temporary, call it again: it continues after what is stored',
    cause: { code: '57P01' }
  })
  t.equal(await load(), 9)
  t.equal((await idsIn(storage)).length, 9)
})

t.test('a wrong item stops it, naming the item and the member; whole batches before it stay', async t => {
  const table: [unknown, RegExp][] = [
    [{ id: 4, age: 'old', children: 0 }, /^customers, item 4: \/age must be an integer$/],
    [{ id: 4, age: -1, children: 0 }, /item 4: \/age must be at least 0/],
    [{ id: 4, age: 1.5, children: 0 }, /item 4: \/age must be an integer/],
    [{ age: 4, children: 0 }, /item 4: \/id is required/],
    [{ id: 4, age: 1, children: 0, agee: 1 }, /item 4: \/agee is unknown\. Did you mean "age"\?/],
    [{ id: 4, age: 2 ** 53, children: 0 }, /item 4: \/age must be from/],
    [{ id: 4, age: 1, children: 0, revision: 0 }, /item 4: \/revision must be at least 1/],
    [{ id: 4, age: 1, children: 0, createdAt: 'today' }, /item 4: \/createdAt must be a date and time/],
    [{ id: 4, age: 1, children: 0, links: {} }, /item 4: \/links is unknown/],
    [{ id: 3, age: 1, children: 0 }, /item 4: \/id belongs to a different item that already exists/],
    [{ id: 1, age: 1, children: 0 }, /item 4: \/id belongs to a different item that already exists/],
    ['text', /item 4: it must be an object/],
    [null, /item 4: it must be an object/]
  ]
  for (const [wrong, message] of table) {
    const storage = memoryStorage()
    await t.rejects(
      loadItems(storage, customers, [...people(3), wrong], { batchSize: 2 }),
      { code: 'FST_DEALBOOK_INVALID_LOAD', message, item: 4 },
      JSON.stringify(wrong)
    )
    t.strictSame(await idsIn(storage), [1, 2])
  }
})

t.test('options', async t => {
  for (const [options, message] of [
    [{ batchSize: 0 }, /^fastify-dealbook, deals: the option "batchSize" must be a positive integer$/],
    [{ batchSize: 1.5 }, /batchSize/],
    [{ log: 'price' }, /the option "log" must be a member that is not a field; "price" is one/],
    [{ log: 'createdAt' }, /the option "log" must be a member that is not a field/]
  ] as const) {
    await t.rejects(loadItems(memoryStorage(), deals, [], options), { code: 'FST_DEALBOOK_INVALID_OPTION', message })
  }
  await t.rejects(loadItems(memoryStorage(), customers, [], { log: 'log' }), {
    message: /the option "log" is for families that can be written/
  })
  const stopping = new AbortController()
  const storage = memoryStorage()
  const onProgress = () => stopping.abort(new Error('stopped'))
  const load = loadItems(storage, customers, people(5), { batchSize: 2, onProgress, signal: stopping.signal })
  await t.rejects(load, { message: 'stopped' })
  t.strictSame(await idsIn(storage), [1, 2], 'what is loaded by then stays')
})

for (const { name, make } of storages) {
  t.test(`repeated, it goes on: ${name}`, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    const all = people(2400)
    await loadItems(storage, customers, all.slice(300, 650))
    const before = await storage.get('customers', 301)
    // Two at once, with other batches, and some rows twice.
    const both = [
      loadItems(storage, customers, [...all, ...all.slice(0, 10)], { batchSize: 500 }),
      loadItems(storage, customers, all, { batchSize: 70 })
    ]
    t.strictSame(await Promise.all(both), [2410, 2400])
    t.equal(await loadItems(storage, customers, all, { batchSize: 2400 }), 2400)
    t.strictSame(await idsIn(storage), all.map(({ id }) => id))
    t.strictSame(await storage.get('customers', 301), before, 'what is there stays as it is')
    const moment = { ...all[0], createdAt: '2020-01-01T00:00:00Z' }
    for (const other of [moment, { ...all[0], revision: 2 }]) {
      await t.rejects(loadItems(storage, customers, [other]), { item: 1, message: /belongs to a different item/ })
    }
  })

  t.test(`what another service kept stays: ${name}`, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    const source = deals.service({ storage: memoryStorage() })
    const { item: { id } } = await source.create({ name: 'Tea', price: 1 }, { principal: 'ann', key: 'k' })
    await source.run('hold', id, { reason: 'Papers' }, { principal: 'ann', command: 'c-1' })
    await t.rejects(source.run('complete', id, {}, { principal: 'bob', command: 'c-1' }), { code: 'wrong-state' })
    await source.run('unhold', id, {}, { command: '..' })
    const item = await source.get(id)
    const { items: log } = await source.log(id)
    const { items: logOfAnn } = await source.log(id, { principal: 'ann' })

    const [createdAt, updatedAt] = ['2020-01-01T00:00:00.000Z', '2020-01-01T00:00:00.000Z']
    const created = { action: 'CreateDeal', revision: 1, createdAt }
    t.equal(await loadItems(storage, deals, [
      { ...item, history: log },
      { id: 'plain', name: 'Milk', price: 2 },
      { id: 'moved', name: 'Salt', price: 3, status: 'completed', createdAt: '2020-01-01T02:00:00+02:00' },
      { id: 'short', name: 'Rye', price: 4, history: [created] }
    ], { log: 'history' }), 4)
    const book = deals.service({ storage })
    t.strictSame(await book.get(id), item)
    t.strictSame((await book.log(id)).items, log)
    t.strictSame((await book.log(id, { principal: 'ann' })).items, logOfAnn, 'each finds the own by the own id')
    t.match(await book.run('hold', id, { reason: 'Papers' }, { principal: 'ann', command: 'c-1' }), { replayed: true })
    await t.rejects(book.run('complete', id, {}, { principal: 'bob', command: 'c-1' }), {
      code: 'wrong-state',
      members: { state: 'held', operation: 'complete' }
    })
    const again = await book.create({ name: 'Tea', price: 1 }, { principal: 'ann', key: 'k' })
    t.match(again, { replayed: true, item: { id } })
    t.match(await book.run('hold', id, { reason: 'Again' }), { item: { revision: 4 } }, 'it goes on from there')
    t.match(await book.get('plain'), { held: false, status: 'open', revision: 1 }, 'defaults are filled in')
    t.match(await book.get('moved'), { status: 'completed', createdAt, updatedAt })
    t.match((await book.log('short')).items, [{ id: /./, deal: 'short', outcome: 'done', createdAt }])
    const plain = { id: 'plain', name: 'Milk', price: 2, history: [] }
    t.equal(await loadItems(storage, deals, [plain], { log: 'history' }), 1)

    for (const [entry, message] of [
      [{ ...created, id: 'a/b' }, /^deals, item 2: \/history\/1\/id has 1 to 100 of the characters/],
      [{ ...created, deal: 'other' }, /\/history\/1\/deal must be new, the id of the item/],
      [{ ...created, revision: 2 }, /\/history\/1\/revision must not be above 1, that of the item/],
      [{ ...created, outcome: 'refused' }, /\/history\/1\/problem must have the type and the detail of a problem/],
      [{ ...created, action: undefined }, /\/history\/1\/action is required/],
      [{ ...created, actoin: 'a' }, /\/history\/1\/actoin is unknown\. Did you mean "action"\?/],
      [{ ...created, id: 'c-2' }, /^deals, item 2: it has the command id "c-2" in its log, which is taken$/]
    ] as const) {
      const history = [{ ...created, id: 'c-2' }, entry]
      const given = [{ id: 'first', name: 'a', price: 1 }, { id: 'new', name: 'a', price: 1, history }]
      await t.rejects(loadItems(storage, deals, given, { log: 'history' }), { item: 2, message })
      await t.rejects(book.get('new'), { code: 'not-found' })
    }
  })
}

t.test('an iteration that fails fails the load', async t => {
  const source = Readable.from((function * () { yield * people(1); throw new Error('the disk is gone') })())
  await t.rejects(loadItems(memoryStorage(), customers, source), { message: 'the disk is gone' })
})

t.test('defaults and optional fields of a family', async t => {
  const books = defineFamily({
    name: 'books',
    singular: 'book',
    fields: Type.Object({ id: Type.String(), title: Type.Optional(Type.String()) })
  })
  const storage = memoryStorage()
  const filled = defineFamily({
    name: 'filled',
    singular: 'one',
    fields: Type.Object({
      id: Type.Integer(),
      sold: Type.Integer({ default: 3 }),
      tags: Type.Array(Type.String(), { default: ['new'] }),
      note: Type.Union([Type.String(), Type.Null()]),
      shelf: Type.Optional(Type.String({ default: 'A' })),
      at: Type.String({ format: 'date-time', default: '2030-01-01T01:00:00+01:00' })
    })
  })
  await loadItems(storage, filled, [{ id: 1 }, { id: 2, sold: -0, note: 'b', tags: [], shelf: undefined }])
  const at = '2030-01-01T00:00:00.000Z'
  t.match(await storage.get('filled', 1), { id: 1, sold: 3, tags: ['new'], note: null, shelf: 'A', at })
  t.match(await storage.get('filled', 2), { id: 2, sold: 0, tags: [], note: 'b', shelf: 'A', at })
  await loadItems(storage, books, [{ id: 'a' }, { id: 'b', title: '\u00fc' }])
  t.notOk('title' in (await storage.get('books', 'a') as object))
  await t.rejects(loadItems(storage, books, [{ id: 'c', title: 'a\u0000' }]), {
    message: /\/title must not contain the character U\+0000/
  })
  await t.rejects(loadItems(storage, books, [{ id: 'c', title: '\ud800' }]), {
    message: /\/title must not contain a lone surrogate/
  })
})

t.test('others go on meanwhile, though everything is in memory', async t => {
  const turns = await countTurns(() => loadItems(memoryStorage(), customers, people(15_000)))
  t.ok(turns > 5, `${turns} turns`)
})

const created = { action: 'CreateDeal', revision: 1, createdAt: '2020-01-01T00:00:00.000Z' }
const makeDeals = (...ids: readonly string[]) => ids.map(id => ({ id, name: id, price: 1 }))

/** A storage, and what is asked of it. */
function record (commit = async (changes: readonly Change[], inner: Storage['commit']): Promise<void> => {
  await inner(changes)
}) {
  const inner = memoryStorage()
  const prepared: string[] = []
  const commits: unknown[][] = []
  const storage: Storage = {
    ...inner,
    async prepare (shape) {
      prepared.push(shape.name)
      await inner.prepare(shape)
    },
    async commit (changes) {
      commits.push(changes.flatMap(change => 'item' in change && change.family !== 'commands' ? [change.item.id] : []))
      await commit(changes, inner.commit)
    }
  }
  return { storage, prepared, commits }
}

t.test('entries of logs count for the size of a batch; without them, the log is not opened', async t => {
  const rows: [options: LoadOptions, prepared: string[], commits: string[][]][] = [
    [{ batchSize: 4 }, ['deals'], [['a', 'b', 'c', 'd'], ['e']]],
    [{ batchSize: 4, log: 'history' }, ['deals', 'commands'], [['a', 'b'], ['c', 'd'], ['e']]]
  ]
  for (const [options, expected, batches] of rows) {
    const { storage, prepared, commits } = record()
    const items = makeDeals('a', 'b', 'c', 'd', 'e')
    const history = options.log === undefined ? {} : { history: [created] }
    t.strictSame(await loadItems(storage, deals, items.map(item => ({ ...item, ...history })), options), 5)
    t.strictSame(prepared, expected)
    t.strictSame(commits, batches)
  }
})

t.test('a batch that is refused is committed without what is there, then in halves', async t => {
  const none = new ConstraintError('deals', 'e', 'unique', { fields: ['name'] })
  const { storage, commits } = record(async (changes, commit) => {
    if (changes.some(change => 'item' in change && change.item.id === 'e')) throw none
    await commit(changes)
  })
  await loadItems(storage, deals, makeDeals('a', 'b'))
  t.strictSame(await loadItems(storage, deals, makeDeals('a', 'b')), 2)
  t.strictSame(await loadItems(storage, deals, makeDeals('a', 'b', 'c', 'd')), 4)
  const message = /item 5: \/name is already taken$/
  await t.rejects(loadItems(storage, deals, makeDeals('f', 'g', 'h', 'i', 'e')), { item: 5, message })
  t.strictSame(commits.map(ids => ids.join('')), [
    'ab', 'ab', 'abcd', 'cd', 'fghie', 'fgh', 'ie', 'i', 'e'
  ])
})

t.test('why a storage refuses an item', async t => {
  const other = new ConstraintError('deals', 'a', 'value', { fields: ['price'] })
  const own = new DuplicateError('deals', 'a')
  const rows: [error: Error, expected: object][] = [
    [new ConstraintError('deals', 'a', 'reference', { fields: ['name'], other: 'people' }),
      { item: 1, message: 'deals, item 1: /name must be an existing id of people' }],
    [new ConstraintError('deals', 'a', 'reference', { fields: ['name'] }),
      { item: 1, message: 'deals, item 1: /name must be an existing id of something' }],
    [new ConstraintError('deals', 'a', 'unique', { fields: ['name', 'price'] }),
      { item: 1, message: 'deals, item 1: /name, /price is already taken' }],
    [new DuplicateError('commands', 'c-1'),
      { item: 1, message: 'deals, item 1: it has the command id "c-1" in its log, which is taken' }],
    [other, other],
    // It was deleted since.
    [own, own]
  ]
  for (const [error, expected] of rows) {
    const { storage } = record(async () => { throw error })
    const refused = await loadItems(storage, deals, makeDeals('a')).catch((error: unknown) => error)
    if (expected === error) t.equal(refused, error)
    else t.match(refused, { code: 'FST_DEALBOOK_INVALID_LOAD', ...expected })
  }
})

t.test('what was given must be the same in an item that exists', async t => {
  const storage = memoryStorage()
  const given = { revision: 3, createdAt: '2020-01-01T00:00:00.000Z', updatedAt: '2020-01-02T00:00:00.000Z' }
  const [plain] = makeDeals('a')
  for (const members of [given, given, {}, { createdAt: '2020-01-01T01:00:00+01:00' }]) {
    t.strictSame(await loadItems(storage, deals, [{ ...plain, ...members }]), 1)
  }
  for (const [name, value] of Object.entries(given)) {
    const different = typeof value === 'number' ? value + 1 : '2020-01-03T00:00:00.000Z'
    await t.rejects(loadItems(storage, deals, [{ ...plain, ...given, [name]: different }]), {
      message: 'deals, item 1: /id belongs to a different item that already exists'
    }, name)
  }
  const { revision, createdAt, updatedAt } = await storage.get('deals', 'a') ?? {}
  t.strictSame({ revision, createdAt, updatedAt }, given)
})

t.test('ids of items that can be created fit into URLs; those of others are as they are', async t => {
  const fields = Type.Object({ id: Type.String() })
  const read = defineFamily({ name: 'read', singular: 'one', fields })
  const written = defineFamily({ name: 'written', singular: 'one', fields, create: [] })
  const counted = defineFamily({
    name: 'counted', singular: 'one', fields: Type.Object({ id: Type.Integer() }), create: []
  })
  for (const id of ['..', 'commands', 'commands.json']) {
    t.strictSame(await loadItems(memoryStorage(), read, [{ id }]), 1)
    await t.rejects(loadItems(memoryStorage(), written, [{ id }]), { message: /^written, item 1: \/id / }, id)
  }
  for (const id of ['...', 'command', 'a']) t.strictSame(await loadItems(memoryStorage(), written, [{ id }]), 1)
  t.strictSame(await loadItems(memoryStorage(), counted, [{ id: 1 }]), 1)
})

t.test('what is no item, and what has an unknown member', async t => {
  const fields = Type.Object({ id: Type.Integer(), price: decimal({ scale: 2 }) })
  const priced = defineFamily({ name: 'priced', singular: 'one', fields })
  for (const item of ['text', null, 1, [], undefined]) {
    for (const family of [priced, customers]) {
      const message = /, item 1: it must be an object$/
      await t.rejects(loadItems(memoryStorage(), family, [item]), { item: 1, message })
    }
  }
  const storage = memoryStorage()
  await loadItems(storage, priced, [{ id: 1, price: '1.5' }])
  t.match(await storage.get('priced', 1), { price: '1.50' })
  await t.rejects(loadItems(memoryStorage(), customers, [{ ...people(1)[0], undefined: [] }]), {
    message: /^customers, item 1: \/undefined is unknown/
  })
})

t.test('only commands that were refused keep a problem, and only one of ours', async t => {
  const type = 'urn:dealbook:problem:wrong-state'
  const [plain] = makeDeals('a')
  const load = (storage: Storage, entry: object) =>
    loadItems(storage, deals, [{ ...plain, history: [{ ...created, id: 'c-1', ...entry }] }], { log: 'history' })
  const wrong = [
    undefined, {}, { type }, { type, detail: 1 }, { detail: 'No' }, { type: 'wrong-state', detail: 'No' },
    { type: `${type}s`, detail: 'No' }, { type: 'urn:dealbook:problem:toString', detail: 'No' },
    { type: 1, detail: 'No' }
  ]
  for (const problem of wrong) {
    await t.rejects(load(memoryStorage(), { outcome: 'refused', problem }), {
      message: 'deals, item 1: /history/0/problem must have the type and the detail of a problem'
    }, JSON.stringify(problem))
  }
  const problem = { type, title: 'No', status: 409, detail: 'No', state: 'held' }
  const kept = { code: 'wrong-state', detail: 'No', members: { state: 'held' } }
  for (const [outcome, expected] of [['refused', kept], ['done', undefined], ['unchanged', undefined]] as const) {
    const storage = memoryStorage()
    await load(storage, { outcome, problem })
    t.strictSame((await storage.get('commands', 'c-1'))?.['problem'], expected, outcome)
  }
})
