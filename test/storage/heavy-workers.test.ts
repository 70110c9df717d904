import { existsSync, truncateSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Worker } from 'node:worker_threads'
import t from 'tap'
import { getFamily } from '../../lib/core/family/family.js'
import { HeavyReadQueue } from '../../lib/core/storage/turns.js'
import type { Storage } from '../../lib/index.js'
import { layOutOwnTable } from '../../lib/storage/sql/layout.js'
import { openDatabase } from '../../lib/storage/sqlite/driver.js'
import { HeavyReads } from '../../lib/storage/sqlite/heavy-reads.js'
import { sqliteStorage } from '../../lib/storage/sqlite/sqlite-storage.js'
import { addFunctions, running, TableStatements } from '../../lib/storage/sqlite/statements.js'
import { sqliteDialect } from '../../lib/storage/sqlite/tables.js'
import { loadPeople, people } from '../heavy-reads.js'

interface Opened {
  readonly file: string
  readonly storage: Storage
}

async function openFile (t: { teardown (end: () => Promise<unknown>): void }, rows: number): Promise<Opened> {
  const folder = await mkdtemp(join(tmpdir(), 'dealbook-workers-'))
  const file = join(folder, 'people.db')
  const storage = sqliteStorage({ file })
  t.teardown(async () => {
    await storage.close()
    await rm(folder, { recursive: true })
  })
  await loadPeople(storage, rows)
  return { file, storage }
}

/** The workers that are started from now on. */
function watchWorkers (t: { teardown (end: () => Promise<unknown>): void }): Worker[] {
  const started: Worker[] = []
  const add = (worker: Worker): void => { started.push(worker) }
  process.on('worker', add)
  t.teardown(async () => process.off('worker', add))
  return started
}

const heavy = 'sort=-name,age&age.ne=200&page=10'

t.test('an error in an idle worker affects nothing else', async t => {
  const { storage } = await openFile(t, 3000)
  const book = people.service({ storage })
  const started = watchWorkers(t)
  const before = await book.find(heavy)
  const [worker] = started as [Worker]
  // Nothing that it could answer.
  worker.postMessage(null)
  worker.ref()
  await new Promise(resolve => worker.once('exit', resolve))
  t.strictSame(await book.find(heavy), before)
  t.equal(started.length, 2, 'there is another')
})

t.test('a worker does not load what the host loads before its own code', async t => {
  const { file, storage } = await openFile(t, 3000)
  const [tracer, loaded] = [`${file}.mjs`, `${file}.loaded`]
  writeFileSync(tracer, `import { writeFileSync } from 'node:fs'; writeFileSync(${JSON.stringify(loaded)}, '')`)
  const { NODE_OPTIONS = '' } = process.env
  process.env['NODE_OPTIONS'] = `--import=${pathToFileURL(tracer).href}`
  t.teardown(() => { process.env['NODE_OPTIONS'] = NODE_OPTIONS })
  const started = watchWorkers(t)
  await people.service({ storage }).find(heavy)
  t.equal(started.length, 1)
  t.notOk(existsSync(loaded))
})

t.test('where the log of the database is long, reads pause for a moment', async t => {
  const { storage } = await openFile(t, 3000)
  const book = people.service({ storage })
  const started = watchWorkers(t)
  const before = await book.find(heavy)
  t.equal(started.length, 1)
  const reads = [book.find(heavy), book.find(heavy)]
  t.strictSame(await Promise.all(reads), [before, before])
  t.equal(started.length, 2, 'two read at once')

  const { file: other, storage: otherStorage } = await openFile(t, 3000)
  const otherBook = people.service({ storage: otherStorage })
  const first = otherBook.find(heavy)
  while (started.length < 3) await new Promise(resolve => setImmediate(resolve))
  // As others who write would make it.
  truncateSync(`${other}-wal`, 17 * 2 ** 20)
  const second = otherBook.find(heavy)
  t.strictSame(await first, await second)
  t.equal(started.length, 3, 'the second began after the first')
})

/** The heavy reads of a file, of which one is at work at a time, and the statements of its table. */
async function openHeavy (t: { teardown (end: () => Promise<unknown>): void }, rows: number, script?: URL) {
  const { file } = await openFile(t, rows)
  const database = await openDatabase(file)
  addFunctions(database)
  const layout = layOutOwnTable(getFamily(people).shape, sqliteDialect)
  const statements = new TableStatements(database, layout)
  const heavy = new HeavyReads(new HeavyReadQueue({ maxHeavyReads: 1 }), file, script)
  t.teardown(async () => {
    await heavy.close()
    database.close()
  })
  return { heavy, statements, id: [layout.id] }
}

t.test('a statement that nothing waits for is ended', async t => {
  // So many that it is asked in any case: at one row in four thousand.
  const { heavy, statements, id } = await openHeavy(t, 50_000)
  const query = { where: [], order: [{ field: 'id', descending: false }], offset: 49_990, limit: 5, count: false }
  const where = [{ field: 'name', op: 'regex', patterns: Array(600).fill('(a|aa)+x9$') }] as const
  const endless = { ...query, where }
  const controller = new AbortController()
  const abandoned = heavy.read(statements, endless, id, controller.signal)
  setTimeout(() => controller.abort(new Error('enough')), 300)
  await t.rejects(abandoned, { message: 'enough' })
  const { text } = await heavy.read(statements, query, id)
  t.strictSame(JSON.parse(`[${text}]`), [91, 92, 93, 94, 95].map(id => ({ id: 49_900 + id })), 'then others')
})

t.test('where the file of the worker is missing, this thread reads, and a warning is given once', async t => {
  const script = new URL('./bundled/heavy-worker.js', import.meta.url)
  const { heavy, statements, id } = await openHeavy(t, 5000, script)
  const warnings: unknown[] = []
  const note = (warning: unknown): void => { warnings.push(warning) }
  process.on('warning', note)
  t.teardown(async () => process.off('warning', note))
  const where = [{ field: 'name', op: 'regex', patterns: ['^a'] }] as const
  const query = { where, order: [{ field: 'id', descending: true }], offset: 0, limit: 3, count: true }
  const pages = await Promise.all([1, 2].map(() => heavy.read(statements, query, id)))
  t.equal(pages[0]?.total, 192)
  t.strictSame(pages, [await heavy.read(statements, query, id), pages[0]])
  t.match(warnings, [{ code: 'DEALBOOK_NO_WORKER', message: /heavy-worker\.js/ }])
  t.equal(warnings.length, 1)

  const controller = new AbortController()
  const ended = heavy.read(statements, query, id, controller.signal)
  controller.abort(new Error('enough'))
  await t.rejects(ended, { message: 'enough' })
  running.isEnded = () => true
  t.throws(() => statements.readAll(query, id), { message: 'the read was aborted' })
  running.isEnded = () => false
})
