import { AsyncLocalStorage } from 'node:async_hooks'
import swagger from '@fastify/swagger'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import Fastify from 'fastify'
import type * as library from '../../lib/index.js'
import type { AnyFamily, CallOptions, Committed, Intent, Service, Storage } from '../../lib/index.js'
import type * as mcpModule from '../../lib/mcp/mcp.js'

/** A build of the package: what its entry points export. */
export type Build = Pick<typeof library, 'customers' | 'deals' | 'decimal' | 'defineFamily' | 'Type'> &
  Pick<typeof mcpModule, 'mcp'>

/**
 * One application with all that requests can differ in: chosen, counted and made ids, references, lists, decimals,
 * unique fields, states, operations that change and create other items, renamed and narrower versions, roles, tools.
 * Time and made ids come from the header `step` of the request, so that two of them answer alike. The header `hooks` of
 * an answer has what hooks were called with.
 */
export async function makeApp (build: Build, storage: Storage): Promise<FastifyInstance> {
  const { customers, deals, mcp } = build
  const { shops, products, orders } = makeFamilies(build)
  const app = Fastify({ forceCloseConnections: true })
  await app.register(swagger, {
    openapi: { openapi: '3.1.0', info: { title: 'Compared', version: '1' } },
    refResolver: { buildLocalReference: json => String(json.$id) }
  })
  const steps = new AsyncLocalStorage<Step>()
  // A request that makes more ids, or asks more often for the time, does not change later ones.
  app.addHook('onRequest', ({ headers: { step = '0' } }, _reply, done) => {
    const moment = Date.UTC(2026, 0, 1) + parseInt(String(step)) * 60_000
    steps.run({ name: String(step), moment, made: 0, hooks: new Set() }, done)
  })
  const find = (): Step => steps.getStore() ?? { name: 'none', moment: 0, made: 0, hooks: new Set() }
  app.addHook('onSend', async (_request, reply) => {
    const hooks = [...find().hooks].sort()
    if (hooks.length > 0) reply.header('hooks', encodeURIComponent(hooks.join(' ')))
  })
  const note = (hook: object): void => { find().hooks.add(JSON.stringify(hook, sortMembers)) }
  // How often it is asked, and what it is asked tentatively, is not part of an answer.
  const noteIntent = (intent: Intent): void => {
    const { action, params, tentative } = intent
    if (tentative !== true && Object.keys(params).length > 0) note({ action, params })
  }
  const authorize = ({ headers: { 'x-role': role } }: FastifyRequest, intent: Intent) => {
    noteIntent(intent)
    return authorizeRole(role, intent)
  }
  const onCommitted = (change: Committed): void => { note(change) }
  let dealt = 0
  const makeCommandId = (): string => `made-${find().name}-${++find().made}`
  const clock = (): Date => new Date(find().moment += 1000)
  const shared = { storage, authorize, makeCommandId, clock, onCommitted }
  const ourDeals = deals.extend({
    fields: build.Type.Object({ region: build.Type.Optional(build.Type.String()) }),
    create: ['region'],
    makeId: () => `deal-${++dealt}`
  })
  const crm = { ...shared, prefix: '/crm' }
  app.register(mcp, { prefix: '/crm' })
  app.register(customers, crm)
  app.register(ourDeals, { ...crm, version: 'v1' })
  const dealsV2 = ourDeals.rename({ price: 'amount' })
  app.register(dealsV2, { ...crm, version: 'v2' })
  const shop = { ...shared, prefix: '/shop' }
  app.register(shops, shop)
  app.register(products, { ...shop, pageSize: 3, maxPageSize: 5 })
  app.register(orders, { ...shop, version: '1' })
  app.register(products, { ...shared, prefix: '/strict', preconditions: 'required', emptyList: 'not-found' })
  const [shopsV2, productsV2, ordersV2] =
    [shops.rename(names.shops), products.rename(names.products), orders.rename(names.orders)]
  const renamed = {
    ...shared,
    prefix: '/renamed',
    authorize: (request: FastifyRequest, intent: Intent) => renameGrant(authorize(request, intent), intent)
  }
  app.register(mcp, { prefix: '/renamed' })
  app.register(shopsV2, renamed)
  app.register(productsV2, { ...renamed, pageSize: 3, maxPageSize: 5 })
  app.register(ordersV2, { ...renamed, version: '1' })
  app.get('/openapi', () => app.swagger())
  serve(app, { deals: ourDeals, products, orders }, noteIntent, { storage, makeCommandId, clock })
  const named = { 'renamed-deals': dealsV2, 'renamed-products': productsV2, 'renamed-orders': ordersV2 }
  serve(app, named, noteIntent, { storage, makeCommandId, clock })
  await app.ready()
  const past = { createdAt: '2025-12-31T00:00:00.000Z', updatedAt: '2025-12-31T00:00:00.000Z', revision: 1 }
  await storage.commit(Array.from({ length: 12 }, (_, index) => ({
    type: 'insert', family: 'customers', item: { id: index + 1, age: 20 + index * 5, children: index % 4, ...past }
  })))
  let begun = 0
  for (const [url, ...bodies] of beginning) {
    for (const payload of bodies) {
      const headers = { step: `0.${++begun}` }
      const { statusCode, body } = await app.inject({ method: 'POST', url, payload, headers })
      if (statusCode !== 201) throw new Error(body)
    }
  }
  return app
}

// Storages return members in different orders.
function sortMembers (_name: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).sort(([one], [other]) => one < other ? -1 : 1))
}

interface Step {
  readonly name: string
  moment: number
  made: number
  readonly hooks: Set<string>
}

/** The names of the renamed versions, by the families. Some names mean another field there. */
export const names = {
  shops: { city: 'town', pin: 'city' },
  products: { name: 'title', price: 'fee', stock: 'left', shop: 'store', tags: 'marks' },
  orders: { product: 'article', quantity: 'pieces', note: 'due', due: 'note', status: 'stage' }
} as const

/** Conditions have the names of the version. */
function renameGrant (granted: ReturnType<typeof authorizeRole>, { family }: Intent): ReturnType<typeof authorizeRole> {
  const grant = granted as { readonly where?: readonly { readonly field: string }[] } | undefined
  if (grant?.where === undefined) return granted
  const own: Readonly<Record<string, string>> = names[family as keyof typeof names]
  return { ...grant, where: grant.where.map(each => ({ ...each, field: own[each.field] ?? each.field })) } as never
}

/** What is asked of a service: the name of a method, and what it is called with. */
export interface Call {
  readonly method: 'create' | 'run' | 'runAll' | 'remove' | 'get' | 'find' | 'log' | 'follow'
  readonly args: readonly unknown[]
  readonly options: CallOptions & Readonly<Record<string, unknown>>
}

/** Services of families, so that they are compared as HTTP is. */
function serve (
  app: FastifyInstance,
  families: Readonly<Record<string, AnyFamily>>,
  noteIntent: (intent: Intent) => void,
  options: object
): void {
  for (const [name, family] of Object.entries(families)) {
    const authorize = ({ principal }: CallOptions, intent: Intent) => {
      noteIntent(intent)
      const granted = authorizeRole(principal, intent)
      return name.startsWith('renamed') && intent.family !== 'deals' ? renameGrant(granted, intent) : granted
    }
    const made = (family as never as { service (options: object): Service }).service({ ...options, authorize })
    const service = made as never as Record<string, (...args: unknown[]) => unknown>
    app.post<{ Body: Call }>(`/service/${name}`, async ({ body }, reply) => {
      const { method, args, options } = body
      try {
        const result = service[method]?.(...args, options)
        return { result: method === 'follow' ? await takeTwo(result as AsyncIterable<unknown>) : await result }
      } catch (error) {
        return await reply.code(500).send({ ...error as Error, message: (error as Error).message })
      }
    })
  }
}

// Those that every application has from its beginning.
async function takeTwo (entries: AsyncIterable<unknown>): Promise<unknown[]> {
  const taken = []
  for await (const entry of entries) if (taken.push(entry) === 2) break
  return taken
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
export const firstIds: Readonly<Record<string, readonly string[]>> = {
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

function authorizeRole (role: unknown, { family, action }: Intent) {
  const isRead = action === 'read' || action === 'list'
  if (role === undefined) return undefined
  if (role === 'stranger') throw new Refused(401)
  if (role === 'reader' ? !isRead : role === 'writer' && isRead) throw new Refused(403)
  const condition = role === 'clerk' ? conditions[family] : undefined
  return { principal: String(role), ...(condition && { where: [condition] }) } as never
}
