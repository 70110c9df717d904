import Fastify, { type InjectOptions } from 'fastify'
import t from 'tap'
import { decimal, defineFamily, type Storage, Type } from '../../lib/index.js'
import { loadItems } from '../../lib/tools/index.js'
import { storages } from '../storages.js'

const price = decimal({ scale: 2, minimum: 0 })

const orders = defineFamily({
  name: 'orders',
  singular: 'order',
  fields: Type.Object({
    id: Type.String(),
    lines: Type.Array(Type.Object({
      price,
      received: Type.Integer({ minimum: 0, default: 0 }),
      due: Type.Optional(Type.String({ format: 'date-time' })),
      note: Type.Optional(Type.String({ default: 'none' })),
      parts: Type.Optional(Type.Array(price))
    })),
    packing: Type.Union([
      Type.Object({ cost: price, boxes: Type.Integer({ default: 1 }) }),
      Type.Null()
    ], { default: null }),
    first: Type.Optional(price)
  }),
  create: ['id', 'lines', 'packing'],
  edit: ['lines', 'packing'],
  derive: { first: ({ lines: [line] }) => line?.price },
  operations: {
    add: {
      name: 'add',
      verb: 'add',
      participle: 'added',
      noun: 'additions',
      action: 'AddLines',
      params: Type.Object({ lines: Type.Array(Type.Object({ price, received: Type.Integer({ default: 2 }) })) }),
      apply: (order, { lines: added }) =>
        ({ ...order, lines: [...order.lines, ...added.map(line => ({ ...line, note: '' }))] })
    },
    round: {
      name: 'round',
      verb: 'round',
      participle: 'rounded',
      noun: 'roundings',
      action: 'RoundPrices',
      params: Type.Object({}),
      // As rules in JavaScript might write them.
      apply: ({ lines, ...order }) =>
        ({ ...order, lines: lines.map(line => ({ price: Math.round(Number(line.price)) })) as never })
    }
  }
})

const stored = { price: '1.50', received: 0, note: 'none' }

for (const { name, make } of storages) {
  const open = async (t: { teardown (fn: () => unknown): void }) => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    const app = Fastify()
    t.teardown(() => app.close())
    app.register(orders, { storage })
    const send = async (method: InjectOptions['method'], path: string, payload: object) => {
      const { statusCode, body } = await app.inject({ method: method as 'PUT', url: `/orders${path}`, payload })
      return { statusCode, ...JSON.parse(body || '{}') }
    }
    return { storage: storage as Storage, send, service: orders.service({ storage }) }
  }

  t.test(`values in rows over ${name}`, async t => {
    const { send } = await open(t)
    const due = '2026-03-31T12:00:00+02:00'
    const made = await send('POST', '', {
      id: 'a',
      lines: [{ price: 1.5 }, { price: '2', received: 1, due, note: 'x', parts: [1, '2.5'] }],
      packing: { cost: 3 }
    })
    t.match(made, {
      statusCode: 201,
      lines: [
        stored,
        { price: '2.00', received: 1, due: '2026-03-31T10:00:00.000Z', note: 'x', parts: ['1.00', '2.50'] }
      ],
      packing: { cost: '3.00', boxes: 1 },
      first: '1.50'
    })
    t.equal(JSON.stringify(made.lines[0]), JSON.stringify(stored), 'in the order of the schema')
    const odd = JSON.parse('{ "price": 1, "__proto__": { "received": 9 }, "more": 1 }')
    t.match(await send('POST', '', { id: 'b', lines: [odd] }), { lines: [{ ...stored, price: '1.00', more: 1 }] })
    const edited = { lines: [{ price: '1.5' }], packing: null }
    t.match(await send('PATCH', '/a', edited), { statusCode: 200, lines: [stored], packing: null, revision: 2 })
    t.match(await send('PATCH', '/a', edited), { statusCode: 200, revision: 2 }, 'nothing would change')
    t.match(await send('PUT', '/a/add', { lines: [{ price: 2 }] }), {
      statusCode: 200, lines: [stored, { price: '2.00', received: 2, note: '' }]
    })
    t.match(await send('PUT', '/a/round', {}), {
      statusCode: 200,
      lines: [{ price: '2.00', received: 0, note: 'none' }, { price: '2.00', received: 0, note: 'none' }],
      first: '2.00'
    }, 'of rules too')
  })

  t.test(`what does not fit over ${name}`, async t => {
    const { send } = await open(t)
    for (const [lines, pointer] of [
      [[{ price: 1 }, { price: 1.555 }], '/lines/1/price'],
      [[{ price: 1, received: -1 }], '/lines/0/received'],
      [[{ price: 1, received: null }], '/lines/0/received'],
      [[{ price: 1, due: 'today' }], '/lines/0/due'],
      [[{ price: 1, parts: [1, 'a'] }], '/lines/0/parts/1'],
      [[{}], '/lines/0/price'],
      [[null], '/lines/0'],
      [{ price: 1 }, '/lines'],
      ['1', '/lines']
    ] as const) {
      t.match(await send('POST', '', { id: 'a', lines }), { statusCode: 400, errors: [{ pointer }] }, pointer)
    }
  })

  t.test(`by the service and loadItems over ${name}`, async t => {
    const { storage, service } = await open(t)
    const { item } = await service.create({ id: 'a', lines: [{ price: '1.5' }] as never })
    t.match(item, { lines: [stored] })
    t.match((await service.run('edit', 'a', { lines: [{ price: '1.5' }, { price: '2' }] as never })).item, {
      lines: [stored, { ...stored, price: '2.00' }]
    })
    t.match((await service.run('add', 'a', { lines: [{ price: '3', received: 2 }] })).item, {
      lines: [stored, { ...stored, price: '2.00' }, { price: '3.00', received: 2 }]
    })
    const omitted = { price: '4', received: undefined, note: undefined, due: undefined }
    t.match((await service.run('edit', 'a', { lines: [omitted] as never })).item, {
      lines: [{ ...stored, price: '4.00' }]
    }, 'undefined is as if it was omitted')
    await loadItems(storage, orders, [{ id: 'b', lines: [{ price: 1.5 as never }] as never }])
    t.match(await service.get('b'), { lines: [stored], first: '1.50' })
  })
}

t.test('a definition with a default that does not fit its row', async t => {
  const fields = (row: object) => Type.Object({ id: Type.Integer(), rows: Type.Array(Type.Object(row as never)) })
  for (const [row, flaw] of [
    [{ a: Type.Integer({ default: 'x' }) }, '"rows" has a default below it, at "rows.a", that must be an integer'],
    [{ b: Type.Object({ c: Type.String({ default: 1 as never }) }) }, 'at "rows.b.c", that must be a string']
  ] as const) {
    t.throws(() => defineFamily({ name: 'books', singular: 'book', fields: fields(row), create: ['rows'] }), {
      message: new RegExp(flaw)
    })
  }
})
