import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import Fastify from 'fastify'
import { customers, deals, loadItems, Problem } from '../../lib/index.js'
import { sqliteStorage } from '../../lib/storage/sqlite/sqlite-storage.js'

// A host like any other, which also says how it is: run as a process of its own, with the file of its database and the
// number of its customers.
const [, , file, count] = process.argv as string[]
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
const delay = monitorEventLoopDelay({ resolution: 10 })

app.get('/-/state', { logLevel: 'silent' }, async () => {
  const longestStall = delay.max / 1e6
  delay.disable()
  collectGarbage()
  const handles = process.getActiveResourcesInfo().filter(name => name === 'TCPSocketWrap').length
  const { heapUsed, rss } = process.memoryUsage()
  delay.reset()
  delay.enable()
  return { longestStall, handles, heapUsed, rss }
})
app.addHook('onClose', () => storage.close())
process.once('SIGTERM', () => { app.close().finally(() => process.exit()) })
process.stdout.write(`${await app.listen({ port: 0, host: '127.0.0.1' })}\n`)

function * makeCustomers (count: number): Generator<object> {
  for (let n = 0; n < count; n++) yield { id: n + 1, age: 18 + n % 80, children: n % 5 }
}
