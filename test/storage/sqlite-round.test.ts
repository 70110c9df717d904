import t from 'tap'
import type { SqliteDatabase } from '../../lib/storage/sqlite/driver.js'
import { Round } from '../../lib/storage/sqlite/round.js'

/** A database that only notes what it is told. */
function makeDatabase (notes: string[], isBroken = false): SqliteDatabase {
  const prepare = (sql: string) => ({
    all: () => [],
    run () {
      notes.push(sql)
      if (isBroken) throw new Error('broken')
      return { changes: 0 }
    }
  })
  return { exec: () => {}, prepare, close: () => {} }
}

function setUp ({ isOurs = true, isBroken = false, maxMs = Infinity } = {}) {
  const notes: string[] = []
  const round = new Round(makeDatabase(notes, isBroken), isOurs, maxMs)
  const read = (name: string) => round.read(() => {
    notes.push(name)
    return name
  })
  return { notes, round, read }
}

t.test('the reads of one turn are done in one transaction, and each is answered for itself', async t => {
  const { notes, round, read } = setUp()
  const failing = round.read(() => { throw new Error('no such row') })
  const all = [read('a'), read('b')]
  t.strictSame(notes, [], 'nothing before the turn has ended')
  await t.rejects(failing, { message: 'no such row' })
  t.strictSame(await Promise.all(all), ['a', 'b'])
  t.strictSame(notes, ['BEGIN', 'a', 'b', 'COMMIT'])
})

t.test('on a connection of somebody else there is no transaction', async t => {
  const { notes, read } = setUp({ isOurs: false })
  await Promise.all([read('a'), read('b')])
  t.strictSame(notes, ['a', 'b'])
})

t.test('where no transaction can be begun, the reads say what is wrong', async t => {
  const { notes, read } = setUp({ isBroken: true })
  t.equal(await read('a'), 'a')
  t.strictSame(notes, ['BEGIN', 'a'])
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
  const round = new Round({ ...database, prepare, exec }, true)
  t.equal(await round.read(() => 'a'), 'a')
  t.equal(await round.read(() => 'b'), 'b')
  t.strictSame(notes, ['BEGIN', 'ROLLBACK', 'BEGIN', 'ROLLBACK'])
})

t.test('what takes long is left for the next turn', async t => {
  const { notes, round } = setUp({ maxMs: 10 })
  const slow = (name: string) => round.read(() => {
    const end = performance.now() + 15
    while (performance.now() < end);
    notes.push(name)
  })
  const first = slow('a')
  const second = slow('b')
  await first
  t.strictSame(notes, ['BEGIN', 'a', 'COMMIT'])
  await second
  t.strictSame(notes, ['BEGIN', 'a', 'COMMIT', 'BEGIN', 'b', 'COMMIT'])
})

t.test('it is idle when all was read', async t => {
  const { notes, round, read } = setUp()
  await round.idle()
  const all = read('a').then(() => read('b')).then(() => read('c')).then(() => read('d'))
  await round.idle()
  t.strictSame(notes.filter(note => note.length === 1), ['a', 'b', 'c', 'd'])
  await all
})
