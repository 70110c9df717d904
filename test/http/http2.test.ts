import { once } from 'node:events'
import type {
  ClientHttp2Session, ClientHttp2Stream, OutgoingHttpHeaders, SecureClientSessionOptions
} from 'node:http2'
import { connect, constants } from 'node:http2'
import { setTimeout as delay } from 'node:timers/promises'
import { Type } from '@sinclair/typebox'
import Fastify from 'fastify'
import type { Test } from 'tap'
import t from 'tap'
import type { FamilyOptions, Storage } from '../../lib/index.js'
import { deals, defineFamily, memoryStorage } from '../../lib/index.js'
import { loadItems } from '../../lib/tools/index.js'
import { home } from '../deals/app.js'

const notes = defineFamily({
  name: 'notes',
  singular: 'note',
  fields: Type.Object({ id: Type.Integer(), text: Type.String() })
})

interface Host {
  readonly storage: Storage
  readonly logged: string[]
  /** Reads that have begun, that are at work, and why the last failed. */
  readonly reads: { begun: number, atWork: number, failure?: unknown }
  open (options?: SecureClientSessionOptions): Promise<ClientHttp2Session>
}

/** A host over HTTP/2, whose reads take a while. */
async function listen (t: Test, { options = {}, wait = async () => {} }: {
  readonly options?: Partial<FamilyOptions>
  readonly wait?: (read: number, signal?: AbortSignal) => Promise<unknown>
} = {}): Promise<Host> {
  const { findText, ...memory } = memoryStorage()
  const reads: Host['reads'] = { begun: 0, atWork: 0 }
  const storage: Storage = {
    ...memory,
    async find (family, query, signal) {
      reads.atWork++
      try {
        await wait(reads.begun++, signal)
        return await memory.find(family, query, signal)
      } catch (error) {
        reads.failure = error
        throw error
      } finally {
        reads.atWork--
      }
    }
  }
  const logged: string[] = []
  const app = Fastify({
    http2: true,
    forceCloseConnections: true,
    logger: { level: 'info', stream: { write: (line: string) => { logged.push(line) } } }
  })
  t.teardown(() => app.close())
  app.register(deals, { storage, version: 'v1', ...options })
  app.register(notes, { storage, ...options })
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  return {
    storage,
    logged,
    reads,
    async open (options) {
      const session = connect(url, options)
      session.on('error', () => {})
      t.teardown(() => session.destroy())
      await once(session, 'remoteSettings')
      return session
    }
  }
}

interface Answer {
  readonly status: number
  readonly headers: OutgoingHttpHeaders
  readonly body: string
}

function send (session: ClientHttp2Session, path: string, headers: OutgoingHttpHeaders = {}): ClientHttp2Stream {
  const stream = session.request({ ':path': path, ...headers }, { endStream: headers[':method'] === undefined })
  stream.on('error', () => {})
  return stream
}

/** The answer; undefined where the stream ended without one, or in the middle of it. */
async function read (stream: ClientHttp2Stream): Promise<Answer | undefined> {
  let body = ''
  let headers: OutgoingHttpHeaders = {}
  stream.setEncoding('utf8').on('data', (part: string) => { body += part })
  stream.on('response', received => { headers = received })
  await new Promise(resolve => stream.once('close', resolve))
  const status = headers[':status']
  return stream.rstCode === 0 && status !== undefined ? { status: Number(status), headers, body } : undefined
}

t.test('what is there over HTTP/1 is there over HTTP/2', async t => {
  const { open } = await listen(t)
  const session = await open()
  const post = async (headers: OutgoingHttpHeaders, body: string) =>
    await read(send(session, home, { ':method': 'POST', ...headers }).end(body))
  const json = { 'content-type': 'application/json' }
  t.equal((await post(json, '{"name":"Tea","price":1}'))?.status, 201)
  t.equal((await post(json, '{"name":"Tea"}'))?.status, 400)
  t.match((await read(send(session, `${home}?fields=name`)))?.body, '"name":"Tea"')
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  const own = `http://127.0.0.1:${session.socket.remotePort}`
  t.equal((await post({ ...form, origin: own }, 'name=a&price=1'))?.status, 201, 'a form of our own')
  t.equal((await post({ ...form, origin: 'http://evil.example' }, 'name=a&price=1'))?.status, 403)
})

t.test('a client that cancels ends its work', async t => {
  const { open, storage, reads } = await listen(t, {
    async wait (read, signal) {
      if (read > 0 || signal === undefined) return
      await once(signal, 'abort')
      signal.throwIfAborted()
    }
  })
  await loadItems(storage, notes, [{ id: 1, text: 'a' }])
  const session = await open()
  const slow = send(session, '/notes')
  while (reads.atWork === 0) await delay(5)
  slow.close(constants.NGHTTP2_CANCEL)
  while (reads.atWork > 0) await delay(5)
  t.match(reads.failure, { code: 'timeout', statusCode: 499 })
  t.equal((await read(send(session, '/notes/1')))?.status, 200)
})

const manyNotes = Array.from({ length: 500 }, (_, id) => ({ id, text: 'x'.repeat(3500) }))

t.test('a client that does not read its export is cut off, however lively its connection', async t => {
  const { open, storage, logged } = await listen(t, { options: { timeout: 200 } })
  await loadItems(storage, notes, manyNotes)
  const session = await open()
  const stream = send(session, '/notes.ndjson')
  const ended = new Promise(resolve => stream.once('close', resolve))
  await once(stream, 'response')
  const lively = setInterval(() => { session.ping(() => {}) }, 20)
  t.teardown(() => { clearInterval(lively) })
  while (!logged.join('').includes('did not read it for too long')) await delay(20)
  stream.resume()
  await ended
  t.not(stream.rstCode, constants.NGHTTP2_NO_ERROR)
  // Under the limit of every day: in 200 ms, a client on a busy machine may get nothing.
  const patient = await listen(t)
  await loadItems(patient.storage, notes, manyNotes)
  const whole = await read(send(await patient.open(), '/notes.ndjson'))
  t.equal(whole?.body.trimEnd().split('\n').length, 500, 'one that reads has all of it')
})

t.test('a client that opens no window is cut off, where the answer is large', async t => {
  const { open, storage } = await listen(t, { options: { timeout: 200 } })
  await loadItems(storage, notes, manyNotes)
  const first = await open()
  const session = await open({ settings: { initialWindowSize: 0 } })
  for (const path of ['/notes', '/notes.csv', '/notes.xml?maxpagesize=500']) {
    const stream = send(session, path)
    await once(stream, 'response')
    await new Promise(resolve => stream.once('close', resolve))
    t.not(stream.rstCode, constants.NGHTTP2_NO_ERROR, path)
  }
  t.equal((await read(send(first, '/notes?maxpagesize=3')))?.status, 200)
})

t.test('an export that fails midway does not look whole', async t => {
  const { open, storage } = await listen(t, {
    async wait (read) { if (read === 3) throw new Error('no disk') }
  })
  await loadItems(storage, notes, manyNotes)
  const session = await open()
  t.equal(await read(send(session, '/notes.ndjson')), undefined)
})
