import { setTimeout as delay } from 'node:timers/promises'
import Fastify from 'fastify'
import pg from 'pg'
import type { Test } from 'tap'
import t from 'tap'
import { insert, note, notes, query, replace, settle, thing, things } from '../../lib/conformance/fixture.js'
import type { Storage } from '../../lib/core/storage/storage.js'
import { deals } from '../../lib/index.js'
import type { PostgresOptions } from '../../lib/storage/postgres/postgres-storage.js'
import { postgresStorage } from '../../lib/storage/postgres/postgres-storage.js'
import { dropSchema, newSchema, withClient } from '../postgres/schema.js'
import { postgresUrl } from '../postgres/url.js'

const connectionString = await postgresUrl()

// Nothing here may depend on a lock being waited for in vain: the machine may be busy.
const longEnough = 60_000

/** A storage with the things 0 to 9 and a note, in a schema of its own. */
async function openFilled (
  t: Test,
  options: Partial<PostgresOptions> = {}
): Promise<{ storage: Storage, schema: string }> {
  const schema = newSchema()
  const storage = postgresStorage({ connectionString, schema, statementTimeout: longEnough, ...options })
  t.teardown(async () => {
    await storage.close()
    await dropSchema(schema)
  })
  await storage.prepare(things)
  await storage.prepare(notes)
  await storage.commit([
    ...insert('things', ...Array.from({ length: 10 }, (_, id) => thing(id))),
    ...insert('notes', note('a'))
  ])
  return { storage, schema }
}

/** Another session that is in the middle of a transaction, until it is told to end it. */
async function begin (t: Test, text: string): Promise<{ end: () => Promise<void> }> {
  const client = new pg.Client({ connectionString })
  await client.connect()
  await client.query(`BEGIN; ${text}`)
  let ended: Promise<void> | undefined
  const end = async (): Promise<void> => { await (ended ??= client.end()) }
  // Before the storage is closed, which waits for its commits.
  t.teardown(end)
  return { end }
}

/** Fulfilled when a commit in this schema waits for a lock for the second time. */
async function waitsAlone (schema: string): Promise<void> {
  const began = new Set<string>()
  while (began.size < 2) {
    const { rows } = await withClient(client => client.query<{ began: string }>(`SELECT xact_start::text AS began
      FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%${schema}%'`))
    for (const row of rows) began.add(row.began)
    await delay(10)
  }
}

/** How many of these are settled by now. */
function countSettled (attempts: readonly Promise<unknown>[]): () => number {
  let settled = 0
  for (const attempt of attempts) {
    const count = (): void => { settled++ }
    attempt.then(count, count)
  }
  return () => settled
}

function change (id: number, revision = 2): ReturnType<typeof replace> {
  return replace('things', thing(id, { integer: revision }, revision))
}

t.test('two rows that others keep locked hold up nothing but commits to them', async t => {
  const { storage, schema } = await openFilled(t)
  const first = await begin(t, `SELECT 1 FROM "${schema}".things WHERE id = 0 FOR UPDATE`)
  const second = await begin(t, `UPDATE "${schema}".things SET integer = 7 WHERE id = 1`)
  const stuck = [storage.commit([change(0)])]
  // In a batch of its own.
  await delay(20)
  stuck.push(storage.commit([change(1)]))
  const settled = countSettled(stuck)
  for (let revision = 2; revision < 12; revision++) {
    await Promise.all([2, 3, 4].map(id => storage.commit([change(id, revision)])))
  }
  t.equal(settled(), 0, 'thirty commits are through, and these two still wait')
  await first.end()
  await second.end()
  await Promise.all(stuck)
  t.equal((await storage.get('things', 0))?.revision, 2)
})

t.test('the neighbours in the batch of a commit to a locked row go without it', async t => {
  const { storage, schema } = await openFilled(t)
  const { end } = await begin(t, `SELECT 1 FROM "${schema}".things WHERE id = 3 FOR UPDATE`)
  const all = Array.from({ length: 8 }, (_, id) => storage.commit([change(id), ...insert('notes', note(`n${id}`))]))
  const stale = t.rejects(storage.commit([change(8, 5)]), { name: 'ConflictError', id: 8 }, 'a stale one is refused')
  const settled = countSettled(all)
  await Promise.all(all.filter((_, id) => id !== 3))
  await stale
  t.equal(settled(), 7)
  t.equal(await storage.get('notes', 'n3'), undefined, 'nothing of it is done')
  await end()
  await all[3]
  t.equal((await storage.find('notes', query({ limit: 0, count: true }))).total, 9)
})

t.test('an id that another session is inserting holds up the commit with that id', async t => {
  const { storage, schema } = await openFilled(t)
  const { end } = await begin(t, `INSERT INTO "${schema}".notes (id, text, revision, created_at, updated_at)
    VALUES ('mine', 'x', 1, now(), now())`)
  const stuck = storage.commit(insert('notes', note('mine')))
  const settled = countSettled([stuck])
  await Promise.all(Array.from({ length: 20 }, (_, n) => storage.commit(insert('notes', note(`n${n}`)))))
  t.equal(settled(), 0)
  await end()
  await stuck
})

t.test('a lock that never comes: busy, nothing done, and the next is not refused for it', async t => {
  const { storage, schema } = await openFilled(t, { statementTimeout: 500 })
  const { end } = await begin(t, `SELECT 1 FROM "${schema}".things WHERE id = 1 FOR UPDATE`)
  await t.rejects(storage.commit([change(1), ...insert('notes', note('b'))]), { name: 'BusyError' })
  t.equal(await storage.get('notes', 'b'), undefined)
  await end()
  await storage.commit([change(1)])
})

for (const mode of ['ACCESS EXCLUSIVE', 'SHARE']) {
  t.test(`a table that somebody has locked (${mode}) leaves connections to the others`, async t => {
    const { storage, schema } = await openFilled(t)
    const { end } = await begin(t, `LOCK TABLE "${schema}".things IN ${mode} MODE`)
    const reads = mode === 'SHARE' ? [] : Array.from({ length: 30 }, () => storage.find('things', query()))
    const gets = mode === 'SHARE' ? [] : Array.from({ length: 30 }, () => storage.get('things', 1))
    const writes = Array.from({ length: 10 }, (_, id) =>
      storage.commit([change(id), ...insert('notes', note(`n${id}`))]))
    const inserts = Array.from({ length: 20 }, (_, n) => storage.commit(insert('things', thing(100 + n))))
    const stuck = [...reads, ...gets, ...writes, ...inserts]
    const settled = countSettled(stuck)
    for (let round = 0; round < 5; round++) {
      await Promise.all(Array.from({ length: 20 }, async (_, n) => {
        await storage.commit(insert('notes', note(`${round} ${n}`)))
        t.equal((await storage.get('notes', `${round} ${n}`))?.id, `${round} ${n}`)
      }))
    }
    t.equal(settled(), 0, 'all of them still wait')
    await end()
    const results = await settle(stuck)
    t.strictSame(results, { fulfilled: stuck.length, reasons: [] })
    t.equal((await storage.find('things', query({ limit: 0, count: true }))).total, 30)
  })
}

t.test('a queue that is full refuses, and a locked table fills no more than half of it', async t => {
  const { storage, schema } = await openFilled(t, { maxWaitingCommits: 10 })
  const { end } = await begin(t, `LOCK TABLE "${schema}".things IN SHARE MODE`)
  const first = storage.commit([change(0)])
  await waitsAlone(schema)
  const stuck = Array.from({ length: 20 }, (_, n) => storage.commit(insert('things', thing(100 + n))))
  const stuckSettled = settle(stuck)
  await storage.commit(insert('notes', note('b')))
  const flood = await settle(Array.from({ length: 30 }, (_, n) => storage.commit(insert('notes', note(`n${n}`)))))
  t.ok(flood.fulfilled >= 5, 'there is room for others')
  t.ok(flood.reasons.length >= 10, 'and not for all of them')
  t.ok(flood.reasons.every(reason => (reason as Error).name === 'BusyError'))
  await end()
  await first
  const { fulfilled, reasons } = await stuckSettled
  t.equal(fulfilled, 4)
  t.ok(reasons.every(reason => (reason as Error).name === 'BusyError'))
})

t.test('what the server undoes is tried again', async t => {
  const { storage, schema } = await openFilled(t)
  // The sequence is not undone with the rest, so that the third attempt succeeds.
  await begin(t, `CREATE SEQUENCE "${schema}".tries;
    CREATE FUNCTION "${schema}".fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      IF nextval('"${schema}".tries') < 3 THEN RAISE EXCEPTION 'undone' USING ERRCODE = TG_ARGV[0]; END IF;
      RETURN NEW;
    END $$;
    COMMIT`)
  for (const code of ['40001', '40P01']) {
    await begin(t, `CREATE OR REPLACE TRIGGER fail BEFORE INSERT ON "${schema}".notes
      FOR EACH ROW EXECUTE FUNCTION "${schema}".fail('${code}'); ALTER SEQUENCE "${schema}".tries RESTART; COMMIT`)
    await storage.commit(insert('notes', note(code)))
    t.equal((await storage.get('notes', code))?.id, code)
  }
})

t.test('over HTTP: seven of eight are done while one is locked, and that one is answered with 503', async t => {
  const schema = newSchema()
  const storage = postgresStorage({ connectionString, schema, statementTimeout: 3000 })
  const app = Fastify()
  t.teardown(async () => {
    await app.close()
    await storage.close()
    await dropSchema(schema)
  })
  app.register(deals, { storage, version: 'v1' })
  const ids = await Promise.all(Array.from({ length: 8 }, async () => {
    const answer = await app.inject({ method: 'POST', url: '/rest/v1/deals', payload: { name: 'one', price: 1 } })
    return answer.json<{ id: string }>().id
  }))
  const { end } = await begin(t, `SELECT 1 FROM "${schema}".deals WHERE id = '${ids[0] as string}' FOR UPDATE`)
  const hold = (id: string) =>
    app.inject({ method: 'PUT', url: `/rest/v1/deals/${id}/hold`, payload: { reason: 'Papers' } })
  const answers = ids.map(hold)
  const order: number[] = []
  await Promise.all(answers.map(async (answer, index) => {
    await answer
    order.push(index)
  }))
  t.equal(order.at(-1), 0, 'the others did not wait for it')
  const [locked, ...others] = await Promise.all(answers)
  t.strictSame(others.map(({ statusCode }) => statusCode), Array(7).fill(200))
  t.equal(locked?.statusCode, 503)
  t.match(locked?.json(), { type: 'urn:dealbook:problem:busy' })
  t.ok(locked?.headers['retry-after'])
  await end()
  t.equal((await hold(ids[0] as string)).statusCode, 200)
})
