import pg from 'pg'
import type { Test } from 'tap'
import t from 'tap'
import { insert, note, notes, query, thing, things, where } from '../../lib/conformance/fixture.js'
import type { Storage } from '../../lib/core/storage/storage.js'
import type { PostgresClient, PostgresPool, PostgresQuery } from '../../lib/storage/postgres/driver.js'
import { getLanes } from '../../lib/storage/postgres/lanes.js'
import { StatementNames } from '../../lib/storage/postgres/names.js'
import { postgresStorage } from '../../lib/storage/postgres/postgres-storage.js'
import { StatementRunner } from '../../lib/storage/postgres/runner.js'
import { dropSchema, newSchema, withClient } from '../postgres/schema.js'
import { postgresUrl } from '../postgres/url.js'
import { makePostgres } from './small-limits.js'

interface FakeQuery extends PostgresQuery {
  answer (rows?: unknown[][]): void
  refuse (error: unknown): void
}

/** A runner over connections that answer when they are told to. */
function makeRunner ({ size = 4, pipeline = true, connectionTimeout = 60_000 } = {}): {
  runner: StatementRunner
  /** The next statement that is sent. */
  sent: () => Promise<FakeQuery>
  /** How many statements are sent and not asked for yet. */
  unseen: FakeQuery[]
  released: unknown[]
} {
  const unseen: FakeQuery[] = []
  const released: unknown[] = []
  const client = (): PostgresClient => ({
    pipeline,
    query: config => new Promise((resolve, reject) => {
      unseen.push({ ...config, answer: (rows = [[1]]) => { resolve({ rows }) }, refuse: reject })
    }),
    release: error => { released.push(error) },
    on: () => {},
    off: () => {}
  })
  const pool: PostgresPool = { connect: async () => client(), end: async () => {}, on: () => {}, off: () => {} }
  const settings = { names: new StatementNames(false), statementTimeout: 60_000, connectionTimeout, limitsTime: true }
  return {
    runner: new StatementRunner(pool, { ...settings, lanes: getLanes(pool, size) }),
    async sent () {
      while (unseen.length === 0) await new Promise(resolve => setImmediate(resolve))
      return unseen.shift() as FakeQuery
    },
    unseen,
    released
  }
}

const gone = new Error('gone')

for (const isLong of [false, true]) {
  t.test(`whoever leaves the line for a connection has no place in it, ${isLong ? 'long' : 'short'}`, async t => {
    const { runner, sent, unseen, released } = makeRunner({ pipeline: false })
    const controller = new AbortController()
    const first = runner.read('t', { text: 'one', values: [] }, { isLong })
    // From here on there is no room for it on the connections that a table may have.
    const { answer, text } = await sent()
    t.equal(text, 'one')
    const second = runner.read('t', { text: 'two', values: [] }, { isLong, signal: controller.signal })
    const third = runner.read('t', { text: 'three', values: [] }, { isLong })
    await new Promise(resolve => setImmediate(resolve))
    const waiting = (): number => runner.reads.waiting + runner.lanes.reads.waiting
    t.equal(waiting(), 2)
    controller.abort(gone)
    await t.rejects(second, gone)
    t.equal(waiting(), 1)
    await t.rejects(runner.read('t', { text: 'four', values: [] }, { isLong, signal: controller.signal }), gone)
    t.equal(waiting(), 1)
    answer()
    t.same(await first, [[1]])
    const next = await sent()
    t.equal(next.text, 'three')
    next.answer()
    t.same(await third, [[1]])
    await runner.reads.idle()
    t.strictSame([released, unseen], [[false, false], []], 'and no connection is closed for him')
  })
}

t.test('reads of one turn go together, and each is answered for itself', async t => {
  const { runner, sent, released } = makeRunner()
  const warmUp = runner.read('t', { text: 'before', values: [] })
  ;(await sent()).answer()
  await warmUp
  const failure = Object.assign(new Error('no such column'), { severity: 'ERROR', code: '42703' })
  const reads = Array.from({ length: 20 }, (_, n) => runner.read('t', { text: `${n}`, values: [] }))
  const [first, refused] = [await sent(), await sent()]
  t.strictSame([first.text, refused.text], ['0', '1'])
  refused.refuse(failure)
  await t.rejects(reads[1] as Promise<unknown>, failure)
  first.answer([['first']])
  t.same(await reads[0], [['first']])
  for (let n = 2; n < 20; n++) (await sent()).answer()
  t.equal((await Promise.all(reads.filter((_, n) => n !== 1))).length, 19)
  await runner.reads.idle()
  t.strictSame(released, [false, false, false], 'sixteen statements on a connection, which is kept')
})

t.test('reads that differ only in their values are one statement', async t => {
  for (const pipeline of [true, false]) {
    const { runner, sent, released } = makeRunner({ pipeline })
    const warmUp = runner.read('t', { text: 'before', values: [] })
    ;(await sent()).answer()
    await warmUp
    const read = (n: number) => runner.read('t', { text: 'one', values: [n, `n${n}`], shared: 'many' })
    const reads = [1, 2, 3].map(read)
    const first = await sent()
    t.strictSame([first.text, first.values], ['many', [[1, 2, 3], ['n1', 'n2', 'n3']]])
    first.answer([['third', '3'], ['first', '1']])
    t.strictSame((await Promise.all(reads)).map(([row]) => row?.[0]), ['first', undefined, 'third'])
    const alone = read(4)
    const second = await sent()
    t.strictSame([second.text, second.values], ['one', [4, 'n4']])
    second.answer()
    await alone
    // What the server refuses may be the data of one of them: then each is sent by itself.
    const parted = [5, 6].map(read)
    ;(await sent()).refuse(Object.assign(new Error('data'), { severity: 'ERROR', code: '22P02' }))
    for (const n of [5, 6]) {
      const { text, values, answer } = await sent()
      t.strictSame([text, values], ['one', [n, `n${n}`]])
      answer([[n]])
    }
    t.strictSame(await Promise.all(parted), [[[5]], [[6]]])
    await runner.reads.idle()
    t.notOk(released.includes(true))
  }
})

t.test('nobody waits longer for a connection than he may, on a pool of one either', async t => {
  for (const size of [1, 4]) {
    const { runner, sent } = makeRunner({ size, connectionTimeout: 1, pipeline: false })
    const first = runner.read('t', { text: 'one', values: [] })
    const { answer } = await sent()
    for (const isLong of [false, true]) {
      await t.rejects(runner.read('t', { text: 'two', values: [] }, { isLong }), { name: 'BusyError' })
    }
    answer()
    await first
    t.equal(runner.lanes.reads.waiting, 0)
  }
})

t.test('nothing is waited for when the last who waited has left', async t => {
  const { runner } = makeRunner()
  const controller = new AbortController()
  const read = runner.read('t', { text: 'one', values: [] }, { signal: controller.signal })
  const idle = runner.reads.idle()
  controller.abort(gone)
  await t.rejects(read, gone)
  await idle
})

t.test('only so many wait for a connection, on a pool of one either', async t => {
  const { runner, sent } = makeRunner({ size: 1, pipeline: false })
  const first = runner.read('t', { text: 'one', values: [] })
  const { answer } = await sent()
  const reads = Array.from({ length: 1000 }, () => runner.read('t', { text: 'two', values: [] }))
  await t.rejects(runner.read('t', { text: 'three', values: [] }), { name: 'BusyError' })
  answer()
  await first
  for (let n = 0; n < 1000; n++) (await sent()).answer()
  t.equal((await Promise.all(reads)).length, 1000)
})

/** A storage with the things 0 to 9, on connections that pipeline, and how often a table is waited for in it. */
async function openStorage (
  t: Test
): Promise<{ storage: Storage, schema: string, countWaiting: () => Promise<number> }> {
  const schema = newSchema()
  const storage = postgresStorage({ connectionString: await postgresUrl(), schema, statementTimeout: 60_000 })
  t.teardown(async () => {
    await storage.close()
    await dropSchema(schema)
  })
  await storage.prepare(things)
  await storage.prepare(notes)
  await storage.commit(insert('things', ...Array.from({ length: 10 }, (_, id) => thing(id))))
  return {
    storage,
    schema,
    async countWaiting () {
      const { rows } = await withClient(client => client.query(`SELECT 1 FROM pg_stat_activity
        WHERE wait_event_type = 'Lock' AND query LIKE '%${schema}%'`))
      return rows.length
    }
  }
}

t.test('items by id that are asked for in one turn', async t => {
  const { storage } = await openStorage(t)
  const asked = [3, 99, 7, 3, 0, -1]
  const found = await Promise.all(asked.map(id => storage.get('things', id)))
  t.strictSame(found.map(item => item?.id), [3, undefined, 7, 3, 0, undefined])
  t.not(found[0], found[3], 'each has an object of his own')
  await storage.commit(insert('notes', ...['a', 'a"b', '{}', 'NULL', '\\', 'ä,'].map(id => note(id))))
  const ids = ['a', 'a"b', '{}', 'NULL', '\\', 'ä,', 'b']
  t.strictSame((await Promise.all(ids.map(id => storage.get('notes', id)))).map(item => item?.id), [
    ...ids.slice(0, -1),
    undefined
  ])
  const controller = new AbortController()
  const [one, left, other, wrong] = [
    storage.get('things', 1),
    storage.get('things', 2, controller.signal),
    storage.get('things', 4),
    storage.get('things', 'none' as unknown as number)
  ]
  controller.abort(gone)
  await t.rejects(left, gone)
  await t.rejects(wrong, { code: '22P02' }, 'what the server refuses of one it refuses to that one')
  t.strictSame([(await one)?.id, (await other)?.id], [1, 4])
})

t.test('what nobody waits for any more is ended on the server, and nothing else', async t => {
  const { storage, schema, countWaiting } = await openStorage(t)
  const locker = new pg.Client({ connectionString: await postgresUrl() })
  await locker.connect()
  await locker.query(`BEGIN; LOCK TABLE "${schema}".things IN ACCESS EXCLUSIVE MODE`)
  const [first, second] = [new AbortController(), new AbortController()]
  const left: Promise<unknown>[] = [
    ...[1, 2].map(id => storage.get('things', id, first.signal)),
    ...[1, 2].map(limit => storage.find('things', query({ limit }), first.signal)),
    storage.find('things', query({ limit: 3 }), second.signal)
  ]
  const rejected = left.map(each => t.rejects(each, gone))
  while (await countWaiting() === 0) await new Promise(resolve => setTimeout(resolve, 10))
  first.abort(gone)
  await Promise.all(rejected.slice(0, 4))
  t.equal(await countWaiting(), 1, 'somebody still waits for one of them')
  second.abort(gone)
  await rejected[4]
  while (await countWaiting() > 0) await new Promise(resolve => setTimeout(resolve, 10))
  const stays = [storage.get('things', 1), storage.find('things', query({ limit: 3 }))]
  while (await countWaiting() === 0) await new Promise(resolve => setTimeout(resolve, 10))
  await locker.end()
  t.match(await Promise.all(stays), [{ id: 1 }, { items: [{ id: 0 }, { id: 1 }, { id: 2 }] }])
})

t.test('an index is followed in its own order, whichever is asked for of a field with one value', async t => {
  const { storage, statements, dispose } = await makePostgres()
  t.teardown(dispose)
  await storage.prepare(things)
  await storage.commit(insert('things', thing(1, { mood: 'calm', date: '2026-02-01' }), thing(2, { mood: 'calm' })))
  const asked = query({ where: [where('mood', 'eq', 'calm')], sort: ['-mood', 'date'], limit: 10 })
  t.same((await storage.find('things', asked)).items.map(({ id }) => id), [2, 1])
  const [text] = [...statements].filter(text => text.includes('"mood" >='))
  t.match(text, 'ORDER BY "mood" NULLS FIRST, "date" NULLS FIRST, "id"')
})
