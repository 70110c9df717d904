import { Type } from '@sinclair/typebox'
import fc from 'fast-check'
import t from 'tap'
import { invoices } from '../../examples/own-family.js'
import type { Storage } from '../../lib/index.js'
import {
  ConflictError, ConstraintError, customers, deals, defineFamily, DuplicateError, makeResumable, memoryStorage,
  ReadOnlyError
} from '../../lib/index.js'
import type { CopyProgress } from '../../lib/tools/index.js'
import { copyStorage, loadItems } from '../../lib/tools/index.js'
import { selectAfter } from '../../lib/tools/rows.js'
import { people } from '../customers-app.js'
import { countTurns } from '../loop-holds.js'
import { refusal } from '../service/book.js'
import { isLong } from '../size.js'
import { storages } from '../storages.js'

const notes = defineFamily({
  name: 'notes',
  singular: 'note',
  fields: Type.Object({
    id: Type.String(),
    text: Type.Union([Type.String(), Type.Null()]),
    size: Type.Optional(Type.Number()),
    at: Type.Optional(Type.String({ format: 'date-time' })),
    day: Type.Optional(Type.String({ format: 'date' })),
    more: Type.Optional(Type.Any())
  }),
  create: ['text', 'size', 'more']
})
const families = [customers, deals, invoices, notes]

/** What somebody did with the families of a storage, and can say again. */
interface Said {
  readonly kind: string
  readonly repeat: (storage: Storage) => Promise<unknown>
}

const text = fc.string({ unit: 'binary', maxLength: 20 })
  .filter(each => !/[\p{Cc}\p{Cs}\ufffe\uffff]/u.test(each))
const steps = fc.array(fc.record({
  who: fc.constantFrom('ann', 'bob', undefined),
  what: fc.constantFrom('hold', 'unhold', 'complete', 'remove'),
  at: fc.nat(9)
}), { minLength: 30, maxLength: 30 })
// No storage keeps larger numbers, or a null where a member may be absent.
const bound = (value: unknown): unknown => [JSON.parse(JSON.stringify(value), (_name, member: unknown) =>
  typeof member === 'number' ? member % 2 ** 53 || 0 : member)]
const contents = fc.array(fc.record({
  text: fc.option(text),
  size: fc.oneof(fc.double({ min: -1e15, max: 1e15, noNaN: true }), fc.integer()),
  more: fc.oneof(fc.jsonValue({ maxDepth: 2, stringUnit: 'grapheme-ascii' }).map(bound), text)
}), { minLength: 10, maxLength: 10 })

/** Fills a storage with all that it can keep: items, entries of every outcome, by ids, by keys and by neither. */
async function fill (storage: Storage): Promise<Said[]> {
  const said: Said[] = []
  const say = async (kind: string, repeat: Said['repeat']): Promise<void> => {
    said.push({ kind, repeat })
    await repeat(storage).catch(() => {})
  }
  await loadItems(storage, customers, people(60))
  const [random = []] = fc.sample(steps, 1)
  for (let n = 0; n < 10; n++) {
    await say('create', storage => deals.service({ storage }).create({ name: `d${n}`, price: n }, { key: `d${n}` }))
    await say('create', storage => invoices.service({ storage }).create({ customer: n, total: n }, { key: `i${n}` }))
  }
  const { items } = await deals.service({ storage }).find()
  for (const [n, { who, what, at }] of random.entries()) {
    const options = who === undefined ? { command: `c${n}` } : { command: `c${n}`, principal: who }
    const id = items[at]?.id as string
    await say(what, storage => {
      const book = deals.service({ storage })
      if (what === 'remove') return book.remove(id, options)
      return what === 'hold' ? book.run('hold', id, { reason: 'r' }, options) : book.run(what, id, {}, options)
    })
  }
  const book = invoices.service({ storage })
  for (const id of [3, 10]) await book.remove(id)
  const [written = []] = fc.sample(contents, 1)
  const journal = notes.service({ storage })
  for (const fields of written) await journal.create(fields)
  return said
}

const all = { where: [], order: [{ field: 'id', descending: false }], offset: 0, limit: 10_000, count: true }

async function readAll (storage: Storage): Promise<unknown[]> {
  const names = [...families.map(family => family.definition.name), 'commands']
  // PostgreSQL numbers the entries when they are read in their order.
  const where = [{ field: 'position', op: 'gte', value: 1 } as const]
  await storage.find('commands', { ...all, where })
  const found = await Promise.all(names.map(name => storage.find(name, all)))
  return found.map(({ items, total }, index) => [names[index], total, items.map(item => ({ ...item }))])
}

async function settle (call: Promise<unknown>): Promise<unknown> {
  return await call.then(done => ({ done }), ({ code, message, members }) => ({ code, message, members }))
}

for (const [index, source] of storages.entries()) {
  // Each is read and written once; in `npm run test:long`, every pair.
  for (const target of isLong ? storages : [storages[(index + 1) % storages.length] as typeof source]) {
    t.test(`from ${source.name} to ${target.name}`, async t => {
      const [from, to] = [await source.make(), await target.make()]
      t.teardown(from.dispose)
      t.teardown(to.dispose)
      const said = await fill(from.storage)
      const before = await readAll(from.storage)
      const progress: CopyProgress[] = []
      const onProgress = (each: CopyProgress) => progress.push(each)
      const copied = await copyStorage(from.storage, to.storage, { families, onProgress })
      t.match(copied, { customers: 60, invoices: 8, notes: 10 })
      t.ok(copied.commands as number > 40, `${copied.commands} commands`)
      t.strictSame(await readAll(to.storage), before, 'all is there')
      t.strictSame(await readAll(from.storage), before, 'and still there')
      for (const [family, total] of Object.entries(copied)) {
        const own = progress.filter(each => each.family === family)
        t.match([own[0], own.at(-1)], [{ copied: 0, total }, { copied: total, total }], `progress of ${family}`)
      }
      t.strictSame(await copyStorage(from.storage, to.storage, { families }), copied, 'again, there is nothing to do')

      const kinds = new Set<string>()
      for (const { kind, repeat } of said) {
        const [there, here] = [await settle(repeat(from.storage)), await settle(repeat(to.storage))]
        t.strictSame(here, there, kind)
        kinds.add(`${kind} ${JSON.stringify(here).slice(0, 8)}`)
      }
      t.ok([...kinds].some(kind => kind.includes('code')) && [...kinds].some(kind => kind.includes('done')), 'both')
      t.strictSame(await readAll(to.storage), before, 'nothing of it was done again')
      const next = invoices.service({ storage: to.storage })
      t.equal((await next.create({ customer: 1, total: 1 })).item.id, 11, 'the id of a deleted one is not given again')
      for (const { id } of (await deals.service({ storage: from.storage }).find()).items) {
        const [there, here] = [from, to].map(({ storage }) => deals.service({ storage }))
        t.strictSame(await here?.log(id), await there?.log(id), 'the same log')
      }
    })
  }

  t.test(`an interrupted copy goes on: ${source.name}`, async t => {
    const { storage: to, dispose } = await source.make()
    t.teardown(dispose)
    const from = memoryStorage()
    await fill(from)
    const commits: number[] = []
    let left = 3
    const killed: Storage = {
      ...to,
      async commit (changes) {
        if (left-- === 0) throw new Error('killed')
        commits.push(changes.length)
        await to.commit(changes)
      }
    }
    for (left of [1, 3, 1]) await t.rejects(copyStorage(from, killed, { families }), { message: 'killed' })
    const stopping = new AbortController()
    const onProgress = ({ family }: CopyProgress) => { if (family === 'invoices') stopping.abort(new Error('stopped')) }
    const stopped = copyStorage(from, to, { families, onProgress, signal: stopping.signal })
    await t.rejects(stopped, { message: 'stopped' })
    await copyStorage(from, to, { families })
    t.strictSame(await readAll(to), await readAll(from))
    t.ok(commits.length === 5 && commits.every(size => size > 0), 'each attempt got further')
  })
}

t.test('a target that has something else is refused, and not changed', async t => {
  const from = memoryStorage()
  await fill(from)
  const others: Record<string, (to: Storage) => Promise<unknown>> = {
    'another item': async to => await loadItems(to, customers, [{ id: 61, age: 1, children: 1 }]),
    'the same id, another item': async to => await loadItems(to, customers, [{ id: 1, age: 1, children: 1 }]),
    'an item of the last family': async to => await notes.service({ storage: to }).create({ text: 'a' }),
    'a copy that was changed since': async to => {
      await copyStorage(from, to, { families })
      await invoices.service({ storage: to }).run('pay', 1, { on: '2030-01-01' })
    },
    'a copy that has more': async to => {
      await copyStorage(from, to, { families })
      await invoices.service({ storage: to }).create({ customer: 1, total: 1 })
    }
  }
  for (const [name, prepare] of Object.entries(others)) {
    const to = memoryStorage()
    await prepare(to)
    let commits = 0
    const watched: Storage = { ...to, commit: async changes => { commits++; await to.commit(changes) } }
    const error = await refusal(copyStorage(from, watched, { families }))
    const message = /^copyStorage: the target already has \w+ "[\w-]+", which is not a copy of an item of the source\./
    t.match(error, { code: 'FST_DEALBOOK_INVALID_COPY', message }, name)
    t.equal(commits, 0, name)
  }
})

t.test('nothing is left behind unsaid', async t => {
  const from = memoryStorage()
  await fill(from)
  const code = 'FST_DEALBOOK_INVALID_COPY'
  for (const missing of [deals, invoices, notes]) {
    await t.rejects(copyStorage(from, memoryStorage(), { families: families.filter(each => each !== missing) }), {
      code,
      message: `copyStorage: the log has commands of "${missing.definition.name}", which is not among "families"`
    })
  }
  const wider = deals.extend({ fields: Type.Object({ region: Type.Optional(Type.String()) }), create: ['region'] })
  await wider.service({ storage: from }).create({ name: 'a', price: 1, region: 'north' })
  const message = /^copyStorage: deals "[\w-]+" has the member "region", which no version of it in "families" has$/
  await t.rejects(copyStorage(from, memoryStorage(), { families }), { code, message })
  const to = memoryStorage()
  await copyStorage(from, to, { families: [...families, wider] })
  t.match((await wider.service({ storage: to }).find('region=north')).items, [{ region: 'north' }])

  const growing: Storage = {
    ...from,
    async find (family, query) {
      const found = await from.find(family, query)
      if (family !== 'invoices' || !query.count) return found
      await invoices.service({ storage: from }).create({ customer: 1, total: 1 })
      return found
    }
  }
  await t.rejects(copyStorage(growing, memoryStorage(), { families: [...families, wider] }), {
    code,
    message: /^copyStorage: invoices had \d+ items at the start, and \d+ were copied: something writes/
  })
  const misspelt = { ...memoryStorage(), mappedFamilies: ['custmers'] }
  await t.rejects(copyStorage(from, misspelt, { families: [...families, wider] }), {
    code: 'FST_DEALBOOK_UNKNOWN_MAPPED_FAMILY'
  })
  for (const [source, target] of [[from, from], [from, {}], [{}, from]] as [Storage, Storage][]) {
    const refused = copyStorage(source, target, { families })
    await t.rejects(refused, { code, message: 'copyStorage: it needs two different storages' })
  }
  for (const options of [{ families: [] }, {}, undefined] as { families: [] }[]) {
    await t.rejects(copyStorage(from, to, options), { code, message: /"families" must be a list of all families$/ })
  }
  await t.rejects(copyStorage(from, to, { families: [{ definition: { name: 'deals' } }] }), {
    code: 'FST_DEALBOOK_NO_FAMILY'
  })
})

t.test('what has no revision, as a table that is only read, has its first', async t => {
  const [inner, to] = [memoryStorage(), memoryStorage()]
  await loadItems(inner, customers, people(30))
  const from: Storage = {
    ...inner,
    async find (family, query) {
      const { items, ...found } = await inner.find(family, query)
      return { ...found, items: items.map(item => ({ ...item, revision: 0 })) }
    }
  }
  for (const round of ['at first', 'and again']) {
    t.match(await copyStorage(from, to, { families: [customers] }), { customers: 30 }, round)
  }
  t.equal((await to.get('customers', 7))?.revision, 1)
})

t.test('wide rows are copied few at a time, narrow ones many', async t => {
  const [from, inner] = [memoryStorage(), memoryStorage()]
  await loadItems(from, customers, people(5000))
  await loadItems(from, notes, Array.from({ length: 40 }, (_, n) => ({ id: `${10 + n}`, text: 'a'.repeat(100_000) })))
  const sizes: Record<string, number[]> = { customers: [], notes: [] }
  const to: Storage = {
    ...inner,
    async commit (changes) {
      sizes[changes[0]?.family as string]?.push(changes.length)
      await inner.commit(changes)
    }
  }
  await copyStorage(from, to, { families: [customers, notes] })
  t.strictSame(sizes.customers, [10, 50, 250, 1000, 1000, 1000, 1000, 690])
  t.ok(sizes.notes?.slice(1).every(size => size <= 5), `${sizes.notes}`)
})

t.test('others go on meanwhile, though everything is in memory', async t => {
  const [from, to] = [memoryStorage(), memoryStorage()]
  await loadItems(from, customers, people(12_000))
  const turns = await countTurns(() => copyStorage(from, to, { families: [customers] }))
  t.ok(turns > 5, `${turns} turns`)
})

t.test('a restart of either database stops it; called again, it continues', async t => {
  const source = memoryStorage()
  await loadItems(source, customers, people(30))
  const fail = (): never => { throw Object.assign(new Error('terminating connection'), { code: '57P01' }) }
  for (const broken of ['source', 'target']) {
    const target = memoryStorage()
    let calls = 0
    const failing = (storage: Storage): Storage => ({
      ...storage,
      find: async (...given) => broken === 'source' && ++calls === 4 ? fail() : await storage.find(...given),
      commit: async changes => broken === 'target' && ++calls === 2 ? fail() : await storage.commit(changes)
    })
    const copy = () => copyStorage(
      broken === 'source' ? failing(source) : source, broken === 'target' ? failing(target) : target,
      { families: [customers] })
    await t.rejects(copy(), {
      code: 'FST_DEALBOOK_INTERRUPTED',
      message: 'copyStorage: the storage failed: terminating connection. ' +
        'If this was temporary, call it again: it continues after what is stored',
      cause: { code: '57P01' }
    }, broken)
    t.match(await copy(), { customers: 30 }, broken)
  }
})

t.test('a member of another family is unknown in a family, and one without a value is none', async t => {
  const inner = memoryStorage()
  await loadItems(inner, customers, people(2))
  const fields = Type.Object({ id: Type.Integer(), size: Type.Optional(Type.Integer()) })
  const boxes = defineFamily({ name: 'boxes', singular: 'box', fields })
  await loadItems(inner, boxes, [{ id: 1, size: 2 }])
  for (const size of [3, undefined]) {
    const from: Storage = {
      ...inner,
      async find (family, query) {
        const { items, ...found } = await inner.find(family, query)
        return { ...found, items: family === 'customers' ? items.map(item => ({ ...item, size })) : items }
      }
    }
    const to = memoryStorage()
    const prepared: string[] = []
    const own: Storage = {
      ...to,
      async prepare (shape) {
        prepared.push(shape.name)
        await to.prepare(shape)
      }
    }
    const copy = () => copyStorage(from, own, { families: [customers, boxes] })
    if (size === undefined) {
      for (const round of ['at first', 'and again']) {
        t.strictSame(await copy(), { customers: 2, boxes: 1, commands: 0 }, round)
      }
      t.strictSame(await to.get('customers', 2), await inner.get('customers', 2))
    } else {
      await t.rejects(copy(), {
        message: 'copyStorage: customers "1" has the member "size", which no version of it in "families" has'
      })
      t.strictSame(prepared, ['customers', 'boxes', 'commands'])
    }
  }
})

t.test('why a target rejects a copy', async t => {
  const from = memoryStorage()
  await loadItems(from, customers, people(13))
  const refused = new ConstraintError('customers', 11, 'unique', { fields: ['age', 'children'] })
  const message = 'copyStorage: the target rejects one of customers from "11" to "13": unique age children'
  const conflict = new ConflictError('customers', 11)
  for (const [error, expected] of [
    [refused, { code: 'FST_DEALBOOK_INVALID_COPY', message, cause: refused }], [conflict, conflict]
  ] as const) {
    const inner = memoryStorage()
    const to: Storage = {
      ...inner,
      async commit (changes) {
        if (changes.length === 3) throw error
        await inner.commit(changes)
      }
    }
    const rejected: unknown = await copyStorage(from, to, { families: [customers] }).catch((error: unknown) => error)
    if (expected === error) t.equal(rejected, error)
    else t.match(rejected, expected)
  }
})

t.test('all items, and those after one', t => {
  const all = { where: [], order: [{ field: 'id', descending: false }], offset: 0, limit: 5, count: false }
  t.strictSame(selectAfter(undefined, 5), all)
  t.strictSame(selectAfter(0, 5), { ...all, where: [{ field: 'id', op: 'gt', value: 0 }] })
  t.end()
})

t.test('an error of a storage says to continue, unless it would come again', async t => {
  const asked: unknown[][] = []
  let error: unknown = new Error('down')
  let isDown = false
  const answer = (name: string) => async (...given: unknown[]): Promise<never> => {
    asked.push([name, ...given])
    if (isDown) throw error
    return name as never
  }
  const names = ['prepare', 'find', 'get', 'commit', 'close'] as const
  const storage = Object.fromEntries(names.map(name => [name, answer(name)])) as unknown as Storage
  const resumable = makeResumable(storage, 'copyStorage')
  const [shape, query, changes] = [{ name: 'a' }, { limit: 1 }, [{ type: 'delete' }]] as never[]
  const calls: (() => Promise<unknown>)[] = [
    () => resumable.prepare(shape as never), () => resumable.find('a', query as never), () => resumable.get('a', 1),
    () => resumable.commit(changes as never)
  ]
  const answers = []
  for (const call of [...calls, () => resumable.close()]) answers.push(await call())
  t.strictSame(answers, names)
  t.strictSame(asked, [
    ['prepare', shape], ['find', 'a', query], ['get', 'a', 1], ['commit', changes], ['close']
  ])
  isDown = true
  for (const call of calls) {
    const message = /^copyStorage: the storage failed: down\. If this was temporary, call it again/
    const failed: unknown = await call().catch((error: unknown) => error)
    t.match(failed, { code: 'FST_DEALBOOK_INTERRUPTED', message, cause: error })
  }
  for (error of [
    new ConflictError('a', 1), new ConstraintError('a', 1, 'unique'), new DuplicateError('a', 1),
    new ReadOnlyError('a'), Object.assign(new Error('no table'), { code: 'FST_DEALBOOK_NO_TABLE' })
  ]) {
    for (const call of calls) t.equal(await call().catch((error: unknown) => error), error)
  }
})
