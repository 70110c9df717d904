import { once } from 'node:events'
import pg from 'pg'
import t from 'tap'
import { insert, thing, things } from '../../lib/conformance/fixture.js'
import { deals } from '../../lib/index.js'
import { Hosts, splitHosts } from '../../lib/storage/postgres/hosts.js'
import { type PostgresPool, postgresStorage } from '../../lib/storage/postgres/postgres-storage.js'
import { makeDatabase, withClient } from '../postgres/schema.js'

t.test('several hosts in a connection string', async t => {
  const table: [string, ...string[]][] = [
    ['postgres://ann:p,w@a:1,b:2/crm?x=1,2', 'postgres://ann:p,w@a:1/crm?x=1,2', 'postgres://ann:p,w@b:2/crm?x=1,2'],
    ['postgresql://a,[::1]:2,c', 'postgresql://a', 'postgresql://[::1]:2', 'postgresql://c'],
    ['postgres://ann:p,w@a/b,c?x=,', 'postgres://ann:p,w@a/b,c?x=,'],
    ['postgres:///crm?host=/tmp', 'postgres:///crm?host=/tmp'],
    ['/tmp crm', '/tmp crm']
  ]
  for (const [given, ...urls] of table) t.strictSame(splitHosts(given), urls)
})

t.test('the first host that accepts writes is used, and each is tried again', async t => {
  const url = new URL(await makeDatabase(t))
  const database = url.pathname.slice(1)
  const set = (value: string) =>
    withClient(client => client.query(`ALTER DATABASE "${database}" SET default_transaction_read_only = ${value}`))
  const storage = postgresStorage({
    connectionString: `postgres://${url.username}:${url.password}@127.0.0.1:1,${url.host},127.0.0.1:2/${database}`
  })
  t.teardown(() => storage.close())
  await set('on')
  await t.rejects(storage.prepare(things))
  await set('off')
  await storage.prepare(things)
  await storage.commit(insert('things', thing(1)))
  t.equal((await storage.get('things', 1))?.id, 1)
})

t.test('hosts of which none accepts writes: the error names all', async t => {
  const { username, password, host, pathname } = new URL(await makeDatabase(t))
  const connectionString = `postgres://${username}:${password}@${host},127.0.0.1:1${pathname}` +
    '?options=-c%20default_transaction_read_only=on'
  const storage = postgresStorage({ connectionString })
  t.teardown(() => storage.close())
  await t.rejects(storage.prepare(things), {
    message: `PostgreSQL, ${host},127.0.0.1:1${pathname}: ${host}: The server accepts no writes; ` +
      '127.0.0.1:1: connect ECONNREFUSED 127.0.0.1:1'
  })
})

t.test('each host is tried, though another call finds the new primary meanwhile', async t => {
  const client = { query: async () => ({ rows: [['off']] }), release () {}, on () {}, off () {} }
  const tried: string[] = []
  const ending = new AbortController()
  const pools = {
    async first () {
      // The first of its connections ends last.
      if (tried.length === 1) await once(ending.signal, 'abort')
      throw new Error('lost')
    },
    async second () { throw new Error('a standby') },
    async third () { return client }
  }
  const hosts = new Hosts(Object.entries(pools).map(([name, connect]) => ({
    name,
    pool: {
      connect () {
        tried.push(name)
        return connect()
      }
    } as unknown as PostgresPool
  })), 1000)
  const slow = hosts.connect()
  t.equal(await hosts.connect(), client)
  ending.abort()
  t.equal(await slow, client)
  t.strictSame(tried, ['first', 'first', 'second', 'third', 'third'], 'the one that was found comes next')
})

t.test('connections that turn out read-only are closed, and the commit is made on another one', async t => {
  const pool = new pg.Pool({ connectionString: await makeDatabase(t), max: 4 })
  pool.on('error', () => {})
  const storage = postgresStorage({ pool: pool as unknown as PostgresPool })
  t.teardown(async () => {
    await storage.close()
    await pool.end()
  })
  await storage.prepare(things)
  const clients = await Promise.all(Array.from({ length: 4 }, () => pool.connect()))
  for (const client of clients) await client.query('SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY')
  for (const client of clients) client.release()
  let removed = 0
  pool.on('remove', () => { removed++ })
  await Promise.all([1, 2, 3, 4].map(id => storage.commit(insert('things', thing(id)))))
  t.ok(removed > 0, 'the read-only ones were closed')
  t.equal((await storage.get('things', 4))?.id, 4)
})

t.test('a single primary that is read-only for a while can be read, but not written', async t => {
  const connectionString = await makeDatabase(t)
  const open = () => {
    const storage = postgresStorage({ connectionString })
    t.teardown(() => storage.close())
    return deals.service({ storage })
  }
  const { item: { id } } = await open().create({ name: 'Tea', price: 1 })
  const database = new URL(connectionString).pathname.slice(1)
  await withClient(client => client.query(`ALTER DATABASE "${database}" SET default_transaction_read_only = on`))
  const book = open()
  t.equal((await book.get(id)).revision, 1)
  await t.rejects(book.create({ name: 'Tea', price: 1 }), { code: 'storage-unavailable' })
})
