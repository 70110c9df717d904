// A version with fewer fields, operations and parameters over the same items, as for partners of a company.
import type { TObject, TSchema } from '@sinclair/typebox'
import Fastify from 'fastify'
import t from 'tap'
import { defineFamily, type FollowedCommand, type Intent, memoryStorage, Problem, Type } from '../../lib/index.js'
import { mcp } from '../../lib/mcp/mcp.js'
import { consume } from '../../lib/tools/index.js'
import { makeWebhooks } from '../../lib/webhooks/webhooks.js'
import { readEvents } from '../feed/events.js'
import { storages } from '../storages.js'
import { quick, receive, until } from '../webhooks/receiver.js'

const words = (verb: string, participle: string, noun: string, action: string) =>
  ({ name: verb, verb, participle, noun, action })
const Terms = Type.Object({ days: Type.Integer(), margin: Type.String() })
const Step = Type.Union([Type.Object({ at: Type.Integer(), fee: Type.String() }), Type.Integer()])
const own = Type.Object({
  id: Type.Integer(),
  name: Type.String(),
  price: Type.Integer(),
  cost: Type.Optional(Type.String()),
  note: Type.Optional(Type.String()),
  terms: Type.Optional(Terms)
})

const products = defineFamily({
  name: 'products',
  singular: 'product',
  fields: own,
  create: ['name', 'price', 'cost', 'note', 'terms'],
  edit: ['price', 'cost', 'terms'],
  operations: {
    adjust: {
      ...words('adjust', 'adjusted', 'adjustments', 'AdjustProduct'),
      params: Type.Object({ by: Type.Integer(), why: Type.String(), steps: Type.Optional(Type.Array(Step)) }),
      apply (product, { by, why }) {
        if (by === 13) {
          throw new Problem('wrong-state', 'SECRET text', { errors: [{ pointer: '/why', detail: 'SECRET flaw' }] })
        }
        return { ...product, price: product.price + by, note: why }
      }
    },
    audit: {
      ...words('audit', 'audited', 'audits', 'AuditProduct'),
      params: Type.Object({ finding: Type.String() }),
      allowed: (_product, params) => params?.finding !== 'SECRET no' || 'SECRET reason',
      apply: (product, { finding }) => ({ ...product, note: finding })
    }
  }
})

const shown = defineFamily({
  name: 'products',
  singular: 'product',
  fields: Type.Object({
    id: Type.Integer(),
    name: Type.String(),
    price: Type.Integer(),
    terms: Type.Optional(Type.Object({ days: Type.Integer() }))
  }),
  create: ['name'],
  initial: product => ({ ...product, price: 0 }),
  edit: ['name'],
  operations: {
    adjust: {
      ...words('adjust', 'adjusted', 'adjustments', 'AdjustProduct'),
      params: Type.Object({
        by: Type.Integer(),
        steps: Type.Optional(Type.Array(Type.Union([Type.Object({ at: Type.Integer() }), Type.Integer()])))
      }),
      apply: (product, { by }) => ({ ...product, price: product.price + by })
    }
  }
})

/** Its operation also changes a product. */
const define = (params: TObject) => defineFamily({
  name: 'orders',
  singular: 'order',
  fields: Type.Object({ id: Type.Integer() }),
  create: [],
  operations: {
    ship: {
      ...words('ship', 'shipped', 'shipments', 'ShipOrder'),
      params,
      with: { product: { family: products, id: ({ product }: { product?: number }) => product } },
      apply: (order, _params, { items: { product } }) =>
        ({ item: order, others: { product: { ...product, price: 9 } } }) as never
    }
  }
})
const orders = define(Type.Object({ product: Type.Integer(), carrier: Type.String() }))
const shownOrders = define(Type.Object({ product: Type.Integer() }))

async function start (t: { teardown (work: () => unknown): void }) {
  const storage = memoryStorage()
  const app = Fastify({ forceCloseConnections: true })
  t.teardown(() => app.close())
  app.register(products, { storage, prefix: '/in' })
  app.register(orders, { storage, prefix: '/in' })
  app.register(shown, { storage, prefix: '/out', version: 'v1' })
  app.register(shownOrders, { storage, prefix: '/out', version: 'v1' })
  app.register(makeWebhooks(quick), { storage, prefix: '/out' })
  app.register(mcp, { prefix: '/out' })
  const send = async (method: 'POST' | 'PUT' | 'PATCH', url: string, payload: object = {}, headers = {}) =>
    await app.inject({ method, url, payload, headers })
  const run = async (id: string, action: string, params: object, prefix = '/in', item: object = { product: 1 }) =>
    await send('PUT', `${prefix}/rest/commands/${id}`, { ...item, action, params })
  const base = await app.listen({ port: 0, host: '127.0.0.1' })
  return { app, storage, base, send, run }
}

type Started = Awaited<ReturnType<typeof start>>

/** @param its the parts of a field that the version has in part */
async function runAll ({ send, run }: Started, its = (_days: number): object => ({})): Promise<void> {
  const created = { name: 'Tea', price: 5, cost: 'SECRET cost', note: 'SECRET note', ...its(30) }
  const answers = [
    await send('POST', '/in/products', created, { 'idempotency-key': 'k1' }),
    await send('PATCH', '/in/products/1', { price: 6, cost: 'SECRET dear', ...its(60) }),
    await run('c3', 'AdjustProduct', { by: 1, why: 'SECRET why', steps: [{ at: 1, fee: 'SECRET fee' }, 2] }),
    await run('c4', 'AuditProduct', { finding: 'SECRET finding' }),
    await send('POST', '/in/orders'),
    await run('c5', 'ShipOrder', { product: 1, carrier: 'SECRET carrier' }, '/in', { order: 1 })
  ]
  t.strictSame(answers.map(({ statusCode }) => statusCode), [201, 200, 201, 201, 201, 201])
  t.equal((await run('r1', 'AuditProduct', { finding: 'SECRET no' })).statusCode, 409)
  t.equal((await run('r2', 'AdjustProduct', { by: 13, why: 'SECRET' })).statusCode, 409)
}

const title = 'The operation is not allowed in this state'
const refused = { type: 'urn:dealbook:problem:wrong-state', title, status: 409, detail: title }

/** By action: what the version shows of the commands of the item. */
const expected = [
  ['CreateProduct', { params: { name: 'Tea', price: 5 } }],
  ['EditProduct', { params: { price: 6 } }],
  ['AdjustProduct', { params: { by: 1, steps: [{ at: 1 }, 2] } }],
  ['AuditProduct', {}],
  ['ShipOrder', { params: { product: 1 }, about: { family: 'orders', id: 1 } }],
  ['AuditProduct', { problem: refused }],
  ['AdjustProduct', { problem: refused }]
] as const

const pick = ({ action, params, about, problem }: Readonly<Record<string, unknown>>) =>
  [action, JSON.parse(JSON.stringify({ params, about, problem }))]

t.test('no form of its log shows more than it has', async t => {
  const started = await start(t)
  await runAll(started)
  const { app, base } = started
  const read = async (url: string, accept = '*/*', headers: object = {}) => {
    const { statusCode, body } = await app.inject({ url: `/out${url}`, headers: { accept, ...headers } })
    t.equal(statusCode, 200, `${url} as ${accept}`)
    t.notMatch(body, /SECRET/, `${url} as ${accept}`)
    return body
  }
  const log = JSON.parse(await read('/rest/v1/products/1/commands')).items
  t.strictSame(log.map(pick), expected)
  const { next } = JSON.parse(await read('/rest/commands?family=products&maxpagesize=1')).links
  const after = /after=[^&]+/.exec(next)?.[0]
  const rows = log.map(({ id }: { id: string }) => id)
  const lists = ['*/*', 'text/html', 'text/csv', 'application/xml', 'application/x-ndjson']
  for (const [url, formats] of [
    ['/rest/v1/products/1/commands', lists],
    ['/rest/v1/products/commands', lists],
    ['/rest/commands', lists],
    ['/rest/v1/products/1/adjustments', lists],
    ['/rest/v1/products/1', ['text/html']],
    ['/', ['text/html']],
    ...rows.map((row: string) => [`/rest/v1/products/1/commands/${row}`, ['*/*', 'text/html', 'application/xml']]),
    ...rows.map((row: string) => [`/rest/commands/${row}`, ['*/*']]),
    ['/rest/v1/products/1/adjustments/c3', ['*/*']]
  ] as const) for (const accept of formats) await read(url, accept)
  const waited = JSON.parse(await read(`/rest/commands?${after}`, '*/*', { prefer: 'wait=5' })).items
  t.strictSame(waited.filter((each: object) => 'product' in each).map(pick), expected.slice(1))

  for (const url of ['/rest/commands', '/rest/v1/products/commands', '/rest/v1/products/1/commands']) {
    const stream = await readEvents(`${base}/out${url}?${after}`)
    const events = await stream.take(url === '/rest/commands' ? 8 : 6)
    stream.close()
    t.strictSame(events.filter(({ data }) => 'product' in data).map(({ data }) => pick(data)), expected.slice(1), url)
  }
})

t.test('webhooks, programs and tools have the same', async t => {
  const started = await start(t)
  const { app, storage, send, run } = started
  const { url, received } = await receive(t)
  t.equal((await send('POST', '/out/webhooks', { url, families: ['products'] })).statusCode, 201)
  await runAll(started, days => ({ terms: { days, margin: 'SECRET margin' } }))
  await until(() => received.length >= 5, () => received)
  const events = received.map(({ event }) => event.data).sort((a, b) => Number(a['revision']) - Number(b['revision']))
  t.strictSame(events.map(({ params, changes }) => ({ params, changes })), [
    { params: { name: 'Tea', price: 5, terms: { days: 30 } }, changes: {} },
    {
      params: { price: 6, terms: { days: 60 } },
      changes: { price: { from: 5, to: 6 }, terms: { from: { days: 30 }, to: { days: 60 } } }
    },
    { params: { by: 1, steps: [{ at: 1 }, 2] }, changes: { price: { from: 6, to: 7 } } },
    { params: {}, changes: {} },
    { params: { product: 1 }, changes: { price: { from: 7, to: 9 } } }
  ])

  const book = shown.service({ storage })
  const whole = expected.map(([action, its]) => action === 'ShipOrder'
    // The service of one family does not know the others, and a program may see everything.
    ? [action, { ...its, params: { product: 1, carrier: 'SECRET carrier' } }]
    : [action, its])
  const withTerms = whole.map(([action, its], index) => index > 1
    ? [action, its]
    : [action, { params: { ...(its as { params: object }).params, terms: { days: 30 * (index + 1) } } }])
  t.strictSame((await book.log(1)).items.map(pick), withTerms)
  const followed: FollowedCommand[] = []
  for await (const entry of book.follow()) if (followed.push(entry) === expected.length) break
  t.strictSame(followed.map(pick), withTerms)
  const stop = new AbortController()
  const handled: FollowedCommand[] = []
  await consume(storage, {
    name: 'a',
    families: [shown, shownOrders],
    signal: stop.signal,
    handler (entry) { if (handled.push(entry) === expected.length + 2) stop.abort() }
  })
  t.strictSame(handled.filter(({ family }) => family === 'products').map(pick).slice(2), expected.slice(2))

  // A command is replayed, and so is a refusal.
  t.equal((await run('c6', 'AdjustProduct', { by: 2, why: 'SECRET' })).statusCode, 201)
  t.equal((await run('c7', 'AdjustProduct', { by: 3 }, '/out')).statusCode, 201)
  const again = await run('c7', 'AdjustProduct', { by: 3 }, '/out')
  t.match(again, { statusCode: 200, headers: { 'idempotent-replayed': 'true' } })
  t.strictSame(again.json().params, { by: 3 })
  t.equal((await run('c6', 'AdjustProduct', { by: 2 }, '/out')).statusCode, 422, 'it had other parameters')
  const call = async (name: string, args: object) => await app.inject({
    method: 'POST',
    url: '/out/mcp',
    payload: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } }
  })
  for (const [name, args] of [
    ['products_get', { id: 1 }], ['products_find', {}], ['products_operations', { id: 1 }],
    ['products_adjust', { id: 1, by: 3, command: 'c7' }]
  ] as const) {
    const { statusCode, body } = await call(name, args)
    t.equal(statusCode, 200, name)
    t.notMatch(body, /SECRET (cost|note|dear|why|finding)/, name)
  }
})

const goods = defineFamily({
  name: 'goods',
  singular: 'good',
  fields: Type.Object({ id: Type.Integer(), name: Type.String(), ordered: Type.Integer(), received: Type.Integer() }),
  create: ['name', 'ordered', 'received'],
  operations: {}
})
const namedGoods = defineFamily({
  name: 'goods',
  singular: 'good',
  fields: Type.Object({ id: Type.Integer(), name: Type.String() }),
  create: ['name'],
  edit: ['name']
})
const deliveries = defineFamily({
  name: 'deliveries',
  singular: 'delivery',
  fields: Type.Object({ id: Type.Integer(), good: Type.Integer(), open: Type.Integer({ default: 9 }) }),
  create: ['good'],
  references: { good: goods },
  prepare: async ({ item }, { get }) => ({ ordered: item && (await get(goods, Number(item['good'])))?.ordered }),
  operations: {
    receive: {
      ...words('receive', 'received', 'receipts', 'ReceiveDelivery'),
      params: Type.Object({ count: Type.Integer() }),
      with: { it: 'good' },
      creates: { next: goods },
      allowed: (_delivery, _params, { items: { it } }) => it.received === 1 || 'It was received',
      apply (delivery, { count }, { items: { it }, facts: { ordered } }) {
        const received = it.received + count
        return {
          item: { ...delivery, open: Number(ordered) - received },
          others: { it: { ...it, received } },
          created: { next: { name: 'Rest', ordered: ordered - received, received: 0 } }
        }
      }
    }
  }
})

for (const { name, make } of storages) {
  t.test(`${name}: rules get the whole item of a family of which a narrower version is mounted`, async t => {
    const { storage, another = () => storage, dispose } = await make()
    t.teardown(dispose)
    await goods.service({ storage }).create({ name: 'Tea', ordered: 5, received: 1 })
    const app = Fastify()
    t.teardown(() => app.close())
    const asked: string[] = []
    const authorize = (_: unknown, { family, action }: Intent): void => { asked.push(`${family} ${action}`) }
    const options = { storage: another(), authorize }
    app.register(namedGoods, { ...options, prefix: '/out' })
    app.register(deliveries, { ...options, prefix: '/out' })
    const send = async (method: 'POST' | 'PUT', url: string, payload: object) =>
      (await app.inject({ method, url, payload })).json()
    t.match(await send('POST', '/out/deliveries', { good: 1 }), { id: 1, open: 9 })
    asked.length = 0
    t.match(await send('PUT', '/out/deliveries/1/receive', { count: 2 }), { open: 2, revision: 2 })
    t.strictSame(asked.filter(each => each.startsWith('goods')).sort(),
      ['goods ReceiveDelivery', 'goods ReceiveDelivery', 'goods read'], 'authorize of the mounted version is asked')
    t.match(await send('PUT', '/out/goods/1/edit', { name: 'Chai' }), { name: 'Chai', revision: 3 })
    const whole = goods.service({ storage })
    t.match(await whole.get(1), { name: 'Chai', ordered: 5, received: 3, revision: 3 })
    t.match(await whole.get(2), { name: 'Rest', ordered: 2, received: 0, revision: 1 })
    for (const url of ['/out/goods/1', '/out/goods/1/commands', '/out/goods', '/out/deliveries/1?expand=good']) {
      t.notMatch((await app.inject(url)).body, /"(received|ordered)"/, url)
    }
    const { items: [offer] } = (await app.inject('/out/deliveries/1/operations')).json()
    t.match(offer, { allowed: false, reason: 'It was received' })
  })
}

t.test('of an object, a log shows the members that the schema of the version has', async t => {
  const [a, b] = [Type.Integer(), Type.Integer()]
  const define = (more: TSchema) => defineFamily({
    name: 'boxes', singular: 'box', fields: Type.Object({ id: Type.Integer(), more }), create: ['more']
  })
  const all = define(Type.Unknown())
  const whole = { a: 1, b: 2, secret: 3 }
  const any = (schema: object) => Type.Unsafe(schema)
  const rows: readonly (readonly [name: string, schema: TSchema, expected: unknown, value?: unknown])[] = [
    ['members', Type.Object({ a }), { a: 1 }],
    ['no members', Type.Object({}), {}],
    ['no object', Type.Object({ in: Type.Integer() }), { in: {} }, { in: whole }],
    ['a value', Type.Object({ in: any({ const: 1 }) }), { in: {} }, { in: whole }],
    ['some values', Type.Object({ in: any({ enum: [1, 2] }) }), { in: {} }, { in: whole }],
    ['two objects in one', Type.Intersect([Type.Object({ a }), Type.Object({ b })]), { a: 1, b: 2 }],
    ['one of two objects', Type.Union([Type.Object({ a }), Type.Object({ b })]), { a: 1, b: 2 }],
    ['exactly one of two objects', any({ oneOf: [Type.Object({ a }), Type.Object({ b })] }), { a: 1, b: 2 }],
    ['an object or a text', Type.Union([Type.Object({ a }), Type.String()]), { a: 1 }],
    ['any others', Type.Object({ a }, { additionalProperties: true }), whole],
    ['no others', Type.Object({ a }, { additionalProperties: false }), { a: 1 }],
    ['others of a type', Type.Object({ a }, { additionalProperties: Type.Integer() }), whole],
    ['any names', Type.Record(Type.String(), Type.Integer()), whole],
    ['names by a pattern', any({ type: 'object', patternProperties: { '^[ab]$': a } }), { a: 1, b: 2 }],
    ['names by a pattern, of an object', any({ type: 'object', patternProperties: { x: Type.Object({ a }) } }),
      { xy: { a: 1 } }, { xy: whole, y: whole }],
    ['a member, and others by a pattern',
      any({ type: 'object', properties: { x: Type.Object({ b }) }, patternProperties: { x: Type.Object({ a }) } }),
      { x: { b: 2 }, xy: { a: 1 } }, { x: whole, xy: whole }],
    ['any object', any({ type: 'object' }), whole],
    ['anything', Type.Unknown(), whole],
    ['anything or an object', Type.Union([Type.Object({ a }), Type.Unknown()]), whole],
    ['an object in an object', Type.Object({ in: Type.Object({ a }) }), { in: { a: 1 } }, { in: whole, out: whole }],
    ['an object as it is', Type.Object({ a, b, secret: a }), whole],
    ['a list', Type.Array(Type.Object({ a })), [{ a: 1 }, { a: 1 }, null], [whole, { a: 1 }, null]],
    ['a list of several', Type.Tuple([Type.Object({ a }), Type.Object({ b })]), [{ a: 1, b: 2 }], [whole]],
    ['any list', any({ type: 'array' }), [whole], [whole]],
    ['a list of anything', Type.Array(Type.Unknown()), [whole, [whole]], [whole, [whole]]],
    ['no list', Type.Object({ a }), [{}], [whole]],
    ['a tree', Type.Recursive(This => Type.Object({ a, next: Type.Optional(Type.Array(This)) })),
      { a: 1, next: [{ a: 1, next: [] }] }, { ...whole, next: [{ ...whole, next: [] }] }]
  ]
  for (const [name, schema, expected, value = whole] of rows) {
    const storage = memoryStorage()
    await all.service({ storage }).create({ more: value })
    const { items } = await define(schema).service({ storage }).log(1)
    t.strictSame(items[0]?.params, { more: expected }, name)
  }
})
