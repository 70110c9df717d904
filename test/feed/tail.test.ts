import { once, setMaxListeners } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { connect } from 'node:http2'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import Fastify from 'fastify'
import t from 'tap'
import { prunedId } from '../../lib/core/service/feed.js'
import { deals, memoryStorage, type Storage } from '../../lib/index.js'
import { openBook } from '../service/book.js'

t.test('followers that are at the end share their reads', async t => {
  const memory = memoryStorage()
  let reads = 0
  let marks = 0
  const book = openBook({
    ...memory,
    find (...args) {
      reads++
      return memory.find(...args)
    },
    get (...args) {
      if (args[1] === prunedId) marks++
      return memory.get(...args)
    }
  })
  const stop = new AbortController()
  setMaxListeners(20, stop.signal)
  const seen = Array.from({ length: 20 }, () => 0)
  const following = Promise.all(seen.map(async (_, index) => {
    for await (const { action } of book.follow({ signal: stop.signal })) if (action === 'CreateDeal') seen[index]!++
  }))
  // Far more than are read at once.
  for (let made = 0; made < 250; made++) await book.create({ name: 'x', price: 1 })
  while (seen.some(count => count < 250)) await delay(10)
  reads = 0
  marks = 0
  await book.create({ name: 'last', price: 1 })
  while (seen.some(count => count < 251)) await delay(10)
  await delay(50)
  t.ok(reads < 10, `${reads} reads for 20 followers`)
  t.equal(marks, 0, 'whether something was pruned is seen from these')
  stop.abort()
  await following
})

t.test('followers continue after an outage, with what they missed', async t => {
  const { watch, ...memory } = memoryStorage()
  for (const parts of [{ watch }, {}]) {
    let failures = 0
    const find: typeof memory.find = async (...asked) => {
      if (failures-- > 0) throw new Error('down')
      return await memory.find(...asked)
    }
    const book = openBook({ ...memory, ...parts, find } as Storage)
    const narrowed = openBook({ ...memory, ...parts, find } as Storage, {
      authorize: () => ({ where: [{ field: 'price', op: 'gte', value: 2 }] })
    })
    const stop = new AbortController()
    const seen: unknown[] = []
    const following = [book, narrowed].map(async book => {
      for await (const { params } of book.follow({ from: 'now', signal: stop.signal })) seen.push(params?.['price'])
    })
    await delay(50)
    failures = 3
    for (const price of [1, 2]) await book.create({ name: 'x', price })
    while (seen.length < 3) await delay(10)
    t.strictSame(seen.sort(), [1, 2, 2])
    stop.abort()
    await Promise.all(following)
  }
})

const headers = { accept: 'text/event-stream' }

/** Each opens a stream, and leaves when it has begun. */
const leavers: Record<string, (url: string, path: string) => Promise<unknown>> = {
  async 'HTTP/1.1' (url, path) {
    const request = get(url + path, { agent: false, headers })
    const [response] = await once(request, 'response') as [IncomingMessage]
    await once(response, 'data')
    request.destroy()
  },
  async 'HTTP/2' (url, path) {
    const session = connect(url)
    await once(session.request({ ':path': path, ...headers }), 'data')
    session.destroy()
  }
}

for (const [name, openAndLeave] of Object.entries(leavers)) {
  t.test(`streams whose clients have left keep no timer, over ${name}`, async t => {
    const app = Fastify(name === 'HTTP/2' ? { http2: true } as never : { forceCloseConnections: true })
    app.register(deals, { storage: memoryStorage(), version: 'v1' })
    const url = await app.listen({ port: 0 })
    const countTimers = (): number => process.getActiveResourcesInfo().filter(name => name === 'Timeout').length
    const before = countTimers()
    await Promise.all(Array.from({ length: 20 }, () => openAndLeave(url, '/rest/v1/deals/commands')))
    // The server sees it later than the clients.
    while (await promisify(app.server.getConnections.bind(app.server))() > 0) await delay(10)
    await app.close()
    for (let wait = 0; wait < 50 && countTimers() > before; wait++) await delay(20)
    t.ok(countTimers() < before + 10, `${countTimers() - before} more than before`)
  })
}
