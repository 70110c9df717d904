import { once } from 'node:events'
import { get as getHttp } from 'node:http'
import type { ClientHttp2Session, ClientHttp2Stream, Http2ServerRequest } from 'node:http2'
import { connect as connectHttp2, constants } from 'node:http2'
import { get as getHttps } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { connect } from 'node:net'
import type { Duplex, Readable } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { connect as connectTls } from 'node:tls'
import { Type } from '@sinclair/typebox'
import type { FastifyRequest, FastifyServerOptions } from 'fastify'
import Fastify from 'fastify'
import type { Test } from 'tap'
import t from 'tap'
import type { Storage } from '../../lib/index.js'
import { customers, defineFamily, memoryStorage } from '../../lib/index.js'
import { loadItems } from '../../lib/tools/index.js'
import { people } from '../customers-app.js'
import { isLong } from '../size.js'

const notes = defineFamily({
  name: 'notes',
  singular: 'note',
  fields: Type.Object({ id: Type.Integer(), text: Type.String() })
})
// An export of 10 MB; a page of 1000 of them ends earlier.
const allRows = 2500
const rowLength = 4000
// An export reads so many of them at once.
const batchRows = 50
const stored = memoryStorage()
await loadItems(stored, notes, Array.from({ length: allRows }, (_, id) => ({ id, text: 'x'.repeat(rowLength) })))
await loadItems(stored, customers, people(100))

/** What one request has read of the notes. */
interface Reading {
  /** The socket, or the stream of HTTP/2, that the response is written to. */
  readonly outgoing: Duplex
  /** Bytes that are no longer in the process. */
  countAccepted (): number
  /** Calls of the storage that have not returned. */
  atWork: number
  rows: number
  /** The most characters that were read and that the system had not yet accepted. */
  mostKept: number
}

/** Counts what a request reads. */
function meterStorage ({ raw }: FastifyRequest, readings: Reading[]): Storage {
  const { stream } = raw as unknown as Partial<Http2ServerRequest>
  const outgoing: Duplex = stream ?? raw.socket
  // Of a stream of HTTP/2 the system accepts no more than its window, which is 0 or small.
  const countAccepted = () => stream === undefined ? raw.socket.bytesWritten - raw.socket.writableLength : 0
  const reading: Reading = { outgoing, countAccepted, atWork: 0, rows: 0, mostKept: 0 }
  readings.push(reading)
  const { findText, ...others } = stored
  return {
    ...others,
    async find (family, query, signal) {
      reading.atWork++
      try {
        const found = await stored.find(family, query, signal)
        reading.rows += found.items.length
        reading.mostKept = Math.max(reading.mostKept, reading.rows * rowLength - countAccepted())
        return found
      } finally {
        reading.atWork--
      }
    }
  }
}

/** Without certificates: the ends of the connection do not prove who they are. */
const anonymous = { ciphers: 'aNULL:@SECLEVEL=0', maxVersion: 'TLSv1.2' } as const

interface Transport {
  readonly name: string
  readonly isHttp2: boolean
  readonly isTls: boolean
}
const transports: readonly Transport[] = [
  { name: 'HTTP/1', isHttp2: false, isTls: false },
  { name: 'HTTPS', isHttp2: false, isTls: true },
  { name: 'HTTP/2', isHttp2: true, isTls: false },
  { name: 'HTTP/2 with TLS', isHttp2: true, isTls: true }
]

interface Host extends Transport {
  readonly readings: Reading[]
  /** Connects by HTTP/1, asks, and takes nothing of the response. */
  ask (path: string): Promise<Socket>
  openSession (initialWindowSize?: number): ClientHttp2Session
  /** The status of a response that is read to its end, on a new connection. */
  getStatus (path: string): Promise<number>
}

async function listen (t: Test, transport: Transport): Promise<Host> {
  const { isHttp2, isTls } = transport
  const readings: Reading[] = []
  const options = { http2: isHttp2, forceCloseConnections: true, ...isTls ? { https: anonymous } : {} }
  const app = Fastify(options as FastifyServerOptions)
  t.teardown(() => app.close())
  // Long enough that no client is cut off while this runs.
  app.register(notes, { storage: request => meterStorage(request, readings), timeout: 100_000 })
  app.register(customers, { storage: stored })
  await app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = app.server.address() as AddressInfo
  const trusting = { ...anonymous, rejectUnauthorized: false }
  const openSession = (initialWindowSize?: number) => {
    const settings = initialWindowSize === undefined ? {} : { initialWindowSize }
    const session = connectHttp2(`http${isTls ? 's' : ''}://127.0.0.1:${port}`, { ...trusting, settings })
    t.teardown(() => session.destroy())
    return session.on('error', () => {})
  }
  return {
    ...transport,
    readings,
    openSession,
    async ask (path) {
      const socket = isTls ? connectTls(port, '127.0.0.1', trusting) : connect(port, '127.0.0.1')
      t.teardown(() => socket.destroy())
      socket.pause().on('error', () => {})
      await once(socket, isTls ? 'secureConnect' : 'connect')
      socket.write(`GET ${path} HTTP/1.1\r\nhost: a\r\n\r\n`)
      return socket
    },
    async getStatus (path) {
      if (isHttp2) {
        const session = openSession()
        const stream = session.request({ ':path': path })
        const [headers] = await once(stream, 'response') as [{ ':status': number }]
        await readAll(stream)
        session.close()
        return headers[':status']
      }
      const request = isTls
        ? getHttps({ port, path, host: '127.0.0.1', agent: false, ...trusting })
        : getHttp({ port, path, host: '127.0.0.1', agent: false })
      const [response] = await once(request, 'response') as [Readable & { statusCode: number }]
      await readAll(response)
      return response.statusCode
    }
  }
}

async function readAll (readable: Readable): Promise<void> {
  await once(readable.resume(), 'end')
}

async function until (isSo: () => boolean): Promise<void> {
  while (!isSo()) await pause(1)
}

// Of several batches.
const otherExport = isLong ? '/notes.ndjson' : `/notes.ndjson?lt=${5 * batchRows}`
const lists = ['/notes', '/notes?maxpagesize=3', '/notes?maxpagesize=1000', '/notes.xml', otherExport]

async function checkLists (t: Test, { getStatus }: Host): Promise<void> {
  for (const path of lists) {
    t.equal(await getStatus(path), 200, path)
  }
}

interface Ask {
  readonly path: string
  readonly readers: number
  /** Of each reader, in characters. */
  readonly most: number
}
// An export keeps a few batches of 200,000 characters, a page all that it has.
const asks: readonly Ask[] = [
  { path: '/notes.ndjson', readers: isLong ? 100 : 20, most: 1e6 },
  { path: '/notes?maxpagesize=1000', readers: isLong ? 100 : 10, most: 3e6 }
]

async function askAndTakeNothing (host: Host, { path, readers }: Ask): Promise<void> {
  if (!host.isHttp2) {
    for (let n = 0; n < readers; n++) await host.ask(path)
    return
  }
  // Ten at once on each connection; half of the clients allow no data to be sent.
  for (let n = 0; n < readers / 10; n++) {
    const session = host.openSession(n % 2 === 0 ? 0 : 65_535)
    for (let n = 0; n < 10; n++) session.request({ ':path': path }).on('error', () => {})
  }
}

for (const transport of transports) {
  for (const ask of asks) {
    const { path, readers, most } = ask
    t.test(`${transport.name}, ${path}: ${readers} who take nothing deny no list to others`, async t => {
      const host = await listen(t, transport)
      const { readings } = host
      await askAndTakeNothing(host, ask)
      await until(() => readings.length === readers)
      const slow = readings.slice()
      // The buffers of the system are full, or have room for a whole page.
      const isPage = path.includes('?')
      await until(() => slow.every(({ atWork, outgoing, countAccepted }) => {
        return atWork === 0 && (outgoing.writableLength > 0 || (isPage && countAccepted() > 0))
      }))
      await checkLists(t, host)
      t.ok(slow.every(({ outgoing }) => !outgoing.destroyed), 'no client was cut off')
      const kept = Math.max(...slow.map(({ mostKept }) => mostKept))
      t.ok(kept <= most, `${kept} characters are kept for a client at most`)
    })
  }
}

/** What a client does that has the beginning of a response. */
interface Departure {
  readonly name: string
  readonly isPossible: (transport: Transport) => boolean
  leave (connection: Socket | ClientHttp2Session, stream?: ClientHttp2Stream): void
}
const departures: readonly Departure[] = [
  {
    name: 'destroy the connection',
    isPossible: () => true,
    leave: connection => { connection.destroy() }
  },
  {
    name: 'reset the connection',
    isPossible: ({ isHttp2, isTls }) => !isHttp2 && !isTls,
    leave: connection => { (connection as Socket).resetAndDestroy() }
  },
  {
    name: 'reset the stream with NO_ERROR',
    isPossible: ({ isHttp2 }) => isHttp2,
    leave: (_, stream) => { stream?.close(constants.NGHTTP2_NO_ERROR) }
  },
  {
    name: 'reset the stream with CANCEL',
    isPossible: ({ isHttp2 }) => isHttp2,
    leave: (_, stream) => { stream?.close(constants.NGHTTP2_CANCEL) }
  },
  {
    name: 'reset the stream with NO_ERROR and destroy the connection',
    isPossible: ({ isHttp2 }) => isHttp2,
    leave (connection, stream) {
      stream?.close(constants.NGHTTP2_NO_ERROR)
      connection.destroy()
    }
  }
]

/** All clients leave when each of them has the beginning of its response. */
async function beginAndLeave (host: Host, { path, readers }: Ask, { leave }: Departure): Promise<void> {
  const begin = async () => {
    if (!host.isHttp2) {
      const socket = await host.ask(path)
      await once(socket, 'readable')
      return () => { leave(socket) }
    }
    const session = host.openSession()
    const stream = session.request({ ':path': path }).on('error', () => {})
    await once(stream, 'response')
    return () => { leave(session, stream) }
  }
  for (const leave of await Promise.all(Array.from({ length: readers }, begin))) leave()
}

for (const transport of transports) {
  // Over HTTP/1, the buffers of the system may have room for a whole page.
  for (const { path, most } of transport.isHttp2 ? asks : asks.slice(0, 1)) {
    const readers = isLong ? 100 : 5
    const ask = { path, readers, most }
    for (const departure of departures.filter(({ isPossible }) => isPossible(transport))) {
      t.test(`${transport.name}, ${path}: ${readers} who ${departure.name} leave nothing behind`, async t => {
        const host = await listen(t, transport)
        const { readings } = host
        await beginAndLeave(host, ask, departure)
        const left = readings.slice()
        t.equal(left.length, readers)
        await until(() => left.every(({ outgoing, atWork }) => outgoing.destroyed && atWork === 0))
        const before = left.map(({ rows }) => rows)
        await checkLists(t, host)
        const more = left.map(({ rows }, index) => rows - (before[index] as number))
        t.ok(Math.max(...more) <= batchRows, 'nothing more is read than the batch that was next')
        t.ok(left.every(({ rows, atWork }) => rows < allRows && atWork === 0), 'nothing was read to its end')
      })
    }
  }
}
