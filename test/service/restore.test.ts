import Fastify, { type InjectOptions } from 'fastify'
import t from 'tap'
import {
  defineFamily, describe, findMounts, type Intent, memoryStorage, Problem, type Storage, Type
} from '../../lib/index.js'
import { prune } from '../../lib/tools/index.js'
import { storages } from '../storages.js'
import { codeOf } from './code-of.js'

const shelves = defineFamily({
  name: 'shelves',
  singular: 'shelf',
  fields: Type.Object({ id: Type.String(), books: Type.Integer({ default: 0 }) }),
  create: ['id'],
  edit: ['books']
})

/** A book that is deleted makes place on its shelf, and takes it again if it is restored. */
const books = defineFamily({
  name: 'books',
  singular: 'book',
  fields: Type.Object({
    id: Type.Integer(),
    title: Type.String(),
    isbn: Type.Optional(Type.String()),
    pages: Type.Array(Type.Object({ text: Type.String() }), { default: [] }),
    length: Type.Integer({ default: 0 }),
    shelf: Type.Optional(Type.String()),
    note: Type.Optional(Type.String({ writeOnly: true }))
  }),
  unique: [['isbn']],
  references: { shelf: shelves },
  derive: { length: ({ pages }) => pages.length },
  create: ['title', 'isbn', 'pages', 'shelf', 'note'],
  edit: ['title', 'isbn', 'pages', 'shelf'],
  remove: {
    with: { shelf: 'shelf' },
    apply: (_book, _params, { items: { shelf } }) =>
      ({ others: { shelf: shelf && { ...shelf, books: shelf.books - 1 } } }),
    restore (_book, _params, { items: { shelf } }) {
      if (shelf?.books === 13) throw new Problem('wrong-state', 'The shelf is full')
      return { others: { shelf: shelf && { ...shelf, books: shelf.books + 1 } } }
    }
  }
})

const things = defineFamily({
  name: 'things',
  singular: 'thing',
  fields: Type.Object({ id: Type.String(), name: Type.String(), owner: Type.Optional(Type.String()) }),
  create: ['id', 'name', 'owner'],
  edit: ['name', 'owner']
})

for (const { name, make } of storages) {
  t.test(`${name}: an item is as it was, with its id and its log`, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    const [book, shelf] = [books.service({ storage }), shelves.service({ storage })]
    await shelf.create({ id: 'a' })
    const text = 'long '.repeat(100)
    const made = await book.create({ title: 'Tea', isbn: '1', pages: [{ text }], shelf: 'a', note: 'secret' })
    const { item: { id } } = made
    const { item: before } = await book.run('edit', id, { title: 'Green tea' })
    await book.remove(id, { principal: 'ann' })
    t.equal((await shelf.get('a')).books, -1)
    t.equal(await book.can('restore', id), true)
    t.strictSame((await book.preview('restore', id)).item?.title, 'Green tea')
    const done = await book.restore(id, { principal: 'bob' })
    const { updatedAt } = done.item ?? {}
    t.strictSame(done.item, { ...before, revision: 4, updatedAt })
    t.strictSame(await book.get(id), done.item)
    t.equal(done.changed, true)
    t.equal((await shelf.get('a')).books, 0, 'the rule for others')
    const { items } = await book.log(id)
    t.strictSame(items.map(({ action, revision, principal }) => [action, revision, principal]), [
      ['CreateBook', 1, undefined], ['EditBook', 2, undefined], ['DeleteBook', 3, 'ann'], ['RestoreBook', 4, 'bob']
    ])
    t.equal((await book.restore(id)).changed, false, 'it is there')
    t.equal(await book.can('restore', id), false)
    t.equal((await book.run('edit', id, { title: 'Tea' })).item?.revision, 5)
    await book.remove(id)
    t.equal((await book.restore(id)).item?.title, 'Tea', 'again')
    t.equal((await book.create({ title: 'Next' })).item.id, id + 1, 'ids are counted as before')
  })

  t.test(`${name}: the rules of unique and references`, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    const [book, shelf] = [books.service({ storage }), shelves.service({ storage })]
    await shelf.create({ id: 'a' })
    const { item: { id } } = await book.create({ title: 'Tea', isbn: '1', shelf: 'a' })
    await book.remove(id)
    const { item: other } = await book.create({ title: 'Other', isbn: '1' })
    t.equal(await codeOf(book.restore(id)), 'taken')
    t.equal(await codeOf(book.runAll([{ operation: 'restore', id }], { atomic: true })), 'taken')
    await book.run('edit', other.id, { isbn: '2' })
    t.equal((await book.restore(id)).item?.isbn, '1')
    await book.remove(id)
    await shelf.remove('a')
    t.equal(await codeOf(book.restore(id)), 'invalid-body', 'its rule needs the shelf')
    const plain = defineFamily({ ...books.definition, remove: true } as never) as never as typeof books
    const simple = plain.service({ storage })
    await t.rejects(simple.restore(id), { code: 'missing', statusCode: 409 })
    const together = async () => await simple.runAll([{ operation: 'restore', id }], { atomic: true })
    await t.rejects(together, { code: 'missing' })
    await shelf.restore('a')
    t.equal((await simple.restore(id)).item?.shelf, 'a')
    t.equal(await codeOf(shelf.remove('a')), 'in-use')
  })

  t.test(`${name}: retries, and commands in one commit`, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    const book = things.service({ storage })
    await book.create({ id: 'a', name: 'Tea' })
    await book.remove('a')
    t.equal(await codeOf(book.create({ id: 'a', name: 'New' })), 'taken', 'only restoring frees the id')
    t.equal(await codeOf(book.restore('a', { revision: 1 })), 'precondition-failed')
    const first = await book.restore('a', { command: 'c-1', revision: 2 })
    await book.remove('a')
    const again = await book.restore('a', { command: 'c-1' })
    t.strictSame([again.replayed, again.changed, again.item], [true, true, undefined], 'nothing is done twice')
    t.equal(first.item?.revision, 3)
    const all = await book.runAll([
      { operation: 'restore', id: 'a' },
      { operation: 'edit', id: 'a', params: { name: 'Green' } },
      { operation: 'remove', id: 'a' },
      { operation: 'restore', id: 'a' }
    ], { atomic: true })
    t.strictSame(all.map(({ command: { revision } }) => revision), [5, 6, 7, 8])
    const { updatedAt, createdAt, ...item } = await book.get('a')
    t.strictSame(item, { id: 'a', name: 'Green', revision: 8 })
    await book.runAll([{ operation: 'remove', id: 'a' }, { operation: 'restore', id: 'a' }], { atomic: true })
    t.equal((await book.get('a')).revision, 10)
    t.equal(await codeOf(book.restore('b')), 'not-found', 'never there')
  })

  t.test(`${name}: races`, async t => {
    const { storage, another, dispose } = await make()
    t.teardown(dispose)
    const second = another?.() ?? storage
    t.teardown(() => second.close())
    const both = [things.service({ storage }), things.service({ storage: second })] as const
    const [book] = both
    await book.create({ id: 'a', name: 'Tea' })
    for (let turn = 0; turn < 5; turn++) {
      await book.remove('a')
      const done = await Promise.all([0, 1, 0, 1].map(async index => await both[index as 0 | 1].restore('a')))
      t.equal(done.filter(({ changed }) => changed).length, 1, 'one of them')
      t.ok(done.every(({ item }) => item?.name === 'Tea'))
    }
    const { items } = await book.log('a', { limit: 100 })
    t.strictSame(items.map(({ revision }) => revision), Array.from({ length: 11 }, (_, index) => index + 1))
    const library = [books.service({ storage }), books.service({ storage: second })] as const
    for (let turn = 0; turn < 5; turn++) {
      const { item: { id } } = await library[0].create({ title: 'Tea', isbn: `${turn}` })
      await library[0].remove(id)
      const codes = await Promise.all([
        codeOf(library[0].restore(id)), codeOf(library[1].create({ title: 'New', isbn: `${turn}` }))
      ])
      t.strictSame(codes.sort(), ['done', 'taken'], 'of a restoration and a creation, one has the value')
    }
  })
}

t.test('of a restoration that was overtaken, nothing is done', async t => {
  // Between its reading of the log and its commit, another process restores the item and deletes it again.
  const storage = memoryStorage()
  const book = things.service({ storage })
  await book.create({ id: 'a', name: 'Tea' })
  await book.remove('a')
  let isOvertaken = false
  const slow: Storage = {
    ...storage,
    async commit (changes) {
      if (!isOvertaken) {
        isOvertaken = true
        await book.restore('a')
        await book.run('edit', 'a', { name: 'Green' })
        await book.remove('a')
      }
      await storage.commit(changes)
    }
  }
  const { item } = await things.service({ storage: slow }).restore('a')
  t.strictSame([item?.name, item?.revision], ['Green', 6])
})

t.test('who may restore it is judged by the item as it was', async t => {
  const storage = memoryStorage()
  const asked: Intent[] = []
  const book = things.service({
    storage,
    authorize ({ principal = '' }, intent) {
      asked.push(intent)
      if (principal === 'guest' && intent.action === 'RestoreThing') throw new Problem('forbidden', 'Not you')
      return principal === 'boss' ? {} : { where: [{ field: 'owner', op: 'eq', values: [principal] }] }
    }
  })
  await book.create({ id: 'a', name: 'Tea', owner: 'ann' }, { principal: 'ann' })
  await book.remove('a', { principal: 'ann' })
  asked.length = 0
  t.equal(await codeOf(book.restore('a', { principal: 'bob' })), 'not-found')
  t.equal(await codeOf(book.restore('a', { principal: 'guest' })), 'forbidden')
  t.strictSame(asked[0], { family: 'things', action: 'RestoreThing', id: 'a', params: {} })
  t.strictSame(await Promise.all(['ann', 'bob', 'guest'].map(async principal =>
    await book.can('restore', 'a', { principal }))), [true, false, false])
  t.equal((await book.restore('a', { principal: 'ann' })).item?.name, 'Tea')
  t.equal((await book.restore('a', { principal: 'boss' })).changed, false)
  t.equal(await codeOf(book.restore('a', { principal: 'bob' })), 'not-found', 'also of one that is there')
})

t.test('what the log lost cannot be restored', async t => {
  const storage = memoryStorage()
  const book = things.service({ storage, clock: () => new Date('2020-01-31') })
  await book.create({ id: 'a', name: 'Tea' })
  await book.create({ id: 'b', name: 'Coffee' })
  await book.remove('a')
  await book.remove('b')
  const [entry] = (await storage.find('commands', {
    where: [{ field: 'target', op: 'eq', values: ['b'] }, { field: 'action', op: 'eq', values: ['DeleteThing'] }],
    order: [{ field: 'id', descending: false }],
    offset: 0,
    limit: 1,
    count: false
  })).items
  if (entry === undefined) throw new Error('no entry')
  const { changes, ...old } = entry as typeof entry & { changes: unknown }
  await storage.commit([{ type: 'replace', family: 'commands', item: old, expected: entry.revision }])
  await t.rejects(book.restore('b'), { code: 'pruned', statusCode: 410 }, 'an entry of an earlier version')
  await prune(storage, { before: '2020-02-01' })
  t.equal(await codeOf(book.restore('a')), 'not-found')
})

t.test('what another program deleted is not brought back from an earlier deletion', async t => {
  const storage = memoryStorage()
  const book = things.service({ storage })
  await book.create({ id: 'a', name: 'Tea' })
  await book.remove('a')
  await book.restore('a')
  await storage.commit([{ type: 'delete', family: 'things', id: 'a', expected: 3 }])
  t.equal(await codeOf(book.restore('a')), 'not-found')
})

t.test('families whose items cannot be restored', async t => {
  const { definition } = things
  const without: readonly object[] = [
    { remove: false },
    { remove: { restore: false } },
    { remove: { apply: () => undefined } },
    {
      fields: Type.Object({ ...definition.fields.properties, key: Type.String({ writeOnly: true }) }),
      create: ['id', 'name', 'key']
    }
  ]
  for (const more of without) {
    const family = defineFamily({ ...definition, create: ['id', 'name'], ...more } as never)
    t.notOk(describe(family).actions.some(({ kind }) => kind === 'restore'), JSON.stringify(Object.keys(more)))
    await t.rejects(family.service({ storage: memoryStorage() }).restore('a'), /no operation "restore"/)
  }
  const operation = {
    name: 'restore',
    verb: 'restore',
    participle: 'restored',
    noun: 'restorations',
    action: 'RestoreThing',
    params: Type.Object({}),
    apply: (item: object) => item
  }
  for (const each of [operation, { ...operation, name: 'put', verb: 'put', participle: 'was-put', noun: 'puts' }]) {
    const family = defineFamily({ ...definition, operations: { [each.name]: each } } as never)
    const actions = describe(family).actions.filter(({ action }) => action === 'RestoreThing')
    t.strictSame(actions.map(({ name }) => name), [each.name], 'that of the host')
  }
  const asked = { ...definition, operations: { restore: operation }, remove: { restore: true } }
  t.throws(() => defineFamily(asked as never), /deleted items have the operation "restore"/)
  const half = { ...definition, remove: { apply: () => undefined, restore: true } }
  t.throws(() => defineFamily(half as never), /restore: true/)
  t.ok(defineFamily({ ...definition, remove: { restore: false }, operations: { restore: operation } } as never))
})

t.test('every form', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  const storage = memoryStorage()
  app.register(things, { storage, prefix: '/api' })
  await app.ready()
  const book = findMounts(app)[0]?.book({ headers: {} } as never)
  t.ok(book)
  const service = things.service({ storage })
  const url = '/api/things/a'
  const action = 'RestoreThing'
  const forms: readonly (readonly [InjectOptions, number])[] = [
    [{ method: 'PUT', url: `${url}/restore` }, 200],
    [{ method: 'PUT', url: `${url}/restored`, payload: {} }, 200],
    [{ method: 'POST', url: `${url}/restorations`, payload: {} }, 201],
    [{ method: 'PUT', url, payload: { action } }, 200],
    [{ method: 'PUT', url: `${url}/commands/c-1`, payload: { action } }, 201],
    [{ method: 'PUT', url: '/api/rest/commands/c-2', payload: { thing: 'a', action } }, 201],
    [{ method: 'POST', url: '/api/rest/commands', payload: { commands: [{ thing: 'a', action }] } }, 200],
    [{ method: 'POST', url: `/api/command/${action}/`, payload: { id: 'a' } }, 200]
  ]
  await service.create({ id: 'a', name: 'Tea', owner: 'ann' })
  for (const [request, status] of forms) {
    await service.remove('a')
    t.equal((await app.inject(url)).statusCode, 404)
    const answer = await app.inject(request)
    t.equal(answer.statusCode, status, `${request.method} ${request.url as string}: ${answer.body}`)
    t.match((await app.inject(url)).json(), { id: 'a', name: 'Tea', owner: 'ann' })
    t.ok((await app.inject(request)).statusCode < 300, 'again')
  }
  const log = (await app.inject(`${url}/restorations`)).json() as { items: { revision: number }[] }
  t.equal(log.items.length, forms.length)
  t.equal((await app.inject({ method: 'PUT', url: '/api/things/b/restore' })).statusCode, 404)
  await service.remove('a')
  t.equal((await app.inject({ method: 'PUT', url: `${url}/restore`, headers: { 'if-match': '"1"' } })).statusCode, 412)
  t.equal((await app.inject({ method: 'PUT', url: `${url}/restore`, payload: { name: 'x' } })).statusCode, 400)
  const { items: offered } = (await app.inject({ method: 'PUT', url: `${url}/restore` })) &&
    (await app.inject(`${url}/operations`)).json() as { items: { name: string }[] }
  t.strictSame(offered.map(({ name }) => name), ['edit', 'delete'], 'not offered for what is there')
})

t.test('a version with other names', async t => {
  const storage = memoryStorage()
  const renamed = things.rename({ name: 'label' })
  const book = renamed.service({ storage })
  await book.create({ id: 'a', label: 'Tea' } as never)
  await book.remove('a')
  t.equal(await book.can('restore', 'a'), true)
  t.match((await book.restore('a')).item, { id: 'a', label: 'Tea', revision: 3 })
})

t.test('followers get what came back', async t => {
  const storage = memoryStorage()
  const book = things.service({ storage })
  await book.create({ id: 'a', name: 'Tea' })
  await book.remove('a')
  await book.restore('a')
  const seen: unknown[] = []
  for await (const { action, changes } of book.follow()) {
    seen.push([action, Object.keys(changes ?? {}), changes?.name])
    if (seen.length === 3) break
  }
  t.strictSame(seen[2], ['RestoreThing', ['id', 'name'], { to: 'Tea' }])
})
