// How much memory does an export need? Sends a million customers to a slow reader and prints the peak of the server.
import type { ChildProcess } from 'node:child_process'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import http from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import Fastify from 'fastify'
import { customers } from '../lib/index.js'
import { sqliteStorage } from '../lib/storage/sqlite/sqlite-storage.js'
import { loadItems } from '../lib/tools/index.js'

const count = Number(process.env.COUNT ?? 1_000_000)
const limit = 200
// Bytes that the reader reads before it pauses.
const sip = 1_000_000

const [task, file] = process.argv.slice(2) as [string?, string?]
if (task === 'load') await load(file as string)
else if (task === 'serve') await serve(file as string)
else await measure()

function * people (): Generator<object> {
  for (let id = 1; id <= count; id++) yield { id, age: id % 100, children: id % 4 }
}

async function load (file: string): Promise<void> {
  const storage = sqliteStorage({ file })
  await loadItems(storage, customers, people(), { batchSize: 10_000 })
  await storage.close()
}

async function serve (file: string): Promise<void> {
  const app = Fastify()
  app.register(customers, { storage: sqliteStorage({ file }) })
  process.send?.(await app.listen({ port: 0 }))
  process.on('message', () => process.send?.(process.resourceUsage().maxRSS / 1024))
}

async function measure (): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'export-'))
  const file = join(folder, 'customers.db')
  let server: ChildProcess | undefined
  try {
    // In a separate process, so that loading does not count.
    const [code] = await once(child('load', file), 'exit') as [number]
    if (code !== 0) throw new Error('the customers could not be loaded')
    for (const suffix of ['ndjson', 'csv']) {
      server = child('serve', file)
      const [address] = await once(server, 'message') as [string]
      const { lines, seconds } = await readSlowly(`${address}/customers.${suffix}`)
      server.send('peak')
      const [peak] = await once(server, 'message') as [number]
      server.kill()
      const read = `${lines.toLocaleString('en')} lines to a slow reader in ${seconds.toFixed(0)} s`
      console.log(`${suffix}: ${read}, the server's peak ${peak.toFixed(0)} MB (must be below ${limit})`)
      if (peak >= limit) process.exitCode = 1
    }
  } finally {
    server?.kill()
    await rm(folder, { recursive: true })
  }
}

function child (...args: [task: string, file: string]): ChildProcess {
  return fork(import.meta.filename, args)
}

async function readSlowly (url: string): Promise<{ lines: number, seconds: number }> {
  const began = performance.now()
  const [response] = await once(http.get(url), 'response') as [http.IncomingMessage]
  let lines = 0
  let taken = 0
  for await (const part of response as AsyncIterable<Buffer>) {
    for (const byte of part) if (byte === 10) lines++
    taken += part.length
    if (taken < sip) continue
    taken = 0
    await pause(200)
  }
  return { lines, seconds: (performance.now() - began) / 1000 }
}
