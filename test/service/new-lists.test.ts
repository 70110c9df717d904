import Fastify from 'fastify'
import t from 'tap'
import { defineFamily, type Grant, type Intent, memoryStorage, Problem, Type } from '../../lib/index.js'
import { storages } from '../storages.js'

const quantity = Type.Integer({ minimum: 1 })
const lines = defineFamily({
  name: 'order-lines',
  singular: 'order-line',
  fields: Type.Object({
    id: Type.Integer(), order: Type.String(), product: Type.String(), quantity, by: Type.Optional(Type.String())
  }),
  create: ['order', 'product', 'quantity'],
  initial (line, { principal }) {
    if (line.product === 'gone') throw new Problem('wrong-state', 'There is no such product any more')
    return { ...line, ...principal !== undefined && { by: principal } }
  },
  unique: [['order', 'product']]
})
const sent = Type.Array(Type.Object({ product: Type.String(), quantity }))
const notes = defineFamily({
  name: 'notes',
  singular: 'note',
  fields: Type.Object({ id: Type.String(), text: Type.String() }),
  create: ['text']
})
const orders = defineFamily({
  name: 'orders',
  singular: 'order',
  fields: Type.Object({
    id: Type.String(), supplier: Type.String(), pieces: Type.Integer(), note: Type.Optional(Type.String())
  }),
  create: {
    fields: ['id', 'supplier'],
    params: Type.Object({ lines: sent }),
    creates: { lines: [lines], note: notes }
  },
  initial: (order, { newIds }, { lines }) => ({
    item: { ...order, pieces: lines.reduce((sum, { quantity }) => sum + quantity, 0), note: newIds.note },
    created: { lines: lines.map(line => ({ ...line, order: order.id })), note: { text: `${lines.length} lines` } }
  }),
  operations: {
    add: {
      name: 'add',
      verb: 'add',
      participle: 'added',
      noun: 'additions',
      action: 'AddLines',
      params: Type.Object({ lines: sent }),
      creates: { lines: [lines] },
      apply: (order, { lines }) => ({
        item: { ...order, pieces: order.pieces + lines.reduce((sum, { quantity }) => sum + quantity, 0) },
        created: { lines: lines.map(line => ({ ...line, order: order.id })) }
      })
    }
  }
})

const line = (product: string, quantity = 1) => ({ product, quantity })

for (const { name, make } of storages) {
  t.test(`lists of new items, by HTTP and service, over ${name}`, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    const app = Fastify()
    t.teardown(() => app.close())
    const told: string[] = []
    app.register(notes, { storage })
    app.register(lines, { storage, onCommitted: ({ id, action }) => { told.push(`${action} ${id}`) } })
    app.register(orders, { storage })
    await app.ready()
    const [children, book] = [lines.service({ storage }), orders.service({ storage })]
    const read = async () => (await children.find()).items.map(({ id, order, product, quantity }) =>
      `${id} ${order} ${product} ${quantity}`)
    const send = async (method: 'POST' | 'PUT', url: string, payload: object, headers = {}) =>
      await app.inject({ method, url, payload, headers })

    const first = { id: 'o1', supplier: 's', lines: [line('a', 2), line('b')] }
    const created = await send('POST', '/orders', first, { 'idempotency-key': 'k1' })
    t.match([created.statusCode, created.json()], [201, { id: 'o1', pieces: 3 }], created.body)
    t.notOk('lines' in created.json(), 'what is no field is not in the item')
    const again = await send('POST', '/orders', first, { 'idempotency-key': 'k1' })
    t.match([again.statusCode, again.headers['idempotent-replayed']], [201, 'true'])
    t.strictSame(await read(), ['1 o1 a 2', '2 o1 b 1'])
    t.match((await app.inject('/notes')).json(), { items: [{ id: created.json().note, text: '2 lines' }] })
    t.strictSame(told, ['CreateOrder 1', 'CreateOrder 2'])
    t.match((await app.inject('/order-lines/2/commands')).json().items, [{
      'order-line': 2, action: 'CreateOrder', params: first, about: { family: 'orders', id: 'o1' }, revision: 1
    }])

    const added = await send('PUT', '/orders/o1/add', { lines: [line('c'), line('d')] })
    t.match([added.statusCode, added.json()], [200, { pieces: 5, revision: 2 }])
    t.strictSame(await read(), ['1 o1 a 2', '2 o1 b 1', '3 o1 c 1', '4 o1 d 1'])
    t.match((await book.preview('add', 'o1', { lines: [line('e')] })), { changed: true, item: { pieces: 6 } })
    const refusals: [string, object, number, object][] = [
      ['a value that is taken', { lines: [line('e'), line('a')] }, 409, { type: 'urn:dealbook:problem:taken' }],
      ['too many', { lines: Array.from({ length: 101 }, (_, n) => line(`p${n}`)) }, 400, {
        detail: 'The body must not make more than 100 order-lines at once'
      }],
      ['a rule of the new item', { lines: [line('gone')] }, 409, { detail: 'There is no such product any more' }],
      ['a wrong parameter', { lines: [line('x', 0)] }, 400, { errors: [{ pointer: '/lines/0/quantity' }] }]
    ]
    for (const [what, payload, status, body] of refusals) {
      t.match((await send('PUT', '/orders/o1/add', payload)).json(), { status, ...body }, what)
      t.match((await send('POST', '/orders', { id: 'o2', supplier: 's', ...payload })).json(),
        what.includes('taken') ? {} : { status, ...body }, `at creation: ${what}`)
      if (what.includes('taken')) await app.inject({ method: 'DELETE', url: '/orders/o2' })
    }
    t.match((await send('POST', '/orders', { id: 'o3', supplier: 's' })).json(), { errors: [{ pointer: '/lines' }] })
    t.strictSame(await read(), ['1 o1 a 2', '2 o1 b 1', '3 o1 c 1', '4 o1 d 1', '5 o2 e 1', '6 o2 a 1'],
      'numbers have no gaps')
    t.match(await book.run('add', 'o1', { lines: [] }), { changed: false })

    await t.test('as a list of commands', async () => {
      const create = (id: string) => {
        const params = { id, supplier: 's', lines: [line('a'), line('b')] }
        return { operation: 'create', params } as const
      }
      await book.runAll([create('o5'), create('o6')], { atomic: true })
      await book.runAll([create('o7'), create('o8')])
      const found = (await read()).slice(6)
      t.strictSame(found, ['o5', 'o6', 'o7', 'o8'].flatMap((id, n) =>
        [`${7 + 2 * n} ${id} a 1`, `${8 + 2 * n} ${id} b 1`]))
    })
    await t.test('numbers of deleted items are not used again', async () => {
      for (const id of [12, 13, 14]) await children.remove(id)
      await book.run('add', 'o1', { lines: [line('x'), line('y')] })
      t.strictSame((await read()).slice(-2), ['15 o1 x 1', '16 o1 y 1'])
    })
    await t.test('many at once', async () => {
      const many = (n: number) => Array.from({ length: 20 }, (_, k) => line(`m${n}-${k}`))
      await Promise.all([1, 2, 3, 4].map(async n => { await book.run('add', 'o1', { lines: many(n) }) }))
      const ids = (await children.find([], { limit: 1000 })).items.map(({ id }) => id).filter(id => id > 16)
      t.strictSame(ids, Array.from({ length: 80 }, (_, n) => 17 + n))
    })
  })
}

t.test('who may not', async t => {
  const storage = memoryStorage()
  const asked: string[] = []
  const authorize = (_request: unknown, { family, action, tentative }: Intent): Grant => {
    if (tentative !== true) asked.push(`${family} ${action}`)
    return family === 'order-lines' ? { where: [{ field: 'quantity', op: 'lt', value: 10 }] } : {}
  }
  const app = Fastify()
  for (const family of [notes, lines, orders]) app.register(family, { storage, authorize })
  await app.ready()
  const send = async (payload: object) => (await app.inject({ method: 'POST', url: '/orders', payload })).json()
  const refused = await send({ id: 'a', supplier: 's', lines: [line('a'), line('b', 10)] })
  t.match(refused, { status: 403, detail: 'This change is not permitted' })
  t.strictSame(asked, ['orders CreateOrder', 'order-lines CreateOrder', 'notes CreateOrder'])
  t.match(await send({ id: 'a', supplier: 's', lines: [line('a'), line('b', 9)] }), { pieces: 10 })
})

t.test('versions with other names, and extensions', async t => {
  const storage = memoryStorage()
  const renamed = orders.rename({ supplier: 'vendor' })
  const extended = orders.extend({
    fields: Type.Object({ urgent: Type.Optional(Type.Boolean()) }), create: ['urgent'], initial: order => order
  })
  const app = Fastify()
  app.register(notes, { storage })
  app.register(lines, { storage })
  app.register(renamed, { storage, version: 'v1' })
  app.register(extended, { storage, version: 'v2' })
  await app.ready()
  const post = async (version: string, payload: object) =>
    (await app.inject({ method: 'POST', url: `/rest/${version}/orders`, payload })).json()
  t.match(await post('v1', { id: 'a', vendor: 's', lines: [line('a')] }), { id: 'a', vendor: 's', pieces: 1 })
  t.match(await post('v2', { id: 'b', supplier: 's', urgent: true, lines: [line('a')] }), { urgent: true, pieces: 1 })
  t.match((await app.inject('/rest/v1/orders/a/commands')).json().items[0], {
    params: { id: 'a', vendor: 's', lines: [line('a')] }
  })
  t.equal((await lines.service({ storage }).find()).items.length, 2)
})

t.test('mistakes of a host', async t => {
  const define = (create: object, more: object = {}) => () => defineFamily({
    name: 'orders',
    singular: 'order',
    fields: Type.Object({ id: Type.Integer(), size: Type.Integer() }),
    ...more,
    create
  } as never)
  const params = Type.Object({ size: Type.Integer() })
  t.throws(define({ fields: ['size'], params }), /create has the parameter "size", which is named like a field/)
  t.throws(define({ fields: ['size'], params: {} }), /params of create must be a Type\.Object/)
  t.throws(define({ fields: ['size'], creates: { lines: [] } }), /creates "lines": must be a family with create/)
  t.throws(define({ fields: ['size'], creates: { lines: [lines, notes] } }), /must be a family, or a list of one/)
  t.throws(define({ fields: ['size'], creates: { lines: [orders] } }), /create: creates cannot name the family itself/)
  t.throws(define({ fields: ['size'], creates: { a: lines, lines: [lines] } }), /creates may name a family once/)
  t.throws(define({ fields: ['size'], creates: { toString: [lines] } }), /creates "toString": its name is that of a me/)
  const created = { created: Type.Optional(Type.String()) }
  const fields = Type.Object({ id: Type.Integer(), ...created })
  t.throws(define({ fields: [], creates: { lines: [lines] } }, { fields }), /create may return "created"/)
  const run = async (made: unknown) => {
    const family = define({ fields: ['size'], creates: { lines: [lines] } }, {
      initial: (item: object) => ({ item, created: { lines: made } })
    })()
    await (family as unknown as typeof orders).service({ storage: memoryStorage() }).create({ size: 1 } as never)
  }
  const flawed = (message: RegExp) => ({ code: 'FST_DEALBOOK_INVALID_ITEM', message })
  await t.rejects(run({}), flawed(/orders, create: .*created\.lines must be a list of items/))
  await t.rejects(run([{ product: 'a' }]), flawed(/order-lines, create: .*\/order is required/))
})
