import type { ItemOf } from 'fastify-dealbook'
import { defineFamily, memoryStorage, Type } from 'fastify-dealbook'
import { describe, expect, test } from 'tstyche'

const products = defineFamily({
  name: 'products', singular: 'product', fields: Type.Object({ id: Type.String() }), create: ['id']
})
const names = { name: 'orders', singular: 'order' }
const fields = Type.Object({
  id: Type.Integer(),
  supplier: Type.Optional(Type.Integer()),
  lines: Type.Array(Type.Object({
    product: Type.String(),
    price: Type.Integer(),
    parts: Type.Optional(Type.Array(Type.Object({ product: Type.String() })))
  })),
  tags: Type.Array(Type.String()),
  address: Type.Union([Type.Object({ country: Type.String(), zip: Type.String() }), Type.Null()])
})

describe('references by paths', () => {
  test('in lists, and within fields', () => {
    const orders = defineFamily({
      ...names,
      fields,
      create: ['lines'],
      references: {
        'lines.product': products,
        'lines.parts.product': products,
        tags: products,
        'address.country': products,
        supplier: 'orders'
      },
      operations: {
        close: {
          name: 'close',
          verb: 'close',
          participle: 'closed',
          noun: 'closings',
          action: 'CloseOrder',
          params: Type.Object({}),
          with: { supplier: 'supplier' },
          apply (order, _params, { items: { supplier } }) {
            expect(supplier?.lines).type.toBe<typeof order.lines | undefined>()
            return { ...order, lines: [] }
          }
        }
      }
    })
    orders.extend({
      fields: Type.Object({ notes: Type.Array(Type.Object({ product: Type.String() })) }),
      references: {
        'notes.product': products
      }
    })
    // @ts-expect-error is not assignable to type '"notes.prodct is not a path of the family"'
    orders.extend({ references: { 'notes.prodct': products } })
  })

  test('a mistake names the path', () => {
    // @ts-expect-error is not assignable to type '"lines.prodct is not a path of the family"'
    defineFamily({ ...names, fields, create: ['lines'], references: { 'lines.prodct': products } })
    // @ts-expect-error is not assignable to type '"lins.product is not a path of the family"'
    defineFamily({ ...names, fields, create: ['lines'], references: { 'lins.product': products } })
    // @ts-expect-error is not assignable to type '"supplier.product is not a path of the family"'
    defineFamily({ ...names, fields, create: ['lines'], references: { 'supplier.product': products } })
    // @ts-expect-error is not assignable to type '"is not a field of the family"'
    defineFamily({ ...names, fields, create: ['lines'], references: { line: products } })
    // @ts-expect-error is not assignable to type
    defineFamily({ ...names, fields, create: ['lines'], references: { 'lines.product': 7 } })
  })
})

describe('renamed paths', () => {
  const orders = defineFamily({ ...names, fields, create: ['lines', 'tags', 'address'], edit: ['lines'] })

  test('in lists, and within fields', () => {
    const renamed = orders.rename({
      lines: 'rows', 'lines.price': 'unitPrice', 'lines.parts.product': 'part', 'address.zip': 'code'
    })
    type Renamed = ItemOf<typeof renamed.definition.fields.properties>
    expect<Renamed['rows'][number]>().type.toBe<
      { product: string, unitPrice: number, parts?: { part: string }[] }
    >()
    expect<Renamed['address']>().type.toBe<{ country: string, code: string } | null>()
    expect<Renamed['tags']>().type.toBe<string[]>()
    expect<Renamed>().type.not.toHaveProperty('lines')
    const book = renamed.service({ storage: memoryStorage() })
    const rest = { tags: [], address: null }
    expect(book.create).type.toBeCallableWith({ rows: [{ product: 'a', unitPrice: 1 }], ...rest })
    expect(book.create).type.not.toBeCallableWith({ rows: [{ product: 'a', price: 1 }], ...rest })
    expect(book.run).type.toBeCallableWith('edit', 1, { rows: [{ product: 'a', unitPrice: 1 }] })
  })

  test('a mistake names the path', () => {
    // @ts-expect-error is not assignable to type '"lines.prise is not a path of the family"'
    orders.rename({ 'lines.prise': 'unitPrice' })
    // @ts-expect-error is not assignable to type '"tags.price is not a path of the family"'
    orders.rename({ 'tags.price': 'unitPrice' })
    // @ts-expect-error is not assignable to type '"is not a field of the family"'
    orders.rename({ line: 'rows' })
    // @ts-expect-error Type 'number' is not assignable to type 'string'
    orders.rename({ 'lines.price': 7 })
  })
})
