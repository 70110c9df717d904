import { setTimeout as delay } from 'node:timers/promises'
import Fastify from 'fastify'
import t, { type Test } from 'tap'
import { defineFamily, type Grant, type Intent, Type } from '../../lib/index.js'
import { postgresStorage } from '../../lib/storage/postgres/postgres-storage.js'
import { startProxy } from '../postgres/proxy.js'
import { dropSchema, newSchema } from '../postgres/schema.js'
import { postgresUrl } from '../postgres/url.js'

const shops = defineFamily({
  name: 'shops',
  singular: 'shop',
  fields: Type.Object({ id: Type.Integer(), name: Type.String(), stock: Type.Integer({ default: 5 }) }),
  create: ['name'],
  edit: ['name']
})
const orders = defineFamily({
  name: 'orders',
  singular: 'order',
  fields: Type.Object({
    id: Type.String(),
    tenant: Type.String(),
    shop: Type.Optional(Type.Integer()),
    note: Type.Optional(Type.String()),
    amount: Type.Integer({ default: 1 })
  }),
  create: ['tenant', 'shop'],
  edit: ['tenant', 'note'],
  references: { shop: shops },
  operations: {
    raise: {
      name: 'raise',
      verb: 'raise',
      participle: 'raised',
      noun: 'raises',
      action: 'RaiseOrder',
      params: Type.Object({ by: Type.Integer() }),
      apply: (order, { by }) => ({ ...order, amount: order.amount + by })
    },
    take: {
      name: 'take',
      verb: 'take',
      participle: 'taken',
      noun: 'takings',
      action: 'TakeOrder',
      params: Type.Object({}),
      with: { shop: 'shop' },
      apply (order, _params, { items: { shop } }) {
        const item = { ...order, amount: order.amount + 1 }
        return shop === undefined ? item : { item, others: { shop: { ...shop, stock: shop.stock + 1 } } }
      }
    }
  }
})

const boxes = defineFamily({
  name: 'boxes',
  singular: 'box',
  fields: Type.Object({ id: Type.Integer(), name: Type.String() }),
  create: ['name']
})
const parts = defineFamily({
  name: 'parts',
  singular: 'part',
  fields: Type.Object({ id: Type.Integer(), box: Type.Integer(), name: Type.String() }),
  references: { box: boxes },
  create: ['box', 'name'],
  edit: ['name']
})
/** Their parts are shown on their pages. */
const packed = boxes.extend({
  operations: {
    pack: {
      name: 'pack',
      verb: 'pack',
      participle: 'packed',
      noun: 'packings',
      action: 'PackBox',
      params: Type.Object({}),
      creates: { parts: [parts] },
      apply: box => box
    }
  }
})

interface Sent {
  readonly method?: 'GET' | 'POST' | 'PUT'
  readonly url: string
  readonly payload?: object
  readonly headers?: Record<string, string>
}

/** An application over a proxy that counts how often a client begins to wait for PostgreSQL. */
async function start (t: Test, authorize: ((request: unknown, intent: Intent) => Grant | undefined) | undefined) {
  const schema = newSchema()
  const proxy = await startProxy(t, { url: await postgresUrl() }, 10)
  const storage = postgresStorage({ connectionString: proxy.url, schema, poolSize: 5 })
  const app = Fastify()
  t.teardown(async () => {
    await app.close()
    await storage.close()
    await dropSchema(schema)
  })
  const options = { storage, ...authorize && { authorize } }
  app.register(shops, options)
  app.register(orders, options)
  app.register(packed, { storage, prefix: '/packed' })
  app.register(parts, { storage, prefix: '/packed' })
  await app.ready()
  return async ({ method = 'GET', url, payload, headers = {} }: Sent) => {
    const before = proxy.trips
    const { statusCode, body } = await app.inject({ method, url, headers, ...payload && { payload } })
    const trips = proxy.trips - before
    t.ok(statusCode < 300, `${method} ${url}: ${statusCode}`)
    // What goes on behind the response, such as the numbers of entries.
    for (let last = -1; last !== proxy.trips; await delay(20)) last = proxy.trips
    return { trips, id: body.startsWith('{') ? String((JSON.parse(body) as { id?: unknown }).id) : '' }
  }
}

const granted: Grant = { principal: 'ann', where: [{ field: 'tenant', op: 'eq', values: ['red'] }] }

const guard = (_request: unknown, { family }: Intent): Grant | undefined => family === 'orders' ? granted : undefined

for (const [who, authorize] of [['any client', undefined], ['a caller with conditions', guard]] as const) {
  t.test(`how often a request of ${who} waits for PostgreSQL`, async t => {
    const send = await start(t, authorize)
    const create = async (url: string, payload: object): Promise<string> =>
      `${url}/${(await send({ method: 'POST', url, payload })).id}`
    const shop = Number((await create('/shops', { name: 'a' })).slice('/shops/'.length))
    const fields = { tenant: 'red', shop }
    const [self, quiet] = [await create('/orders', fields), await create('/orders', fields)]
    const box = await create('/packed/boxes', { name: 'a' })
    const own = Number(box.slice('/packed/boxes/'.length))
    for (const name of ['a', 'b', 'c']) await create('/packed/parts', { box: own, name })
    const html = { accept: 'text/html' }
    const put = (url: string, payload: object): Sent => ({ method: 'PUT', url, payload })
    const action = { action: 'RaiseOrder', params: { by: 1 } }
    const rows: Record<string, [make: (n: number) => Sent, trips: number]> = {
      item: [() => ({ url: self }), 1],
      list: [() => ({ url: '/orders' }), 1],
      'list with its total': [() => ({ url: '/orders?count=exact' }), 1],
      operation: [() => put(`${self}/raise`, { by: 1 }), 2],
      command: [n => put(`${self}/commands/c${n}`, action), 2],
      edit: [n => put(self, { tenant: 'red', note: `n${n}` }), 2],
      'operation with another item': [() => put(`${self}/take`, {}), 3],
      creation: [() => ({ method: 'POST', url: '/orders', payload: { tenant: 'red' } }), 1],
      'creation with a reference': [() => ({ method: 'POST', url: '/orders', payload: fields }), 1],
      log: [() => ({ url: `${quiet}/commands` }), 2],
      feed: [() => ({ url: '/orders/commands?maxpagesize=5' }), authorize === undefined ? 2 : 5],
      'page of an item': [() => ({ url: quiet, headers: html }), 3],
      'page of an item with children': [() => ({ url: box, headers: html }), 3],
      'page of a list': [() => ({ url: '/orders', headers: html }), 3]
    }
    for (const [title, [make, trips]] of Object.entries(rows)) {
      // The first prepare their statements.
      const counts: number[] = []
      for (let n = 0; n < 10; n++) counts.push((await send(make(n))).trips)
      const [, , third = Infinity] = counts.toSorted((one, other) => one - other)
      t.ok(third <= trips, `${title}: ${counts.join()}, of at most ${trips}`)
    }
  })
}
