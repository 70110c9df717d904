// Does a page cost more when much lies before it? Prints the cost with a thousand and with a million customers, for
// every storage in a process of its own, and the most memory that the process had while it loaded and served them.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Fastify from 'fastify'
import type { Storage } from '../lib/index.js'
import { customers, loadItems, memoryStorage } from '../lib/index.js'
import { postgresStorage } from '../lib/storage/postgres/postgres-storage.js'
import { sqliteStorage } from '../lib/storage/sqlite/sqlite-storage.js'
import { startServer } from '../test/postgres/server.js'

const sizes = [1_000, 1_000_000]
const rounds = 5

const openers: Record<string, (place: string, size: number) => Storage> = {
  memory: () => memoryStorage(),
  sqlite: (folder, size) => sqliteStorage({ file: join(folder, `${size}.db`) }),
  postgres: (connectionString, size) => postgresStorage({ connectionString, schema: `of_${size}` })
}

const pages: Record<string, (size: number) => string> = {
  'page by key, in the middle': size => `/customers?gt=${size / 2}`,
  'page by number, in the middle': size => `/customers?page=${size / 100}`
}

function * people (count: number): Generator<object> {
  for (let id = 1; id <= count; id++) yield { id, age: id % 100, children: id % 4 }
}

/** Loads both sizes and measures the pages, as one process. */
async function run (name: string, place: string): Promise<void> {
  const apps = await Promise.all(sizes.map(async size => {
    const storage = openers[name]?.(place, size) as Storage
    const began = performance.now()
    await loadItems(storage, customers, people(size), {
      onProgress: loaded => {
        if (loaded % 250_000 === 0) console.log(`${name}: ${loaded.toLocaleString('en')} loaded`)
      }
    })
    if (size === sizes.at(-1)) console.log(`${name}: loaded in ${((performance.now() - began) / 1000).toFixed(1)} s`)
    const app = Fastify()
    // The middle of a million is further than clients may go by number.
    await app.register(customers, { storage, maxSkipped: size })
    app.addHook('onClose', () => storage.close())
    return app
  }))
  for (const [title, page] of Object.entries(pages)) {
    const costs = apps.map(() => Infinity)
    // In turns, so that neither size has the better half of the time; the first round warms up.
    for (let round = 0; round <= rounds; round++) {
      for (const [index, app] of apps.entries()) {
        const url = page(sizes[index] as number)
        // As many calls as take a while, but not minutes where a page is slow.
        const calls = title.includes('key') || name === 'memory' ? 500 : 20
        const began = performance.now()
        for (let call = 0; call < calls; call++) await app.inject(url)
        // The best round: whatever else the machine does only ever adds.
        if (round > 0) costs[index] = Math.min(costs[index] as number, (performance.now() - began) * 1000 / calls)
      }
    }
    const [small, large] = costs as [number, number]
    const shown = costs.map((cost, index) => `${cost.toFixed(0)} µs with ${sizes[index]?.toLocaleString('en')}`)
    console.log(`${name}: ${title}: ${shown.join(', ')}; ratio ${(large / small).toFixed(2)}`)
  }
  console.log(`${name}: ${(process.resourceUsage().maxRSS / 1024).toFixed(0)} MB of memory at most`)
  for (const app of apps) await app.close()
}

const [, file, name, place] = process.argv
if (name !== undefined) {
  await run(name, place as string)
} else {
  const folder = await mkdtemp(join(tmpdir(), 'dealbook-scale-'))
  const given = process.env['TEST_PG_URL']
  const postgres = given === undefined ? await startServer() : undefined
  const places = { memory: '-', sqlite: folder, postgres: given ?? postgres?.url as string }
  for (const [name, place] of Object.entries(places)) {
    await once(spawn(process.execPath, [file as string, name, place], { stdio: 'inherit' }), 'exit')
  }
  await postgres?.dispose()
  await rm(folder, { recursive: true })
}
