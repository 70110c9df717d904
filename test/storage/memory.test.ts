import fc from 'fast-check'
import t from 'tap'
import { insert, query, remove, replace, thing, things, where } from '../../lib/conformance/fixture.js'
import { storageConformance } from '../../lib/conformance/storage-conformance.js'
import type { Id, Stored } from '../../lib/core/storage/storage.js'
import { MemoryItems } from '../../lib/storage/memory/memory-items.js'
import { memoryStorage } from '../../lib/storage/memory/memory-storage.js'

storageConformance(t.test, () => ({ storage: memoryStorage() }))

t.test('a search that pauses sees what was there when it began', async t => {
  const storage = memoryStorage()
  await storage.prepare(things)
  const before = Array.from({ length: 20_000 }, (_, id) => thing(id, { string: 'a'.repeat(60) }))
  await storage.commit(insert('things', ...before))
  const slow = query({ where: [where('string', 'regex', '(a|aa)+b', '^a')], limit: 0, count: true })
  const searching = storage.find('things', slow)
  let commits = 0
  for (let searched = false; !searched; commits++) {
    const gone = before[before.length - 1 - 2 * commits] as Stored
    const changed = before[before.length - 2 - 2 * commits] as Stored
    await storage.commit([
      remove('things', gone.id),
      replace('things', { ...changed, string: 'b', revision: 2 }),
      ...insert('things', thing(-1 - commits, { string: 'a' }), thing(20_000 + commits, { string: 'a' }))
    ])
    searched = await Promise.race([
      searching.then(() => true),
      new Promise<boolean>(resolve => setImmediate(resolve, false))
    ])
  }
  t.ok(commits > 1, `${commits} commits meanwhile`)
  t.equal((await searching).total, 20_000)
  t.equal((await storage.find('things', { ...slow, where: [] })).total, 20_000 + commits)
  t.equal((await storage.find('things', slow)).total, 20_000, 'the next search sees them')
})

t.test('items stay in order, and one for each id, whatever is changed', async t => {
  const edit = fc.tuple(fc.integer({ min: -20, max: 60 }), fc.option(fc.integer({ min: 1, max: 9 }), { freq: 2 }))
  const batches = fc.array(fc.array(edit, { maxLength: 60, size: 'max' }), { maxLength: 10 })
  fc.assert(fc.property(batches, batches => {
    const sorted = new MemoryItems()
    const expected = new Map<Id, Stored>()
    for (const batch of batches) {
      const edits = new Map<Id, Stored | undefined>()
      for (const [id, revision] of batch) {
        if (revision !== null) edits.set(id, thing(id, {}, revision))
        else if (expected.has(id)) edits.set(id, undefined)
      }
      sorted.apply(edits)
      for (const [id, item] of edits) {
        if (item === undefined) expected.delete(id)
        else expected.set(id, item)
      }
      const inOrder = [...expected.values()].sort((a, b) => Number(a.id) - Number(b.id))
      if (sorted.items.length !== inOrder.length || inOrder.some((item, at) => sorted.items[at] !== item)) return false
      for (let id = -20; id <= 60; id++) if (sorted.get(id) !== expected.get(id)) return false
    }
    return true
  }))
  t.pass('100 histories')
})

t.test('many insertions out of order are made at once', async t => {
  const items = new MemoryItems()
  items.apply(new Map(Array.from({ length: 10_000 }, (_, n) => [2 * n, thing(2 * n)])))
  const calls = t.capture(Array.prototype as { splice: unknown[]['splice'] }, 'splice', Array.prototype.splice)
  items.apply(new Map(Array.from({ length: 1000 }, (_, n) => [2 * n + 1, thing(2 * n + 1)])))
  items.apply(new Map(Array.from({ length: 1000 }, (_, n) => [2 * n, undefined])))
  t.equal(calls().filter(({ receiver }) => receiver === items.items).length, 0)
  t.strictSame(items.items.slice(0, 1001).map(({ id }) => id), [
    ...Array.from({ length: 1000 }, (_, n) => 2 * n + 1), 2000
  ])
})
