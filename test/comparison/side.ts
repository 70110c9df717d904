// One build in a process of its own: node build/test/comparison/side.js FOLDER STORAGE, with requests by IPC.
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { FastifyInstance } from 'fastify'
import type { Storage } from '../../lib/index.js'
import { type Build, makeApp } from './app.js'
import { inject } from './compare.js'
import type { Sent } from './requests.js'

const [folder = '', kind = 'memory'] = process.argv.slice(2)
const load = async (path: string) => await import(pathToFileURL(join(folder, 'build/lib', path)).href)
const build: Build & { memoryStorage (): Storage } = { ...await load('index.js'), ...await load('mcp/mcp.js') }

let app: FastifyInstance | undefined
let storage: Storage | undefined

async function open (place: string): Promise<Storage> {
  if (kind === 'sqlite') return (await load('storage/sqlite/sqlite-storage.js')).sqliteStorage({ file: ':memory:' })
  if (kind !== 'postgres') return build.memoryStorage()
  const { postgresStorage } = await load('storage/postgres/postgres-storage.js')
  return postgresStorage({ connectionString: place, schema: `compare_${process.pid}_${++opened}`, poolSize: 3 })
}

let opened = 0
const ready = { status: 200, headers: {}, body: '' }

process.on('message', (message: { readonly start?: string, readonly sent?: readonly Sent[] }) => {
  answer(message).then(answer => { process.send?.(answer) }, (error: Error) => {
    process.send?.([{ status: 0, headers: {}, body: String(error.stack) }])
  })
})

async function answer ({ start, sent }: { readonly start?: string, readonly sent?: readonly Sent[] }) {
  if (sent !== undefined && app !== undefined) return await inject(app, sent)
  await app?.close()
  await storage?.close()
  app = await makeApp(build, storage = await open(start ?? ''))
  return [ready]
}

process.once('disconnect', () => { process.exit() })
process.send?.([ready])
