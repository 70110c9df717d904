import t from 'tap'
import { storageConformance } from '../../lib/storage/conformance/storage-conformance.js'
import { memoryStorage } from '../../lib/storage/memory/memory-storage.js'
import type { Condition, Found, Query, Storage, Stored } from '../../lib/storage/storage.js'

/** The names of the cases that a storage fails. */
async function failures (make: () => Storage): Promise<string[]> {
  const cases: [string, () => Promise<void>][] = []
  storageConformance((name, run) => cases.push([name, run]), () => ({ storage: make() }))
  const failed: string[] = []
  for (const [name, run] of cases) await run().catch(() => failed.push(name))
  return failed
}

type Change = (query: Query) => Query
const asking = (change: Change) => (): Storage => {
  const storage = memoryStorage()
  return { ...storage, find: (family, query) => storage.find(family, change(query)) }
}
const answering = (change: (found: Found) => Found) => (): Storage => {
  const storage = memoryStorage()
  return { ...storage, find: async (family, query) => change(await storage.find(family, query)) }
}
const where = (change: (condition: Condition) => Condition): Change => query => ({ ...query, where: query.where.map(change) })
const item = (change: (item: Stored) => Record<string, unknown>) => answering(found => ({ ...found, items: found.items.map(change) as unknown as Stored[] }))

// Each fault, and a case that must notice it.
const faults: Record<string, [make: () => Storage, noticed: string]> = {
  'gt means gte': [asking(where(condition => condition.op === 'gt' ? { ...condition, op: 'gte' } : condition)), 'filter integer: gt'],
  'only the first of many values': [asking(where(condition => condition.op === 'eq' ? { ...condition, values: condition.values.slice(0, 1) } : condition)), 'filter mood: eq any of many'],
  'patterns without regard to case': [asking(where(condition => condition.op === 'regex' ? { ...condition, patterns: condition.patterns.map(pattern => `(?i)${pattern}`) } : condition)), 'regex: the case counts, unless (?i)'],
  'only the first condition': [asking(query => ({ ...query, where: query.where.slice(0, 1) })), 'filter: all conditions must hold, several on one field too'],
  'offset ignored': [asking(query => ({ ...query, offset: 0 })), 'count: of what matches, whatever offset and limit are'],
  'limit ignored': [asking(query => ({ ...query, limit: 1000 })), 'page: limit 0 brings nothing, and the count all the same'],
  'always counted': [asking(query => ({ ...query, count: true })), 'count: only where it is wanted'],
  'always ascending': [asking(query => ({ ...query, order: query.order.map(order => ({ ...order, descending: false })) })), 'page: by key, downwards'],
  'ties in no order': [asking(query => ({ ...query, order: query.order.map(order => order.field === 'id' ? { ...order, descending: !order.descending } : order) })), 'order date: absent first, ties by id'],
  'absent is null': [item(found => ({ string: null, ...found })), 'value: absent members are missing, never null or undefined'],
  'dates as they come': [item(found => ({ ...found, ...'date' in found ? { date: `${String(found['date'])}T00:00:00.000Z` } : {} })), 'value: a leap day'],
  'numbers of fifteen digits': [item(found => ({ ...found, ...'number' in found ? { number: Number(Number(found['number']).toPrecision(15)) } : {} })), 'value: a sum of fractions'],
  'commits one change after the other': [() => {
    const storage = memoryStorage()
    return { ...storage, async commit (changes) { for (const change of changes) await storage.commit([change]) } }
  }, 'atomic: a conflict at the end undoes all before it'],
  'refusals swallowed': [() => {
    const storage = memoryStorage()
    return { ...storage, commit: changes => storage.commit(changes).catch(() => {}) }
  }, 'concurrent: of 100 inserts of one id exactly one succeeds'],
  'values taken too late': [() => {
    const storage = memoryStorage()
    return { ...storage, async commit (changes) { await Promise.resolve(); await storage.commit(changes) } }
  }, 'what the caller changes after a commit does not change what is stored']
}

t.test('a storage without fault passes', async t => {
  t.same(await failures(memoryStorage), [])
})

for (const [fault, [make, noticed]] of Object.entries(faults)) {
  t.test(`noticed: ${fault}`, async t => {
    const failed = await failures(make)
    t.ok(failed.includes(noticed), `fails "${noticed}"`)
  })
}
