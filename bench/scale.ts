// Does a page cost more when much lies before it? Prints the cost with a thousand and with a million customers.
import { customers, loadItems, memoryStorage } from 'fastify-dealbook'
import type { Condition, Query, Storage } from 'fastify-dealbook'

const sizes = [1_000, 1_000_000]
const limit = 50
const rounds = 7
const callsPerRound = 2_000

const pages: Record<string, (size: number) => Query> = {
  'page by key, in the middle': size => query([{ field: 'id', op: 'gt', value: size / 2 }], 0),
  'page by number, in the middle': size => query([], size / 2)
}

function query (where: Condition[], offset: number): Query {
  return { where, order: [{ field: 'id', descending: false }], offset, limit: limit + 1, count: false }
}

function * people (count: number): Generator<object> {
  for (let id = 1; id <= count; id++) yield { id, age: id % 100, children: id % 4 }
}

/** Microseconds a call, the best round of several: whatever else the machine does only ever adds. */
async function measure (storage: Storage, page: Query): Promise<number> {
  let best = Infinity
  for (let round = 0; round < rounds; round++) {
    const began = performance.now()
    for (let call = 0; call < callsPerRound; call++) await storage.find('customers', page)
    best = Math.min(best, (performance.now() - began) * 1000 / callsPerRound)
  }
  return best
}

const storages: Storage[] = []
for (const size of sizes) {
  const storage = memoryStorage()
  await loadItems(storage, customers, people(size))
  storages.push(storage)
}
// Once over everything before anything counts, so that no size pays for warming up.
for (const [index, storage] of storages.entries()) for (const page of Object.values(pages)) await measure(storage, page(sizes[index] as number))

for (const [name, page] of Object.entries(pages)) {
  const costs: number[] = []
  for (const [index, storage] of storages.entries()) costs.push(await measure(storage, page(sizes[index] as number)))
  const [small, large] = costs as [number, number]
  console.log(`${name.padEnd(30)} ${sizes.map((size, index) => `${size.toLocaleString('en')} customers: ${costs[index]?.toFixed(2)} µs`).join(', ')}; ratio ${(large / small).toFixed(2)}`)
}
