import Fastify, { type InjectOptions } from 'fastify'
import t from 'tap'
import { defineFamily, describe, memoryStorage, type Storage, Type } from '../../lib/index.js'
import { prune } from '../../lib/tools/index.js'
import { storages } from '../storages.js'
import { codeOf } from './code-of.js'

const people = defineFamily({
  name: 'people',
  singular: 'person',
  fields: Type.Object({ id: Type.String() }),
  create: ['id']
})

const notes = defineFamily({
  name: 'notes',
  singular: 'note',
  fields: Type.Object({
    id: Type.Integer(),
    number: Type.Integer(),
    text: Type.Optional(Type.String()),
    lines: Type.Array(Type.Object({ price: Type.Integer() }), { default: [] }),
    total: Type.Integer({ default: 0 }),
    owner: Type.Optional(Type.String()),
    status: Type.Union([Type.Literal('open'), Type.Literal('done')], { default: 'open' }),
    key: Type.Optional(Type.String({ writeOnly: true }))
  }),
  unique: [['number']],
  references: { owner: people },
  derive: { total: ({ lines }) => lines.reduce((sum, { price }) => sum + price, 0) },
  create: ['number', 'text', 'lines', 'owner', 'key'],
  edit: ['number', 'text', 'lines', 'owner', 'key'],
  revert: {
    allowed: ({ status }, _params, { items: { was } }) =>
      (was?.text !== 'never' && status === 'open') || 'Only open notes can be reverted'
  },
  operations: {
    finish: {
      name: 'finish',
      verb: 'finish',
      participle: 'finished',
      noun: 'finishings',
      action: 'FinishNote',
      params: Type.Object({}),
      apply: note => ({ ...note, status: 'done' })
    }
  }
})

for (const { name, make } of storages) {
  t.test(`${name}: an item gets the values of an earlier revision`, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    const [book, person] = [notes.service({ storage }), people.service({ storage })]
    await person.create({ id: 'ann' })
    const first = await book.create({ number: 1, lines: [{ price: 3 }], owner: 'ann', key: 'one' })
    const { item: { id } } = first
    const text = 'long '.repeat(10)
    await book.run('edit', id, { text, lines: [{ price: 3 }, { price: 4 }], key: 'two' })
    const { item: third } = await book.run('edit', id, { number: 2, owner: null })
    t.equal(third?.total, 7)
    const done = await book.revert(id, { to: 1 }, { principal: 'ann' })
    const { updatedAt } = done.item ?? {}
    const { key, ...shown } = first.item
    t.strictSame(done.item, { ...shown, revision: 4, updatedAt })
    t.equal(key, 'one', 'only in the answer to what set it')
    t.equal((await storage.get('notes', id))?.key, 'two', 'no value that no client reads')
    t.equal((await book.revert(id, { to: 1 })).changed, false, 'a no-op')
    t.equal((await book.revert(id, { to: 4 })).changed, false)
    t.match((await book.revert(id, { to: 3 })).item, { number: 2, text, total: 7 })
    t.equal(await codeOf(book.revert(id, { to: 6 })), 'invalid-body')
    t.equal(await codeOf(book.revert(id, { to: 0 })), 'invalid-body')
    t.equal(await codeOf(book.revert(99, { to: 1 })), 'not-found')
    const { items } = await book.log(id)
    t.match(items.at(3), { action: 'RevertNote', params: { to: 1 }, principal: 'ann', revision: 4 })

    await book.create({ number: 1 })
    t.equal(await codeOf(book.revert(id, { to: 1 })), 'taken')
    t.match(await book.preview('revert', id, { to: 2 }), { changed: true, item: { number: 1 } })
    await book.run('edit', id, { number: 5 })
    await person.remove('ann').catch(() => undefined)
    t.equal(await codeOf(book.revert(id, { to: 2 }, { revision: 5 })), 'precondition-failed')
  })

  t.test(`${name}: what was deleted meanwhile`, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    const [book, person] = [notes.service({ storage }), people.service({ storage })]
    await person.create({ id: 'ann' })
    const { item: { id } } = await book.create({ number: 1, owner: 'ann' })
    await book.run('edit', id, { owner: null })
    await person.remove('ann')
    await t.rejects(book.revert(id, { to: 1 }), { code: 'missing', statusCode: 409 })
    await person.restore('ann')
    t.equal((await book.revert(id, { to: 1 })).item?.owner, 'ann')
    await book.remove(id)
    await book.restore(id)
    t.equal(await codeOf(book.revert(id, { to: 4 })), 'invalid-body', 'it was deleted then')
    t.equal((await book.revert(id, { to: 2 })).item?.owner, undefined, 'from before it was deleted')
    await book.run('finish', id)
    await t.rejects(book.revert(id, { to: 1 }), { code: 'wrong-state', message: 'Only open notes can be reverted' })
  })

  t.test(`${name}: races`, async t => {
    const { storage, another, dispose } = await make()
    t.teardown(dispose)
    const second = another?.() ?? storage
    t.teardown(() => second.close())
    const [one, two] = [notes.service({ storage }), notes.service({ storage: second })]
    const { item: { id } } = await one.create({ number: 1, text: 'first' })
    for (let turn = 0; turn < 5; turn++) {
      const edited = { text: `text ${turn}`, lines: [{ price: turn }] }
      await Promise.all([one.revert(id, { to: 1 }), two.run('edit', id, edited)])
      const { text, lines, total } = await one.get(id)
      const isReverted = text === 'first' && lines.length === 0 && total === 0
      t.ok(isReverted || (text === `text ${turn}` && lines[0]?.price === turn && total === turn), 'one, then the other')
    }
    const { items } = await one.log(id, { limit: 100 })
    const done = items.filter(({ outcome }) => outcome === 'done')
    t.strictSame(done.map(({ revision }) => revision), done.map((_, index) => index + 1))
  })
}

t.test('every form', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  const storage = memoryStorage()
  app.register(notes, { storage })
  await app.ready()
  const service = notes.service({ storage })
  const { item: { id } } = await service.create({ number: 1, text: 'first' })
  const url = `/notes/${id}`
  const [action, params] = ['RevertNote', { to: 1 }]
  const forms: readonly (readonly [InjectOptions, number])[] = [
    [{ method: 'PUT', url: `${url}/revert`, payload: params }, 200],
    [{ method: 'PUT', url: `${url}/reverted`, payload: params }, 200],
    [{ method: 'POST', url: `${url}/reversions`, payload: params }, 201],
    [{ method: 'PUT', url, payload: { action, params } }, 200],
    [{ method: 'PUT', url: `${url}/commands/c-1`, payload: { action, params } }, 201],
    [{ method: 'PUT', url: '/rest/commands/c-2', payload: { note: id, action, params } }, 201],
    [{ method: 'POST', url: '/rest/commands', payload: { commands: [{ note: id, action, params }] } }, 200],
    [{ method: 'POST', url: `/command/${action}/`, payload: { id, ...params } }, 200]
  ]
  for (const [request, status] of forms) {
    await service.run('edit', id, { text: `${request.url as string}` })
    const answer = await app.inject(request)
    t.equal(answer.statusCode, status, `${request.method} ${request.url as string}: ${answer.body}`)
    t.equal((await service.get(id)).text, 'first')
  }
  const { items } = (await app.inject(`${url}/operations`)).json() as { items: { name: string, allowed: boolean }[] }
  t.strictSame(items.filter(({ allowed }) => allowed).map(({ name }) => name), ['finish', 'edit', 'revert', 'delete'])
  t.equal((await app.inject({ method: 'PUT', url: `${url}/revert`, payload: {} })).statusCode, 400)
  t.match(describe(notes).actions.find(({ kind }) => kind === 'revert'), {
    name: 'revert', action: 'RevertNote', words: { verb: 'revert', participle: 'reverted', noun: 'reversions' }
  })
})

t.test('a log that does not reach', async t => {
  const storage = memoryStorage()
  const book = notes.service({ storage })
  const old = notes.service({ storage, clock: () => new Date('2020-01-31') })
  const { item: { id } } = await old.create({ number: 1, text: 'first' })
  await old.run('edit', id, { text: 'second' })
  await prune(storage, { before: '2020-02-01' })
  await book.run('edit', id, { text: 'third' })
  t.equal((await book.revert(id, { to: 2 })).item?.text, 'second')
  await t.rejects(book.revert(id, { to: 1 }), { code: 'pruned', statusCode: 410 })
})

t.test('what the deletion of another item changed in this one is taken back too', async t => {
  const storage = memoryStorage()
  interface Node { readonly size: number }
  const nodes = defineFamily({
    name: 'nodes',
    singular: 'node',
    fields: Type.Object({ id: Type.String(), parent: Type.Optional(Type.String()), size: Type.Integer() }),
    create: ['id', 'parent', 'size'],
    edit: ['size'],
    revert: true,
    remove: {
      with: { parent: { family: 'nodes', id: () => 'a' } },
      apply: (node: Node, _params: unknown, { items: { parent } }: { items: { parent?: Node } }) =>
        ({ others: { parent: parent && { ...parent, size: parent.size - node.size } } }),
      restore: () => undefined
    } as never
  })
  const book = nodes.service({ storage })
  await book.create({ id: 'a', size: 5 })
  await book.create({ id: 'b', parent: 'a', size: 2 })
  await book.remove('b')
  t.match(await book.get('a'), { size: 3, revision: 2 })
  t.match(await book.get('a', { revision: 1 }), { size: 5 })
  t.match((await book.revert('a', { to: 1 })).item, { size: 5, revision: 3 })
})

t.test('a value that the log left out where it was, and has where it changed again', async t => {
  const storage: Storage = { ...memoryStorage(), maxLogged: 10 }
  const book = notes.service({ storage })
  const { item: { id } } = await book.create({ number: 1, text: 'first' })
  await book.run('edit', id, { text: 'long '.repeat(10) })
  await book.run('edit', id, { text: 'third' })
  t.equal(await codeOf(book.revert(id, { to: 2 })), 'pruned')
  t.equal((await book.revert(id, { to: 1 })).item?.text, 'first')
})

t.test('a value that is not valid any more', async t => {
  const storage = memoryStorage()
  const before = defineFamily({
    name: 'things',
    singular: 'thing',
    fields: Type.Object({ id: Type.Integer(), size: Type.Integer() }),
    create: ['size'],
    edit: ['size'],
    revert: true
  })
  const { item: { id } } = await before.service({ storage }).create({ size: 1 })
  await before.service({ storage }).run('edit', id, { size: 7 })
  const after = defineFamily({
    name: 'things',
    singular: 'thing',
    fields: Type.Object({
      id: Type.Integer(), size: Type.Integer({ minimum: 5 }), color: Type.String({ default: 'red' })
    }),
    create: ['size'],
    edit: ['size', 'color'],
    revert: true
  }).service({ storage })
  await t.rejects(after.revert(id, { to: 1 }), { code: 'wrong-state', message: /The earlier value of \/size/ })
  await after.run('edit', id, { size: 9, color: 'blue' })
  t.match((await after.revert(id, { to: 2 })).item, { size: 7, color: 'red' })
})

t.test('a version with other names', async t => {
  const storage = memoryStorage()
  const book = notes.rename({ text: 'content', 'lines.price': 'amount' }).service({ storage })
  const { item } = await book.create({ number: 1, content: 'first', lines: [{ amount: 2 }] } as never)
  await book.run('edit', item.id, { content: 'second', lines: [] } as never)
  t.match((await book.revert(item.id, { to: 1 })).item, { content: 'first', lines: [{ amount: 2 }], total: 2 })
})

t.test('families without it', async t => {
  const { definition } = notes
  const plain = defineFamily({ ...definition, revert: false } as never)
  t.notOk(describe(plain).actions.some(({ kind }) => kind === 'revert'))
  await t.rejects(plain.service({ storage: memoryStorage() }).revert('1', { to: 1 }), /no operation "revert"/)
  const operation = { ...definition.operations?.finish, name: 'revert' }
  const clash = { ...definition, operations: { revert: operation } }
  t.throws(() => defineFamily(clash as never), /revert defines the operation/)
  const fixed = { name: 'a', singular: 'b', fields: Type.Object({ id: Type.Integer() }), create: ['id'], revert: true }
  t.throws(() => defineFamily(fixed as never), /revert needs edit or operations/)
})

t.test('what is hidden from the caller stays', async t => {
  const storage = memoryStorage()
  const family = defineFamily({
    name: 'goods',
    singular: 'good',
    fields: Type.Object({
      id: Type.Integer(),
      name: Type.String(),
      cost: Type.Optional(Type.Integer()),
      lines: Type.Array(Type.Object({ piece: Type.String(), price: Type.Integer() }), { default: [] })
    }),
    create: ['name', 'cost', 'lines'],
    edit: ['name', 'cost', 'lines'],
    revert: true
  })
  const whole = family.service({ storage })
  const lines = [{ piece: 'a', price: 1 }]
  const { item: { id } } = await whole.create({ name: 'a', lines })
  await whole.run('edit', id, { name: 'b', cost: 7, lines: [] })
  await family.service({ storage, authorize: () => ({ hide: ['cost', 'lines.price'] }) }).revert(id, { to: 1 })
  t.match(await whole.get(id), { name: 'a', cost: 7, lines: [] })
  await whole.revert(id, { to: 1 })
  t.strictSame((await whole.get(id)).lines, lines)
  t.notOk('cost' in await whole.get(id))
})
