import Fastify, { type FastifyInstance } from 'fastify'
import { english } from '../../lib/html/index.js'
import { defineFamily, type FamilyOptions, html, json, memoryStorage, type Storage, Type } from '../../lib/index.js'
import { de } from '../../lib/locales/de.js'

const products = defineFamily({
  name: 'products',
  singular: 'product',
  fields: Type.Object({ id: Type.String(), name: Type.String() }),
  create: ['id', 'name']
})

const Line = Type.Object({ product: Type.String({ minLength: 1 }), quantity: Type.Integer({ minimum: 1 }) })

/** Lines, lists of ids, and single objects that refer to items. */
const carts = defineFamily({
  name: 'carts',
  singular: 'cart',
  fields: Type.Object({
    id: Type.Integer(),
    lines: Type.Array(Line, { default: [] }),
    similar: Type.Array(Type.Integer(), { default: [] }),
    shipped: Type.Integer({ default: 0 }),
    gift: Type.Optional(Type.Object({ product: Type.String(), note: Type.Optional(Type.String()) }))
  }),
  references: { 'lines.product': products, similar: 'carts', 'gift.product': products },
  list: ['id', 'lines', 'similar'],
  create: ['lines', 'similar', 'gift'],
  edit: ['lines'],
  operations: {
    ship: {
      name: 'ship',
      verb: 'ship',
      participle: 'shipped',
      noun: 'shippings',
      action: 'ShipCart',
      params: Type.Object({ goods: Type.Array(Type.Object({ product: Type.String() })) }),
      with: { products: { family: products, path: 'goods.product' } },
      apply: (cart, { goods }) => ({ ...cart, shipped: goods.length })
    },
    take: {
      name: 'take',
      verb: 'take',
      participle: 'taken',
      noun: 'takings',
      action: 'TakeFromCart',
      params: Type.Object({ lines: Type.Array(Line) }),
      danger: true,
      prefill: cart => ({ lines: cart.lines.map(({ product }) => ({ product })) }),
      apply: (cart, { lines }) => ({
        ...cart,
        lines: cart.lines.filter(({ product }) => lines.every(line => line.product !== product))
      })
    }
  },
  labels: { de: { fields: { 'lines.product': 'Artikel' } } }
})

const next = carts.rename({ lines: 'items', 'lines.product': 'article' })

/** Carts refer to products in their lines. @param count how many there are */
export async function openCarts (
  t: { teardown (close: () => Promise<unknown>): void },
  count: number,
  { storage = memoryStorage(), ...options }: Partial<FamilyOptions> = {}
): Promise<FastifyInstance> {
  const app = Fastify({ forceCloseConnections: true })
  t.teardown(() => app.close())
  const pages = html({ texts: [english, de] })
  for (const family of [products, carts]) {
    app.register(family, { storage, representations: [json, pages], ...family === products && options })
  }
  for (const family of [products, next]) {
    app.register(family, { prefix: '/v2', storage, representations: [json, pages] })
  }
  await app.ready()
  const service = products.service({ storage: storage as Storage })
  for (let index = 1; index <= count; index++) await service.create({ id: `p${index}`, name: `Product ${index}` })
  return app
}

export async function createCart (app: FastifyInstance, cart: object): Promise<string> {
  const { statusCode, body } = await app.inject({ method: 'POST', url: '/carts', payload: cart })
  if (statusCode !== 201) throw new Error(body)
  return `/carts/${JSON.parse(body).id}`
}
