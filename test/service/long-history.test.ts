// A long history is read in parts: neither all at once, nor while other requests wait.
import t from 'tap'
import { type Change, defineFamily, type FoundText, type Storage, Type } from '../../lib/index.js'
import { storages } from '../storages.js'

const counters = defineFamily({
  name: 'counters',
  singular: 'counter',
  fields: Type.Object({ id: Type.String(), value: Type.Integer() }),
  create: ['id', 'value'],
  edit: ['value'],
  revert: true
})

const revisions = 10_000
const momentOf = (revision: number): string => new Date(Date.UTC(2026, 0, 1) + 1000 * revision).toISOString()

/** Each revision of the counter has its own number as the value. */
async function makeHistory (storage: Storage): Promise<void> {
  const item = (revision: number) =>
    ({ id: 'a', value: revision, revision, createdAt: momentOf(1), updatedAt: momentOf(revision) })
  await storage.commit([{ type: 'insert', family: 'counters', item: item(revisions) }])
  for (let first = 1; first <= revisions; first += 1000) {
    await storage.commit(Array.from({ length: 1000 }, (_, index): Change => {
      const revision = first + index
      const at = momentOf(revision)
      const isFirst = revision === 1
      const entry = {
        id: `c-${revision}`,
        family: 'counters',
        target: 'a',
        action: isFirst ? 'CreateCounter' : 'EditCounter',
        params: { value: revision },
        outcome: 'done',
        revision,
        createdAt: at,
        updatedAt: at,
        ...!isFirst && { changes: { value: { from: revision - 1, to: revision } } }
      }
      return { type: 'insert', family: 'commands', item: entry }
    }))
  }
}

interface Reads { count: number, most: number }

function countReads (storage: Storage, reads: Reads): Storage {
  const note = (count: number): void => {
    reads.count++
    reads.most = Math.max(reads.most, count)
  }
  const { findText } = storage
  return {
    ...storage,
    async find (family, query, signal) {
      const found = await storage.find(family, query, signal)
      note(found.items.length)
      return found
    },
    ...findText !== undefined && {
      async findText (...args): Promise<FoundText> {
        const found = await findText.call(storage, ...args)
        note(found.count)
        return found
      }
    }
  }
}

for (const { name, make } of storages) {
  t.test(`${name}: an item with ${revisions} revisions`, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    await counters.service({ storage }).create({ id: 'b', value: 0 })
    await makeHistory(storage)
    const reads: Reads = { count: 0, most: 0 }
    const book = counters.service({ storage: countReads(storage, reads) })
    const count = async <T>(work: () => Promise<T>) => {
      Object.assign(reads, { count: 0, most: 0 })
      let turns = 0
      let isDone = false
      const turn = (): void => {
        turns++
        if (!isDone) setImmediate(turn)
      }
      setImmediate(turn)
      const result = await work()
      isDone = true
      return { result, turns, ...reads }
    }
    const works = {
      revision: () => book.get('a', { revision: 1 }),
      at: () => book.get('a', { at: momentOf(1) }),
      revert: async () => (await book.preview('revert', 'a', { to: 1 })).item
    }
    for (const [what, work] of Object.entries(works)) {
      const { result, count: all, most, turns } = await count(work)
      t.equal(result?.value, 1, what)
      t.ok(all > revisions / 100 && all < revisions / 100 + 15, `${what}: ${all} reads`)
      t.ok(most <= 100, `${what}: at most ${most} entries at once`)
      t.ok(turns > 1, `${what}: others had ${turns} turns`)
    }
    const near = await count(() => book.get('a', { revision: revisions - 5 }))
    t.equal(near.result.value, revisions - 5)
    t.ok(near.count <= 2, 'what is near is read at once')
    t.equal((await book.revert('a', { to: 1 })).item?.value, 1)
  })
}
