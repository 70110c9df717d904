import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Type } from '@sinclair/typebox'
import Fastify from 'fastify'
import { customers, deals, defineFamily, memoryStorage, Problem } from '../../lib/index.js'
import { sqliteStorage } from '../../lib/storage/sqlite/sqlite-storage.js'
import { loadItems } from '../../lib/tools/index.js'

// A host like any other, which also says how it is: run as a process of its own, with the file of its database, the
// number of its customers and that of its notes, each of 200,000 characters.
const [, , file, count, noteCount] = process.argv as string[]
setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

const storage = sqliteStorage({ file: file as string })
await loadItems(storage, customers, makeCustomers(Number(count)), { batchSize: 10_000 })
const app = Fastify()
app.register(customers, { storage })
app.register(deals, { storage, version: 'v1' })
app.register(customers, {
  storage,
  prefix: '/closed',
  authorize () { throw new Problem('unauthorized', 'Who are you?') }
})
const notes = defineFamily({
  name: 'notes',
  singular: 'note',
  fields: Type.Object({ id: Type.Integer(), text: Type.String() })
})
for (const [prefix, store] of [['/in-file', storage], ['/in-memory', memoryStorage()]] as const) {
  await loadItems(store, notes, makeNotes(Number(noteCount)), { batchSize: 5 })
  app.register(notes, { storage: store, prefix })
}

app.get('/-/state', { logLevel: 'silent' }, async () => {
  collectGarbage()
  const handles = process.getActiveResourcesInfo().filter(name => name === 'TCPSocketWrap').length
  const { heapUsed, rss } = process.memoryUsage()
  return { handles, heapUsed, rss }
})
app.addHook('onClose', () => storage.close())
process.once('SIGTERM', () => { app.close().finally(() => process.exit()) })
process.stdout.write(`${await app.listen({ port: 0, host: '127.0.0.1' })}\n`)

function * makeCustomers (count: number): Generator<object> {
  for (let n = 0; n < count; n++) yield { id: n + 1, age: 18 + n % 80, children: n % 5 }
}

function * makeNotes (count: number): Generator<object> {
  for (let n = 0; n < count; n++) yield { id: n + 1, text: String(n).padEnd(200_000, 'x') }
}
