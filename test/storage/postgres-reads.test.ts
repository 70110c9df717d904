import pg from 'pg'
import type { Test } from 'tap'
import t from 'tap'
import { insert, note, notes, query, thing, things, where } from '../../lib/conformance/fixture.js'
import type { Storage } from '../../lib/core/storage/storage.js'
import { Connections } from '../../lib/storage/postgres/connections.js'
import type { PostgresClient, PostgresPool, PostgresQuery } from '../../lib/storage/postgres/driver.js'
import { postgresStorage } from '../../lib/storage/postgres/postgres-storage.js'
import { KeptText, ReadQueue } from '../../lib/storage/postgres/read-queue.js'
import { dropSchema, newSchema, withClient } from '../postgres/schema.js'
import { postgresUrl } from '../postgres/url.js'

interface FakeQuery extends PostgresQuery {
  answer (rows?: unknown[][]): void
  refuse (error: unknown): void
}

// As sockets would: the clock of connections keeps no process alive.
const awake = setInterval(() => {}, 1000)
t.teardown(() => { clearInterval(awake) })

const connectAtOnce = async (client: PostgresClient): Promise<PostgresClient> => client

/** A queue over connections that answer when they are told to. */
function makeQueue ({ size = 2, connectionTimeout = 60_000, connect = connectAtOnce } = {}): {
  queue: ReadQueue
  /** The next statement that is sent. */
  sent: () => Promise<FakeQuery>
  /** The statements that are sent and not asked for yet. */
  unseen: FakeQuery[]
} {
  const unseen: FakeQuery[] = []
  const client: PostgresClient = {
    query: config => new Promise((resolve, reject) => {
      unseen.push({ ...config, answer: (rows = [[1]]) => { resolve({ rows }) }, refuse: reject })
    }),
    release: () => {},
    on: () => {},
    off: () => {}
  }
  const pool: PostgresPool = { connect: () => connect(client), end: async () => {}, on: () => {}, off: () => {} }
  const settings = { statementTimeout: 60_000, connectionTimeout, limitsTime: true, preparedStatements: false }
  const connections = new Connections(pool, settings)
  return {
    queue: new ReadQueue(connections, size),
    async sent () {
      while (unseen.length === 0) await new Promise(resolve => setImmediate(resolve))
      return unseen.shift() as FakeQuery
    },
    unseen
  }
}

const kept = (text: string, shared?: string): KeptText =>
  new KeptText(text, undefined, true, shared === undefined ? undefined : { text: shared })
const gone = new Error('gone')

t.test('a read whose client leaves while it waits for a connection is not sent', async t => {
  const { queue, sent, unseen } = makeQueue()
  const controller = new AbortController()
  const first = queue.read('t', kept('one'), [])
  // From here on there is no room for it on the connections that a table may have.
  const { answer, text } = await sent()
  t.equal(text, 'one')
  const second = queue.read('t', kept('two'), [], controller.signal)
  const third = queue.read('t', kept('three'), [])
  const other = queue.read('other', kept('four'), [])
  const next = await sent()
  t.equal(next.text, 'four', 'the reads of other tables go on')
  next.answer()
  await other
  t.equal(queue.waiting, 2)
  controller.abort(gone)
  await t.rejects(second, gone)
  t.equal(queue.waiting, 1)
  answer()
  t.same(await first, [[1]])
  const last = await sent()
  t.equal(last.text, 'three')
  last.answer()
  t.same(await third, [[1]])
  t.strictSame([unseen, queue.waits], [[], 2])
})

t.test('reads that differ only in their values are one statement', async t => {
  const { queue, sent } = makeQueue()
  const text = kept('one', 'many')
  const read = (n: number) => queue.read('t', text, [n, `n${n}`])
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
})

t.test('reads without values have one answer', async t => {
  const { queue, sent, unseen } = makeQueue()
  const text = kept('one', 'one')
  const reads = [1, 2, 3].map(() => queue.read('t', text, []))
  ;(await sent()).answer([['rows']])
  t.strictSame([await Promise.all(reads), unseen], [Array(3).fill([['rows']]), []])
})

t.test('a text that turns out to be slow is not merged for a while', async t => {
  const text = new KeptText('one', undefined, false, { text: 'many' })
  for (const most of [2, 4, 8, 16, 32, 32]) {
    t.equal(text.mostMerged, most)
    text.noteMerged(most, 10)
  }
  text.noteMerged(3, 10_000)
  t.equal(text.mostMerged, 1)
  const byId = kept('one', 'many')
  byId.noteMerged(3, 10_000)
  t.equal(byId.mostMerged, 32, 'what is read by the key is planned alike')
})

t.test('a read waits no longer for a connection than it may', async t => {
  const { queue, sent } = makeQueue({ size: 1, connectionTimeout: 1 })
  const first = queue.read('t', kept('one'), [])
  const { answer } = await sent()
  await t.rejects(queue.read('t', kept('two'), []), { name: 'BusyError' })
  answer()
  await first
  t.equal(queue.waiting, 0)
})

t.test('a pool that refuses connections is asked once for all reads of a table', async t => {
  let asked = 0
  const connect = async () => {
    asked++
    await new Promise(resolve => setImmediate(resolve))
    throw gone
  }
  const { queue } = makeQueue({ size: 4, connect })
  const read = (table: string, count: number) =>
    Array.from({ length: count }, (_, n) => t.rejects(queue.read(table, kept(`text ${n}`), []), gone))
  const reads = [...read('one', 10), ...read('two', 10)]
  await new Promise(resolve => setImmediate(resolve))
  await Promise.all([...reads, ...read('one', 5)])
  while (!queue.isIdle) await new Promise(resolve => setImmediate(resolve))
  t.ok(asked <= 3, `${asked} times`)
})

t.test('a pool that never has a connection for it is given up', async t => {
  const released: unknown[] = []
  let arrive: (client: PostgresClient) => void = () => {}
  const connect = () => new Promise<PostgresClient>(resolve => { arrive = resolve })
  const { queue } = makeQueue({ connectionTimeout: 1, connect })
  await t.rejects(queue.read('t', kept('one'), []), { name: 'BusyError' })
  while (!queue.isIdle) await new Promise(resolve => setImmediate(resolve))
  arrive({ release: (error: unknown) => { released.push(error) } } as PostgresClient)
  await new Promise(resolve => setImmediate(resolve))
  t.strictSame(released, [undefined], 'one that comes late goes back')
})

t.test('only so many wait for a connection', async t => {
  const { queue, sent } = makeQueue({ size: 1 })
  const first = queue.read('t', kept('one'), [])
  const { answer } = await sent()
  const reads = Array.from({ length: 1000 }, () => queue.read('t', kept('two'), []))
  await t.rejects(queue.read('t', kept('three'), []), { name: 'BusyError' })
  answer()
  await first
  for (let n = 0; n < 1000; n++) (await sent()).answer()
  t.equal((await Promise.all(reads)).length, 1000)
})

/** A storage with the things 0 to 9, and how often a table is waited for in it. */
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
  t.not(found[0], found[3], 'each has its own object')
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

t.test('a heavy read whose client has left is ended on the server, and nothing else', async t => {
  const { storage, schema, countWaiting } = await openStorage(t)
  const locker = new pg.Client({ connectionString: await postgresUrl() })
  await locker.connect()
  await locker.query(`BEGIN; LOCK TABLE "${schema}".things IN ACCESS EXCLUSIVE MODE`)
  const search = query({ where: [where('string', 'regex', 'a')] })
  const controller = new AbortController()
  const stays = storage.find('things', search)
  const left = t.rejects(storage.find('things', search, controller.signal), gone)
  while (await countWaiting() < 2) await new Promise(resolve => setTimeout(resolve, 10))
  controller.abort(gone)
  await left
  while (await countWaiting() > 1) await new Promise(resolve => setTimeout(resolve, 10))
  const byId = storage.get('things', 1)
  await locker.end()
  t.match(await Promise.all([stays, byId]), [{ items: [] }, { id: 1 }])
})
