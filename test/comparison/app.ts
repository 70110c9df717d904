import type { FastifyInstance, FastifyRequest } from 'fastify'
import Fastify from 'fastify'
import type * as library from '../../lib/index.js'
import type { Intent, Storage } from '../../lib/index.js'
import type * as mcpModule from '../../lib/mcp/mcp.js'

/** A build of the package: what its entry points export. */
export type Build = Pick<typeof library, 'customers' | 'deals' | 'decimal' | 'defineFamily' | 'Type'> &
  Pick<typeof mcpModule, 'mcp'>

/**
 * One application with all that requests can differ in: chosen, counted and made ids, references, lists, decimals,
 * unique fields, states, operations that change and create other items, renamed and narrower versions, roles, tools.
 * Time and ids come from counters, so that two of them answer alike.
 */
export async function makeApp (build: Build, storage: Storage): Promise<FastifyInstance> {
  const { customers, deals, mcp } = build
  const { shops, products, orders } = makeFamilies(build)
  const app = Fastify({ forceCloseConnections: true })
  let moment = Date.UTC(2026, 0, 1)
  let requests = 0
  let made = 0
  let dealt = 0
  // A request that makes more ids, or asks more often for the time, does not change later ones.
  app.addHook('onRequest', async () => {
    requests++
    made = 0
    moment = Date.UTC(2026, 0, 1) + requests * 60_000
  })
  const makeCommandId = (): string => `made-${requests}-${++made}`
  const shared = { storage, authorize, makeCommandId, clock: () => new Date(moment += 1000) }
  const ourDeals = deals.extend({
    fields: build.Type.Object({ region: build.Type.Optional(build.Type.String()) }),
    create: ['region'],
    makeId: () => `deal-${++dealt}`
  })
  const crm = { ...shared, prefix: '/crm' }
  app.register(mcp, { prefix: '/crm' })
  app.register(customers, crm)
  app.register(ourDeals, { ...crm, version: 'v1' })
  app.register(ourDeals.rename({ price: 'amount' }), { ...crm, version: 'v2' })
  const shop = { ...shared, prefix: '/shop' }
  app.register(shops, shop)
  app.register(products, { ...shop, pageSize: 3, maxPageSize: 5 })
  app.register(orders, { ...shop, version: '1' })
  app.register(products, { ...shared, prefix: '/strict', preconditions: 'required', emptyList: 'not-found' })
  await app.ready()
  const past = { createdAt: '2025-12-31T00:00:00.000Z', updatedAt: '2025-12-31T00:00:00.000Z', revision: 1 }
  await storage.commit(Array.from({ length: 12 }, (_, index) => ({
    type: 'insert', family: 'customers', item: { id: index + 1, age: 20 + index * 5, children: index % 4, ...past }
  })))
  for (const [url, ...bodies] of beginning) {
    for (const payload of bodies) {
      const { statusCode, body } = await app.inject({ method: 'POST', url, payload })
      if (statusCode !== 201) throw new Error(body)
    }
  }
  return app
}

// So that most requests have an item to speak of.
const beginning: readonly [url: string, ...bodies: object[]][] = [
  [
    '/crm/rest/v1/deals',
    { name: 'Tea', price: 100 }, { name: 'Ink', price: 2.5, region: 'north' }, { name: 'Oil', price: 0 }
  ],
  ['/shop/shops', { id: 'a', city: 'Ulm' }, { id: 'b', city: 'Lyon', pin: '1' }],
  [
    '/shop/products',
    { name: 'Tea', shop: 'a' }, { name: 'Ink', stock: 2 }, { name: 'Oil', price: '7.25' }, { name: 'Cup' }
  ],
  ['/shop/rest/1/orders', { product: 1, quantity: 2 }, { product: 3, quantity: 6, due: '2026-03-01' }]
]

/** Their ids. */
export const begun: Readonly<Record<string, readonly string[]>> = {
  customer: ['1', '2', '12'],
  deal: ['deal-1', 'deal-2', 'deal-3'],
  shop: ['a', 'b'],
  product: ['1', '2', '3', '4'],
  order: ['1', '2']
}

function makeFamilies ({ defineFamily, decimal, Type }: Build) {
  const shops = defineFamily({
    name: 'shops',
    singular: 'shop',
    fields: Type.Object({ id: Type.String(), city: Type.String({ minLength: 1 }), pin: Type.Optional(Type.String()) }),
    create: ['id', 'city', 'pin'],
    edit: ['city']
  })
  const products = defineFamily({
    name: 'products',
    singular: 'product',
    fields: Type.Object({
      id: Type.Integer(),
      name: Type.String({ minLength: 1, maxLength: 40 }),
      price: decimal({ scale: 2, default: '1.00' }),
      stock: Type.Integer({ minimum: 0, default: 10 }),
      shop: Type.Optional(Type.String()),
      tags: Type.Array(Type.String({ maxLength: 9 }), { default: [] })
    }),
    references: { shop: shops },
    unique: [['name']],
    order: ['-stock'],
    create: ['name', 'price', 'stock', 'shop', 'tags'],
    edit: ['name', 'price', 'shop', 'tags'],
    search: ['name'],
    queries: { 'products-by-stock': { field: 'stock' } }
  })
  const orders = defineFamily({
    name: 'orders',
    singular: 'order',
    fields: Type.Object({
      id: Type.Integer(),
      product: Type.Integer(),
      quantity: Type.Integer({ minimum: 1 }),
      status: Type.Union([Type.Literal('open'), Type.Literal('sent'), Type.Literal('gone')], { default: 'open' }),
      due: Type.Optional(Type.String({ format: 'date' })),
      note: Type.Optional(Type.String({ maxLength: 200 }))
    }),
    references: { product: products },
    states: { open: 'neutral', sent: 'good', gone: 'done' },
    create: { fields: ['product', 'quantity', 'due', 'note'], with: { product: 'product' } },
    initial: (order, { items: { product } }) => ({
      item: order, others: { product: { ...product, stock: Math.max(0, product.stock - order.quantity) } }
    }),
    edit: ['note', 'due'],
    operations: {
      send: {
        name: 'send',
        verb: 'send',
        participle: 'sent',
        noun: 'sendings',
        action: 'SendOrder',
        params: Type.Object({ by: Type.Optional(Type.String()) }),
        with: { product: 'product' },
        allowed: (order, _params, { items: { product } }) =>
          order.status === 'open' && (product === undefined || product.stock >= 0 || 'There is not enough in stock'),
        apply: order => ({ ...order, status: 'sent' })
      },
      split: {
        name: 'split',
        verb: 'split',
        participle: 'split-up',
        noun: 'splits',
        action: 'SplitOrder',
        danger: true,
        params: Type.Object({ name: Type.String({ minLength: 1, maxLength: 40 }) }),
        creates: { rest: products },
        allowed: ({ status }) => status !== 'gone',
        apply: (order, { name }) => ({
          item: { ...order, status: 'gone' },
          created: { rest: { name, price: '2.50', stock: order.quantity, tags: [] } }
        })
      }
    }
  })
  return { shops, products, orders }
}

export const roles = ['ann', 'bob', 'clerk', 'reader', 'writer', 'stranger'] as const

class Refused extends Error {
  constructor (readonly statusCode: number) {
    super('Not for you')
  }
}

// What a clerk sees of each family.
const conditions: Readonly<Record<string, object>> = {
  customers: { field: 'age', op: 'gte', value: 40 },
  deals: { field: 'name', op: 'ne', values: ['Tea'] },
  products: { field: 'stock', op: 'gt', value: 3 },
  orders: { field: 'quantity', op: 'lt', value: 5 }
}

function authorize ({ headers: { 'x-role': role } }: FastifyRequest, { family, action }: Intent) {
  const isRead = action === 'read' || action === 'list'
  if (role === undefined) return undefined
  if (role === 'stranger') throw new Refused(401)
  if (role === 'reader' ? !isRead : role === 'writer' && isRead) throw new Refused(403)
  const condition = role === 'clerk' ? conditions[family] : undefined
  return { principal: String(role), ...(condition && { where: [condition] }) } as never
}
