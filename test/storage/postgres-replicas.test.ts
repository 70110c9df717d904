import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import Fastify, { type FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { insert, note, notes } from '../../lib/conformance/fixture.js'
import { deals, memoryStorage, readMetrics, type Storage } from '../../lib/index.js'
import { postgresStorage } from '../../lib/storage/postgres/postgres-storage.js'
import { addReplicas } from '../../lib/storage/postgres/replicas.js'
import { runSql, type Server, startServer } from '../postgres/server.js'
import { isLong } from '../size.js'

interface App {
  readonly app: FastifyInstance
  readonly storage: Storage
}

const primary = await startServer({ settings: ['wal_keep_size=256MB'] })
t.teardown(() => primary.dispose())

async function addReplica (t: Test, settings: string[] = []): Promise<Server> {
  const replica = await startServer({ primary, settings })
  t.teardown(() => replica.dispose())
  return replica
}

/** What is a process of its own: an application with its own connections. */
async function open (t: Test, replicas: string | string[]): Promise<App> {
  const storage = postgresStorage({ connectionString: primary.url, replicas, poolSize: 5 })
  const app = Fastify()
  await app.register(deals, { storage, version: 'v1' })
  t.teardown(async () => {
    await app.close()
    await storage.close()
  })
  return { app, storage }
}

async function untilReplayed (replica: Server): Promise<void> {
  const [[end] = []] = await runSql(primary, 'SELECT pg_current_wal_lsn()')
  const isReplayed = `SELECT pg_last_wal_replay_lsn() >= '${String(end)}'`
  while ((await runSql(replica, isReplayed))[0]?.[0] !== true) await delay(20)
}

async function create ({ app }: App): Promise<string> {
  const answer = await app.inject({ method: 'POST', url: '/rest/v1/deals', payload: { name: 'Tea', price: 0 } })
  return answer.json<{ id: string }>().id
}

interface Answer {
  readonly revision: number
  readonly seen: string | undefined
  readonly replayed: boolean
}

async function setPrice ({ app }: App, deal: string, newPrice: number, id: string = randomUUID()): Promise<Answer> {
  const payload = { deal, action: 'ChangeDealPrice', params: { newPrice, reason: 'test' } }
  const { statusCode, headers, body } = await app.inject({ method: 'PUT', url: `/rest/commands/${id}`, payload })
  if (statusCode >= 300) throw new Error(body)
  const seen = headers['dealbook-seen'] as string
  return { revision: JSON.parse(body).revision, seen, replayed: headers['idempotent-replayed'] === 'true' }
}

async function readRevision ({ app }: App, deal: string, headers: Record<string, string> = {}): Promise<number> {
  const answer = await app.inject({ url: `/rest/v1/deals/${deal}`, headers })
  if (answer.statusCode !== 200) throw new Error(answer.body)
  return answer.json<{ revision: number }>().revision
}

const countReads = ({ storage }: App): number => readMetrics(storage)['replica_reads_total'] as number

t.test('clients see their writes, though the replica has stopped at an earlier state', async t => {
  const replica = await addReplica(t)
  const [first, second] = [await open(t, replica.url), await open(t, [replica.url])]
  const deal = await create(first)
  await untilReplayed(replica)
  // Until it is read from the replica.
  while (countReads(second) === 0) t.equal(await readRevision(second, deal), 1)

  await runSql(replica, 'SELECT pg_wal_replay_pause()')
  const { seen = '', revision } = await setPrice(first, deal, 1, 'once')
  t.equal(revision, 2)
  t.equal(await readRevision(second, deal), 1, 'a client that has seen nothing may see less')
  t.equal(await readRevision(first, deal), 2, 'the process that wrote it shows it')
  t.equal(await readRevision(second, deal, { 'dealbook-seen': seen }), 2, 'and others, for the client that wrote it')
  t.equal(await readRevision(second, deal, { 'dealbook-seen': '?' }), 2, 'a token that is not ours: the primary')
  t.equal(await readRevision(second, deal), 1, 'for the others, the replica still answers')
  const find = async (app: App, headers = {}): Promise<number[]> =>
    (await app.app.inject({ url: '/rest/v1/deals?name=Tea&count=exact', headers })).json().items
      .map((item: { revision: number }) => item.revision)
  t.strictSame([await find(first), await find(second), await find(second, { 'dealbook-seen': seen })], [[2], [1], [2]])

  const page = async (headers = {}): Promise<number> => {
    const { body } = await second.app.inject({ url: '/rest/v1/deals.html?name=Tea', headers })
    return Number(/name="_item[^>]+value="(\d+)"/.exec(body)?.[1])
  }
  t.equal(await page(), 1, 'a page of a list may show less')
  t.equal(await page({ cookie: 'dealbook-command=once' }), 2, 'but not after its form')

  const command = { action: 'ChangeDealPrice', deal, params: { newPrice: 1, reason: 'test' } }
  const many = await first.app.inject({ method: 'POST', url: '/rest/commands', payload: { commands: [command] } })
  t.equal(many.statusCode, 200)
  t.ok(many.headers['dealbook-seen'], 'of many commands, too')

  const again = await setPrice(second, deal, 1, 'once')
  t.ok(again.replayed)
  t.ok(again.seen)
  t.equal(await readRevision(second, deal), 2, 'who repeats a command has seen it')

  await runSql(replica, 'SELECT pg_wal_replay_resume()')
  await untilReplayed(replica)
  const count = countReads(second)
  while (countReads(second) === count) {
    t.equal(await readRevision(second, deal, { 'dealbook-seen': seen }), 2)
    await delay(20)
  }
})

t.test('a process shows what it has written without HTTP', async t => {
  const replica = await addReplica(t)
  const app = await open(t, replica.url)
  const book = deals.service({ storage: app.storage })
  const { item: { id } } = await book.create({ name: 'Tea', price: 0 })
  await untilReplayed(replica)
  await runSql(replica, 'SELECT pg_wal_replay_pause()')
  t.equal(await readRevision(app, id), 1)
  await book.run('change-price', id, { newPrice: 1, reason: 'test' })
  t.equal(await readRevision(app, id), 2)
  t.equal((await book.get(id)).revision, 2)
  await runSql(replica, 'SELECT pg_wal_replay_resume()')
})

t.test('a log has everything before the cursor to follow it by', async t => {
  const replica = await addReplica(t)
  const [first, second] = [await open(t, replica.url), await open(t, replica.url)]
  const deal = await create(first)
  await untilReplayed(replica)
  t.equal(await readRevision(second, deal), 1)
  await runSql(replica, 'SELECT pg_wal_replay_pause()')
  await setPrice(first, deal, 1)
  const { items } = (await second.app.inject(`/rest/v1/deals/${deal}/commands`)).json()
  t.equal(items.length, 2)
  await runSql(replica, 'SELECT pg_wal_replay_resume()')
})

t.test('under load, with a replica that is seconds behind: writes are in order, and clients see theirs', async t => {
  const replicas = [await addReplica(t, ['recovery_min_apply_delay=2s']), await addReplica(t)]
  const apps = [await open(t, replicas.map(({ url }) => url)), await open(t, replicas.map(({ url }) => url))]
  const anyApp = (): App => apps[Math.floor(Math.random() * apps.length)] as App
  const deal = await create(apps[0] as App)
  const writes: { began: number, ended: number, revision: number }[] = []
  const missed: string[] = []
  let price = 0
  await Promise.all(Array.from({ length: 5 }, async () => {
    let own = { revision: 1, seen: undefined as string | undefined }
    for (let n = 0; n < (isLong ? 200 : 30); n++) {
      const began = performance.now()
      const writer = anyApp()
      own = await setPrice(writer, deal, ++price)
      writes.push({ began, ended: performance.now(), revision: own.revision })
      const reads = [{ app: anyApp(), headers: { 'dealbook-seen': own.seen as string } }, { app: writer, headers: {} }]
      for (const { app, headers } of reads) {
        const revision = await readRevision(app, deal, headers)
        if (revision < own.revision) missed.push(`${revision} after ${own.revision}`)
      }
    }
  }))
  t.strictSame(missed, [])
  const revisions = writes.map(({ revision }) => revision).sort((a, b) => a - b)
  t.strictSame(revisions, writes.map((_, index) => index + 2), 'each write has its own revision, without a gap')
  const overtaken = writes.filter(one => writes.some(other => other.ended < one.began && other.revision > one.revision))
  t.strictSame(overtaken, [], 'a write that began after another had ended comes after it')
  t.ok(apps.some(app => countReads(app) > 0), 'some were read from replicas')
})

t.test('a replica that is killed while it is read: the primary answers, until it is back', async t => {
  const replica = await addReplica(t)
  const app = await open(t, replica.url)
  const deal = await create(app)
  await untilReplayed(replica)
  const ending = new AbortController()
  const reading = Promise.all(Array.from({ length: 4 }, async () => {
    while (!ending.signal.aborted) t.equal(await readRevision(app, deal), 1)
  }))
  while (countReads(app) < 50) await delay(10)
  await replica.kill()
  const misses = (): number => readMetrics(app.storage)['replica_misses_total'] as number
  const missed = misses()
  while (misses() < missed + 50) await delay(10)
  ending.abort()
  await reading
  await replica.start()
  const count = countReads(app)
  while (countReads(app) === count) {
    await readRevision(app, deal)
    await delay(50)
  }
})

t.test('tokens that a client makes up do not ask the primary each time, and a new timeline is found', async t => {
  const [storage, other] = [memoryStorage(), memoryStorage()]
  let timeline = 1
  let asked = 0
  const server = (storage: Storage, count: number) => ({
    storage,
    async readPosition () {
      asked += count
      return { timeline, bytes: 5n }
    },
    close: () => storage.close()
  })
  const both = addReplicas(server(storage, 1), [server(other, 0)])
  await both.prepare(notes)
  await both.commit(insert('notes', note('a')))
  await other.prepare(notes)
  await other.commit(insert('notes', note('a')))
  const reads = () => both.metrics?.() as Record<string, number>
  const get = (token: string) => both.replica?.(token).get('notes', 'a')
  asked = 0
  for (let n = 0; n < 50; n++) t.equal((await get(`f${n}-0`))?.id, 'a')
  t.ok(asked <= 1, `the primary was asked ${asked} times for its position`)
  t.match(reads(), { replica_reads_total: 0, replica_misses_total: 50 })
  timeline = 2
  // It is looked for once a second.
  for (; reads()['replica_reads_total'] === 0; await delay(50)) await get('2-5')
  t.equal((await get('2-5'))?.id, 'a')
  await both.close()
})

t.test('a replica that cannot be reached at boot', async t => {
  const app = await open(t, 'postgres://ann:secret@127.0.0.1:1/none')
  const deal = await create(app)
  t.equal(await readRevision(app, deal), 1)
  await app.storage.close()
  t.throws(() => postgresStorage({ connectionString: primary.url, replicas: [] }), /"replicas" must be a URL/)
})
