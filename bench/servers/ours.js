// This package, with the given storage, from the given checkout.
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import Fastify from 'fastify'
import { customerOf } from '../scenarios.js'
import { idOf, makeLogs } from './make-log.js'
import { anywhere, given, serve } from './serve.js'

const load = file => import(pathToFileURL(join(given.checkout, 'build/lib', file)).href)
const { customers, dealbook, deals, memoryStorage } = await load('index.js')
// Not the entry point, which older checkouts have elsewhere.
const { loadItems } = await load('tools/load-items.js')
const open = {
  memory: async () => memoryStorage(),
  sqlite: async () => (await load('storage/sqlite/sqlite-storage.js')).sqliteStorage({ file: given.file }),
  postgres: async () => (await load('storage/postgres/postgres-storage.js')).postgresStorage(given.postgres)
}
const storage = await open[given.storage]()

function * count (amount, make) {
  for (let n = 1; n <= amount; n++) yield make(n)
}
await loadItems(storage, customers, count(given.customers, customerOf))
const now = new Date().toISOString()
const deal = { name: 'a deal', price: 1, held: false, status: 'open', revision: 1, createdAt: now, updatedAt: now }
await loadItems(storage, deals, count(given.deals, n => ({ id: idOf(n), ...deal })))
const app = Fastify()
// By default, the middle of a million is beyond the reach of page numbers.
await app.register(dealbook, { storage, version: 'v1', maxPageSize: Math.max(1000, given.customers / 50) })
const logs = []
let taken = 0
for (const entries of given.logs ?? []) {
  const ids = Array.from({ length: 1 + Math.min(1000, Math.ceil(50_000 / entries)) }, () => idOf(++taken))
  logs.push(await makeLogs(app, storage, { entries, ids }))
}
// As many deals as any number of connections needs, from all over the table.
const chosen = Math.min(given.deals, 1000)
const ids = Array.from({ length: chosen }, (_, index) => idOf(1 + Math.floor(index * given.deals / chosen)))
await serve(await app.listen(anywhere), { ids, logs }, async id => {
  const answer = await app.inject(`/rest/v1/deals/${id}/price-changes`)
  return answer.json().items.length
})
