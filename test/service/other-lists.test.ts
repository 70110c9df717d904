import Fastify from 'fastify'
import t from 'tap'
import { defineFamily, type Grant, type Intent, memoryStorage, type Storage, Type } from '../../lib/index.js'
import { storages } from '../storages.js'
import { orders, products } from './other-lists.js'

const line = (product: string, quantity = 1) => ({ product, quantity })

for (const { name, make } of storages) {
  t.test(`lists of other items, by HTTP and service, over ${name}`, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    const app = Fastify()
    t.teardown(() => app.close())
    const told: string[] = []
    app.register(products, { storage, onCommitted: ({ id, action }) => { told.push(`${action} ${id}`) } })
    app.register(orders, { storage })
    await app.ready()
    const [stock, book] = [products.service({ storage }), orders.service({ storage })]
    for (const id of ['a', 'b', 'c']) await stock.create({ id, stock: 10 })
    const read = async () => (await stock.find()).items.map(({ id, stock, moved, revision }) =>
      `${id} ${stock} ${moved} ${revision}`)
    const send = async (url: string, payload: object, headers = {}) =>
      await app.inject({ method: url.includes('/1') ? 'PUT' : 'POST', url, payload, headers })

    const lost = await send('/orders', { lines: [line('a'), line('x'), line('y'), line('x')] })
    t.match(lost.json(), {
      status: 400,
      errors: [
        { pointer: '/lines/1/product', detail: 'does not name an existing product' }, { pointer: '/lines/2/product' }
      ]
    })
    t.equal(lost.json().errors.length, 2, 'each once')
    const created = await send('/orders', { lines: [line('c', 2), line('a', 3), line('c')] })
    t.match([created.statusCode, created.json()], [201, { id: 1, pieces: 6 }])
    t.strictSame(await read(), ['a 10 1 2', 'b 10 0 1', 'c 10 1 2'], 'each is given once')

    const receive = { goods: [line('b', 5), line('c', 1), line('b', 2), line('a', 0)] }
    const received = await send('/orders/1/receive', receive, { 'idempotency-key': 'k1' })
    t.match([received.statusCode, received.json()], [200, { received: 8, revision: 2 }])
    t.strictSame(await read(), ['a 10 1 2', 'b 17 0 2', 'c 11 1 3'], 'one that stays as it is has no new revision')
    t.strictSame(told, ['CreateOrder c', 'CreateOrder a', 'ReceiveOrder b', 'ReceiveOrder c'])
    const again = await send('/orders/1/receive', receive, { 'idempotency-key': 'k1' })
    t.equal(again.headers['idempotent-replayed'], 'true')
    t.match((await app.inject('/products/b/commands')).json().items[1], {
      product: 'b', action: 'ReceiveOrder', params: receive, about: { family: 'orders', id: 1 }, revision: 2
    })

    const refusals: [string, object, number, object][] = [
      ['receive', { goods: [line('a'), line('\u0001')] }, 400, {}],
      ['receive', { goods: [line('a'), line('x')] }, 400, { errors: [{ pointer: '/goods/1/product' }] }],
      ['receive', { goods: Array.from({ length: 102 }, (_, n) => line(`p${n}`)) }, 400, {
        errors: [{ pointer: '/goods/100/product', detail: 'is one more than 100 different products' }]
      }]
    ]
    for (const [verb, payload, status, body] of refusals) {
      t.match((await send(`/orders/1/${verb}`, payload)).json(), { status, ...body })
    }
    const update = { action: 'ReceiveOrder', params: { goods: [line('x')] } }
    t.match((await send('/orders/1', update)).json(), { errors: [{ pointer: '/goods/0/product' }] })

    await stock.run('edit', 'a', { stock: 1 })
    const refused = await send('/orders/1/ship', {})
    t.match(refused.json(), { status: 409, detail: 'There is not enough of a', allowed: ['receive'] })
    const offers = async () => (await book.offers(1)).map(({ name, allowed, reason }) => `${name} ${reason ?? allowed}`)
    t.strictSame(await offers(), ['get true', 'receive true', 'ship There is not enough of a', 'remove true'],
      'items that the item names are offered')
    await stock.run('edit', 'a', { stock: 10 })
    t.strictSame(await offers(), ['get true', 'receive true', 'ship true', 'remove true'])
    t.match(await book.preview('ship', 1), { changed: true, item: { status: 'shipped' } })
    t.match((await send('/orders/1/ship', {})).json(), { status: 'shipped' })
    t.strictSame(await read(), ['a 7 1 5', 'b 17 0 2', 'c 8 1 4'])
    t.equal((await app.inject({ method: 'DELETE', url: '/orders/1' })).statusCode, 204)
    t.strictSame(await read(), ['a 10 1 6', 'b 17 0 2', 'c 11 1 5'], 'and come back')

    await book.create({ lines: [line('a')] })
    await book.run('receive', 2, { goods: [] })
    t.match(await book.get(2), { revision: 1 }, 'a list may be empty')
    t.strictSame(await read(), ['a 10 2 7', 'b 17 0 2', 'c 11 1 5'])
    await t.test('as a list of commands', async () => {
      const goods = { goods: [line('a'), line('b')] }
      const back = { goods: [line('b'), line('a')] }
      const lost = { goods: [line('x')] }
      const receive = (params: typeof goods) => ({ operation: 'receive', id: 2, params }) as const
      const twice = [receive(goods), receive(back)]
      await book.runAll(twice, { atomic: true })
      t.strictSame(await read(), ['a 12 2 9', 'b 19 0 4', 'c 11 1 5'], 'one commit')
      await book.runAll(twice)
      t.strictSame(await read(), ['a 14 2 11', 'b 21 0 6', 'c 11 1 5'])
      await t.rejects(book.runAll([...twice, receive(lost)], { atomic: true }),
        { errors: [{ pointer: '/commands/2/params/goods/0/product' }] })
    })
  })

  t.test(`documents with the same items in a different order, over ${name}`, async t => {
    const { storage, another, dispose } = await make()
    t.teardown(dispose)
    const others = another === undefined ? [storage, storage] : [another(), another()]
    const books = [storage, ...others].map(storage => orders.service({ storage }))
    if (another !== undefined) t.teardown(() => Promise.all(others.map(each => each.close())))
    const stock = products.service({ storage })
    const ids = Array.from({ length: 20 }, (_, n) => `p${n}`)
    await stock.runAll(ids.map(id => ({ operation: 'create', params: { id } })), { atomic: true })
    await Promise.all([1, 2, 3].map(async () => { await books[0]?.create({ lines: [] }) }))
    const goods = ids.map(id => line(id))
    const rounds = 5
    for (let n = 0; n < rounds; n++) {
      await Promise.all(books.map(async (book, index) => {
        await book.run('receive', index + 1, { goods: index === 1 ? goods.toReversed() : goods })
      }))
    }
    const found = await stock.find()
    t.ok(found.items.every(each => each.stock === 3 * rounds && each.revision === 1 + 3 * rounds))
  })
}

t.test('who may not', async t => {
  const storage = memoryStorage()
  const stock = products.service({ storage })
  for (const [id, tenant] of [['a', 'red'], ['b', 'blue'], ['c', 'red']] as const) await stock.create({ id, tenant })
  const asked: string[] = []
  const authorize = (_request: unknown, { family, action, id, tentative }: Intent): Grant => {
    if (tentative !== true && family === 'products') asked.push(`${action} ${id}`)
    return family === 'products' ? { where: [{ field: 'tenant', op: 'eq', values: ['red'] }] } : {}
  }
  const app = Fastify()
  app.register(products, { storage, authorize })
  app.register(orders, { storage, authorize })
  await app.ready()
  const send = async (method: 'POST' | 'PUT', url: string, payload: object) =>
    (await app.inject({ method, url, payload })).json()
  await send('POST', '/orders', { lines: [line('c'), line('a')] })
  t.strictSame(asked.splice(0), ['CreateOrder c', 'CreateOrder a'], 'each is asked about once')
  t.match(await send('PUT', '/orders/1/receive', { goods: [line('a'), line('b'), line('c')] }), {
    status: 400, errors: [{ pointer: '/goods/1/product', detail: 'does not name an existing product' }]
  }, 'what is hidden is as if not there')
  t.strictSame(asked.splice(0), ['ReceiveOrder a', 'ReceiveOrder b', 'ReceiveOrder c'])
  await stock.run('edit', 'a', { tenant: 'blue' })
  const offered = (await app.inject('/orders/1/operations')).json().items as { name: string, reason?: string }[]
  t.match(offered.find(({ name }) => name === 'ship'), { allowed: false, reason: /^ship is not allowed/ },
    'nothing is guessed from a reason')
  t.match(await send('PUT', '/orders/1/ship', {}), { errors: [{ pointer: '/lines/1/product' }] })
})

const moves = (rules: object) => defineFamily({
  name: 'moves',
  singular: 'move',
  fields: Type.Object({ id: Type.Integer(), twins: Type.Array(Type.Integer()), size: Type.Integer({ default: 0 }) }),
  create: ['twins'],
  operations: {
    grow: {
      name: 'grow',
      verb: 'grow',
      participle: 'grown',
      noun: 'growths',
      action: 'GrowMove',
      params: Type.Object({
        of: Type.Optional(Type.Array(Type.Object({ part: Type.Integer(), name: Type.String() })))
      }),
      with: { twins: { family: 'moves', path: 'twins' } },
      apply: (move, _params, { items: { twins } }) =>
        ({ item: move, others: { twins: twins.map(each => ({ ...each, size: each.size + 1 })) } }),
      ...rules
    }
  }
})

t.test('a list of ids of the family itself', async t => {
  const book = moves({}).service({ storage: memoryStorage() })
  await book.create({ twins: [] })
  await book.create({ twins: [1] })
  await book.create({ twins: [1, 2, 1] })
  await book.run('grow', 3)
  t.match((await book.find()).items, [{ size: 1, revision: 2 }, { size: 1, revision: 2 }, { size: 0, revision: 2 }])
  await book.create({ twins: [4] })
  await t.rejects(book.run('grow', 4), {
    message: '/twins/0 must be a different move: an item can be used only once'
  })
  await book.create({ twins: [9] })
  await t.rejects(book.run('grow', 5), { errors: [{ pointer: '/twins/0' }] })
})

t.test('the items of references in lists', async t => {
  const boxes = defineFamily({
    name: 'boxes',
    singular: 'box',
    fields: Type.Object({
      id: Type.Integer(), tags: Type.Array(Type.String()), lines: Type.Array(Type.Object({ product: Type.String() }))
    }),
    references: { tags: products, 'lines.product': products },
    create: { fields: ['tags', 'lines'], with: { tags: 'tags' } },
    initial: (box, { items: { tags } }) =>
      ({ item: box, others: { tags: tags.map(each => ({ ...each, moved: each.moved + 1 })) } }),
    operations: {
      use: {
        name: 'use',
        verb: 'use',
        participle: 'used',
        noun: 'uses',
        action: 'UseBox',
        params: Type.Object({}),
        with: { products: 'lines.product' },
        allowed: (_box, _params, { items: { products } }) => products.every(({ stock }) => stock > 0),
        apply: (box, _params, { items: { products } }) =>
          ({ item: box, others: { products: products.map(each => ({ ...each, stock: each.stock - 1 })) } })
      }
    }
  })
  const storage = memoryStorage()
  const stock = products.service({ storage })
  for (const id of ['a', 'b']) await stock.create({ id, stock: 1 })
  const book = boxes.service({ storage })
  await book.create({ tags: ['a', 'a'], lines: [{ product: 'b' }, { product: 'a' }] })
  t.equal(await book.can('use', 1), true)
  await book.run('use', 1)
  t.equal(await book.can('use', 1), false)
  t.match((await stock.find()).items, [{ id: 'a', stock: 0, moved: 1 }, { id: 'b', stock: 0, moved: 0 }])
  await t.rejects(book.create({ tags: ['c'], lines: [] }), { errors: [{ pointer: '/tags/0' }] })
})

t.test('mistakes of a host', async t => {
  const storage = memoryStorage()
  const valid = moves({}).service({ storage })
  for (const twins of [[], [], [1, 2]]) await valid.create({ twins })
  const run = async (twins: unknown) =>
    await moves({ apply: (item: object) => ({ item, others: { twins } }) }).service({ storage }).run('grow', 3)
  const refused = (flaw: string) => ({
    code: 'FST_DEALBOOK_INVALID_ITEM',
    message: `fastify-dealbook, moves, grow: the resulting item is invalid: others.twins ${flaw}`
  })
  const one = await valid.get(1)
  await t.rejects(run([{ ...one, id: 7 }]), refused('has the item 7, which was not given to it, or twice'))
  await t.rejects(run([one, one]), refused('has the item 1, which was not given to it, or twice'))
  await t.rejects(run([{}]), refused('has the item undefined, which was not given to it, or twice'))
  await t.rejects(run(one), refused('must be a list of items, but the rule returned a value of the type object'))
  const mixed = 'must be a list of items, but the rule returned one with'
  await t.rejects(run([one, 3]), refused(`${mixed} a value of the type number`))
  await t.rejects(run([one, undefined]), refused(`${mixed} nothing`))
  t.match(await run([]), { changed: false })
  t.match(await run(undefined), { changed: false })

  const define = (other: unknown) => () => moves({ with: { twins: other } })
  const flawed = (flaw: string) => ({ message: new RegExp(`the operation "grow": with "twins": ${flaw}`) })
  t.throws(define({ family: 'moves', path: 'twin' }), flawed('the path "twin" leads nowhere. Did you mean "twins"?'))
  t.throws(define({ family: 'moves', path: 'of.port' }), flawed('.* leads nowhere. Did you mean "of.part"?'))
  t.throws(define({ family: 'moves', path: 'of.name' }), flawed('the path "of.name" leads to the type string; ids of'))
  t.throws(define({ family: 'moves', path: 'of' }), flawed('the path "of" leads to the type object; ids of moves'))
  t.throws(define({ family: 'moves', path: 7 }), flawed('"path" must be a string, such as \'goods.product\''))
  t.throws(define({ family: 'moves', path: 'twins', id: () => 1 }), flawed('has both "id" and "path"'))
  t.throws(define({ family: 'move', path: 'twins' }), flawed('the family "move" is not this one'))
  t.doesNotThrow(define({ family: 'moves', path: 'of.part' }))
  const entry = { family: 'moves', path: 'of.part' }
  const named = { message: /with "constructor": .* a member of every object/ }
  t.throws(() => moves({ with: { constructor: entry } }), named)
})

t.test('what is only read must still be so', async t => {
  const storage = memoryStorage()
  const stock = products.service({ storage })
  for (const id of ['a', 'b']) await stock.create({ id, stock: 10 })
  const changes: string[][] = []
  let edits = 0
  const slow: Storage = {
    ...storage,
    async commit (changed) {
      changes.push(changed.map(each => `${each.type} ${each.family}`))
      // After it was read, before it is committed.
      if (edits++ === 1) await stock.run('edit', 'b', { stock: 2 })
      await storage.commit(changed)
    }
  }
  const book = orders.service({ storage: slow })
  await book.create({ lines: [line('a', 5)] })
  await book.run('receive', 1, { goods: [line('b', 0), line('a')] })
  t.strictSame(changes.slice(1), Array.from({ length: 2 }, () =>
    ['replace orders', 'replace products', 'insert commands', 'require products', 'insert commands']))
  t.match((await stock.find()).items, [{ stock: 11 }, { stock: 2 }], 'it was decided again')
})

t.test('a version with other names, and an extension', async t => {
  const storage = memoryStorage()
  const renamed = orders.rename({ lines: 'rows', pieces: 'number' })
  const extended = orders.extend({ fields: Type.Object({ note: Type.Optional(Type.String()) }), create: ['note'] })
  const app = Fastify()
  app.register(products, { storage })
  app.register(orders, { storage, version: 'v1' })
  app.register(renamed, { storage, version: 'v2' })
  app.register(extended, { storage, version: 'v3' })
  await app.ready()
  const post = async (version: string, payload: object) =>
    (await app.inject({ method: 'POST', url: `/rest/${version}/orders`, payload })).json()
  await products.service({ storage }).create({ id: 'a', stock: 3 })
  t.match(await post('v2', { rows: [line('a'), line('x')] }), { errors: [{ pointer: '/rows/1/product' }] })
  t.match(await post('v2', { rows: [line('a')] }), { id: 1, number: 1 })
  t.match(await post('v3', { lines: [line('a')], note: 'b' }), { id: 2, note: 'b' })
  t.match((await app.inject({ method: 'PUT', url: '/rest/v2/orders/1/ship' })).json(), { status: 'shipped' })
  t.match((await app.inject('/products/a')).json(), { stock: 2, moved: 2 })
})
