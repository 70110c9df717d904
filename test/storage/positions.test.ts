import Fastify from 'fastify'
import pg from 'pg'
import t from 'tap'
import { commandsShape } from '../../lib/core/family/fields.js'
import { deals, type Storage, type Stored } from '../../lib/index.js'
import { postgresStorage } from '../../lib/storage/postgres/postgres-storage.js'
import { dropSchema, newSchema } from '../postgres/schema.js'
import { postgresUrl } from '../postgres/url.js'

// Transactions of PostgreSQL become visible in a different order than they wrote.

let made = 0

function makeEntry (target: string, revision = 1): Stored {
  const at = new Date(Date.UTC(2026, 0, 1) + made).toISOString()
  return {
    id: `e-${++made * 7919 % 100_003}`,
    revision,
    createdAt: at,
    updatedAt: at,
    family: 'deals',
    target,
    action: 'HoldDeal',
    outcome: 'done'
  }
}

async function readAfter (storage: Storage, position: number, limit = 100_000): Promise<readonly Stored[]> {
  const order = [{ field: 'position', descending: false }]
  const where = [{ field: 'position', op: 'gt', value: position } as const]
  return (await storage.find('commands', { where, order, offset: 0, limit, count: false })).items
}

async function open (t: Tap): Promise<{ readonly schema: string, readonly url: string, make (): Promise<Storage> }> {
  const url = await postgresUrl()
  const schema = newSchema()
  const storages: Storage[] = []
  t.teardown(async () => {
    for (const storage of storages) await storage.close()
    await dropSchema(schema)
  })
  return {
    schema,
    url,
    async make () {
      const storage = postgresStorage({ connectionString: url, schema, poolSize: 5 })
      storages.push(storage)
      await storage.prepare(commandsShape)
      return storage
    }
  }
}

async function insert (client: pg.Client, schema: string, { id, target, createdAt }: Stored): Promise<void> {
  await client.query(`INSERT INTO ${schema}.commands
      (id, action, outcome, revision, created_at, updated_at, family, target)
    VALUES ($1, 'HoldDeal', 'done', 1, $2, $2, 'deals', $3)`, [id, createdAt, target])
}

interface Tap { teardown (fn: () => unknown): void }

t.test('a transaction that commits late is seen late, one that is rolled back never', async t => {
  const { schema, url, make } = await open(t)
  const storage = await make()
  const slow = new pg.Client(url)
  const undone = new pg.Client(url)
  for (const client of [slow, undone]) {
    await client.connect()
    t.teardown(() => client.end())
    await client.query('BEGIN')
    await insert(client, schema, makeEntry(client === slow ? 'slow' : 'undone'))
  }
  await storage.commit([{ type: 'insert', family: 'commands', item: makeEntry('fast') }])
  t.strictSame((await readAfter(storage, 0)).map(({ target, position }) => [target, position]), [['fast', 1]])
  await slow.query('COMMIT')
  await undone.query('ROLLBACK')
  t.strictSame((await readAfter(storage, 1)).map(({ target, position }) => [target, position]), [['slow', 2]])
})

t.test('several processes number what many writers commit, beside an open transaction', async t => {
  const { schema, url, make } = await open(t)
  const storages = await Promise.all([make(), make(), make()])
  const openOne = new pg.Client(url)
  await openOne.connect()
  t.teardown(() => openOne.end())
  await openOne.query('BEGIN')
  await insert(openOne, schema, makeEntry('open'))
  let isWriting = true
  const writers = Array.from({ length: 24 }, async (_, w) => {
    for (let revision = 1; revision <= 20; revision++) {
      const storage = storages[(w + revision) % 3] as Storage
      await storage.commit([{ type: 'insert', family: 'commands', item: makeEntry(`w${w}`, revision) }])
    }
  })
  const followers = storages.map(async storage => {
    const seen: Stored[] = []
    for (;;) {
      const isLast = !isWriting
      const found = await readAfter(storage, seen.at(-1)?.['position'] as number | undefined ?? 0, 50)
      seen.push(...found)
      if (isLast && found.length === 0) return seen
    }
  })
  await Promise.all(writers)
  isWriting = false
  for (const seen of await Promise.all(followers)) {
    t.strictSame(seen.map(({ position }) => position), Array.from({ length: 480 }, (_, index) => index + 1))
    for (let w = 0; w < 24; w++) {
      const revisions = seen.filter(({ target }) => target === `w${w}`).map(({ revision }) => revision)
      t.strictSame(revisions, Array.from({ length: 20 }, (_, index) => index + 1))
    }
  }
})

t.test('what was never read is numbered in parts, in the order of the times', async t => {
  const { schema, url, make } = await open(t)
  const storage = await make()
  const client = new pg.Client(url)
  await client.connect()
  t.teardown(() => client.end())
  await client.query(`INSERT INTO ${schema}.commands
      (id, action, outcome, revision, created_at, updated_at, family, target)
    SELECT md5(n::text), 'HoldDeal', 'done', n, now() - (20000 - n) * interval '1 s', now(), 'deals', 'one'
    FROM generate_series(1, 12000) AS n`)
  const revisions = (await readAfter(storage, 0)).map(({ revision }) => revision)
  t.equal(revisions.length, 12_000)
  t.ok(revisions.every((revision, index) => revision === index + 1))
})

t.test('a request waits a second at most for what another process takes long to number', async t => {
  const { schema, url, make } = await open(t)
  const storage = await make()
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(deals, { storage, version: 'v1' })
  const created = await app.inject({ method: 'POST', url: '/rest/v1/deals', payload: { name: 'Ace', price: 1 } })
  const { id } = created.json()
  await readAfter(storage, 0)
  await app.inject({ method: 'PUT', url: `/rest/v1/deals/${id}/hold`, payload: { reason: 'audit' } })
  const busy = new pg.Client(url)
  await busy.connect()
  const table = `"${schema}"."commands"`
  await busy.query('SELECT pg_advisory_lock(hashtext($1))', [`fastify-dealbook positions ${table}`])
  const all = readAfter(storage, 0)
  const page = await app.inject({ url: `/rest/v1/deals/${id}`, headers: { accept: 'text/html' } })
  t.match(page, { statusCode: 200, body: 'Ace' })
  const log = await app.inject(`/rest/v1/deals/${id}/commands`)
  t.match(log.json().items, [{ action: 'CreateDeal' }, { action: 'HoldDeal' }])
  const { follow } = log.json().links
  t.strictSame((await app.inject(follow)).json().items, [], 'it has no number yet')
  await busy.end()
  t.match(await all, [{ action: 'CreateDeal' }, { action: 'HoldDeal' }], 'a program waits for all')
  t.match((await app.inject(follow)).json().items, [{ action: 'HoldDeal' }])
})
