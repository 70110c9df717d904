import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import type { Storage } from '../../lib/index.js'
import { defineFamily, memoryStorage, Type } from '../../lib/index.js'
import { postgresStorage } from '../../lib/storage/postgres/postgres-storage.js'
import { startProxy } from '../postgres/proxy.js'
import { dropSchema, newSchema } from '../postgres/schema.js'
import { postgresUrl } from '../postgres/url.js'
import { isFast, isLong, runs } from '../size.js'
import { storages } from '../storages.js'
import { count, orders, products } from './other-lists.js'

const line = (product: string, quantity = 1) => ({ product, quantity })
const ignored = new Set(['wrong-state', 'in-use', 'not-found', 'busy'])

const moves = defineFamily({
  name: 'moves',
  singular: 'move',
  fields: Type.Object({ id: Type.Integer(), product: Type.String(), quantity: Type.Integer() }),
  create: ['product', 'quantity'],
  indexes: ['product']
})

/** Each change of the stock has a movement, in the same commit. */
const receipts = defineFamily({
  name: 'receipts',
  singular: 'receipt',
  fields: Type.Object({ id: Type.Integer(), done: Type.Integer({ default: 0 }) }),
  create: [],
  operations: {
    move: {
      name: 'move',
      verb: 'move',
      participle: 'moved',
      noun: 'moves',
      action: 'MoveGoods',
      params: Type.Object({ goods: Type.Array(Type.Object({ product: Type.String(), quantity: Type.Integer() })) }),
      with: { products: { family: products, path: 'goods.product' } },
      creates: { moves: [moves] },
      allowed: (_receipt, params, { items: { products } }) => products === undefined || params === undefined ||
        products.every(({ id, stock }) => stock + count(params.goods, id) >= 0) || 'There is not enough',
      apply: (receipt, { goods }, { items: { products } }) => ({
        item: { ...receipt, done: receipt.done + 1 },
        others: {
          products: products.map(each => ({ ...each, stock: Math.max(0, each.stock + count(goods, each.id)) }))
        },
        created: { moves: goods }
      })
    }
  }
})

async function makeProducts (storage: Storage, ids: readonly string[]): Promise<void> {
  await products.service({ storage }).runAll(ids.map(id => ({ operation: 'create', params: { id } })), { atomic: true })
}

/** A different order each time, always the same ones. */
function makeRandom (seed: number): (below: number) => number {
  let state = seed
  return below => {
    state = Math.imul(state ^ state >>> 15, 0x2c1b3c6d) + 0x9e3779b9 | 0
    return (state >>> 8) % below
  }
}

for (const { name, make } of storages) {
  t.test(`random documents and receipts of three racing services, over ${name}`, async t => {
    const { storage, another, dispose } = await make()
    t.teardown(dispose)
    const more: Storage[] = another === undefined ? [storage, storage] : [another(), another()]
    if (another !== undefined) t.teardown(() => Promise.all(more.map(each => each.close())))
    const ids = Array.from({ length: 8 }, (_, n) => `p${n}`)
    await makeProducts(storage, ids)
    const done = await Promise.all([storage, ...more].map(async (storage, index) => {
      const random = makeRandom(index + 1)
      const [book, papers] = [orders.service({ storage }), receipts.service({ storage })]
      const { item: { id } } = await papers.create({})
      let done = 0
      for (let n = 0; n < runs(150); n++) {
        const goods = Array.from({ length: random(6) }, () => line(ids[random(8)] as string, random(12) - 5))
        const run = papers.run('move', id, { goods })
        const order = book.create({ lines: goods.map(({ product }) => line(product, 1 + random(4))) })
        for (const each of [run, order]) {
          await each.then(({ changed }) => { if (changed) done++ }, error => {
            if (!ignored.has(error.code)) throw error
          })
        }
      }
      return done
    }))
    t.ok(done.every(count => count > runs(150)), `${done.join()} were done`)
    const all = { limit: 10_000 }
    const { items: moved } = await moves.service({ storage }).find([], all)
    const { items: stock } = await products.service({ storage }).find([], all)
    const { items: papers } = await orders.service({ storage }).find([], all)
    for (const product of stock) {
      t.ok(product.stock >= 0)
      t.equal(product.stock, count(moved, product.id), 'the sum of its movements')
      t.equal(product.moved, papers.filter(({ lines }) => lines.some(each => each.product === product.id)).length)
    }
    t.ok(papers.every(({ pieces, lines }) => pieces === lines.reduce((sum, { quantity }) => sum + quantity, 0)))
    t.strictSame(moved.map(({ id }) => id), moved.map((_, index) => index + 1), 'numbers without gaps')
  })
}

// Two processes, each with its own locks: only the database orders them.
const rounds = Number(process.env['DOCUMENT_ROUNDS'] ?? (isLong ? 1000 : 30))

t.test('two documents with the same fifty products in opposite orders, on PostgreSQL', { skip: isFast }, async t => {
  const connectionString = await postgresUrl()
  const schema = newSchema()
  const both = [1, 2].map(() => postgresStorage({ connectionString, schema, poolSize: 3 }))
  t.teardown(async () => {
    for (const each of both) await each.close()
    await dropSchema(schema)
  })
  const [storage] = both as [Storage]
  const ids = Array.from({ length: 50 }, (_, n) => `p${n}`)
  await makeProducts(storage, ids)
  const books = both.map(storage => receipts.service({ storage }))
  for (const book of books) await book.create({})
  const goods = ids.map(id => line(id))
  for (let n = 0; n < rounds; n++) {
    await Promise.all(books.map((book, index) =>
      book.run('move', index + 1, { goods: index === 0 ? goods : goods.toReversed() })))
  }
  const { items } = await products.service({ storage }).find([], { limit: 50 })
  t.equal(items.length, 50)
  t.ok(items.every(({ stock, revision }) => stock === 2 * rounds && revision === 1 + 2 * rounds))
  const { rows } = await countDeadlocks(connectionString)
  t.equal(Number(rows[0]?.deadlocks), 0, 'without a deadlock')
})

async function countDeadlocks (connectionString: string) {
  const { default: pg } = await import('pg')
  const client = new pg.Client({ connectionString })
  await client.connect()
  try {
    return await client.query('SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()')
  } finally {
    await client.end()
  }
}

t.test('a hundred lines wait for PostgreSQL at most four times', { skip: isFast }, async t => {
  const schema = newSchema()
  const proxy = await startProxy(t, { url: await postgresUrl() }, 10)
  const storage = postgresStorage({ connectionString: proxy.url, schema, poolSize: 5 })
  t.teardown(async () => {
    await storage.close()
    await dropSchema(schema)
  })
  const ids = Array.from({ length: 100 }, (_, n) => `p${n}`)
  await makeProducts(storage, ids)
  const commits: number[] = []
  const counted: Storage = {
    ...storage,
    async commit (changes) {
      commits.push(changes.length)
      await storage.commit(changes)
    }
  }
  const book = orders.service({ storage: counted })
  await book.create({ lines: ids.map(id => line(id)) })
  const goods = ids.map(id => line(id))
  const trips: number[] = []
  for (let n = 0; n < 8; n++) {
    commits.length = 0
    const before = proxy.trips
    await book.run('receive', 1, { goods: n % 2 === 0 ? goods : goods.toReversed() })
    trips.push(proxy.trips - before)
    t.strictSame(commits, [202], 'the item, a hundred products, and an entry for each')
    // What goes on behind it, such as the numbers of entries.
    for (let last = -1; last !== proxy.trips; await delay(20)) last = proxy.trips
  }
  const [, , third = Infinity] = trips.toSorted((one, other) => one - other)
  t.ok(third <= 4, `${trips.join()} round trips`)
})

t.test('a hundred new items, and what is in memory', async t => {
  const storage = memoryStorage()
  await products.service({ storage }).create({ id: 'a' })
  const papers = receipts.service({ storage })
  await papers.create({})
  await papers.run('move', 1, { goods: Array.from({ length: 100 }, () => line('a')) })
  t.equal((await moves.service({ storage }).find('', { limit: 1000 })).items.length, 100)
})
