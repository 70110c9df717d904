import Fastify, { type FastifyRequest } from 'fastify'
import t from 'tap'
import {
  type Condition, defineFamily, type Grant, type Intent, memoryStorage, Problem, type Storage, Type
} from '../../lib/index.js'
import { storages } from '../storages.js'

const products = defineFamily({
  name: 'products',
  singular: 'product',
  fields: Type.Object({ id: Type.String(), isOpen: Type.Boolean({ default: true }) }),
  create: ['id', 'isOpen']
})

const lines = defineFamily({
  name: 'lines',
  singular: 'line',
  fields: Type.Object({ id: Type.Integer(), order: Type.Integer(), product: Type.String() }),
  references: { product: products },
  unique: [['order', 'product']],
  create: ['order', 'product']
})

const shelves = defineFamily({
  name: 'shelves',
  singular: 'shelf',
  fields: Type.Object({
    id: Type.Integer(), product: Type.Optional(Type.String()), label: Type.Optional(Type.String())
  }),
  references: { product: products },
  unique: [['label']],
  create: ['product', 'label']
})

const words = (name: string, action: string) =>
  ({ name, verb: name, participle: `${name}ed`, noun: `${name}s`, action })
const row = Type.Object({ product: Type.String() })

const orders = defineFamily({
  name: 'orders',
  singular: 'order',
  fields: Type.Object({ id: Type.Integer(), rows: Type.Array(row, { default: [] }) }),
  references: { 'rows.product': products },
  create: {
    fields: ['rows'],
    params: Type.Object({ entries: Type.Array(row) }),
    creates: { lines: [lines] }
  },
  initial: (order, _context, { entries }) =>
    ({ item: order, created: { lines: entries.map(({ product }) => ({ product, order: order.id })) } }),
  operations: {
    add: {
      ...words('add', 'AddLine'),
      params: Type.Object({ wanted: Type.Object({ product: Type.String() }) }),
      creates: { line: lines },
      apply: (order, { wanted: { product } }) => ({ item: order, created: { line: { product, order: order.id } } })
    },
    place: {
      ...words('place', 'PlaceOrder'),
      params: Type.Object({ shelf: Type.Integer(), product: Type.String(), label: Type.String() }),
      with: { shelf: { family: shelves, id: params => params.shelf } },
      apply: (order, { product, label }, { items: { shelf } }) =>
        ({ item: order, others: { shelf: { ...shelf, product, label } } })
    },
    keep: {
      ...words('keep', 'KeepGoods'),
      params: Type.Object({ goods: Type.Array(row), inRows: Type.Boolean() }),
      with: { products: { family: products, path: 'goods.product' } },
      creates: { lines: [lines] },
      apply: (order, { goods, inRows }) => ({
        item: { ...order, rows: inRows ? goods : order.rows },
        created: { lines: inRows ? [] : goods.map(({ product }) => ({ product, order: order.id })) }
      })
    },
    copy: {
      ...words('copy', 'CopyRows'),
      params: Type.Object({ goods: Type.Array(row) }),
      apply: (order, { goods }) => ({ ...order, rows: goods.toReversed() })
    }
  }
})

const entries = (...ids: string[]) => ids.map(product => ({ product }))

for (const { name, make } of storages) {
  t.test(`a flaw of an item that a rule made points to what was sent, over ${name}`, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    const app = await open(t, storage)
    const send = async (url: string, payload: object, limited = true, version = '/rest/v1'): Promise<unknown[]> => {
      const headers = limited ? { 'x-limited': 'yes' } : {}
      const method = /\/\d+\//.test(url) ? 'PUT' : 'POST'
      const { statusCode, body } = await app.inject({ method, url: version + url, headers, payload })
      const { errors = [], detail } = JSON.parse(body)
      const pointers = errors.map(({ pointer }: { pointer: string }) => pointer)
      return [statusCode, ...pointers, ...pointers.length > 0 ? [detail] : []]
    }
    const missing = (pointer: string) => `${pointer} must be an existing id of products`
    const refused = (...pointers: string[]) => [400, ...pointers, missing(pointers[0] as string)]

    t.strictSame(await send('/orders', { entries: entries('a', 'b') }), [201])
    t.strictSame(await send('/orders', { entries: entries('a', 'none') }), refused('/entries/1/product'))
    t.strictSame(await send('/orders', { entries: entries('a', 'hidden') }), refused('/entries/1/product'))
    t.strictSame(await send('/orders', { entries: entries('a', 'hidden') }, false), [201], 'without conditions')
    t.strictSame(await send('/orders', { entries: entries('hidden'), rows: entries('none') }),
      refused('/rows/0/product'), 'the own item comes first')
    const [status, ...pointers] = await send('/orders', { entries: entries('a', 'b', 'a') })
    t.strictSame([status, ...pointers.slice(0, -1)], [409, '/entries/0/product', '/entries/2/product'], 'twice')
    t.strictSame(await send('/orders', { positions: entries('none'), entries: [] }, true, '/rest/v2'),
      refused('/positions/0/product'), 'an own field has the names of the version')

    for (const product of ['none', 'hidden']) {
      t.strictSame(await send('/orders/1/add', { wanted: { product } }), refused('/wanted/product'))
      const goods = entries('a', product)
      t.strictSame(await send('/orders/1/copy', { goods }), refused('/rows/0/product'), 'of the own item')
      const placed = { shelf: 1, product, label: 'A' }
      t.strictSame(await send('/orders/1/place', placed), refused('/product'))
      t.strictSame(await send('/orders/1/copy', { goods }, true, '/rest/v2'),
        refused('/positions/0/product'))
    }
    t.strictSame(await send('/orders/1/add', { wanted: { product: 'c' } }), [200])
    t.strictSame(await send('/orders/1/place', { shelf: 1, product: 'a', label: 'A' }), [200])
    t.match(await send('/orders/1/place', { shelf: 2, product: 'a', label: 'A' }), [409, '/label'])

    const commands = [
      { action: 'CreateOrder', params: { entries: entries('a') } },
      { action: 'CreateOrder', params: { entries: entries('b', 'none') } }
    ]
    const batch = await app.inject({ method: 'POST', url: '/rest/commands', payload: { atomic: true, commands } })
    const pointer = '/commands/1/params/entries/1/product'
    t.match([batch.statusCode, batch.json().errors], [400, [{ pointer }]])
    const book = orders.service({ storage })
    const wrong = { entries: entries('none'), rows: [] }
    await t.rejects(book.create(wrong), { errors: [{ pointer: '/entries/0/product' }] })
    t.equal((await lines.service({ storage }).find()).items.length, 5, 'nothing else was made')
  })
}

t.test('the items of a hundred new rows are read at once', async t => {
  const plain = memoryStorage()
  const ids = Array.from({ length: 100 }, (_, index) => `p${index}`)
  let reads = 0
  const count = <T>(found: T): T => { reads++; return found }
  const storage: Storage = {
    ...plain,
    get: (family, ...rest) => plain.get(family, ...rest).then(found => family === 'products' ? count(found) : found),
    find: (family, ...rest) => plain.find(family, ...rest).then(found => family === 'products' ? count(found) : found)
  }
  const app = await open(t, storage)
  await products.service({ storage }).runAll(ids.map(id => ({ operation: 'create', params: { id } })), { atomic: true })
  reads = 0
  const payload = { entries: entries(...ids) }
  const { statusCode } = await app.inject({
    method: 'POST', url: '/rest/v1/orders', headers: { 'x-limited': 'yes' }, payload
  })
  t.strictSame([statusCode, reads], [201, 1])
})

t.test('what a command was allowed to use may be in what it makes, also if its caller may not read it', async t => {
  const app = await open(t, memoryStorage())
  const send = async (url: string, payload: object): Promise<unknown[]> => {
    const { statusCode, body } = await app.inject({
      method: url === '/orders' ? 'POST' : 'PUT', url: `/rest/v1${url}`, headers: { 'x-blind': 'yes' }, payload
    })
    return [statusCode, JSON.parse(body).errors?.[0].pointer]
  }
  t.strictSame(await send('/orders', { entries: [] }), [201, undefined])
  const goods = entries('a', 'b')
  t.strictSame(await send('/orders/1/keep', { goods, inRows: false }), [200, undefined])
  t.strictSame(await send('/orders/1/keep', { goods, inRows: true }), [400, '/rows/0/product'], 'its own item shows it')
  t.strictSame(await send('/orders/1/add', { wanted: { product: 'a' } }), [400, '/wanted/product'])
})

async function open (t: { teardown (close: () => Promise<unknown>): void }, storage: Storage) {
  const app = Fastify()
  t.teardown(() => app.close())
  const where: Condition[] = [{ field: 'isOpen', op: 'eq', values: [true] }]
  const [v1, v2] = [{ storage, version: 'v1' }, { storage, version: 'v2' }]
  const authorize = ({ headers }: FastifyRequest, { action }: Intent): Grant => {
    if (action === 'read' && headers['x-blind'] !== undefined) throw new Problem('forbidden', 'Not yours')
    return headers['x-limited'] === undefined ? {} : { where }
  }
  for (const version of [v1, v2]) app.register(products, { ...version, authorize })
  for (const family of [lines, shelves, orders]) app.register(family, { ...v1, authorize: () => ({}) })
  for (const family of [lines, shelves, orders.rename({ rows: 'positions' })]) {
    app.register(family, { ...v2, authorize: () => ({}) })
  }
  await app.ready()
  const book = products.service({ storage })
  for (const id of ['a', 'b', 'c', 'hidden']) await book.create({ id, isOpen: id !== 'hidden' })
  await shelves.service({ storage }).create({})
  await shelves.service({ storage }).create({})
  return app
}
