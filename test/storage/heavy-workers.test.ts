import { statSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Worker } from 'node:worker_threads'
import t from 'tap'
import type { Storage } from '../../lib/index.js'
import { openDatabase, openReader, prepareRead, prepareWrite } from '../../lib/storage/sqlite/driver.js'
import { SnapshotTurn } from '../../lib/storage/sqlite/snapshot.js'
import { sqliteStorage } from '../../lib/storage/sqlite/sqlite-storage.js'
import { loadPeople, people } from '../heavy-reads.js'

async function openFile (t: { teardown (end: () => Promise<unknown>): void }, rows: number): Promise<Storage> {
  const folder = await mkdtemp(join(tmpdir(), 'dealbook-workers-'))
  const storage = sqliteStorage({ file: join(folder, 'people.db') })
  t.teardown(async () => {
    await storage.close()
    await rm(folder, { recursive: true })
  })
  await loadPeople(storage, rows)
  return storage
}

const heavy = 'sort=-name,age&age.ne=200&page=10'

t.test('an error in a worker that nobody waits for takes nothing along', async t => {
  const storage = await openFile(t, 10_000)
  const book = people.service({ storage })
  const started: Worker[] = []
  const add = (worker: Worker): void => { started.push(worker) }
  process.on('worker', add)
  t.teardown(async () => { process.off('worker', add) })
  const before = await book.find(heavy)
  const [worker] = started as [Worker]
  // Nothing that it could answer.
  worker.postMessage(null)
  worker.ref()
  await new Promise(resolve => worker.once('exit', resolve))
  t.strictSame(await book.find(heavy), before)
  t.equal(started.length, 2, 'there is another')
})

t.test('reads see one moment, unless the log of the database would grow without end', async t => {
  const folder = await mkdtemp(join(tmpdir(), 'dealbook-log-'))
  const file = join(folder, 'texts.db')
  const database = await openDatabase(file)
  database.exec('CREATE TABLE texts (text)')
  const readers = [await openReader(file), await openReader(file)]
  t.teardown(async () => {
    for (const each of [...readers, database]) each.close()
    await rm(folder, { recursive: true })
  })
  const count = readers.map(reader => prepareRead(reader, 'SELECT count(*) FROM texts'))
  const insert = prepareWrite(database, 'INSERT INTO texts SELECT hex(randomblob(500000)) || ?')
  const turns = readers.map(reader => new SnapshotTurn(reader, file, new AbortController().signal))
  const seen: unknown[][] = []
  let longest = 0
  for (let n = 0; n < 80; n++) {
    insert([n])
    seen.push(count.map(count => count.get([])?.[0]))
    await Promise.all(turns.map(turn => turn.pass()))
    longest = Math.max(longest, statSync(`${file}-wal`).size / 2 ** 20)
  }
  for (const turn of turns) turn.end()
  t.strictSame(seen.slice(0, 10), Array(10).fill([1, 1]), 'as it was when it was first read')
  t.ok(longest > 16 && longest < 32, 'megabytes, of 80 that were written', { longest })
  t.ok((seen.at(-1)?.[0] as number) > 60, 'and so later reads see more', { seen })
})
