import { setImmediate as nextTurn } from 'node:timers/promises'
import t from 'tap'
import { waitToBegin } from '../../lib/core/phases.js'
import { ReadBurst } from '../../lib/storage/sqlite/bursts.js'
import type { SqliteDatabase } from '../../lib/storage/sqlite/driver.js'

// However busy the machine is: no time passes but what a test says.
let now = 1e6
const { now: realNow } = performance
performance.now = () => now
t.teardown(() => { performance.now = realNow })

/** A database that only notes what it is given to run. */
function makeDatabase (notes: string[], isBroken = false): SqliteDatabase {
  const prepare = (sql: string) => ({
    all: () => [],
    run () {
      notes.push(sql)
      if (isBroken) throw new Error('broken')
      return { changes: 0 }
    }
  })
  return { exec: () => {}, prepare, close: () => {}, function: () => {} }
}

function setUp ({ isOurs = true, isBroken = false, maxMs = Infinity } = {}) {
  const notes: string[] = []
  const burst = new ReadBurst(makeDatabase(notes, isBroken), isOurs, 1000, maxMs)
  const read = (name: string) => burst.read(() => {
    notes.push(name)
    return name
  })
  return { notes, burst, read }
}

/** As two requests over two connections do, of which at least the second waits for others. */
async function arrive (): Promise<void> {
  await Promise.all([waitToBegin({}), waitToBegin({})])
}

/** As one request does, after those before it were answered. */
async function arriveAlone (): Promise<void> {
  await arrive()
  await nextTurn()
}

t.test('a read that is alone is done at once, and without a transaction', async t => {
  const { notes, burst, read } = setUp()
  await arriveAlone()
  t.equal(read('a'), 'a')
  t.throws(() => burst.read(() => { throw new Error('no such row') }), { message: 'no such row' })
  t.strictSame(notes, ['a'])
})

t.test('the reads of requests that came together are done in one transaction, each answered for itself', async t => {
  const { notes, burst, read } = setUp()
  await arrive()
  const failing = burst.read(() => { throw new Error('no such row') }) as Promise<never>
  const all = [read('a'), read('b')]
  t.strictSame(notes, [], 'nothing before all have been asked for')
  await t.rejects(failing, { message: 'no such row' })
  t.strictSame(await Promise.all(all), ['a', 'b'])
  t.strictSame(notes, ['BEGIN', 'a', 'b', 'COMMIT'])
  await arrive()
  t.equal(await read('c'), 'c')
  t.strictSame(notes.slice(4), ['c'], 'one takes no transaction')
})

t.test('on a connection of the host there is no transaction', async t => {
  const { notes, read } = setUp({ isOurs: false })
  await arrive()
  await Promise.all([read('a'), read('b')])
  t.strictSame(notes, ['a', 'b'])
})

t.test('where no transaction can be begun, the reads fail by themselves', async t => {
  const { notes, read } = setUp({ isBroken: true })
  await arrive()
  t.strictSame(await Promise.all([read('a'), read('b')]), ['a', 'b'])
  t.strictSame(notes, ['BEGIN', 'a', 'b'])
})

t.test('a transaction that cannot be ended ends nothing else', async t => {
  const notes: string[] = []
  const database = makeDatabase(notes)
  const prepare = (sql: string) => sql === 'COMMIT'
    ? { all: () => [], run: () => { throw new Error('full disk') } }
    : database.prepare(sql)
  const exec = (sql: string) => {
    notes.push(sql)
    throw new Error('no transaction is active')
  }
  const burst = new ReadBurst({ ...database, prepare, exec }, true, 1000)
  await arrive()
  t.strictSame(await Promise.all([burst.read(() => 'a'), burst.read(() => 'b')]), ['a', 'b'])
  t.strictSame(notes, ['BEGIN', 'ROLLBACK'])
})

t.test('what takes long is left for the next turn', async t => {
  const { notes, burst } = setUp({ maxMs: 10 })
  const slow = (name: string) => burst.read(() => {
    now += 15
    notes.push(name)
  })
  await arrive()
  const first = slow('a')
  const second = slow('b')
  await first
  t.strictSame(notes, ['BEGIN', 'a', 'COMMIT'])
  await second
  t.strictSame(notes, ['BEGIN', 'a', 'COMMIT', 'b'])
  await arriveAlone()
  slow('c')
  t.equal(notes.at(-1), 'c')
  const last = slow('d')
  t.equal(notes.at(-1), 'c', 'those that are alone have no more time together')
  await last
  t.equal(notes.at(-1), 'd')
})

t.test('it is idle when all was read', async t => {
  const { notes, burst, read } = setUp()
  await burst.idle()
  await arrive()
  const all = Promise.resolve(read('a')).then(() => read('b')).then(() => read('c')).then(() => read('d'))
  await burst.idle()
  await all
  t.strictSame(notes.filter(note => note.length === 1), ['a', 'b', 'c', 'd'])
})

t.test('a read that another process keeps out is tried again, and others go on meanwhile', async t => {
  const { burst } = setUp()
  for (const together of [false, true]) {
    let attempts = 0
    await (together ? arrive() : arriveAlone())
    const reading = burst.read(() => {
      if (++attempts < 3) throw Object.assign(new Error('database is locked'), { code: 'SQLITE_BUSY_RECOVERY' })
      return 'found'
    })
    t.equal(await reading, 'found')
    t.equal(attempts, 3)
  }
})
