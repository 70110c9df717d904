// This package, on the storage that is named.
import Fastify from 'fastify'
import { customers, dealbook, loadItems, memoryStorage } from 'fastify-dealbook'
import * as amount from '../scenarios.js'
import { serve } from './serve.js'

const [, , kind, place] = process.argv
const open = {
  memory: async () => memoryStorage(),
  sqlite: async () => (await import('fastify-dealbook/sqlite')).sqliteStorage({ file: place }),
  postgres: async () => (await import('fastify-dealbook/postgres')).postgresStorage({ connectionString: place })
}
const storage = await open[kind]()

function * people () {
  for (let id = 1; id <= amount.customers; id++) yield { id, age: 18 + id * 37 % 73, children: id * 13 % 5 }
}
await loadItems(storage, customers, people())
const app = Fastify()
await app.register(dealbook, { storage, version: 'v1' })
const ids = []
for (let n = 0; n < amount.deals; n++) {
  const answer = await app.inject({ method: 'POST', url: '/rest/v1/deals', payload: { name: 'a deal', price: 1 } })
  ids.push(answer.json().id)
}
await serve(app, ids)
