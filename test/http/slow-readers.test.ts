import { once } from 'node:events'
import type { ClientHttp2Stream } from 'node:http2'
import { connect as connectHttp2 } from 'node:http2'
import type { AddressInfo, Socket } from 'node:net'
import { connect } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Type } from '@sinclair/typebox'
import type { FastifyInstance, FastifyServerOptions } from 'fastify'
import Fastify from 'fastify'
import type { Test } from 'tap'
import t from 'tap'
import { customers, defineFamily, loadItems, memoryStorage } from '../../lib/index.js'
import { people } from '../customers-app.js'

const notes = defineFamily({
  name: 'notes',
  singular: 'note',
  fields: Type.Object({ id: Type.Integer(), text: Type.String() })
})
const readers = 100
const storage = memoryStorage()
// An export of 10 MB; a page of 1000 of them ends earlier.
await loadItems(storage, notes, Array.from({ length: 2500 }, (_, id) => ({ id, text: 'x'.repeat(4000) })))
await loadItems(storage, customers, people(100))

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

/** Megabytes that are in use, when all that is not is collected. */
function measureMemory (): number {
  collect()
  const { heapUsed, external } = process.memoryUsage()
  return (heapUsed + external) / 1e6
}

async function listen (t: Test, server: FastifyServerOptions = {}): Promise<{ app: FastifyInstance, port: number }> {
  const app = Fastify({ forceCloseConnections: true, ...server })
  t.teardown(() => app.close())
  app.register(notes, { storage })
  app.register(customers, { storage })
  await app.listen({ port: 0, host: '127.0.0.1' })
  return { app, port: (app.server.address() as AddressInfo).port }
}

/** Asks for something over HTTP/1, and takes nothing of it. */
async function askAndWait (t: Test, port: number, path: string): Promise<Socket> {
  const socket = connect(port, '127.0.0.1').pause()
  t.teardown(() => socket.destroy())
  socket.on('error', () => {})
  await once(socket, 'connect')
  socket.write(`GET ${path} HTTP/1.1\r\nhost: a\r\n\r\n`)
  return socket
}

/** All pages that others ask for meanwhile are served, and the memory stays within bounds. */
async function checkOthers (t: Test, before: number, get: (path: string) => Promise<number>, most: number) {
  for (let n = 0; n < 5; n++) {
    for (const path of ['/customers', '/notes?maxpagesize=3', '/notes?maxpagesize=1000', '/notes/1']) {
      t.equal(await get(path), 200, path)
    }
    await delay(10)
  }
  const grown = measureMemory() - before
  t.ok(grown < most, `${Math.round(grown)} MB more than before`)
}

for (const [path, most] of [['/notes.ndjson', 150], ['/notes?maxpagesize=1000', 600]] as const) {
  t.test(`HTTP/1, ${path}: ${readers} who read nothing deny nothing to others`, async t => {
    const { port } = await listen(t)
    const before = measureMemory()
    const sockets = await Promise.all(Array.from({ length: readers }, () => askAndWait(t, port, path)))
    for (const socket of sockets) while (socket.readableLength === 0) await once(socket, 'readable')
    const get = async (path: string) => {
      const answer = await fetch(`http://127.0.0.1:${port}${path}`)
      await answer.arrayBuffer()
      return answer.status
    }
    await checkOthers(t, before, get, most)
  })
}

for (const [path, most] of [['/notes.ndjson', 150], ['/notes?maxpagesize=1000', 600]] as const) {
  t.test(`HTTP/2, ${path}: ${readers} who read nothing deny nothing to others`, async t => {
    const { port } = await listen(t, { http2: true } as FastifyServerOptions)
    const open = () => {
      const session = connectHttp2(`http://127.0.0.1:${port}`)
      session.on('error', () => {})
      t.teardown(() => session.destroy())
      return session
    }
    const before = measureMemory()
    for (let n = 0; n < readers / 10; n++) {
      const session = open()
      const streams = Array.from({ length: 10 }, () => session.request({ ':path': path }).on('error', () => {}))
      await Promise.all(streams.map(stream => once(stream, 'response')))
    }
    const other = open()
    const get = async (path: string) => await readStatus(other.request({ ':path': path }))
    await checkOthers(t, before, get, most)
  })
}

t.test('HTTP/2: clients that begin an export and reset it leave nothing behind', async t => {
  const { port } = await listen(t, { http2: true } as FastifyServerOptions)
  const before = measureMemory()
  for (let n = 0; n < readers; n++) {
    const session = connectHttp2(`http://127.0.0.1:${port}`)
    session.on('error', () => {})
    const stream = session.request({ ':path': '/notes.ndjson' }).on('error', () => {})
    await once(stream, 'response')
    stream.close()
    session.destroy()
    await once(session, 'close')
  }
  const other = connectHttp2(`http://127.0.0.1:${port}`)
  t.teardown(() => other.destroy())
  await checkOthers(t, before, path => readStatus(other.request({ ':path': path })), 100)
})

async function readStatus (stream: ClientHttp2Stream): Promise<number> {
  const [headers] = await once(stream, 'response') as [{ ':status': number }]
  for await (const part of stream) if (part === undefined) break
  return headers[':status']
}
