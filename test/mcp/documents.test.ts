import Fastify from 'fastify'
import t from 'tap'
import { authorize, orders, products, receipts, suppliers } from '../../examples/purchasing.js'
import { mcp } from '../../lib/mcp/mcp.js'
import { storages } from '../storages.js'
import { call, listNames } from './app.js'

for (const { name, make } of storages) {
  t.test(`documents with lines by tools and in the feed, ${name}`, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    const app = Fastify()
    t.teardown(() => app.close())
    app.register(mcp, { prefix: '/crm' })
    for (const family of [suppliers, products, orders, receipts]) {
      app.register(family, { prefix: '/crm', storage, authorize })
    }
    await app.ready()
    const as = (token: string) => async (tool: string, args: object) =>
      await call(app, tool, args, { authorization: `Bearer ${token}` })
    const [ann, bob] = [as('ann-secret'), as('bob-secret')]
    const names = await listNames(app, { authorization: 'Bearer ann-secret' })
    t.ok(names.includes('orders_receive'), names.join())

    await ann('suppliers_create', { name: 'Meyer' })
    for (const id of ['tea', 'milk']) await ann('products_create', { id, name: id })
    const lines = [{ product: 'tea', quantity: 2, price: 1.5 }, { product: 'milk', quantity: 1, price: '2' }]
    const wrong = await ann('orders_create', { supplier: 1, lines: [...lines, { ...lines[0], product: 'rum' }] })
    t.match(wrong, { isError: true, text: /\/lines\/2\/product/ })
    t.match(await ann('orders_create', { supplier: 1, lines }), { content: { item: { id: 1, total: '5.00' } } })
    t.match(await bob('orders_approve', { id: 1 }), { content: { item: { status: 'approved', approver: 'bob' } } })
    const missing = await bob('orders_receive', { id: 1, goods: [{ product: 'rum', quantity: 1 }] })
    t.match(missing, { isError: true, text: /\/goods\/0\/product/ })
    const goods = lines.map(({ product, quantity }) => ({ product, quantity }))
    t.match(await bob('orders_receive', { id: 1, goods }), { content: { item: { status: 'received' } } })
    t.match(await ann('products_find', {}), { content: { items: [{ id: 'milk', stock: 1 }, { id: 'tea', stock: 2 }] } })

    const headers = { authorization: 'Bearer ann-secret' }
    const { items } = (await app.inject({ url: '/crm/rest/commands?maxpagesize=50', headers })).json()
    const received = items.filter(({ action }: { action: string }) => action === 'ReceiveGoods')
    t.equal(received.length, 4, 'an entry of each item')
    t.match(received.find((entry: object) => 'order' in entry), { order: 1, params: { goods } })
    t.strictSame(
      received.filter((entry: object) => 'product' in entry).map(({ product }: { product: string }) => product).sort(),
      ['milk', 'tea']
    )
    t.ok(received.every((entry: { about?: object, order?: number }) => entry.order === 1 || entry.about !== undefined))
  })
}
