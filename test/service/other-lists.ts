import { defineFamily, Type } from '../../lib/index.js'

// Documents with lines, whose products change in the same commit.

export const products = defineFamily({
  name: 'products',
  singular: 'product',
  fields: Type.Object({
    id: Type.String(),
    tenant: Type.String({ default: 'red' }),
    stock: Type.Integer({ default: 0, minimum: 0 }),
    moved: Type.Integer({ default: 0 })
  }),
  create: ['id', 'tenant', 'stock'],
  edit: ['stock', 'tenant']
})

const goods = Type.Array(Type.Object({ product: Type.String(), quantity: Type.Integer({ minimum: 0 }) }))
const words = (name: string, action: string) =>
  ({ name, verb: name, participle: `${name}-ed`, noun: `${name}-s`, action })

interface Line { readonly product: string, readonly quantity: number }

/** How much of a product lines have, of which it may be in several. */
export function count (lines: readonly Line[], product: string): number {
  return lines.reduce((sum, line) => line.product === product ? sum + line.quantity : sum, 0)
}

export const orders = defineFamily({
  name: 'orders',
  singular: 'order',
  fields: Type.Object({
    id: Type.Integer(),
    lines: goods,
    pieces: Type.Integer(),
    received: Type.Integer({ default: 0 }),
    status: Type.Union([Type.Literal('open'), Type.Literal('shipped')], { default: 'open' })
  }),
  create: { fields: ['lines'], with: { products: { family: products, path: 'lines.product' } } },
  derive: { pieces: order => order.lines.reduce((sum, { quantity }) => sum + quantity, 0) },
  initial: (order, { items: { products } }) => ({
    item: order,
    others: { products: products.map(product => ({ ...product, moved: product.moved + 1 })) }
  }),
  remove: {
    with: { products: { family: products, path: 'lines.product' } },
    apply: (order, _params, { items: { products } }) =>
      ({ others: { products: products.map(each => ({ ...each, stock: each.stock + count(order.lines, each.id) })) } })
  },
  operations: {
    receive: {
      ...words('receive', 'ReceiveOrder'),
      params: Type.Object({ goods }),
      with: { products: { family: products, path: 'goods.product' } },
      allowed: (_order, _params, { items: { products } }) =>
        products?.some(({ stock }) => stock > 1000) !== true || 'There is too much of a product',
      apply: (order, { goods }, { items: { products } }) => ({
        item: { ...order, received: order.received + goods.reduce((sum, { quantity }) => sum + quantity, 0) },
        others: { products: products.map(each => ({ ...each, stock: each.stock + count(goods, each.id) })) }
      })
    },
    ship: {
      ...words('ship', 'ShipOrder'),
      params: Type.Object({}),
      with: { products: { family: products, path: 'lines.product' } },
      allowed (order, _params, { items: { products } }) {
        const scarce = products.find(({ id, stock }) => stock < count(order.lines, id))
        return order.status === 'shipped' || scarce === undefined || `There is not enough of ${scarce.id}`
      },
      apply: (order, _params, { items: { products } }) => order.status === 'shipped'
        ? order
        : {
            item: { ...order, status: 'shipped' },
            others: {
              products: products.map(each =>
                ({ ...each, stock: Math.max(0, each.stock - count(order.lines, each.id)) }))
            }
          }
    }
  }
})
