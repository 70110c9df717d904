import t from 'tap'
import type { ConformanceContext, StorageUnderTest } from '../../lib/conformance/storage-conformance.js'
import { storageConformance } from '../../lib/conformance/storage-conformance.js'
import type {
  Change, Condition, FamilyShape, Field, Found, FoundText, Query, Storage, Stored
} from '../../lib/core/storage/storage.js'
import { memoryStorage } from '../../lib/storage/memory/memory-storage.js'

/** The names of the cases that a storage fails, of all or of those named; with the simplest runner there can be. */
async function listFailures (make: () => Storage, ...only: readonly string[]): Promise<string[]> {
  const cases: [string, () => Promise<void>][] = []
  storageConformance((name, run) => {
    if (only.length === 0 || only.includes(name)) cases.push([name, run])
  }, () => ({ storage: make() }))
  const failed: string[] = []
  for (const [name, run] of cases) await run().catch(() => failed.push(name))
  return failed
}

const asking = (change: (query: Query) => Query) => (): Storage => {
  const storage = memoryStorage()
  return { ...storage, find: (family, query) => storage.find(family, change(query)) }
}
const answering = (change: (found: Found) => Found) => (): Storage => {
  const storage = memoryStorage()
  return { ...storage, find: async (family, query) => change(await storage.find(family, query)) }
}
const committing = (commit: (storage: Storage, changes: readonly Change[]) => Promise<void>) => (): Storage => {
  const storage = memoryStorage()
  return { ...storage, commit: changes => commit(storage, changes) }
}
const preparing = (change: (shape: FamilyShape) => FamilyShape) => (): Storage => {
  const storage = memoryStorage()
  return { ...storage, prepare: shape => storage.prepare(change(shape)) }
}
const lowerTexts = (item: Stored): Stored => Object.fromEntries(Object.entries(item).map(([name, value]) =>
  [name, name === 'text' && typeof value === 'string' ? value.toLowerCase() : value])) as unknown as Stored
const withCondition = (change: (condition: Condition) => Condition) =>
  asking(query => ({ ...query, where: query.where.map(change) }))
const withOrder = (change: (order: Query['order'][number]) => Query['order'][number]) =>
  asking(query => ({ ...query, order: query.order.map(change) }))
const withItem = (change: (item: Stored) => Record<string, unknown>) =>
  answering(found => ({ ...found, items: found.items.map(change) as unknown as Stored[] }))
const withMember = (name: string, change: (value: unknown) => unknown) =>
  withItem(item => name in item ? { ...item, [name]: change(item[name]) } : item)

/** Every change by itself, each item's last one only. */
async function commitLast (storage: Storage, changes: readonly Change[]): Promise<void> {
  const last = new Map(changes.map(change => ['item' in change ? change.item.id : change.id, change]))
  await storage.commit([...last.values()])
}

/** Half of the changes, and the others after a pause. */
const commitHalves = (pause: () => Promise<void>) => committing(async (storage, changes) => {
  const half = Math.floor(changes.length / 2)
  await pause()
  await storage.commit(changes.slice(0, half))
  await pause()
  await storage.commit(changes.slice(half))
})

// Each fault, a case that must notice it, and a storage with it.
const faults: Record<string, [noticed: string, make: () => Storage]> = {
  'gt means gte': ['filter integer: gt',
    withCondition(condition => condition.op === 'gt' ? { ...condition, op: 'gte' } : condition)],
  'only the first of many values': ['filter mood: eq any of many',
    withCondition(condition => condition.op === 'eq'
      ? { ...condition, values: condition.values.slice(0, 1) }
      : condition)],
  'patterns without regard to case': ['regex: the case counts, unless (?i)',
    withCondition(condition => condition.op === 'regex'
      ? { ...condition, patterns: condition.patterns.map(pattern => `(?i)${pattern}`) }
      : condition)],
  'only the first condition': ['filter: all conditions must hold, also several on one field',
    asking(query => ({ ...query, where: query.where.slice(0, 1) }))],
  'offset ignored': ['count: all matching items, whatever the offset and limit',
    asking(query => ({ ...query, offset: 0 }))],
  'limit ignored': ['page: limit 0 returns no items, but the count',
    asking(query => ({ ...query, limit: 1000 }))],
  'always counted': ['count: only if requested',
    asking(query => ({ ...query, count: true }))],
  'always ascending': ['page: by key, downwards',
    withOrder(order => ({ ...order, descending: false }))],
  'ties in no order': ['order date: absent first, ties by id',
    withOrder(order => order.field === 'id' ? { ...order, descending: !order.descending } : order)],
  'absent is null': ['value: absent members are missing, never null or undefined',
    withItem(item => ({ string: null, ...item }))],
  'no defaults for items from before': [
    'a field added with a default: existing items have it, in reads, filters and orders',
    () => {
      const storage = memoryStorage()
      const forget = ({ default: value, ...field }: Field): Field => ({ ...field, optional: true })
      return { ...storage, prepare: shape => storage.prepare({ ...shape, fields: shape.fields.map(forget) }) }
    }
  ],
  'dates as they come': ['value: a leap day',
    withMember('date', date => `${String(date)}T00:00:00.000Z`)],
  'numbers of fifteen digits': ['value: a sum of fractions',
    withMember('number', number => Number(Number(number).toPrecision(15)))],
  'commits one change after the other': ['atomic: a conflict in the last change undoes the others',
    committing(async (storage, changes) => { for (const change of changes) await storage.commit([change]) })],
  'a pause within a commit, of a promise': ['concurrent: a reader sees all of a commit or nothing of it',
    commitHalves(async () => {})],
  'a pause within a commit, of a turn': ['concurrent: a reader sees all of a commit or nothing of it',
    commitHalves(() => new Promise(resolve => setImmediate(resolve)))],
  'refusals swallowed': ['concurrent: of 100 inserts of one id exactly one succeeds',
    committing((storage, changes) => storage.commit(changes).catch(() => {}))],
  'values taken too late': ['changes that the caller makes after a commit are not stored',
    committing(async (storage, changes) => { await Promise.resolve(); await storage.commit(changes) })],
  'nothing is unique': ['unique number: only identical values are refused',
    preparing(({ unique, ...shape }) => shape)],
  'texts are unique without regard to case': ['unique text: only identical values are refused',
    committing((storage, changes) => storage.commit(changes.map(change => 'item' in change
      ? { ...change, item: lowerTexts(change.item) }
      : change)))],
  'references are not looked at': ['reference: the item must exist; absent and null are allowed',
    preparing(({ references, ...shape }) => shape)],
  'of two changes of one item the last is done': ['refusal: two changes of one item in one commit',
    committing(commitLast)],
  'items are numbered by their times': [
    'sequence: items are numbered in the order of their commits, whatever their ids and times',
    withOrder(order => order.field === 'position' ? { ...order, field: 'createdAt' } : order)
  ],
  'the log is not chained': ['chain: each entry has a hash over itself and the one before it',
    () => ({ ...memoryStorage(), chain: true })],
  'items are not numbered': ['sequence: readers beside many writers see every entry once, in order',
    preparing(({ sequence, ...shape }) => shape)]
}

t.test('a storage without fault passes', async t => {
  t.same(await listFailures(memoryStorage), [])
})

for (const [fault, [noticed, make]] of Object.entries(faults)) {
  t.test(`noticed: ${fault}`, async t => {
    t.strictSame(await listFailures(make, noticed), [noticed])
  })
}

t.test('cases about what a storage does not have are skipped, no others', async t => {
  /** Why cases are skipped, by the beginnings of their names. */
  async function listSkipped (more: Partial<StorageUnderTest>, storage: Partial<Storage> = {}): Promise<string[]> {
    const cases: [string, (context: ConformanceContext) => Promise<void>][] = []
    let disposed = 0
    storageConformance((name, run) => cases.push([name, run]), () => ({
      storage: { ...memoryStorage(), ...storage },
      async dispose () { disposed++ },
      ...more
    }))
    const skipped = new Set<string>()
    for (const [name, run] of cases) {
      await run({ skip: reason => skipped.add(`${name.replace(/:.*/, '')}: ${reason}`) }).catch(() => {})
    }
    t.equal(disposed, cases.length, 'what was made for a skipped case is cleared away too')
    return [...skipped]
  }
  const noReopen = 'reopened: the storage keeps nothing to reopen'
  const noText = 'text: the storage has no findText'
  const noSequence = 'sequence: the storage keeps nothing to reopen'
  const noChain = 'chain: the log is not chained'
  const findText = async (): Promise<FoundText> => ({ text: '', count: 0, more: false })
  t.same(await listSkipped({}), [noReopen, noText, noSequence, noChain])
  t.same(await listSkipped({ reopen: async () => memoryStorage() }), [noText, noChain])
  t.same(await listSkipped({}, { findText }), [noReopen, noSequence, noChain])
  t.same(await listSkipped({}, { findText, chain: true }), [noReopen, noSequence])
})
