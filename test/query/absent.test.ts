import Fastify from 'fastify'
import t from 'tap'
import { customers } from '../../lib/index.js'
import { loadItems } from '../../lib/tools/index.js'
import { storages } from '../storages.js'

// Firms have neither age nor children.
const people = [{ id: 1, age: 30, children: 0 }, { id: 2 }, { id: 3, age: 40 }, { id: 4, children: 2 }]

for (const { name, make } of storages) {
  t.test(`an absent value is absent in every filter, ${name}`, async t => {
    const { storage, dispose } = await make()
    const app = Fastify()
    t.teardown(async () => { await app.close(); await dispose() })
    app.register(customers, { storage })
    await app.ready()
    await loadItems(storage, customers, people)
    for (const [query, ids] of [
      ['age=30', [1]],
      ['age.ne=30', [2, 3, 4]],
      ['min-age=0', [1, 3]],
      ['max-age=99', [1, 3]],
      ['age<99', [1, 3]],
      ['age.regex=.*', [1, 3]],
      ['age.null=true', [2, 4]],
      ['age.null=false&children.null=false', [1]],
      ['or.age.null=true&or.age=40', [2, 3, 4]],
      ['sort=age,-id', [4, 2, 1, 3]],
      ['sort=-children', [4, 1, 2, 3]]
    ] as const) {
      const { items } = (await app.inject(`/customers?${query}`)).json()
      t.strictSame(items.map(({ id }: { id: number }) => id), ids, query)
    }
    const links = { self: '/customers/2', collection: '/customers' }
    t.strictSame((await app.inject('/customers/2')).json(), { id: 2, links })
    t.equal((await app.inject('/query/customers-by-age/0')).statusCode, 404)
  })
}
