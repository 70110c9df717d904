import Fastify from 'fastify'
import t from 'tap'
import { defineFamily, memoryStorage, Problem, readMetrics, type Storage, Type } from '../../lib/index.js'
import { storages } from '../storages.js'

const notes = defineFamily({
  name: 'notes',
  singular: 'note',
  fields: Type.Object({ id: Type.Integer(), text: Type.String() }),
  create: ['text'],
  edit: ['text']
})
const books = defineFamily({
  name: 'books',
  singular: 'book',
  fields: Type.Object({ id: Type.String(), name: Type.String(), note: Type.Optional(Type.Integer()) }),
  create: ['id', 'name'],
  operations: {
    remark: {
      name: 'remark',
      verb: 'remark',
      participle: 'remarked',
      noun: 'remarks',
      action: 'RemarkBook',
      params: Type.Object({}),
      creates: { note: notes },
      apply: (book, _params, { newIds }) =>
        ({ item: { ...book, note: newIds.note }, created: { note: { text: book.name } } })
    }
  }
})

const many = 300
const some = 120
const upTo = (last: number): number[] => Array.from({ length: last }, (_, index) => index + 1)
const sorted = (ids: readonly unknown[]): unknown[] => ids.toSorted((a, b) => Number(a) - Number(b))

for (const { name, make } of storages) {
  t.test(`${name}: creations wait for the next id, none is refused, and no id is left out`, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    const app = Fastify()
    t.teardown(() => app.close())
    app.register(notes, { storage, timeout: 60_000 })
    const book = notes.service({ storage })
    const made = await Promise.all(upTo(many).map(n => book.create({ text: `${n}` })))
    t.strictSame(made.map(({ item }) => item.id), upTo(many), 'in the order in which they came')
    const sent = await Promise.all(upTo(some).map(async n =>
      await app.inject({ method: 'POST', url: '/notes', payload: { text: `${n}` } })))
    t.strictSame([...new Set(sent.map(({ statusCode }) => statusCode))], [201])
    const ids = sent.map(({ headers }) => Number(String(headers.location).split('/').at(-1)))
    t.strictSame(sorted(ids), upTo(many + some).slice(many))
    t.equal(readMetrics(storage).writers_waiting, 0)
  })

  t.test(`${name}: so do operations that create items`, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    const service = books.service({ storage })
    const ids = upTo(some).map(n => `b${n}`)
    await Promise.all(ids.map(id => service.create({ id, name: id })))
    const done = await Promise.all(ids.map(id => service.run('remark', id)))
    t.strictSame(sorted(done.map(({ item }) => item?.note)), upTo(some))
  })

  t.test(`${name}: those of several storages over one database get ids without gaps`, async t => {
    const { storage, another, dispose } = await make()
    t.teardown(dispose)
    if (another === undefined) return
    const all = [storage, another(), another()]
    for (const each of all.slice(1)) t.teardown(() => each.close())
    await Promise.all(all.map(each => notes.service({ storage: each }).find()))
    const made = await Promise.all(upTo(many).map(n =>
      notes.service({ storage: all[n % 3] as Storage }).create({ text: `${n}` })))
    t.strictSame(sorted(made.map(({ item }) => item.id)), upTo(many))
  })
}

/** A storage whose commits wait until they are let through. */
function makeGate () {
  const inner = memoryStorage()
  let open = (): void => {}
  const gate = new Promise<void>(resolve => { open = resolve })
  const storage: Storage = {
    ...inner,
    async commit (changes) {
      await gate
      await inner.commit(changes)
    }
  }
  return { storage, open: () => { open() } }
}

t.test('a thousand creations wait, apart from the writers of items', async t => {
  const { storage, open } = makeGate()
  const service = notes.service({ storage })
  const leaving = new AbortController()
  const first = service.create({ text: '1' })
  const gone = service.create({ text: 'x' }, { signal: leaving.signal })
  const waiting = upTo(999).map(n => service.create({ text: `${n + 1}` }))
  const refused = await service.create({ text: 'y' }).catch(error => error as Problem)
  t.match(refused, { code: 'busy', statusCode: 503, headers: { 'retry-after': '1' } })
  t.match(refused, { message: 'Too many writers are waiting, 1000 of them for the next id; nothing was done' })
  t.equal(readMetrics(storage).writers_waiting, 1000)
  const missing = await Promise.all(upTo(2).map(() => service.run('edit', 1, { text: 'z' }).catch(error => error)))
  t.match(missing, [{ code: 'not-found' }, { code: 'not-found' }], 'others are not kept from waiting')
  leaving.abort(new Error('left'))
  await t.rejects(gone, { message: 'left' })
  const late = service.create({ text: 'late' })
  open()
  t.equal((await first).item.id, 1)
  t.strictSame((await Promise.all(waiting)).map(({ item }) => item.id), upTo(1000).slice(1), 'who left has no id')
  t.equal((await late).item.id, 1001)
})

t.test('a request waits for its deadline', async t => {
  const { storage, open } = makeGate()
  const app = Fastify()
  t.teardown(() => app.close())
  app.register(notes, { storage, timeout: 100 })
  const answers = await Promise.all(upTo(5).map(async n =>
    await app.inject({ method: 'POST', url: '/notes', payload: { text: `${n}` } })))
  t.strictSame(answers.map(({ statusCode }) => statusCode), [503, 503, 503, 503, 503])
  t.match(answers.map(answer => answer.json<object>()), Array(5).fill({ type: 'urn:dealbook:problem:timeout' }))
  t.equal(readMetrics(storage).writers_waiting, 0)
  open()
})
