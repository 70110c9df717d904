import type { FastifyInstance } from 'fastify'
import Fastify from 'fastify'
import { defineFamily, defineQuery, type Grant, type Intent, Problem, type Storage, Type } from '../../lib/index.js'
import { mcp } from '../../lib/mcp/mcp.js'

// Families of which a part is hidden from some callers. Every value of that part, and who wrote it, has the mark.

export const mark = 'MARK'
export const makerId = 'mill-7'
/** Hidden values that are no text. */
export const weight = 987_654_321
export const since = '1777-03-05'

const words = (verb: string, participle: string, noun: string, action: string) =>
  ({ name: verb, verb, participle, noun, action })

export const makers = defineFamily({
  name: 'makers',
  singular: 'maker',
  fields: Type.Object({ id: Type.String(), name: Type.String(), secret: Type.String() }),
  create: ['id', 'name', 'secret'],
  edit: ['name', 'secret']
})

const Line = Type.Object({
  product: Type.String(), quantity: Type.Integer(), price: Type.String({ default: 'MARK default' })
})

export const goods = defineFamily({
  name: 'goods',
  singular: 'good',
  fields: Type.Object({
    id: Type.Integer(),
    name: Type.String(),
    cost: Type.String({ default: 'MARK none' }),
    code: Type.Optional(Type.String()),
    maker: Type.Optional(Type.String()),
    weight: Type.Optional(Type.Integer()),
    since: Type.Optional(Type.String({ format: 'date' })),
    more: Type.Optional(Type.Object({ open: Type.String(), secret: Type.Optional(Type.String()) },
      { additionalProperties: true })),
    quality: Type.Union([Type.Literal('MARK-good'), Type.Literal('MARK-bad')], { default: 'MARK-good' }),
    status: Type.Union([Type.Literal('open'), Type.Literal('done')], { default: 'open' }),
    terms: Type.Optional(Type.Object({ days: Type.Integer(), margin: Type.Optional(Type.String()) })),
    lines: Type.Array(Line, { default: [] })
  }),
  create: ['name', 'cost', 'code', 'maker', 'weight', 'since', 'more', 'terms', 'lines'],
  edit: ['name', 'cost', 'code', 'maker', 'weight', 'since', 'more', 'terms', 'lines'],
  revert: true,
  references: { maker: makers },
  unique: [['code']],
  title: 'cost',
  order: ['cost'],
  list: ['cost', 'name', 'quality', 'lines', 'maker', 'weight', 'since', 'more', 'status'],
  search: ['name', 'cost'],
  states: {
    'MARK-best': { tone: 'good', filter: 'quality=MARK-good&status=open' }, open: 'neutral', done: 'done'
  },
  queries: { 'goods-by-cost': defineQuery({ field: 'cost' }), 'goods-by-name': defineQuery({ field: 'name' }) },
  operations: {
    reprice: {
      ...words('reprice', 'repriced', 'repricings', 'RepriceGood'),
      params: Type.Object({ to: Type.String(), why: Type.String() }),
      prefill: good => ({ to: `${good.cost} again`, why: `${good.lines[0]?.price}` }),
      apply: (good, { to }) => ({ ...good, cost: to })
    },
    finish: {
      ...words('finish', 'finished', 'finishings', 'FinishGood'),
      params: Type.Object({ comment: Type.Optional(Type.String()) }),
      allowed: good => good.status === 'open',
      apply: good => ({ ...good, status: 'done' as const })
    },
    weigh: {
      ...words('weigh', 'weighed', 'weighings', 'WeighGood'),
      params: Type.Object({ more: Type.Integer({ default: 0 }) }),
      allowed: good => good.weight !== undefined,
      apply: (good, { more }) => ({ ...good, weight: (good.weight ?? 0) + more })
    },
    price: {
      ...words('price', 'priced', 'pricings', 'PriceGood'),
      params: Type.Object({ cost: Type.String() }),
      apply: (good, { cost }) => ({ ...good, cost })
    },
    recode: {
      ...words('recode', 'recoded', 'recodings', 'RecodeGood'),
      params: Type.Object({ to: Type.String() }),
      apply: (good, { to }) => ({ ...good, code: `MARK ${to}` })
    }
  }
})

export const orders = defineFamily({
  name: 'orders',
  singular: 'order',
  fields: Type.Object({ id: Type.Integer(), good: Type.Integer(), note: Type.Optional(Type.String()) }),
  create: { fields: ['good', 'note'], with: { it: 'good' } },
  edit: ['note'],
  revert: true,
  references: { good: goods },
  initial: (order, { items: { it } }) => ({ ...order, note: it.cost.startsWith('MARK') ? 'whole' : 'narrow' }),
  operations: {
    ship: {
      ...words('ship', 'shipped', 'shipments', 'ShipOrder'),
      params: Type.Object({ cost: Type.String(), carrier: Type.String() }),
      with: { it: 'good' },
      allowed: (_order, _params, { items: { it } }) => it.cost.startsWith('MARK') || 'Not whole',
      apply: (order, { cost }, { items: { it } }) => ({ item: order, others: { it: { ...it, cost } } })
    },
    label: {
      ...words('label', 'labelled', 'labels', 'LabelOrder'),
      params: Type.Object({ code: Type.String() }),
      with: { it: 'good' },
      apply: (order, { code }, { items: { it } }) => ({ item: order, others: { it: { ...it, code: `MARK ${code}` } } })
    }
  }
})

const ShownLine = Type.Object({ product: Type.String(), quantity: Type.Integer() })

/** The goods as if they had never had what is hidden. */
export const shownGoods = defineFamily({
  name: 'goods',
  singular: 'good',
  fields: Type.Object({
    id: Type.Integer(),
    name: Type.String(),
    more: Type.Optional(Type.Object({ open: Type.String() }, { additionalProperties: true })),
    status: Type.Union([Type.Literal('open'), Type.Literal('done')], { default: 'open' }),
    terms: Type.Optional(Type.Object({ days: Type.Integer() })),
    lines: Type.Array(ShownLine, { default: [] })
  }),
  create: ['name', 'more', 'terms', 'lines'],
  edit: ['name'],
  revert: true,
  title: 'id',
  list: ['id', 'name', 'lines', 'more', 'status'],
  search: ['name'],
  states: { open: 'neutral', done: 'done' },
  queries: { 'goods-by-name': defineQuery({ field: 'name' }) },
  operations: {
    reprice: {
      ...words('reprice', 'repriced', 'repricings', 'RepriceGood'),
      params: Type.Object({ to: Type.String(), why: Type.String() }),
      apply: good => good
    },
    finish: {
      ...words('finish', 'finished', 'finishings', 'FinishGood'),
      params: Type.Object({ comment: Type.Optional(Type.String()) }),
      apply: good => good
    }
  }
})

export const hidden = [
  'cost', 'code', 'maker', 'weight', 'since', 'quality', 'terms.margin', 'lines.price', 'more.secret', 'principal'
] as const

type Authorize = (role: string, family: string, action?: string) => Grant

const hides: Readonly<Record<string, readonly string[]>> = {
  goods: hidden, makers: ['secret', 'principal'], orders: ['principal']
}

/** What each role gets. Only the boss sees everything. */
export const authorize: Authorize = (role, family, action = '') => {
  if (role === 'boss') return { principal: `${mark} boss` }
  const hide = hides[family] as never
  // From whom something is hidden only in reads: responses to commands show no more than those.
  if (role === 'uneven') return { principal: 'uneven', ...['list', 'read'].includes(action) && { hide } }
  if (role === 'narrow') {
    const quality = { field: 'quality', op: 'eq', values: ['MARK-good'] } as const
    return { principal: 'narrow', hide, ...family === 'goods' && { where: [quality] } }
  }
  return role === 'clerk' ? { principal: 'clerk', hide } : { hide }
}

const lessMakers = defineFamily({
  name: 'makers',
  singular: 'maker',
  fields: Type.Object({ id: Type.String(), name: Type.String() }),
  create: ['id', 'name'],
  edit: ['name'],
  initial: maker => maker
})
const lessGoods = defineFamily({
  name: 'goods',
  singular: 'good',
  fields: Type.Object({
    id: Type.Integer(),
    name: Type.String(),
    status: Type.Union([Type.Literal('open'), Type.Literal('done')], { default: 'open' })
  }),
  create: ['name'],
  edit: ['name'],
  operations: {
    finish: {
      ...words('finish', 'finished', 'finishings', 'FinishGood'),
      params: Type.Object({ comment: Type.Optional(Type.String()) }),
      allowed: good => good.status === 'open',
      apply: good => ({ ...good, status: 'done' as const })
    },
    reprice: {
      ...words('reprice', 'repriced', 'repricings', 'RepriceGood'),
      params: Type.Object({}),
      allowed: () => 'Not here',
      apply: good => ({ ...good, name: 'never' })
    }
  }
})
const lessOrders = defineFamily({
  name: 'orders',
  singular: 'order',
  fields: Type.Object({ id: Type.Integer(), good: Type.Integer(), note: Type.Optional(Type.String()) }),
  create: ['good', 'note'],
  edit: ['note'],
  references: { good: lessGoods },
  operations: {}
})

/** The same items by families with fewer fields, operations and parameters, without a grant. */
export async function startNarrower (storage: Storage): Promise<FastifyInstance> {
  const app = Fastify({ forceCloseConnections: true })
  for (const family of [makers, goods, orders]) app.register(family, { storage, prefix: '/whole' })
  for (const family of [lessMakers, lessGoods, lessOrders]) app.register(family, { storage, prefix: '/shop' })
  app.register(mcp, { prefix: '/whole' })
  app.register(mcp, { prefix: '/shop' })
  await app.ready()
  return app
}

/** Those of `shownGoods`, without a grant. */
export async function startShown (storage: Storage): Promise<FastifyInstance> {
  const app = Fastify()
  for (const family of [makers, shownGoods]) app.register(family, { storage, prefix: '/shop' })
  await app.ready()
  return app
}

export async function startHidden (storage: Storage): Promise<FastifyInstance> {
  const app = Fastify({ forceCloseConnections: true })
  const options = {
    storage,
    prefix: '/shop',
    authorize: (request: { headers: Record<string, unknown> }, { family, action }: Intent) => {
      const { 'x-role': role } = request.headers
      if (role === 'none') throw new Problem('forbidden', 'Not you')
      return authorize(String(role ?? 'anyone'), family, action) as never
    }
  } as const
  app.register(makers, options)
  app.register(goods, options)
  app.register(orders, options)
  app.register(mcp, { prefix: '/shop' })
  await app.ready()
  return app
}
