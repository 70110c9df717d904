import fc from 'fast-check'
import type { FastifyInstance, InjectOptions } from 'fastify'
import Fastify from 'fastify'
import t, { type Test } from 'tap'
import type { Condition, FamilyOptions, Storage } from '../../lib/index.js'
import { defineFamily, describe, memoryStorage, Problem, Type } from '../../lib/index.js'
import { copyStorage, loadItems } from '../../lib/tools/index.js'
import { runs } from '../size.js'
import { storages } from '../storages.js'

const products = defineFamily({
  name: 'products',
  singular: 'product',
  fields: Type.Object({ id: Type.String(), name: Type.String(), isOpen: Type.Boolean({ default: true }) }),
  create: ['id', 'name', 'isOpen'],
  edit: ['name', 'isOpen']
})

const line = Type.Object({
  product: Type.Union([Type.String(), Type.Null()]),
  quantity: Type.Integer(),
  parts: Type.Optional(Type.Array(Type.Object({ product: Type.String() })))
})

const orders = defineFamily({
  name: 'orders',
  singular: 'order',
  fields: Type.Object({
    id: Type.Integer(),
    main: Type.Optional(Type.String()),
    lines: Type.Array(line),
    similar: Type.Array(Type.Integer(), { default: [] }),
    gift: Type.Optional(Type.Object({ product: Type.Optional(Type.String()) }))
  }),
  create: ['main', 'lines', 'similar', 'gift'],
  edit: ['main', 'lines', 'similar', 'gift'],
  operations: {
    add: {
      name: 'add',
      verb: 'add',
      participle: 'added',
      noun: 'additions',
      action: 'AddLine',
      params: Type.Object({ product: Type.String() }),
      apply: (order, { product }) => ({ ...order, lines: [...order.lines, { product, quantity: 1 }] })
    }
  },
  references: {
    main: products,
    'lines.product': products,
    'lines.parts.product': products,
    similar: 'orders',
    'gift.product': products
  }
})

async function openApp (
  storage: Storage, ofProducts: Partial<FamilyOptions> = {}, ofOrders: Partial<FamilyOptions> = {}
): Promise<FastifyInstance> {
  const app = Fastify()
  app.register(products, { storage, ...ofProducts } as never)
  app.register(orders, { storage, ...ofOrders } as never)
  await app.ready()
  return app
}

/** What a request is refused with, and where. */
async function refuse (app: FastifyInstance, asked: InjectOptions): Promise<unknown[]> {
  const answer = await app.inject(asked)
  const { type = '', errors = [], family } =
    answer.json<{ type?: string, errors?: { pointer: string }[], family?: string }>()
  return [answer.statusCode, type.replace('urn:dealbook:problem:', ''), ...errors.map(({ pointer }) => pointer),
    ...family === undefined ? [] : [family]]
}

for (const { name, make } of storages) {
  t.test(`${name}: each line must refer to an item, which cannot be deleted`, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    const app = await openApp(storage)
    t.teardown(() => app.close())
    const shop = products.service({ storage })
    for (const id of ['a', 'b', 'c', 'd', 'e', '1']) await shop.create({ id, name: id.toUpperCase() })
    const lines = [{ product: 'a', quantity: 1 }, { product: null, quantity: 2 }, { product: 'a', quantity: 3 }]
    const book = orders.service({ storage })
    const { item: { id } } = await book.create({ lines })
    const wrong: [fields: object, ...pointers: string[]][] = [
      [{ lines: [...lines, { product: 'x', quantity: 1 }] }, '/lines/3/product'],
      [{ lines: [{ product: 'x', quantity: 1 }, ...lines, { product: 'x', quantity: 1 }] },
        '/lines/0/product', '/lines/4/product'],
      [{ lines: ['y', 'a', 'x', 'y'].map(product => ({ product, quantity: 1 })) },
        '/lines/0/product', '/lines/2/product', '/lines/3/product'],
      [{ lines: [{ product: 'a', quantity: 1, parts: [{ product: 'b' }, { product: 'A' }] }] },
        '/lines/0/parts/1/product'],
      [{ lines: [], similar: [id, 99] }, '/similar/1'],
      [{ lines: [], gift: { product: 'y' } }, '/gift/product']
    ]
    for (const [fields, ...pointers] of wrong) {
      const expected = [400, 'invalid-body', ...pointers]
      const what = JSON.stringify(fields)
      t.strictSame(await refuse(app, { method: 'POST', url: '/orders', payload: fields }), expected, what)
      for (const [method, url, payload] of [
        ['PATCH', `/orders/${id}`, fields], ['PUT', `/orders/${id}/edit`, fields],
        ['PUT', `/orders/${id}/commands/c1`, { action: 'EditOrder', params: fields }],
        ['POST', '/command/EditOrder/', { id, ...fields }]
      ] as const) {
        t.strictSame(await refuse(app, { method, url, payload }), expected, `${method} ${url} ${what}`)
      }
      const errors = pointers.map(pointer => ({ pointer }))
      await t.rejects(book.create(fields as never), { code: 'invalid-body', errors })
    }
    t.match((await app.inject({ method: 'POST', url: '/orders', payload: wrong[0]?.[0] as object })).json(),
      { detail: /\/lines\/3\/product must be an existing id of products/ })
    t.strictSame(await refuse(app, { method: 'PUT', url: `/orders/${id}/add`, payload: { product: 'x' } }),
      [400, 'invalid-body', '/lines/3/product'])
    t.equal((await book.get(id)).revision, 1, 'nothing was done')

    const inUse = [409, 'in-use', 'orders']
    t.strictSame(await refuse(app, { method: 'DELETE', url: '/products/a' }), inUse)
    await book.run('add', id, { product: 'b' })
    await book.run('edit', id, { similar: [id], gift: { product: 'c' }, main: 'd' })
    for (const used of ['a', 'b', 'c', 'd']) {
      t.strictSame(await refuse(app, { method: 'DELETE', url: `/products/${used}` }), inUse, used)
    }
    t.equal((await app.inject({ method: 'DELETE', url: '/products/e' })).statusCode, 204)
    await book.run('edit', id, { lines: [{ product: 'b', quantity: 1, parts: [{ product: '1' }] }], gift: {} })
    for (const free of ['a', 'c']) {
      t.equal((await app.inject({ method: 'DELETE', url: `/products/${free}` })).statusCode, 204, free)
    }
    t.strictSame(await refuse(app, { method: 'DELETE', url: '/products/1' }), inUse, 'in a list of a list')
    const { item: second } = await book.create({ lines: [], similar: [id] })
    t.strictSame(await refuse(app, { method: 'DELETE', url: `/orders/${id}` }), inUse)
    await book.remove(second.id)
    await book.remove(id)
    for (const free of ['b', 'd', '1']) await shop.remove(free)
    t.strictSame((await shop.find()).items, [])
  })

  t.test(`${name}: lines are loaded, and copied`, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    await loadItems(storage, products, [{ id: 'a', name: 'A' }])
    const good = { id: 1, lines: [{ product: 'a', quantity: 1 }], similar: [2] }
    const bad = { id: 2, lines: [{ product: 'a', quantity: 1 }, { product: 'x', quantity: 1 }] }
    await t.rejects(loadItems(storage, orders, [bad]), /\/lines\/1\/product must be an existing id of products/)
    await loadItems(storage, orders, [good, { ...bad, lines: [] }])
    await t.rejects(products.service({ storage }).remove('a'), { code: 'in-use' })
    await t.rejects(orders.service({ storage }).remove(2), { code: 'in-use' })
    const copy = await make()
    t.teardown(copy.dispose)
    await copyStorage(storage, copy.storage, { families: [products, orders] })
    const book = orders.service({ storage: copy.storage })
    t.strictSame(await book.get(1), await orders.service({ storage }).get(1))
    await t.rejects(book.remove(2), { code: 'in-use' })
    await t.rejects(products.service({ storage: copy.storage }).remove('a'), { code: 'in-use' })
    await book.run('edit', 1, { lines: [], similar: [] })
    await book.remove(2)
    await products.service({ storage: copy.storage }).remove('a')
  })

  t.test(`${name}: an extension adds paths, which bind every version`, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    const plain = defineFamily({
      name: 'baskets',
      singular: 'basket',
      fields: Type.Object({ id: Type.Integer(), lines: Type.Array(Type.Object({ product: Type.String() })) }),
      create: ['lines'],
      edit: ['lines']
    })
    const extended = plain.extend({
      fields: Type.Object({ notes: Type.Array(Type.String(), { default: [] }) }),
      create: ['notes'],
      references: { 'lines.product': products, notes: products }
    })
    const shop = products.service({ storage })
    for (const id of ['a', 'b']) await shop.create({ id, name: id })
    const [first, second] = [plain.service({ storage }), extended.service({ storage })]
    await first.create({ lines: [{ product: 'a' }] })
    await second.create({ lines: [], notes: ['b'] })
    for (const id of ['a', 'b']) await t.rejects(shop.remove(id), { code: 'in-use', members: { family: 'baskets' } })
    await t.rejects(first.create({ lines: [{ product: 'a' }, { product: 'x' }] }),
      { code: 'invalid-body', errors: [{ pointer: '/lines/1/product' }] })
    await t.rejects(second.create({ lines: [], notes: ['a', 'y'] }), { errors: [{ pointer: '/notes/1' }] })
    await first.run('edit', 1, { lines: [] })
    await shop.remove('a')
    await first.remove(2)
    await shop.remove('b')
  })

  t.test(`${name}: a line and a deletion at the same time leave no line without its item`, async t => {
    const { storage, another, dispose } = await make()
    t.teardown(dispose)
    const opened = [storage, another?.() ?? storage, another?.() ?? storage]
    const shops = opened.map(storage => products.service({ storage }))
    const books = opened.map(storage => orders.service({ storage }))
    const at = <T>(all: readonly T[], n: number): T => all[n % all.length] as T
    let removed = 0
    let added = 0
    for (let round = 0; round < runs(100); round++) {
      const id = `p${round}`
      await at(shops, round).create({ id, name: id })
      const { item: order } = await at(books, round).create({ lines: [] })
      const racing = [
        // Later by some turns, so that each of them comes first now and then.
        pass(round % 10).then(() => at(shops, round).remove(id)).then(() => removed++),
        at(books, round + 1).run('add', order.id, { product: id }).then(() => added++),
        at(books, round + 2).create({ lines: [{ product: null, quantity: 1 }, { product: id, quantity: 1 }] })
          .then(() => added++)
      ]
      const settled = await Promise.allSettled(round % 2 === 0 ? racing : racing.toReversed())
      for (const each of settled) {
        if (each.status === 'rejected') t.ok(['in-use', 'invalid-body'].includes(each.reason.code), String(each.reason))
      }
      await checkDangling(t, at(shops, round), at(books, round))
    }
    t.ok(removed > 0 && added > 0, `${removed} removed, ${added} added`)
  })

  t.test(`${name}: random documents, edits and deletions, beside the simplest model`, async t => {
    const id = fc.constantFrom('a', 'b', 'c', 'd', 'e')
    const someLines = fc.array(fc.record({
      product: fc.option(id), quantity: fc.integer({ min: 0, max: 3 }), parts: fc.array(fc.record({ product: id }))
    }, { requiredKeys: ['product', 'quantity'] }), { maxLength: 4 })
    const step = fc.oneof(
      fc.record({ type: fc.constant('make' as const), product: id }),
      fc.record({ type: fc.constant('drop' as const), product: id }),
      fc.record({ type: fc.constant('create' as const), lines: someLines }),
      fc.record({ type: fc.constant('edit' as const), at: fc.nat({ max: 5 }), lines: someLines }),
      fc.record({ type: fc.constant('remove' as const), at: fc.nat({ max: 5 }) })
    )
    await fc.assert(fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async steps => {
      const { storage, dispose } = await make()
      try {
        const [shop, book] = [products.service({ storage }), orders.service({ storage })]
        const present = new Set<string>()
        const kept = new Map<number, readonly string[]>()
        for (const each of steps) {
          const outcome = await run(each)
          if (outcome !== undefined) throw new Error(`${JSON.stringify(each)}: ${outcome}`)
        }
        await checkDangling(t, shop, book)

        /** Undefined if it did what the model says. */
        async function run (each: typeof steps[number]): Promise<string | undefined> {
          const code = async (work: Promise<unknown>): Promise<string> =>
            await work.then(() => 'done', (error: unknown) => error instanceof Problem ? error.code : String(error))
          if (each.type === 'make') {
            const expected = present.has(each.product) ? 'taken' : 'done'
            const got = await code(shop.create({ id: each.product, name: 'x' }))
            // A deleted id stays taken by its log.
            if (got === 'done') present.add(each.product)
            return got === expected || got === 'taken' ? undefined : got
          }
          if (each.type === 'drop') {
            const isUsed = [...kept.values()].some(ids => ids.includes(each.product))
            const expected = !present.has(each.product) ? 'not-found' : isUsed ? 'in-use' : 'done'
            const got = await code(shop.remove(each.product))
            if (got === 'done') present.delete(each.product)
            return got === expected ? undefined : `${got}, not ${expected}`
          }
          const target = each.type === 'create' ? undefined : [...kept.keys()][each.at]
          if (each.type !== 'create' && target === undefined) return undefined
          if (each.type === 'remove') {
            const got = await code(book.remove(target as number))
            kept.delete(target as number)
            return got === 'done' ? undefined : got
          }
          const ids = each.lines.flatMap(({ product, parts = [] }) => [product, ...parts.map(({ product }) => product)])
            .filter(id => id !== null)
          const expected = ids.every(id => present.has(id)) ? 'done' : 'invalid-body'
          let made = target
          const got = await code(each.type === 'create'
            ? book.create({ lines: each.lines }).then(({ item }) => { made = item.id })
            : book.run('edit', target as number, { lines: each.lines }))
          if (got === 'done') kept.set(made as number, ids)
          return got === expected ? undefined : `${got}, not ${expected}`
        }
      } finally {
        await dispose()
      }
    }), { numRuns: runs(name === 'memory' ? 500 : 50) })
  })
}

async function pass (turns: number): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await new Promise(resolve => { setImmediate(resolve) })
}

/** The naive oracle: every id in a line is that of an item. */
async function checkDangling (
  t: Test, shop: ReturnType<typeof products.service>, book: ReturnType<typeof orders.service>
): Promise<void> {
  const present = new Set((await shop.find('', { limit: 1000 })).items.map(({ id }) => id))
  for (const { lines } of (await book.find('', { limit: 1000 })).items) {
    for (const { product, parts = [] } of lines) {
      for (const id of [product, ...parts.map(part => part.product)]) {
        if (id !== null && !present.has(id)) t.fail(`a line refers to ${id}, which is gone`)
      }
    }
  }
}

t.test('expand shows the items in the lines, with one read', async t => {
  const storage = memoryStorage()
  const finds: string[] = []
  const counted: Storage = {
    ...storage,
    async find (family, query, signal) {
      finds.push(family)
      return await storage.find(family, query, signal)
    }
  }
  const app = await openApp(counted)
  const shop = products.service({ storage })
  for (const id of ['a', 'b']) await shop.create({ id, name: id.toUpperCase() })
  const book = orders.service({ storage })
  const lines = [{ product: 'a', quantity: 1, parts: [{ product: 'b' }] }, { product: null, quantity: 1 }]
  await book.create({ lines, main: 'a' })
  await book.create({ lines: [{ product: 'b', quantity: 1 }, { product: 'a', quantity: 2 }], similar: [1] })
  finds.length = 0
  const { items } = (await app.inject('/orders?expand=lines.product')).json()
  t.strictSame(finds, ['orders', 'products'])
  t.match(items, [
    { lines: [{ product: { id: 'a', name: 'A' }, quantity: 1, parts: [{ product: 'b' }] }, { product: null }] },
    { lines: [{ product: { name: 'B' } }, { product: { name: 'A' }, quantity: 2 }], similar: [1] }
  ])
  finds.length = 0
  const one = (await app.inject('/orders/1?expand=lines.product,lines.parts.product,main')).json()
  t.match(one, { main: { name: 'A' }, lines: [{ product: { name: 'A' }, parts: [{ product: { name: 'B' } }] }, {}] })
  t.equal(finds.length, 3)
  const similar = (await app.inject('/orders/2?expand=similar')).json()
  t.match(similar, { similar: [{ id: 1, lines: [{ product: 'a' }, {}] }] })
  const second = { lines: [{ product: { id: 'b' } }, {}] }
  t.match((await app.inject('/orders/2?expand=lines.product&fields=lines')).json(), second)
  t.match(await book.get(2, { expand: ['lines.product'] }), second)
  t.match((await app.inject('/orders?expand=lines.prodct')).json(), { status: 400, detail: /lines\.product/ })
  t.match((await app.inject('/orders?expand=lines')).json(), { status: 400 })
  await t.rejects(book.get(2, { expand: ['lines'] }), { code: 'invalid-query' })
  t.same(Object.keys((await app.inject('/orders/1')).json().links), ['main', 'self', 'collection', 'log', 'operations'])
})

t.test('a caller does not refer to items that it may not read, and is not shown them', async t => {
  const storage = memoryStorage()
  const asked: unknown[] = []
  const where: Condition[] = [{ field: 'isOpen', op: 'eq', values: [true] }]
  const app = await openApp(storage, {
    authorize (request, { id }) {
      asked.push(id)
      if (request.headers.authorization === 'none') throw new Problem('forbidden', 'Not yours')
      return request.headers.authorization === 'all' ? {} : { where }
    }
  }, { authorize: () => ({}) })
  const shop = products.service({ storage })
  for (const id of ['a', 'b', 'c']) await shop.create({ id, name: id, isOpen: id !== 'b' })
  const send = async (authorization: string, ids: string[]) => await refuse(app, {
    method: 'POST',
    url: '/orders',
    headers: { authorization },
    payload: { lines: ids.map(product => ({ product, quantity: 1 })) }
  })
  asked.length = 0
  t.strictSame(await send('some', ['a', 'b', 'c', 'b']), [400, 'invalid-body', '/lines/1/product', '/lines/3/product'])
  t.strictSame(asked, ['a', 'b', 'c'])
  t.strictSame(await send('some', ['a', 'x']), [400, 'invalid-body', '/lines/1/product'], 'as one that is missing')
  t.strictSame(await send('some', ['x', 'a', 'b']), [400, 'invalid-body', '/lines/0/product', '/lines/2/product'])
  t.strictSame(await send('none', ['a', 'b']), [400, 'invalid-body', '/lines/0/product', '/lines/1/product'])
  t.equal((await send('all', ['a', 'b', 'c']))[0], 201)
  t.equal((await send('some', ['a', 'c']))[0], 201)
  const shown = async (authorization: string) =>
    (await app.inject({ url: '/orders/1?expand=lines.product', headers: { authorization } })).json().lines
      .map(({ product }: { product: unknown }) => typeof product)
  t.strictSame(await shown('all'), ['object', 'object', 'object'])
  t.strictSame(await shown('some'), ['object', 'string', 'object'])
  t.strictSame(await shown('none'), ['string', 'string', 'string'])
  t.equal((await send('some', ['c']))[0], 201)
  t.strictSame(await send('some', ['b']), [400, 'invalid-body', '/lines/0/product'], 'the only one')
  // Those that the item had before are not checked.
  const kept = { lines: [{ product: 'c', quantity: 1 }, { product: 'b', quantity: 5 }] }
  const edit = { method: 'PATCH', url: '/orders/1', headers: { authorization: 'some' }, payload: kept } as const
  t.equal((await app.inject(edit)).statusCode, 200)
})

t.test('it is described', async t => {
  const model = describe(orders)
  t.strictSame(model.references, { main: 'products' })
  t.strictSame(model.pathReferences, {
    'lines.product': 'products', 'lines.parts.product': 'products', similar: 'orders', 'gift.product': 'products'
  })
  const { pattern } = model.parameters['expand'] as { pattern: string }
  t.match('lines.product,main', new RegExp(pattern))
  t.notMatch('linesxproduct', new RegExp(pattern))
})

t.test('mistakes in a definition', async t => {
  const define = (references: object, more: object = {}) => (): void => {
    defineFamily({
      name: 'orders',
      singular: 'order',
      fields: Type.Object({
        id: Type.Integer(),
        lines: Type.Array(Type.Object({ product: Type.String(), quantity: Type.Integer(), 'un-it': Type.String() })),
        pair: Type.Optional(Type.Tuple([Type.String(), Type.String()])),
        grid: Type.Optional(Type.Array(Type.Array(Type.String()))),
        tags: Type.Array(Type.String(), { default: ['a'] }),
        secret: Type.Optional(Type.Object({ product: Type.String() }, { writeOnly: true }))
      }),
      create: ['lines', 'pair', 'grid', 'tags', 'secret'],
      references,
      ...more
    } as never)
  }
  const cases: [references: object, message: RegExp][] = [
    [{ 'lines.prodct': products }, /"lines.prodct", which is not a field. Did you mean "lines.product"\?/],
    [{ 'lines.quantity': products }, /"lines.quantity", which is of the kind integer; ids of products are string/],
    [{ 'lines.product': 'orders' }, /"lines.product", which is of the kind string; ids of orders are integer/],
    [{ lines: products }, /"lines", which is of the kind json/],
    [{ grid: products }, /"grid", which is of the kind json/],
    [{ pair: products }, /"pair", which is of the kind json/],
    [{ tags: products }, /"tags", but the default of the field has an id there/],
    [{ 'secret.product': products }, /"secret.product", which clients never read/],
    [{ 'lines.un-it': products }, /its part "un-it" must be letters/],
    [{ 'id.product': products }, /"id.product", which is not a field/]
  ]
  for (const [references, message] of cases) t.throws(define(references), message)
})

t.test('the document has the items in the place of their ids', async t => {
  const swagger = (await import('@fastify/swagger')).default
  const app = Fastify()
  const refResolver = { buildLocalReference: (json: { $id?: unknown }) => String(json.$id) }
  await app.register(swagger, { openapi: {}, refResolver } as never)
  const storage = memoryStorage()
  app.register(products, { storage })
  app.register(orders, { storage })
  await app.ready()
  const { components: { schemas = {} } = {} } = app.swagger() as { components?: { schemas?: Record<string, any> } }
  const { properties } = schemas['dealbook.ExpandedOrder']
  t.strictSame(properties.lines.items.properties.product.anyOf.length, 2)
  t.match(properties.lines.items.properties.product.anyOf[1], { $ref: /Product$/ })
  t.match(properties.similar.items.anyOf, [{ type: 'integer' }, { $ref: /Order$/ }])
  t.match(properties.gift.properties.product.anyOf, [{ type: 'string' }, { $ref: /Product$/ }])
  const links = Object.keys(schemas['dealbook.OrderLinks'].properties)
  t.same(links.sort(), ['collection', 'current', 'log', 'main', 'next', 'operations', 'prev', 'self'])
})
