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
import { deals, defineFamily, loadItems, memoryStorage } from '../../lib/index.js'
import { home } from '../deals/app.js'

const notes = defineFamily({
  name: 'notes',
  singular: 'note',
  fields: Type.Object({ id: Type.Integer(), text: Type.String() })
})

interface Host {
  readonly storage: Storage
  readonly logged: string[]
  /** Reads that have begun, that are at work, the most that ever were, and why the last failed. */
  readonly reads: { begun: number, atWork: number, most: number, failure?: unknown }
  open (options?: SecureClientSessionOptions): Promise<ClientHttp2Session>
}

/** A host over HTTP/2, whose reads take a while. */
async function listen (t: Test, { options = {}, wait = async () => {} }: {
  readonly options?: Partial<FamilyOptions>
  readonly wait?: (read: number) => Promise<unknown>
} = {}): Promise<Host> {
  const { findText, ...memory } = memoryStorage()
  const reads: Host['reads'] = { begun: 0, atWork: 0, most: 0 }
  const storage: Storage = {
    ...memory,
    async find (family, query, signal) {
      reads.most = Math.max(reads.most, ++reads.atWork)
      try {
        await wait(reads.begun++)
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

const statusesOf = (answers: readonly (Answer | undefined)[]): unknown[] =>
  [...new Set(answers.map(answer => answer?.status))].sort()

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

t.test('of the requests of a connection so many are at work, so many wait, and others are refused', async t => {
  for (const [options, bound] of [[{}, 20], [{ maxPipelined: 3 }, 3]] as const) {
    const gate = makeGate()
    const { open, reads } = await listen(t, { options, wait: () => gate.opened })
    const session = await open()
    const streams = Array.from({ length: 100 + bound + 5 }, () => send(session, home))
    const answers = streams.map(read)
    const refused = await Promise.all(answers.slice(-5))
    t.strictSame(statusesOf(refused), [503])
    t.match(refused[0], {
      headers: { 'retry-after': '1', connection: undefined },
      body: `On a connection at most ${bound} requests may wait for the answers before them (maxPipelined)`
    })
    t.equal(reads.begun, 100, 'so many are at work')
    const other = await open()
    gate.open()
    t.strictSame(statusesOf(await Promise.all(answers.slice(0, -5))), [200], 'all others are answered')
    t.equal(reads.most, 100)
    t.equal((await read(send(other, home)))?.status, 200)
    t.strictSame(statusesOf(await Promise.all(Array.from({ length: 50 }, () => read(send(session, home))))), [200])
  }
})

t.test('who is cancelled while it waits takes no place', async t => {
  const gate = makeGate()
  const { open, reads } = await listen(t, { wait: () => gate.opened })
  const session = await open()
  const working = Array.from({ length: 100 }, () => read(send(session, home)))
  const waiting = Array.from({ length: 20 }, () => send(session, home))
  while (reads.begun < 100) await delay(5)
  for (const stream of waiting) stream.close(constants.NGHTTP2_CANCEL)
  await Promise.all(waiting.map(read))
  const later = Array.from({ length: 20 }, () => read(send(session, home)))
  gate.open()
  t.strictSame(statusesOf(await Promise.all([...working, ...later])), [200])
  t.equal(reads.begun, 120, 'and is not done')
})

t.test('thousands of requests at once end the connection, and nobody else notices', async t => {
  const { open, reads } = await listen(t, { wait: () => delay(1) })
  const other = await open()
  const session = await open()
  const failed = once(session, 'close').catch((error: unknown) => error)
  const streams = Array.from({ length: 2000 }, () => send(session, home))
  t.match(await failed, { message: `Session closed with error code ${constants.NGHTTP2_ENHANCE_YOUR_CALM}` })
  t.ok(streams.every(stream => stream.destroyed))
  t.ok(reads.begun <= 1000, `${reads.begun} were begun`)
  t.equal((await read(send(other, home)))?.status, 200)
})

t.test('a client that cancels ends its work', async t => {
  const { open, storage, reads } = await listen(t)
  await loadItems(storage, notes, Array.from({ length: 300 }, (_, id) => ({ id, text: `${'a'.repeat(4000)}!` })))
  const session = await open()
  const slow = send(session, `/notes?count=exact&text.regex=${encodeURIComponent('(.*a){20}$')}`)
  while (reads.atWork === 0) await delay(5)
  slow.close(constants.NGHTTP2_CANCEL)
  while (reads.atWork > 0) await delay(5)
  t.match(reads.failure, { message: 'The client has disconnected' })
  t.equal((await read(send(session, '/notes/1')))?.status, 200)
})

const manyNotes = Array.from({ length: 500 }, (_, id) => ({ id, text: 'x'.repeat(3500) }))

t.test('a client that does not read its export is cut off, however lively its connection', async t => {
  const { open, storage, logged } = await listen(t, { options: { exportTimeout: 300 } })
  await loadItems(storage, notes, manyNotes)
  const session = await open()
  const stream = send(session, '/notes.ndjson')
  const ended = new Promise(resolve => stream.once('close', resolve))
  await once(stream, 'response')
  const lively = setInterval(() => { session.ping(() => {}) }, 20)
  t.teardown(() => { clearInterval(lively) })
  while (!logged.join('').includes('has taken nothing for 300 ms')) await delay(20)
  stream.resume()
  await ended
  t.equal(stream.rstCode, constants.NGHTTP2_CANCEL)
  const whole = await read(send(session, '/notes.ndjson'))
  t.equal(whole?.body.trimEnd().split('\n').length, 500, 'one that reads has all of it')
})

t.test('a client that opens no window is cut off, however short the answer', async t => {
  const { open, storage } = await listen(t, { options: { exportTimeout: 300 } })
  await loadItems(storage, notes, manyNotes)
  const first = await open()
  const session = await open({ settings: { initialWindowSize: 0 } })
  for (const path of ['/notes/1', '/notes?maxpagesize=3', '/notes', '/notes.csv']) {
    const stream = send(session, path)
    await once(stream, 'response')
    await new Promise(resolve => stream.once('close', resolve))
    t.equal(stream.rstCode, constants.NGHTTP2_CANCEL, path)
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

function makeGate (): { readonly opened: Promise<void>, open (): void } {
  let open = (): void => {}
  const opened = new Promise<void>(resolve => { open = resolve })
  return { opened, open: () => { open() } }
}
