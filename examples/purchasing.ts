// Purchase orders with lines, stock and receipts: node build/examples/purchasing.js
import Fastify, { type FastifyRequest } from 'fastify'
import { decimal, defineFamily, type Granted, memoryStorage, Problem, type Storage, Type } from 'fastify-dealbook'
import { openStorage } from './storage-from-url.js'

const money = decimal({ scale: 2, minimum: 0 })
const article = Type.String({ minLength: 1, maxLength: 20, title: 'Product' })
const pieces = Type.Integer({ minimum: 1, maximum: 1_000_000, title: 'Pieces' })
const cents = (amount: string) => Math.round(Number(amount) * 100)

export const suppliers = defineFamily({
  name: 'suppliers',
  singular: 'supplier',
  fields: Type.Object({ id: Type.Integer(), name: Type.String({ minLength: 1, maxLength: 100 }) }),
  create: ['name'],
  edit: ['name'],
  unique: [['name']]
})

export const products = defineFamily({
  name: 'products',
  singular: 'product',
  fields: Type.Object({
    id: article,
    name: Type.String({ minLength: 1, maxLength: 100 }),
    stock: Type.Integer({ minimum: 0, default: 0 })
  }),
  create: ['id', 'name'],
  edit: ['name'],
  operations: {
    withdraw: {
      name: 'withdraw',
      verb: 'withdraw',
      participle: 'withdrawn',
      noun: 'withdrawals',
      action: 'WithdrawProduct',
      summary: 'Take pieces from the stock',
      params: Type.Object({ quantity: pieces }),
      allowed: ({ stock }, params) => stock >= (params?.quantity ?? 1) || `There are only ${stock}`,
      apply: (product, { quantity }) => ({ ...product, stock: product.stock - quantity })
    }
  }
})

/** What arrived. Made by receiving an order only, never changed or deleted: their numbers have no gaps. */
const receiptsAlone = defineFamily({
  name: 'receipts',
  singular: 'receipt',
  fields: Type.Object({
    id: Type.Integer({ description: 'Its number, without gaps' }),
    order: Type.Integer(),
    goods: Type.Array(Type.Object({ product: article, quantity: pieces }), { maxItems: 100 }),
    receiver: Type.String()
  }),
  references: { 'goods.product': products },
  create: ['order', 'goods'],
  remove: false,
  initial: (receipt, { principal = '' }) => ({ ...receipt, receiver: principal })
})

type Line = { product: string, quantity: number, price: string, received: number }

type Goods = { product: string, quantity: number }

const reset = (line: Line): Line => ({ ...line, received: 0 })
const open = ({ product, quantity, received }: Line) => ({ product, quantity: quantity - received })

/** Books goods on the lines of their product, in their order. */
function book (lines: readonly Line[], { product, quantity }: Goods, index: number): Line[] {
  let left = quantity
  const after = lines.map(line => {
    const taken = line.product === product ? Math.min(left, open(line).quantity) : 0
    left -= taken
    return { ...line, received: line.received + taken }
  })
  if (left === 0) return after
  const errors = [{ pointer: `/goods/${index}/quantity`, detail: `must be at most ${quantity - left}` }]
  throw new Problem('wrong-state', `At most ${quantity - left} of ${product} can still arrive`, { errors })
}

export const orders = defineFamily({
  name: 'orders',
  singular: 'order',
  fields: Type.Object({
    id: Type.Integer(),
    supplier: Type.Integer(),
    lines: Type.Array(
      Type.Object({
        product: article,
        quantity: pieces,
        price: money,
        received: Type.Integer({ minimum: 0, default: 0, title: 'Received' })
      }, { additionalProperties: false }),
      { minItems: 1, maxItems: 100 }
    ),
    total: money,
    requester: Type.String(),
    approver: Type.Optional(Type.String()),
    status: Type.Union([Type.Literal('draft'), Type.Literal('approved'), Type.Literal('received')], {
      default: 'draft'
    })
  }),
  references: { supplier: suppliers, 'lines.product': products },
  create: ['supplier', 'lines'],
  edit: { fields: ['supplier', 'lines'], allowed: ({ status }) => status === 'draft' || 'Only drafts can be changed' },
  remove: { allowed: ({ status }) => status === 'draft' || 'Only drafts can be deleted' },
  title: 'id',
  list: ['id', 'supplier', 'total', 'requester', 'status'],
  state: ({ status }) => status,
  initial: (order, { principal = '' }) => ({ ...order, requester: principal }),
  derive: {
    total: ({ lines }) => {
      const sum = lines.reduce((sum, { quantity, price }) => sum + quantity * cents(price), 0)
      return (sum / 100).toFixed(2)
    }
  },
  operations: {
    approve: {
      name: 'approve',
      verb: 'approve',
      participle: 'approved',
      noun: 'approvals',
      action: 'ApproveOrder',
      summary: 'Approve the order of another person',
      params: Type.Object({}),
      allowed ({ status, requester }, _params, { principal }) {
        if (status !== 'draft') return 'It is already approved'
        return requester !== principal || 'Another person must approve it'
      },
      // What a draft says was received came from its author.
      apply (order, _params, { principal = '' }) {
        if (order.status !== 'draft') return order
        return { ...order, status: 'approved', approver: principal, lines: order.lines.map(reset) }
      }
    },
    receive: {
      name: 'receive',
      verb: 'receive',
      participle: 'received',
      noun: 'receipts',
      action: 'ReceiveGoods',
      summary: 'Put what has arrived into the stock',
      params: Type.Object({
        goods: Type.Array(Type.Object({ product: article, quantity: pieces }), { minItems: 1, maxItems: 100 })
      }),
      with: { products: { family: products, path: 'goods.product' } },
      creates: { receipt: receiptsAlone },
      // A form starts with what is still missing.
      prefill: ({ lines }) => ({ goods: lines.map(open).filter(({ quantity }) => quantity > 0) }),
      allowed: ({ status }) => status === 'approved' || (status === 'draft' ? 'It is not approved' : 'All has arrived'),
      apply (order, { goods }, { items }) {
        const lines = goods.reduce(book, order.lines)
        const isComplete = lines.every(line => open(line).quantity === 0)
        return {
          item: { ...order, lines, status: isComplete ? 'received' : 'approved' },
          others: {
            products: items.products.map(product => {
              const arrived = goods.filter(each => each.product === product.id)
              return { ...product, stock: arrived.reduce((sum, { quantity }) => sum + quantity, product.stock) }
            })
          },
          created: { receipt: { order: order.id, goods } }
        }
      }
    }
  }
})

/** Receipts and orders refer to each other. */
export const receipts = receiptsAlone.extend({ references: { order: orders } })

// In production, use your own sign-in: https://github.com/fastify/fastify-jwt
const people = new Map([['ann-secret', 'ann'], ['bob-secret', 'bob']])

/** Everyone sees everything. Receipts are made by receiving an order only. */
export function authorize (request: Pick<FastifyRequest, 'headers'>, { action }: { readonly action: string }): Granted {
  const principal = people.get(request.headers.authorization?.replace('Bearer ', '') ?? '')
  if (principal === undefined) throw new Problem('unauthorized', 'Send a token')
  if (action === 'CreateReceipt') throw new Problem('forbidden', 'Receive an order instead')
  return { principal }
}

/** An application with all families. */
export function buildApp (storage: Storage = memoryStorage()) {
  const app = Fastify()
  for (const family of [suppliers, products, orders, receipts]) app.register(family, { storage, authorize })
  return app
}

if (import.meta.filename === process.argv[1]) {
  const { PORT = '3000', STORAGE = 'memory:' } = process.env
  const app = buildApp(await openStorage(STORAGE))
  console.log(`${await app.listen({ port: Number(PORT) })}/orders, with "authorization: Bearer ann-secret"`)
}
