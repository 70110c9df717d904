// Moves the same fifty products again and again, until it is killed: a receipt, their stock, and a movement of each.
import { openStorage } from '../../examples/storage-from-url.js'
import { defineFamily, Type } from '../../lib/index.js'

export const products = defineFamily({
  name: 'products',
  singular: 'product',
  fields: Type.Object({ id: Type.String(), stock: Type.Integer({ default: 0 }) }),
  create: ['id']
})

export const movements = defineFamily({
  name: 'movements',
  singular: 'movement',
  fields: Type.Object({ id: Type.Integer(), product: Type.String(), quantity: Type.Integer() }),
  references: { product: products },
  create: ['product', 'quantity']
})

const goods = Type.Array(Type.Object({ product: Type.String(), quantity: Type.Integer() }))

export const receipts = defineFamily({
  name: 'receipts',
  singular: 'receipt',
  fields: Type.Object({ id: Type.Integer(), times: Type.Integer({ default: 0 }) }),
  create: [],
  operations: {
    move: {
      name: 'move',
      verb: 'move',
      participle: 'moved',
      noun: 'moves',
      action: 'MoveGoods',
      params: Type.Object({ goods }),
      with: { products: { family: products, path: 'goods.product' } },
      creates: { movements: [movements] },
      apply: (receipt, { goods }, { items }) => ({
        item: { ...receipt, times: receipt.times + 1 },
        others: { products: items.products.map(product => ({ ...product, stock: product.stock + 1 })) },
        created: { movements: goods }
      })
    }
  }
})

export const productIds = Array.from({ length: 50 }, (_, index) => `p${index}`)

if (import.meta.filename === process.argv[1]) {
  const storage = await openStorage(process.argv[2] as string)
  const book = receipts.service({ storage })
  for (;;) {
    await book.run('move', 1, { goods: productIds.map(product => ({ product, quantity: 1 })) })
    process.stdout.write('.')
  }
}
