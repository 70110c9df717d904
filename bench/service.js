// node bench/service.js [checkout…]: the cost of an operation without HTTP, on a storage that does nothing. Only the
// checks, the decision and the log entry are left. Several builds are measured in turns.
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { checkout } from './contest.js'

const [rounds, operations, atOnce] = [20, 20_000, 32]

const services = []
for (const folder of process.argv.length > 2 ? process.argv.slice(2) : [checkout]) {
  const { deals } = await import(pathToFileURL(resolve(folder, 'build/lib/index.js')).href)
  services.push({ folder, service: deals.service({ storage: makeStorage() }), costs: [] })
}
let price = 1
// The first rounds only warm up.
for (let round = -3; round < rounds; round++) {
  for (const { service, costs } of services) {
    const before = process.cpuUsage()
    await Promise.all(Array.from({ length: atOnce }, () => change(service, operations / atOnce)))
    const { user, system } = process.cpuUsage(before)
    if (round >= 0) costs.push((user + system) / operations)
  }
}
for (const { folder, costs } of services) {
  const [least, middle] = [0, rounds / 2].map(at => costs.toSorted((a, b) => a - b)[at].toFixed(1))
  console.log(`${folder}: ${middle} µs of CPU time per operation, ${least} in the best round`)
}

async function change (service, times) {
  for (let n = 0; n < times; n++) {
    await service.run('change-price', `deal-${++price % 1000}`, { newPrice: price, reason: 'bench' })
  }
}

/** A thousand deals; only their last state is kept. */
function makeStorage () {
  const now = new Date().toISOString()
  const deal = { name: 'a deal', price: 1, held: false, status: 'open', revision: 1, createdAt: now, updatedAt: now }
  const items = new Map(Array.from({ length: 1000 }, (_, n) => [`deal-${n}`, { id: `deal-${n}`, ...deal }]))
  return {
    async prepare () {},
    async find () { return { items: [] } },
    async get (_family, id) { return items.get(id) },
    async commit ([{ item }]) { items.set(item.id, item) },
    async close () {}
  }
}
