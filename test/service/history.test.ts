// An item at every revision is what was stored then, whatever has happened since.
import fc from 'fast-check'
import t from 'tap'
import {
  type Change, decimal, defineFamily, type GetOptions, type Id, type Members, Problem, type Service, type Storage,
  type Stored, Type
} from '../../lib/index.js'
import { runs } from '../size.js'
import { storages } from '../storages.js'

const words = (verb: string, participle: string, noun: string, action: string) =>
  ({ name: verb, verb, participle, noun, action })

const goods = defineFamily({
  name: 'goods',
  singular: 'good',
  fields: Type.Object({ id: Type.String(), stock: Type.Integer(), label: Type.Optional(Type.String()) }),
  create: ['id', 'stock'],
  edit: ['label']
})

const fields = {
  id: Type.Integer(),
  name: Type.String(),
  note: Type.Optional(Type.String()),
  due: Type.Union([Type.String({ format: 'date' }), Type.Null()]),
  at: Type.Optional(Type.String({ format: 'date-time' })),
  price: decimal({ scale: 2 }),
  secret: Type.Optional(Type.String({ writeOnly: true })),
  lines: Type.Array(Type.Object({ good: Type.String(), count: Type.Integer() })),
  extra: Type.Optional(Type.Object({ deep: Type.Array(Type.Unknown()) })),
  total: Type.Integer({ default: 0 })
}

const orders = defineFamily({
  name: 'orders',
  singular: 'order',
  fields: Type.Object(fields),
  create: ['name', 'note', 'price', 'secret', 'lines'],
  edit: ['name', 'note', 'due', 'at', 'price', 'secret', 'lines', 'extra'],
  derive: { total: ({ lines }) => lines.reduce((sum, { count }) => sum + count, 0) },
  references: { 'lines.good': goods },
  operations: {
    take: {
      ...words('take', 'taken', 'takes', 'TakeGoods'),
      params: Type.Object({ by: Type.Integer() }),
      with: { goods: { family: goods, path: 'lines.good' } },
      apply: (order, { by }, { items: { goods } }) => ({
        item: by % 3 === 0 ? order : { ...order, note: `took ${by}` },
        others: { goods: goods.map(good => ({ ...good, stock: good.stock - by })) }
      })
    }
  }
})

const renamed = orders.rename({ note: 'remark', lines: 'rows', 'lines.count': 'pieces' })
const { due, secret, extra, ...fewer } = fields
const narrow = defineFamily({
  name: 'orders',
  singular: 'order',
  fields: Type.Object(fewer),
  create: ['name', 'price', 'lines'],
  edit: ['name'],
  derive: { total: ({ lines }) => lines.reduce((sum, { count }) => sum + count, 0) }
})

/** What was committed, by item and revision; null where it was deleted. */
type Journal = Map<string, Map<number, Stored | null>>

function keepJournal (storage: Storage, journal: Journal): Storage {
  const note = (change: Change): void => {
    if (change.family === 'commands' || change.type === 'require') return
    const id = 'item' in change ? change.item.id : change.id
    const key = `${change.family}/${id}`
    const revisions = journal.get(key) ?? new Map<number, Stored | null>()
    journal.set(key, revisions)
    if ('item' in change) revisions.set(change.item.revision, structuredClone(change.item))
    else revisions.set(change.expected + 1, null)
  }
  return {
    ...storage,
    async commit (changes) {
      await storage.commit(changes)
      changes.forEach(note)
    }
  }
}

const text = fc.oneof(fc.string({ maxLength: 5 }), fc.constant('x'.repeat(300)))
  .filter(text => !/[\0\ud800-\udfff]/.test(text))
const lines = fc.array(fc.record({ good: fc.constantFrom('a', 'b', 'c'), count: fc.integer({ min: 0, max: 9 }) }),
  { maxLength: 12 })
const edit = fc.record({
  name: text,
  note: text,
  due: fc.constantFrom(null, '2026-03-01', '2026-03-02'),
  at: fc.constantFrom('2026-03-01T12:00:00+02:00', '2026-03-02T00:00:00Z'),
  price: fc.constantFrom('1.5', '0.00', '-7.25'),
  secret: text,
  lines,
  extra: fc.record({ deep: fc.array(fc.oneof(fc.integer(), fc.constant(null), fc.boolean()), { maxLength: 3 }) })
}, { requiredKeys: [] })
const step = fc.record({
  kind: fc.constantFrom(
    'create', 'edit', 'edit', 'edit', 'take', 'take', 'rename', 'narrow', 'label', 'remove', 'many'),
  target: fc.nat(5),
  edit,
  by: fc.integer({ min: 0, max: 5 }),
  principal: fc.constantFrom('ann', undefined)
})
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never

type Books = Readonly<Record<'order' | 'renamed' | 'narrow' | 'good', Service>>

function open (storage: Storage): Books {
  const own = { order: orders, renamed, narrow, good: goods }
  return Object.fromEntries(Object.entries(own).map(([name, family]) => [name, family.service({ storage })])) as never
}

async function run (
  { order, renamed, narrow, good }: Books, steps: readonly Step[], journal: Journal
): Promise<void> {
  for (const id of ['a', 'b', 'c']) await good.create({ id, stock: 10 })
  let created = 0
  for (const { kind, target, edit, by, principal } of steps) {
    const id = target % (created + 1)
    const options = principal === undefined ? {} : { principal }
    const { name = 'n', note = '', price = '1.00', secret = '', lines = [] } = edit
    const work = async (): Promise<void> => {
      switch (kind) {
        case 'create':
          created++
          await order.create({ name, note, price, secret, lines }, options)
          break
        case 'edit': await order.run('edit', id, edit, options); break
        case 'take': await order.run('take', id, { by }, options); break
        case 'rename': {
          const rows = lines.map(({ good, count: pieces }) => ({ good, pieces }))
          await renamed.run('edit', id, { remark: note, rows }, options)
          break
        }
        case 'narrow': await (by === 0 ? narrow.remove(id, options) : narrow.run('edit', id, { name: note })); break
        case 'label': await good.run('edit', 'abc'.charAt(id % 3), { label: note }, options); break
        case 'remove': await order.remove(id, options); break
        default: {
          const done = await order.runAll([
            { operation: 'edit', id, params: edit }, { operation: 'take', id, params: { by } },
            { operation: 'edit', id, params: { name: `${by}` } }
          ], { atomic: true, ...options })
          // The storage only gets the last of them.
          for (const { item } of done) journal.get(`orders/${id}`)?.set(Number(item?.['revision']), item as Stored)
        }
      }
    }
    await work().catch((error: unknown) => { if (!(error instanceof Problem)) throw error })
  }
}

/** The item, or the code of the problem. */
async function ask (book: Service, id: Id, when: Pick<GetOptions, 'revision' | 'at'>): Promise<unknown> {
  try {
    return await book.get(id, when)
  } catch (error) {
    if (error instanceof Problem) return error.code
    throw error
  }
}

const allOf = { where: [], order: [{ field: 'id', descending: false }], offset: 0, limit: 100, count: false }
const pick = (item: Members, names: readonly string[]): Members =>
  Object.fromEntries(names.flatMap(name => item[name] === undefined ? [] : [[name, item[name]]]))
const service = ['revision', 'createdAt', 'updatedAt']
const shown = {
  order: (item: Members) => pick(item, [...Object.keys(fields).filter(name => name !== 'secret'), ...service]),
  narrow: (item: Members) => pick(item, [...Object.keys(fewer), ...service]),
  good: (item: Members) => pick(item, ['id', 'stock', 'label', ...service]),
  renamed (item: Members) {
    const { note, lines, ...rest } = shown.order(item)
    const rows = (lines as { good: string, count: number }[]).map(({ good, count: pieces }) => ({ good, pieces }))
    return { ...rest, rows, ...note !== undefined && { remark: note } }
  }
}

for (const { name, make } of storages) {
  t.test(`${name}: an item at each revision is what was stored then`, async t => {
    let compared = 0
    const count = runs({ memory: 300, sqlite: 60 }[name] ?? 20)
    await fc.assert(fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async steps => {
      const fixture = await make()
      try {
        const journal: Journal = new Map()
        const books = open(keepJournal(fixture.storage, journal))
        await run(books, steps, journal)
        for (const [key, revisions] of journal) {
          const [family = '', text = ''] = key.split('/')
          const [id, names] = family === 'goods'
            ? [text, ['good']] as const
            : [Number(text), ['order', 'renamed', 'narrow']] as const
          for (let revision = 1; revision <= revisions.size + 1; revision++) {
            const item = revisions.get(revision)
            for (const name of names as readonly (keyof typeof shown)[]) {
              const expected = item ? shown[name](item) : 'not-found'
              t.strictSame(await ask(books[name], id, { revision }), expected, `${key} ${revision} as ${name}`)
              compared++
            }
          }
        }
      } finally {
        await fixture.dispose()
      }
    }), { numRuns: count })
    t.ok(compared > 2 * count, `${compared} compared`)
  })
}

for (const { name, make } of storages) {
  t.test(`${name}: what the log does not have is not taken for the whole`, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    const bounded: Storage = { ...storage, maxLogged: 10 }
    const book = orders.service({ storage: bounded }) as unknown as Service
    const [short, long] = ['short', 'a'.repeat(11)]
    const { item } = await book.create({ name: short, note: 'n', price: '1.00', lines: [], secret: 'pin' })
    const { id } = item as Stored
    await book.run('edit', id, { name: long, secret: 'pen' })
    await book.run('edit', id, { name: 'again' })
    await book.run('edit', id, { note: long })
    await book.remove(id)
    const changes = (await book.log(id)).items.map(({ changes }) => changes)
    t.strictSame(changes.slice(0, 4), [
      undefined,
      { name: { from: short, omitted: ['to'] }, secret: {} },
      { name: { to: 'again', omitted: ['from'] } },
      { note: { from: 'n', omitted: ['to'] } }
    ])
    t.match(changes[4], { id: { from: id }, name: { from: 'again' }, note: { omitted: ['from'] }, secret: {} })
    t.notOk(JSON.stringify(await storage.find('commands', allOf)).includes('pen'))
    t.match(await book.get(id, { revision: 1 }), { name: short, note: 'n', revision: 1 })
    await t.rejects(book.get(id, { revision: 2 }), { code: 'pruned', members: { missing: ['name'] } })
    t.match(await book.get(id, { revision: 3 }), { name: 'again', note: 'n' })
    await t.rejects(book.get(id, { revision: 4 }), { code: 'pruned', members: { missing: ['note'] } })

    // As an earlier version has written it.
    const { items } = await storage.find('commands', allOf)
    const third = items.find(({ revision }) => revision === 3) as Stored
    const cut = { ...third, changes: { name: {} }, revision: 3 }
    const { revision: expected } = third
    await storage.commit([{ type: 'delete', family: 'commands', id: third.id, expected, current: third }])
    await storage.commit([{ type: 'insert', family: 'commands', item: cut }])
    t.strictSame((await book.log(id)).items[2]?.changes, { name: { omitted: ['from', 'to'] } })
    // The first change has the name before it.
    t.match(await book.get(id, { revision: 1 }), { name: short })
    await t.rejects(book.get(id, { revision: 2 }), { code: 'pruned', members: { missing: ['name'] } })
  })
}
