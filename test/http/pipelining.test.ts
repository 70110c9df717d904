import { once } from 'node:events'
import type { AddressInfo, Socket } from 'node:net'
import { connect } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { Type } from '@sinclair/typebox'
import type { FastifyInstance, FastifyPluginAsync } from 'fastify'
import Fastify from 'fastify'
import type { Test } from 'tap'
import t from 'tap'
import type { FamilyOptions, Storage } from '../../lib/index.js'
import { deals, defineFamily, loadItems, memoryStorage } from '../../lib/index.js'
import { createDeal, home } from '../deals/app.js'

interface WatchedStorage {
  readonly storage: Storage
  /** How many reads there were, and how many at most at the same time. */
  readonly reads: { count: number, most: number }
}

/** A storage whose reads take a moment each. */
function watchedStorage (): WatchedStorage {
  const storage = memoryStorage()
  const reads = { count: 0, most: 0 }
  let running = 0
  return {
    reads,
    storage: {
      ...storage,
      async find (family, query) {
        reads.count++
        reads.most = Math.max(reads.most, ++running)
        await delay(1)
        running--
        return await storage.find(family, query)
      }
    }
  }
}

async function listen (
  t: Test,
  storage: Storage,
  options: Partial<FamilyOptions> = {},
  family: FastifyPluginAsync<FamilyOptions> = deals
): Promise<FastifyInstance> {
  const app = Fastify({ forceCloseConnections: true })
  t.teardown(() => app.close())
  app.register(family, { storage, ...family === deals && { version: 'v1' }, ...options })
  await app.listen({ port: 0, host: '127.0.0.1' })
  return app
}

async function open (t: Test, app: FastifyInstance): Promise<Socket> {
  const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1')
  t.teardown(() => socket.destroy())
  socket.on('error', () => {})
  await once(socket, 'connect')
  return socket
}

interface Answer {
  readonly status: number
  readonly head: string
  readonly body: string
}

/** So many answers, or those that come before the end of the connection. */
async function readAnswers (socket: Socket, count = Infinity): Promise<Answer[]> {
  let bytes = Buffer.alloc(0)
  const answers: Answer[] = []
  for await (const part of socket.iterator({ destroyOnReturn: false })) {
    bytes = Buffer.concat([bytes, part as Buffer])
    for (let end = bytes.indexOf('\r\n\r\n'); end !== -1; end = bytes.indexOf('\r\n\r\n')) {
      const head = bytes.subarray(0, end).toString()
      const length = Number(/^content-length: (\d+)$/mi.exec(head)?.[1] ?? 0)
      if (bytes.length < end + 4 + length) break
      const body = bytes.subarray(end + 4, end + 4 + length).toString()
      answers.push({ status: Number(head.slice(9, 12)), head, body })
      bytes = bytes.subarray(end + 4 + length)
    }
    if (answers.length >= count) break
  }
  return answers
}

const namesOf = ({ body }: Answer): string[] =>
  (JSON.parse(body) as { items: { name: string }[] }).items.map(({ name }) => name)

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nhost: a\r\n\r\n`
const post = (body: string): string => `POST ${home} HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n` +
  `content-length: ${body.length}\r\n\r\n${body}`

t.test('requests of one connection are answered in their order, one at a time', async t => {
  const { storage, reads } = watchedStorage()
  const app = await listen(t, storage)
  const { id } = await createDeal(app, { name: 'first' })
  const socket = await open(t, app)
  socket.write([
    get(home),
    post('{"name":"second","price":2}'),
    get(`${home}?name=second`),
    get(`${home}/nobody`),
    get(`${home}/${id}`),
    `PATCH ${home} HTTP/1.1\r\nhost: a\r\n\r\n`,
    post('{"name":2}'),
    get(`${home}?sort=-name`)
  ].join(''))
  const answers = await readAnswers(socket, 8)
  t.strictSame(answers.map(({ status }) => status), [200, 201, 200, 404, 200, 405, 400, 200])
  t.strictSame(namesOf(answers[2] as Answer), ['second'], 'each sees what was done before it')
  t.strictSame(namesOf(answers[7] as Answer), ['second', 'first'])
  t.equal(reads.most, 1, 'none was begun before the answers before it were sent')
  socket.write(get(home).repeat(21))
  t.strictSame((await readAnswers(socket, 21)).map(({ status }) => status), Array(21).fill(200), 'and goes on')
  t.equal(reads.most, 1)
})

t.test('beyond maxPipelined: 503, and the connection ends with nothing done after it', async t => {
  for (const [options, bound] of [[{}, 20], [{ maxPipelined: 2 }, 2]] as const) {
    const { storage } = watchedStorage()
    const app = await listen(t, storage, options)
    const socket = await open(t, app)
    socket.write(get(home).repeat(1 + bound) + post('{"name":"a","price":1}').repeat(bound))
    const answers = await readAnswers(socket)
    t.strictSame(answers.map(({ status }) => status), [...Array(1 + bound).fill(200), 503])
    const { head, body } = answers.at(-1) as Answer
    t.match(JSON.parse(body), {
      type: 'urn:dealbook:problem:busy',
      detail: `On a connection at most ${bound} requests may wait for the answers before them (maxPipelined)`
    })
    t.match(head, /^connection: close$/mi)
    t.match(head, /^retry-after: 1$/mi)
    t.strictSame((await app.inject(home)).json().items, [], 'nothing was created')
  }
})

t.test('who sends far more than that is cut off, and others are served', async t => {
  const { storage, reads } = watchedStorage()
  const app = await listen(t, storage)
  const socket = await open(t, app)
  socket.write(get(home).repeat(1000))
  t.strictSame(await readAnswers(socket), [], 'the connection has ended')
  t.ok(reads.count <= 1, 'and next to nothing was read', reads)
  const other = await open(t, app)
  other.write(get(home).repeat(2))
  t.strictSame((await readAnswers(other, 2)).map(({ status }) => status), [200, 200])
})

t.test('nothing more is read while the client does not take what there is', async t => {
  const { storage, reads } = watchedStorage()
  const notes = defineFamily({
    name: 'notes',
    singular: 'note',
    fields: Type.Object({ id: Type.Integer(), text: Type.String() })
  })
  // Two pages are more than the system keeps of a connection.
  const text = 'n'.repeat(100_000)
  await loadItems(storage, notes, Array.from({ length: 50 }, (_, n) => ({ id: n + 1, text })))
  const app = await listen(t, storage, {}, notes)
  const socket = await open(t, app)
  socket.pause()
  socket.write(get('/notes').repeat(20))
  // As long as anything happens.
  for (let before = -1; before !== reads.count;) {
    before = reads.count
    await delay(200)
  }
  // Where items were long before, a page is read in five parts.
  t.ok(reads.count >= 1 && reads.count <= 11, 'only what the system keeps, and one more', reads)
  let length = 0
  for await (const part of socket) if ((length += (part as Buffer).length) > 20 * 50 * text.length) break
  t.equal(reads.count, 1 + 19 * 5, 'all come in the end')
})
