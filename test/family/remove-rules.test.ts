import Fastify, { type InjectOptions } from 'fastify'
import t from 'tap'
import {
  defineFamily, describe, describeProblems, findMounts, type Intent, memoryStorage, Problem, type Storage, Type
} from '../../lib/index.js'
import { storages } from '../storages.js'

const products = defineFamily({
  name: 'products',
  singular: 'product',
  fields: Type.Object({ id: Type.String(), stock: Type.Integer() }),
  create: ['id', 'stock'],
  edit: ['stock']
})

const Status = Type.Union([Type.Literal('draft'), Type.Literal('sent')], { default: 'draft' })

/** A draft that is deleted gives its pieces back. */
const orders = defineFamily({
  name: 'orders',
  singular: 'order',
  fields: Type.Object({
    id: Type.Integer(),
    product: Type.Optional(Type.String()),
    pieces: Type.Integer({ default: 1 }),
    status: Status,
    // The order before it, and after it.
    prior: Type.Optional(Type.Integer()),
    next: Type.Optional(Type.Integer())
  }),
  references: { product: products, prior: 'orders', next: 'orders' },
  create: { fields: ['product', 'pieces', 'prior'], with: { product: 'product' } },
  initial: (order, { items: { product } }) => ({
    item: order,
    others: { product: product && { ...product, stock: product.stock - order.pieces } }
  }),
  edit: ['next'],
  remove: {
    allowed: ({ status }, _params, { principal }) =>
      principal === 'boss' || status === 'draft' || 'Only drafts can be deleted',
    with: { product: 'product', next: 'next' },
    apply ({ id, pieces, prior }, _params, { items: { product, next } }) {
      if (pieces === 13) throw new Problem('wrong-state', 'Thirteen pieces stay')
      const moved = prior === undefined ? withoutPrior(next) : next && { ...next, prior }
      return {
        others: {
          product: product && { ...product, stock: product.stock + pieces },
          next: next?.prior === id ? moved : undefined
        }
      }
    }
  },
  operations: {
    send: {
      name: 'send',
      verb: 'send',
      participle: 'sent',
      noun: 'sendings',
      action: 'SendOrder',
      params: Type.Object({}),
      apply: order => ({ ...order, status: 'sent' })
    }
  }
})

function withoutPrior<T extends { prior?: number }> (order: T | undefined): T | undefined {
  if (order === undefined) return undefined
  const { prior: _, ...rest } = order
  return rest as T
}

function authorize (request: unknown, { family, action }: Intent) {
  const role = (request as { headers?: Record<string, string> }).headers?.['x-role'] ?? 'clerk'
  if (role === 'blind' && family === 'products' && action !== 'DeleteOrder') throw new Problem('forbidden', 'No')
  return { principal: role }
}

async function start (t: { teardown (end: () => unknown): void }, storage: Storage) {
  const app = Fastify()
  t.teardown(() => app.close())
  app.register(products, { storage, authorize })
  app.register(orders, { storage, authorize, version: 'v1' })
  app.register(orders.rename({ status: 'phase', product: 'article' }), { storage, authorize, version: 'v2' })
  await app.ready()
  const send = async (method: InjectOptions['method'], url: string, payload?: object, role = 'clerk') => {
    const headers = { 'x-role': role }
    const response = await app.inject({ method: method as 'GET', url, headers, ...payload && { payload } })
    const { statusCode: status, body } = response
    return { status, body: body.startsWith('{') ? response.json() : body }
  }
  const create = async (fields: object): Promise<number> =>
    Number((await send('POST', '/rest/v1/orders', fields)).body.id)
  return { app, send, create }
}

/** Every form that deletes an item. */
const forms: Record<string, (id: number) => readonly [InjectOptions['method'], string, object?]> = {
  DELETE: id => ['DELETE', `/rest/v1/orders/${id}`],
  'DELETE of a renamed version': id => ['DELETE', `/rest/v2/orders/${id}`],
  deletions: id => ['POST', `/rest/v1/orders/${id}/deletions`, {}],
  command: id => ['POST', '/command/DeleteOrder/', { id }],
  'many commands': id => ['POST', '/rest/commands', { commands: [{ order: id, action: 'DeleteOrder' }] }],
  'an atomic batch': id =>
    ['POST', '/rest/commands', { atomic: true, commands: [{ order: id, action: 'DeleteOrder' }] }]
}

for (const { name, make } of storages) {
  t.test(`${name}: a deletion with rules`, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    const { app, send, create } = await start(t, storage)
    const stock = products.service({ storage })
    const book = orders.service({ storage })
    await stock.create({ id: 'tea', stock: 100 })
    for (const [form, say] of Object.entries(forms)) {
      const id = await create({ product: 'tea', pieces: 7 })
      t.equal((await stock.get('tea')).stock, 93)
      await send('PUT', `/rest/v1/orders/${id}/send`, {})
      const refused = await send(...say(id))
      const problem = form === 'many commands' ? refused.body.items[0].problem : refused.body
      t.match(problem, { status: 409, detail: 'Only drafts can be deleted', operation: 'delete' }, form)
      t.equal((await stock.get('tea')).stock, 93, `${form}: nothing is done`)
      const draft = await create({ product: 'tea', pieces: 3 })
      const done = await send(...say(draft))
      t.ok(done.status < 300, `${form}: ${done.status} ${JSON.stringify(done.body)}`)
      t.equal((await send('GET', `/rest/v1/orders/${draft}`)).status, 404)
      t.equal((await stock.get('tea')).stock, 93, `${form}: its pieces are back`)
      t.match((await stock.log('tea')).items.at(-1), { action: 'DeleteOrder', about: { family: 'orders', id: draft } })
      t.ok((await send('DELETE', `/rest/v1/orders/${id}`, undefined, 'boss')).status === 204, 'as the caller may')
      t.equal((await stock.get('tea')).stock, 100)
    }

    t.test('for a program', async t => {
      const id = await create({ product: 'tea', pieces: 7 })
      t.strictSame(await book.preview('remove', id), { changed: true, item: undefined })
      t.ok(await book.can('remove', id))
      await book.run('send', id)
      t.notOk(await book.can('remove', id))
      t.match((await book.offers(id)).find(({ action }) => action === 'DeleteOrder'),
        { allowed: false, reason: 'Only drafts can be deleted' })
      await t.rejects(book.preview('remove', id), { code: 'wrong-state' })
      await t.rejects(book.remove(id), { code: 'wrong-state' })
      const again = { command: `r-${id}` }
      await t.rejects(book.remove(id, again), { code: 'wrong-state', replayed: false })
      await t.rejects(book.remove(id, again), { code: 'wrong-state', replayed: true })
      t.match((await book.log(id)).items.at(-1), { action: 'DeleteOrder', outcome: 'refused' })
      t.equal((await stock.get('tea')).stock, 93)
      await book.remove(id, { principal: 'boss' })
      await t.rejects(book.remove(await create({ pieces: 13 })), { message: 'Thirteen pieces stay' })
    })

    t.test('it is offered where it is allowed', async t => {
      const id = await create({ product: 'tea' })
      const find = async () => (await send('GET', `/rest/v1/orders/${id}/operations`)).body.items.at(-1)
      t.match(await find(), { name: 'delete', allowed: true })
      const page = async (): Promise<string> =>
        (await app.inject({ url: `/rest/v1/orders/${id}`, headers: { accept: 'text/html', 'x-role': 'clerk' } })).body
      t.match(await page(), /value="DeleteOrder"|DeleteOrder/)
      await book.run('send', id)
      t.match(await find(), { name: 'delete', allowed: false, reason: 'Only drafts can be deleted' })
      t.match((await send('GET', `/rest/v2/orders/${id}/operations`)).body.items.at(-1), { allowed: false })
      t.match(await page(), /Only drafts can be deleted/)
    })

    t.test('an item that referred to it is changed in the same commit', async t => {
      const first = await create({})
      const second = await create({ prior: first })
      await book.run('edit', first, { next: second })
      t.equal((await send('DELETE', `/rest/v1/orders/${first}`)).status, 204)
      t.notOk('prior' in await book.get(second))
      const third = await create({ prior: second })
      const other = await create({ prior: second })
      await book.run('edit', second, { next: third })
      t.match(await send('DELETE', `/rest/v1/orders/${second}`), { status: 409, body: { type: /in-use/ } })
      t.equal((await book.get(third)).prior, second, 'nothing was done')
      await book.remove(other)
      await book.remove(second)
    })

    t.test('two at once give back what each has', async t => {
      const before = (await stock.get('tea')).stock
      const ids = await Promise.all(Array.from({ length: 8 }, async () => await create({ product: 'tea', pieces: 2 })))
      await Promise.all([...ids, ...ids].map(async id => await send('DELETE', `/rest/v1/orders/${id}`)))
      t.equal((await stock.get('tea')).stock, before)
    })
  })
}

t.test('it is described', async t => {
  const { app } = await start(t, memoryStorage())
  const action = describe(orders).actions.find(({ kind }) => kind === 'remove')
  t.match(action, { isConditional: true, with: { product: 'products', next: 'orders' } })
  const mount = findMounts(app).find(({ version, model }) => version === 'v1' && model.name === 'orders')
  const problems = mount && describeProblems(mount).actions['DeleteOrder']
  t.match(problems?.['wrong-state']?.document(), { status: 409, operation: 'delete' })
  t.notOk(describeProblems(findMounts(app).find(({ model }) => model.name === 'products') as never)
    .actions['DeleteProduct']?.['wrong-state'])
})

const small = {
  name: 'notes',
  singular: 'note',
  fields: Type.Object({ id: Type.String(), text: Type.String() }),
  create: ['id', 'text']
} as const

t.test('a rule that fails is a mistake of the host', async t => {
  for (const [remove, message] of [
    [{ allowed: () => 1 }, /allowed returned a value of the type number/],
    [{ apply: () => ({ others: { x: {} } }) }, /notes, delete: .*others.x is unknown/],
    [{ apply: () => ({ item: {} }) }, /notes, delete: .*must be \{ others \} or nothing/],
    [{ apply: () => ({ text: 'a' }) }, /notes, delete: .*must be \{ others \} or nothing/],
    [{ apply: () => 1 }, /notes, delete: .*must be \{ others \} or nothing/],
    [{ apply: async () => {} }, /notes, delete: .*must be \{ others \} or nothing, .*a promise/],
    [{ apply (note: { text: string }) { note.text = '' } }, /notes, delete: apply changes its arguments/]
  ] as const) {
    const notes = defineFamily({ ...small, remove: remove as never })
    const book = notes.service({ storage: memoryStorage() })
    await book.create({ id: 'a', text: 'b' })
    await t.rejects(book.remove('a'), { message })
    t.ok(await book.get('a'))
  }
})

t.test('prepare has facts for it', async t => {
  const asked: string[] = []
  const notes = defineFamily({
    ...small,
    prepare ({ action }) { asked.push(action); return { isFree: asked.length > 2 } },
    remove: { allowed: (_note, _params, { facts }) => facts.isFree === true }
  })
  const book = notes.service({ storage: memoryStorage() })
  await book.create({ id: 'a', text: 'b' })
  await t.rejects(book.remove('a'), { code: 'wrong-state' })
  await book.remove('a')
  t.strictSame(asked, ['CreateNote', 'DeleteNote', 'DeleteNote'])
  const plain = defineFamily({ ...small, prepare ({ action }) { asked.push(action); return {} } })
  const other = plain.service({ storage: memoryStorage() })
  await other.create({ id: 'a', text: 'b' })
  await other.remove('a')
  t.equal(asked.at(-1), 'CreateNote', 'without rules it is not called')
})

t.test('a definition with a flaw', async t => {
  for (const [definition, message] of [
    [{ remove: 1 }, /"remove" must be true, false, or an object with allowed, with, apply and restore/],
    [{ remove: { allow: () => true } }, /remove/],
    [{ remove: { allowed: true } }, /remove/],
    [{ remove: { with: { other: 'text' } } }, /remove: with "other": "text" is not in references/],
    [{ create: undefined, remove: {} }, /remove needs create/]
  ] as const) {
    t.throws(() => defineFamily({ ...small, ...definition } as never), { message })
  }
})
