// Servers of PostgreSQL that lose each other, behind a proxy that follows the primary.
import { chown, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import Fastify, { type FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { customers, deals, type Storage } from '../../lib/index.js'
import { type PostgresOptions, postgresStorage } from '../../lib/storage/postgres/postgres-storage.js'
import { needsPgbouncer, startPgbouncer } from '../postgres/pgbouncer.js'
import { startProxy } from '../postgres/proxy.js'
import { runSql, type Server, startServer } from '../postgres/server.js'

// Milliseconds, so that nothing waits for long.
const limits = { statementTimeout: 1000, connectionTimeout: 2000 }
const timeout = 5000

const first = await startServer({ settings: ['wal_keep_size=256MB'] })
const second = await startServer({ primary: first })
t.teardown(() => Promise.all([first.dispose(), second.dispose()]))
const proxy = await startProxy(t, first)

interface App {
  readonly app: FastifyInstance
  readonly storage: Storage
}

async function open (t: Test, connectionString: string, options: PostgresOptions = {}): Promise<App> {
  const storage = postgresStorage({ connectionString, poolSize: 5, ...limits, ...options })
  const app = Fastify()
  await app.register(customers, { storage })
  await app.register(deals, { storage, version: 'v1', timeout })
  t.teardown(async () => {
    await app.close()
    await storage.close()
  })
  return { app, storage }
}

interface Answer {
  readonly status: number
  readonly replayed: boolean
  readonly revision: number
  readonly detail: string
  readonly seen: string
}

async function setPrice ({ app }: App, deal: string, newPrice: number, id: string): Promise<Answer> {
  const payload = { deal, action: 'ChangeDealPrice', params: { newPrice, reason: 'test' } }
  const { statusCode, headers, body } = await app.inject({ method: 'PUT', url: `/rest/commands/${id}`, payload })
  const { revision, detail } = JSON.parse(body)
  const seen = String(headers['dealbook-seen'])
  return { status: statusCode, replayed: headers['idempotent-replayed'] === 'true', revision, detail, seen }
}

async function untilDone (write: () => Promise<Answer>): Promise<Answer> {
  for (;;) {
    const answer = await write()
    if (answer.status !== 503) return answer
    await delay(50)
  }
}

/** What a server must wait for before it says that a commit is made. */
async function setStandbys (server: Server, names: string): Promise<void> {
  await runSql(server, `ALTER SYSTEM SET synchronous_standby_names = '${names}'`)
  await runSql(server, 'SELECT pg_reload_conf()')
  while ((await runSql(server, 'SHOW synchronous_standby_names'))[0]?.[0] !== names) await delay(20)
}

/** As a supervisor does with a primary that has lost its peers. */
async function demote (server: Server): Promise<void> {
  await server.stop()
  const { uid, gid } = await stat(server.folder)
  const file = join(server.folder, 'standby.signal')
  await writeFile(file, '')
  await chown(file, uid, gid)
  await server.start()
}

let deal: string

t.test('a command that no standby has is not replayed, and is done once on the new primary', async t => {
  const own = await open(t, proxy.url)
  // One that refuses a setting of the session, and one that ignores it.
  const settings = [['server_login_retry = 1'], ['ignore_startup_parameters = statement_timeout']]
  const pooled = await Promise.all((needsPgbouncer.skip === false ? settings : []).map(async each =>
    await open(t, await startPgbouncer(t, proxy.url, 3, each))))
  const created = await own.app.inject({ method: 'POST', url: '/rest/v1/deals', payload: { name: 'Tea', price: 0 } })
  deal = created.json().id
  const has = `SELECT 1 FROM deals WHERE id = '${deal}'`
  while ((await runSql(second, has).catch(() => [])).length === 0) await delay(20)
  await second.stop()

  await setStandbys(first, '*')
  t.equal((await setPrice(own, deal, 1, 'once')).status, 503, 'it waits for the standby')
  // Whether it is the server or this process that gives up first depends on the load.
  t.match(await setPrice(own, deal, 1, 'once'), { status: 503, detail: /may have been made/ }, 'so does a retry')
  await first.kill()
  await first.start()
  await runSql(first, "SELECT pg_logical_emit_message(false, '', repeat('-', 1000000)) FROM generate_series(1, 30)")
  t.strictSame(await runSql(first, "SELECT outcome FROM commands WHERE id = 'once'"), [['done']])
  t.equal((await setPrice(own, deal, 1, 'once')).status, 503, 'after a crash, only this server has it')
  await setStandbys(first, '')
  t.match(await untilDone(() => setPrice(own, deal, 1, 'once')), { status: 200, replayed: true, revision: 2 },
    'without synchronous standbys, what it has counts')

  await demote(first)
  const { app } = own
  const url = `/rest/v1/deals/${deal}`
  const payload = { reason: 'test' }
  const decided = {
    replay: () => setPrice(own, deal, 1, 'once'),
    'no change': async () => ({ status: (await app.inject({ method: 'PUT', url, payload: { price: 1 } })).statusCode }),
    precondition: async () => ({
      status: (await app.inject({ method: 'DELETE', url, headers: { 'if-match': '"1"' } })).statusCode
    }),
    missing: async () => ({
      status: (await app.inject({ method: 'PUT', url: '/rest/v1/deals/none/hold', payload })).statusCode
    })
  }
  for (const [name, decide] of Object.entries(decided)) t.equal((await decide()).status, 503, name)
  for (const each of pooled) t.equal((await setPrice(each, deal, 1, 'once')).status, 503, 'replay through pgbouncer')
  const reports = Fastify()
  const storage = postgresStorage({ connectionString: first.url, migrate: 'off' })
  await reports.register(customers, { storage })
  t.equal((await reports.inject('/customers')).statusCode, 200, 'families that are only read may be on a standby')
  await storage.close()

  // So that the standby gets nothing more from it.
  await first.stop()
  await second.start()
  await runSql(second, 'SELECT pg_promote()')
  proxy.target = second
  t.match(await untilDone(() => setPrice(own, deal, 1, 'once')), { status: 201, replayed: false, revision: 2 })
  t.match(await setPrice(own, deal, 1, 'once'), { status: 200, replayed: true, revision: 2 })
})

t.test('a replica on an old timeline is not read, though its log is longer', async t => {
  await first.start()
  const writer = await open(t, second.url)
  const reader = await open(t, second.url, { replicas: `${first.url}?application_name=reader` })
  const { revision, seen } = await setPrice(reader, deal, 2, 'twice')
  t.equal(revision, 3)
  t.match(seen, /^2-[\da-f]+$/)
  await setPrice(writer, deal, 3, 'thrice')
  const read = async (headers = {}): Promise<number> =>
    (await reader.app.inject({ url: `/rest/v1/deals/${deal}`, headers })).json().revision
  // Until its position is known, and for a second, the primary answers.
  do await read()
  while ((await runSql(first, "SELECT 1 FROM pg_stat_activity WHERE application_name = 'reader'")).length === 0)
  await delay(1100)
  const tokens = [undefined, seen, seen.replace('2-', ''), '0', '1-0', 'ffffffff-0', 'f'.repeat(16), '?']
  for (const token of tokens) {
    t.equal(await read(token === undefined ? {} : { 'dealbook-seen': token }), 4, `${token}`)
  }
})

t.test('a primary that vanishes without a word: followers go on, and the next one notifies them', async t => {
  const lost = await startProxy(t, second)
  const [writer, follower] = [await open(t, second.url), await open(t, lost.url)]
  const ending = new AbortController()
  const ids: string[] = []
  const following = (async () => {
    const book = deals.service({ storage: follower.storage })
    for await (const { id } of book.follow({ signal: ending.signal })) ids.push(id)
  })().catch(() => {})
  const until = async (id: string): Promise<void> => { while (!ids.includes(id)) await delay(20) }
  const countListeners = async (): Promise<number> =>
    (await runSql(second, "SELECT 1 FROM pg_stat_activity WHERE query LIKE 'LISTEN %'")).length
  await until('thrice')
  while (await countListeners() === 0) await delay(20)
  const before = await countListeners()
  lost.silence()
  await setPrice(writer, deal, 4, 'meanwhile')
  await until('meanwhile')
  while (await countListeners() === before) await delay(100)
  ending.abort()
  await following
  t.strictSame(ids.slice(-2), ['thrice', 'meanwhile'])
})

t.test('a storage can be closed, though its server has vanished', async t => {
  const lost = await startProxy(t, second)
  const { app, storage } = await open(t, lost.url)
  t.equal((await app.inject('/rest/commands')).statusCode, 200)
  lost.isSilent = true
  lost.silence()
  t.equal((await app.inject('/rest/commands?maxpagesize=1')).statusCode, 503)
  await storage.close()
})
