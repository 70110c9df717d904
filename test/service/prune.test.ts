import { randomUUID } from 'node:crypto'
import '../process-time.js'
import t from 'tap'
import { keepMark } from '../../lib/core/data/mark.js'
import { real, useRuntime } from '../../lib/core/runtime.js'
import { prunedId } from '../../lib/core/service/record.js'
import type { Change, Storage } from '../../lib/index.js'
import { ConflictError, deals, DuplicateError, keepRow, memoryStorage } from '../../lib/index.js'
import { prune, writeMigration } from '../../lib/tools/index.js'
import { later, makeOld, old } from '../feed/old-entries.js'
import { dealAfter, refusal, testOverStorages } from './book.js'

async function count (storage: Storage): Promise<number | undefined> {
  const order = [{ field: 'id', descending: false }]
  return (await storage.find('commands', { where: [], order, offset: 0, limit: 0, count: true })).total
}

testOverStorages(async (t, { book, storage, another }) => {
  t.test('drops what is older, in small commits, and nothing else', async t => {
    const id = await dealAfter(book, 'hold')
    const command = randomUUID()
    await refusal(book.run('complete', id, {}, { command }))
    await storage.commit(makeOld(120))
    const before = await count(storage) as number
    const commits: number[] = []
    const watched: Storage = {
      ...storage,
      async commit (changes) {
        commits.push(changes.filter(({ type }) => type === 'delete').length)
        await storage.commit(changes)
      }
    }
    t.equal(await prune(watched, { before: new Date(Date.parse(old) - 1000) }), 0, 'nothing is so old')
    t.equal(await prune(watched, { before: later, batch: 50 }), 120)
    t.strictSame(commits, [50, 50, 20])
    t.equal(await count(storage), before - 120 + 1)
    t.equal((await book.log(id)).items.length, 3)
    await t.rejects(book.log('gone'), { code: 'not-found' }, 'the log ends there')
    await t.rejects(book.run('complete', id, {}, { command }), { code: 'wrong-state' })
    t.equal(await prune(storage, { before: old.slice(0, 10) }), 0, 'a day is its beginning')
  })

  t.test('what is pruned is forgotten: the same command is another one', async t => {
    const id = await dealAfter(book)
    const command = randomUUID()
    await book.run('hold', id, { reason: 'a' }, { command })
    await book.run('unhold', id)
    // One row keeps the position of what was pruned before.
    const all = await count(storage) as number - 1
    // A moment later, so that all of it lies before.
    await new Promise(resolve => setTimeout(resolve, 5))
    t.equal(await prune(storage, { before: new Date() }), all)
    t.match(await book.get(id), { held: false, revision: 3 }, 'the item is as it was')
    t.match(await book.run('hold', id, { reason: 'a' }, { command }), { replayed: false, changed: true })
    t.strictSame((await book.log(id)).items.map(({ revision }) => revision), [4])
  })

  t.test('two at once drop each entry once', async t => {
    await storage.commit(makeOld(300, 'unchanged'))
    const other = another === undefined ? storage : another()
    const options = { before: later, batch: 20 }
    const [one, two] = await Promise.all([prune(storage, options), prune(other, options)])
    t.equal(one + two, 300)
  })

  t.test('ends when its signal is aborted', async t => {
    await storage.commit(makeOld(100))
    const controller = new AbortController()
    const stopping: Storage = {
      ...storage,
      async commit (changes) {
        await storage.commit(changes)
        controller.abort(new Error('enough'))
      }
    }
    const before = await count(storage) as number
    const options = { before: later, batch: 30 }
    await t.rejects(prune(stopping, { ...options, signal: controller.signal }), { message: 'enough' })
    t.equal(await count(storage), before - 30)
    t.equal(await prune(storage, options), 70)
  })
})

t.test('what cannot be meant', async t => {
  const storage = memoryStorage()
  for (const before of ['', 'yesterday', '2020-02-30', new Date(NaN), 0, undefined, null, Date.now(), {}]) {
    await t.rejects(prune(storage, { before: before as string }), {
      code: 'FST_DEALBOOK_INVALID_PRUNE',
      message: 'prune: "before" must be a date, such as "2030-01-31"'
    })
  }
  const tomorrow = new Date(Date.now() + 24 * 3600 * 1000)
  for (const before of [tomorrow, tomorrow.toISOString(), '9999-01-01']) {
    await t.rejects(prune(storage, { before }), { code: 'FST_DEALBOOK_INVALID_PRUNE', message: /in the future/ })
  }
  for (const batch of [0, -1, 1.5, Infinity]) {
    await t.rejects(prune(storage, { before: old, batch }), { code: 'FST_DEALBOOK_INVALID_PRUNE', message: /batch/ })
  }
  t.equal(await prune(storage, { before: old }), 0, 'where nothing was ever written')
})

t.test('after a conflict it goes on, and after another error it ends', async t => {
  const rows: [error: Error, pruned: number | undefined][] = [
    [new ConflictError('commands', prunedId), 3],
    [new DuplicateError('commands', prunedId), 3],
    [new Error('down'), undefined]
  ]
  for (const [error, pruned] of rows) {
    const inner = memoryStorage()
    await deals.service({ storage: inner }).find()
    await inner.commit(makeOld(3))
    let commits = 0
    const storage: Storage = {
      ...inner,
      async commit (changes) {
        if (++commits === 2) throw error
        await inner.commit(changes)
      }
    }
    const pruning = prune(storage, { before: later, batch: 1 })
    if (pruned === undefined) await t.rejects(pruning, error)
    else t.equal(await pruning, pruned)
    t.strictSame([commits, await count(inner)], pruned === undefined ? [2, 3] : [4, 1])
  }
})

t.test('the mark of what was pruned keeps the highest position, and the highest id of each family', t => {
  useRuntime({ ...real, random: () => 0, now: () => Date.parse(old) })
  t.teardown(() => { useRuntime() })
  const entry = (family: string, target: string, position: number) =>
    ({ id: `${position}`, family, target, position, revision: 1, createdAt: old, updatedAt: old })
  const row = { id: prunedId, family: '', target: '', action: 'Prune', outcome: 'done', createdAt: old, updatedAt: old }
  const first = { ...row, revision: 1, position: 7, result: { invoices: 9 } }
  const entries = [entry('invoices', '8', 5), entry('invoices', '9', 7), entry('deals', 'a-1', 6)]
  t.strictSame(keepMark(undefined, entries), { type: 'insert', family: 'commands', item: first })
  const replace = (item: object, current: object): Change =>
    ({ type: 'replace', family: 'commands', item, expected: 1, current }) as Change
  const second = { ...first, revision: 2, position: 8, result: { invoices: 9, orders: 2 } }
  t.strictSame(keepMark(first, [entry('orders', '2', 8), entry('invoices', '3', 4)]), replace(second, first))
  t.strictSame(keepMark(first), replace({ ...first, revision: 2 }, first))
  useRuntime({ ...real, random: () => 0.5 })
  const { item } = keepRow('commands', { id: 'x' }, { ...first, revision: 10 })
  t.strictSame([item.revision, item.createdAt], [500_011, old], 'a later revision, of those that are left to chance')
  t.end()
})

t.test('a storage without tables has no migrations, and any other writes them itself', async t => {
  await t.rejects(writeMigration(memoryStorage(), [deals]), { code: 'FST_DEALBOOK_NO_MIGRATIONS' })
  const storage: Storage = {
    ...memoryStorage(),
    writeMigration: async shapes => shapes.map(({ name }) => name).join(' ')
  }
  t.equal(await writeMigration(storage, [deals]), 'deals commands')
})
