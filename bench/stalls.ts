// How long does one request block all others? Sends queries that no index serves over a million customers, on every
// storage, and prints how long each request took, and the longest time that the event loop was blocked meanwhile.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Fastify from 'fastify'
import type { Storage } from '../lib/index.js'
import { memoryStorage } from '../lib/index.js'
import { postgresStorage } from '../lib/storage/postgres/postgres-storage.js'
import { sqliteStorage } from '../lib/storage/sqlite/sqlite-storage.js'
import { heavyQueries, loadPeople, measureStall, people } from '../test/heavy-reads.js'
import { startServer } from '../test/postgres/server.js'

const count = Number(process.env.COUNT ?? 1_000_000)
const bound = 50

const openers: Record<string, (place: string) => Storage> = {
  memory: () => memoryStorage(),
  sqlite: folder => sqliteStorage({ file: join(folder, 'people.db') }),
  // In this thread, in slices.
  'sqlite in memory': () => sqliteStorage({ file: ':memory:' }),
  postgres: connectionString => postgresStorage({ connectionString })
}

const [, file, name, place] = process.argv
if (name === undefined) await runAll()
else await run(name, place as string)

async function runAll (): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'dealbook-stalls-'))
  const given = process.env['TEST_PG_URL']
  const postgres = given === undefined ? await startServer() : undefined
  const names = process.env.STORAGES?.split(',') ?? Object.keys(openers)
  for (const name of names) {
    const place = name === 'postgres' ? given ?? postgres?.url as string : folder
    const [code] = await once(spawn(process.execPath, [file as string, name, place], { stdio: 'inherit' }), 'exit')
    if (code !== 0) process.exitCode = 1
  }
  await postgres?.dispose()
  await rm(folder, { recursive: true })
}

async function run (name: string, place: string): Promise<void> {
  const storage = openers[name]?.(place) as Storage
  await loadPeople(storage, count)
  const app = Fastify()
  await app.register(people, { storage })
  await app.inject('/customers')
  console.log(`${name}, ${count.toLocaleString('en')} rows: longest stall, time of the request`)
  for (const query of heavyQueries) {
    const began = performance.now()
    const { result, stall } = await measureStall(() => app.inject(`/customers?${query}`))
    const took = performance.now() - began
    if (result.statusCode !== 200 || stall > bound) process.exitCode = 1
    const figures = `${stall.toFixed(0).padStart(6)} ms ${took.toFixed(0).padStart(7)} ms`
    console.log(`${figures}  ${result.statusCode}  ${query}`)
  }
  await app.close()
  await storage.close()
}
