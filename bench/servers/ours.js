// This package, on the storage that is named, from the checkout that is named.
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import Fastify from 'fastify'
import * as amount from '../scenarios.js'
import { anywhere, given, serve } from './serve.js'

const load = file => import(pathToFileURL(join(given.checkout, 'build/lib', file)).href)
const { customers, dealbook, loadItems, memoryStorage } = await load('index.js')
const open = {
  memory: async () => memoryStorage(),
  sqlite: async () => (await load('storage/sqlite/sqlite-storage.js')).sqliteStorage({ file: given.file }),
  postgres: async () => (await load('storage/postgres/postgres-storage.js')).postgresStorage(given.postgres)
}
const storage = await open[given.storage]()

function * people () {
  for (let id = 1; id <= amount.customers; id++) yield amount.customerOf(id)
}
await loadItems(storage, customers, people())
const app = Fastify()
await app.register(dealbook, { storage, version: 'v1' })
const ids = []
for (let n = 0; n < amount.deals; n++) {
  const answer = await app.inject({ method: 'POST', url: '/rest/v1/deals', payload: { name: 'a deal', price: 1 } })
  ids.push(answer.json().id)
}
await serve(await app.listen(anywhere), ids, async id => {
  const answer = await app.inject(`/rest/v1/deals/${id}/price-changes`)
  return answer.json().items.length
})
