import swagger from '@fastify/swagger'
import fc from 'fast-check'
import type { FastifyInstance } from 'fastify'
import Fastify from 'fastify'
import t from 'tap'
import type { Committed, Intent, Storage } from '../../lib/index.js'
import { defineFamily, describe, memoryStorage, Type } from '../../lib/index.js'
import { mcp } from '../../lib/mcp/mcp.js'
import { ask, call } from '../mcp/app.js'
import { runs } from '../size.js'
import { storages } from '../storages.js'

const products = defineFamily({
  name: 'products',
  singular: 'product',
  fields: Type.Object({ id: Type.String(), name: Type.String() }),
  create: ['id', 'name']
})

const orders = defineFamily({
  name: 'orders',
  singular: 'order',
  fields: Type.Object({
    id: Type.Integer(),
    lines: Type.Array(Type.Object({
      product: Type.String(),
      price: Type.Integer({ minimum: 0 }),
      parts: Type.Optional(Type.Array(Type.Object({ product: Type.String(), size: Type.Integer() })))
    }, { additionalProperties: false })),
    address: Type.Union([Type.Object({ city: Type.String(), zip: Type.String() }), Type.Null()]),
    total: Type.Integer({ default: 0 })
  }),
  create: ['lines', 'address'],
  edit: ['lines', 'address'],
  derive: { total: ({ lines }) => lines.reduce((sum, { price }) => sum + price, 0) },
  operations: {
    raise: {
      name: 'raise',
      verb: 'raise',
      participle: 'raised',
      noun: 'raises',
      action: 'RaiseOrder',
      params: Type.Object({ lines: Type.Array(Type.Object({ price: Type.Integer({ minimum: 1 }) })) }),
      allowed: ({ lines }) => lines.length > 0 || 'There are no lines',
      apply: (order, { lines }) => ({
        ...order,
        lines: order.lines.map((line, index) => ({ ...line, price: line.price + (lines[index]?.price ?? 0) }))
      })
    }
  },
  references: { 'lines.product': products, 'lines.parts.product': products }
})

const renamed = orders.rename({
  lines: 'rows',
  'lines.price': 'unitPrice',
  'lines.product': 'item',
  'lines.parts': 'pieces',
  'lines.parts.product': 'item',
  'address.zip': 'city',
  'address.city': 'zip'
})

interface Seen {
  readonly intents: Intent[]
  readonly committed: Committed[]
}

async function openApp (storage: Storage): Promise<{ readonly app: FastifyInstance, readonly seen: Seen }> {
  const app = Fastify()
  const seen: Seen = { intents: [], committed: [] }
  await app.register(swagger, { openapi: {}, refResolver: { buildLocalReference: ({ $id }) => String($id) } })
  for (const version of ['v1', 'v2']) app.register(products, { storage, version })
  app.register(orders, { storage, version: 'v1' })
  app.register(renamed, {
    storage,
    version: 'v2',
    authorize: (_request, intent) => {
      seen.intents.push(intent as Intent)
      return {}
    },
    onCommitted: change => { seen.committed.push(change as Committed) }
  })
  await app.ready()
  return { app, seen }
}

const lines = [
  { product: 'a', price: 3 },
  { product: 'b', price: 4, parts: [{ product: 'a', size: 1 }, { product: 'b', size: 2 }] }
]
const rows = [
  { item: 'a', unitPrice: 3 },
  { item: 'b', unitPrice: 4, pieces: [{ item: 'a', size: 1 }, { item: 'b', size: 2 }] }
]
const address = { city: 'Bonn', zip: '53111' }
const swapped = { zip: 'Bonn', city: '53111' }

for (const { name, make } of storages) {
  t.test(`${name}: members of lists have their names in each version`, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    const { app, seen } = await openApp(storage)
    t.teardown(() => app.close())
    const shop = products.service({ storage })
    for (const id of ['a', 'b']) await shop.create({ id, name: id.toUpperCase() })
    const send = async (method: 'GET' | 'POST' | 'PUT' | 'PATCH', url: string, payload?: object) =>
      (await app.inject({ method, url, ...payload && { payload } })).json()

    const made = await send('POST', '/rest/v2/orders', { rows, address: swapped })
    t.match(made, { id: 1, rows, address: swapped, total: 7 })
    const own = await send('GET', '/rest/v1/orders/1')
    t.strictSame([own.lines, own.address], [lines, address])
    t.match(seen.intents.at(0), { params: { rows, address: swapped } })
    t.match(seen.committed, [{ params: { rows, address: swapped }, after: { rows, address: swapped } }])

    // A page is text where a storage writes it.
    const [listed] = (await send('GET', '/rest/v2/orders')).items
    t.strictSame([listed.rows, listed.address], [rows, swapped])
    t.strictSame((await send('GET', '/rest/v2/orders?fields=rows')).items, [{ rows }])
    t.strictSame((await send('GET', '/rest/v2/orders?fields=total')).items, [{ total: 7 }])
    t.match((await send('GET', '/rest/v2/orders?expand=rows.item,rows.pieces.item')).items, [{
      rows: [{ item: { name: 'A' } }, { item: { name: 'B' }, pieces: [{ item: { id: 'a' } }, { item: { id: 'b' } }] }]
    }])
    t.match(await send('GET', '/rest/v2/orders?expand=lines.product'), { status: 400 })

    const refuse = async (method: 'POST' | 'PATCH' | 'PUT', url: string, payload: object): Promise<unknown[]> => {
      const { status, detail = '', errors = [] } = await send(method, url, payload)
      const pointers = errors.map(({ pointer }: { pointer: string }) => pointer)
      t.ok(pointers.length === 0 || detail.includes(pointers[0]), detail)
      return [status, ...pointers]
    }
    for (const [method, url] of [['POST', '/rest/v2/orders'], ['PATCH', '/rest/v2/orders/1']] as const) {
      t.strictSame(await refuse(method, url, { rows: [...rows, { item: 'x', unitPrice: 1 }], address: null }),
        [400, '/rows/2/item'])
      t.strictSame(await refuse(method, url, { rows: [{ item: 'a', unitPrice: -1 }], address: null }),
        [400, '/rows/0/unitPrice'])
      t.strictSame((await refuse(method, url, { rows: [{ item: 'a', price: 1 }], address: null }))[0], 400)
      t.strictSame(await refuse(method, url, {
        rows: [{ item: 'a', unitPrice: 1, pieces: [{ item: 'x', size: 1 }] }], address: null
      }), [400, '/rows/0/pieces/0/item'])
    }
    // Parameters of an operation keep their names.
    t.strictSame(await refuse('PUT', '/rest/v2/orders/1/raise', { lines: [{ price: 0 }] }), [400, '/lines/0/price'])
    t.match(await send('PUT', '/rest/v2/orders/1/raise', { lines: [{ price: 2 }] }),
      { rows: [{ unitPrice: 5 }, { unitPrice: 4 }], total: 9 })
    const again = { action: 'EditOrder', params: { rows: [rows[1]], address: null } }
    t.match(await send('PUT', '/rest/v2/orders/1/commands/c1', again), { params: again.params })
    t.match(await send('PUT', '/rest/v2/orders/1/commands/c1', again), { params: again.params })

    const entries = (await send('GET', '/rest/v2/orders/1/commands')).items
    t.match(entries, [{ params: { rows, address: swapped } }, { params: { lines: [{ price: 2 }] } }, again])
    const base = (await send('GET', '/rest/v1/orders/1/commands')).items
    const raised = { params: { lines: [{ price: 2 }] } }
    t.match(base, [{ params: { lines, address } }, raised, { params: { lines: [lines[1]] } }])
    const book = renamed.service({ storage })
    t.match((await book.log(1)).items.at(-1), { params: again.params })
    const before = { rows: [{ unitPrice: 5 }, {}], address: swapped }
    t.match(seen.committed.at(-1), { before, after: { address: null } })
    const feed = (await send('GET', '/rest/v2/orders/commands')).items
    t.match(feed.at(-1), { params: again.params })
    t.match(await book.create({ rows, address: null }), { item: { rows } })
    await t.rejects(book.create({ rows: [{ item: 'y', unitPrice: 1 }], address: null }),
      { errors: [{ pointer: '/rows/0/item' }] })
  })
}

t.test('what changed is shown under the names of the version', async t => {
  const storage = memoryStorage()
  const shop = products.service({ storage })
  for (const id of ['a', 'b']) await shop.create({ id, name: id })
  const book = renamed.service({ storage })
  await book.create({ rows: [], address: swapped })
  await book.run('edit', 1, { rows: [{ item: 'a', unitPrice: 1 }], address: null })
  const changed = []
  for await (const { changes } of book.follow({ from: 'beginning', signal: AbortSignal.timeout(500) })) {
    changed.push(changes)
    if (changed.length === 2) break
  }
  t.match(changed[1], {
    rows: { from: [], to: [{ item: 'a', unitPrice: 1 }] },
    address: { from: swapped, to: null },
    total: { from: 0, to: 1 }
  })
})

t.test('a renamed family is renamed once more', async t => {
  const storage = memoryStorage()
  const shop = products.service({ storage })
  await shop.create({ id: 'a', name: 'A' })
  const third = renamed.rename({ 'rows.unitPrice': 'price', 'rows.pieces.size': 'cm', 'address.city': 'code' })
  const book = third.service({ storage })
  const given = {
    rows: [{ item: 'a', price: 2, pieces: [{ item: 'a', cm: 9 }] }], address: { zip: 'Bonn', code: '53111' }
  }
  const { item } = await book.create(given)
  t.match(item, given)
  t.match(await orders.service({ storage }).get(1), {
    lines: [{ product: 'a', price: 2, parts: [{ product: 'a', size: 9 }] }], address
  })
  t.match(await renamed.service({ storage }).get(1), {
    rows: [{ item: 'a', unitPrice: 2, pieces: [{ item: 'a', size: 9 }] }], address: swapped
  })
  await t.rejects(book.create({ ...given, rows: [{ item: 'x', price: 2 }] }), { errors: [{ pointer: '/rows/0/item' }] })
})

t.test('random documents are the same in both versions', async t => {
  const someLines = fc.array(fc.record({
    product: fc.constantFrom('a', 'b'),
    price: fc.nat({ max: 9 }),
    parts: fc.array(fc.record({ product: fc.constantFrom('a', 'b'), size: fc.integer({ min: 0, max: 9 }) }))
  }, { requiredKeys: ['product', 'price'] }), { maxLength: 5 })
  const someAddress = fc.option(fc.record({ city: fc.string(), zip: fc.string() }))
  const toRow = ({ product: item, price: unitPrice, parts }: typeof lines[number]) => ({
    item, unitPrice, ...parts && { pieces: parts.map(({ product: item, size }) => ({ item, size })) }
  })
  const storage = memoryStorage()
  const shop = products.service({ storage })
  for (const id of ['a', 'b']) await shop.create({ id, name: id })
  const [old, book] = [orders.service({ storage }), renamed.service({ storage })]
  await fc.assert(fc.asyncProperty(someLines, someAddress, someLines, async (lines, address, others) => {
    const swap = address && { zip: address.city, city: address.zip }
    const { item: { id } } = await book.create({ rows: lines.map(toRow as never), address: swap } as never)
    const first = await old.get(id)
    if (JSON.stringify([first.lines, first.address]) !== JSON.stringify([lines, address])) {
      t.strictSame([first.lines, first.address], [lines, address])
    }
    await old.run('edit', id, { lines: others } as never)
    const after = await book.get(id) as unknown as { rows: unknown, address: unknown }
    t.strictSame([after.rows, after.address], [others.map(toRow as never), swap])
  }), { numRuns: runs(200) })
})

t.test('documents have the names of the version', async t => {
  const { app } = await openApp(memoryStorage())
  t.teardown(() => app.close())
  const model = describe(renamed)
  t.strictSame(model.pathReferences, { 'rows.item': 'products', 'rows.pieces.item': 'products' })
  const row = (model.item.properties as Record<string, any>)['rows'].items
  t.strictSame(Object.keys(row.properties), ['item', 'unitPrice', 'pieces'])
  t.strictSame(row.required, ['item', 'unitPrice'])
  t.strictSame(row.properties.pieces.items.required, ['item', 'size'])
  t.match(JSON.stringify(app.swagger()), /"unitPrice"/)
})

t.test('pages and tools have the names of the version', async t => {
  const storage = memoryStorage()
  const app = Fastify()
  const flat = defineFamily({
    name: 'orders',
    singular: 'order',
    fields: Type.Object({
      id: Type.Integer(),
      lines: Type.Array(Type.Object({ product: Type.String(), price: Type.Integer({ minimum: 0 }) }))
    }),
    create: ['lines'],
    edit: ['lines'],
    references: { 'lines.product': products }
  })
  app.register(mcp, { prefix: '/crm' })
  app.register(products, { storage, prefix: '/crm' })
  app.register(flat.rename({ lines: 'rows', 'lines.price': 'unitPrice', 'lines.product': 'item' }), {
    storage, prefix: '/crm'
  })
  await app.ready()
  t.teardown(() => app.close())
  await products.service({ storage }).create({ id: 'a', name: 'Tea' })
  const headers = { accept: 'text/html', 'content-type': 'application/x-www-form-urlencoded' }
  const send = async (payload: string) => await app.inject({ method: 'POST', url: '/crm/orders', headers, payload })
  t.equal((await send('rows.0.item=a&rows.0.unitPrice=5')).statusCode, 303)
  for (const [price, name] of [[-5, 'unitPrice'], [5, 'item']] as const) {
    const { statusCode, body } = await send(`rows.0.item=x&rows.0.unitPrice=${price}`)
    t.equal(statusCode, 400)
    t.match(body, `id="create-rows-0-${name}-error"`)
  }
  const { body } = await app.inject({ url: '/crm/orders/1', headers: { accept: 'text/html' } })
  t.match(body, 'Tea')
  t.match(body, 'rows.0.unitPrice')
  t.notMatch(body, 'lines.0')

  const { body: { result } } = await ask(app, 'tools/list')
  const tool = result?.tools.find(({ name }) => name === 'orders_create')
  t.match(tool, { inputSchema: { properties: { rows: { items: { properties: { item: {}, unitPrice: {} } } } } } })
  const created = { rows: [{ item: 'a', unitPrice: 2 }], command: 'c-1' }
  t.match(await call(app, 'orders_create', created), { content: { item: { rows: created.rows } } })
  const wrong = { ...created, rows: [{ item: 'x', unitPrice: 2 }], command: 'c-2' }
  t.match(await call(app, 'orders_create', wrong), { isError: true, text: /\/rows\/0\/item/ })
})

t.test('mistakes', async t => {
  const rename = (names: object) => (): void => { orders.rename(names as never) }
  const cases: [names: object, message: RegExp][] = [
    [{ 'lines.prise': 'x' }, /"lines.prise" is not a field. Did you mean "lines.price"\?/],
    [{ 'lines.price': 'product' }, /two members of "lines" would be called "product"/],
    [{ 'lines.price': 'a.b' }, /the new name of "lines.price", "a.b", must be letters/],
    [{ 'lines.price': 3 }, /the new name of "lines.price" must be a string/],
    [{ 'id.x': 'y' }, /"id.x" is not a field/]
  ]
  for (const [names, message] of cases) t.throws(rename(names), message)
  t.doesNotThrow(rename({ 'lines.price': 'product', 'lines.product': 'price' }))
})
