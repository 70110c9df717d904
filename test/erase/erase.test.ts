import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import type { CommandRecord } from '../../lib/core/service/record.js'
import type { Storage, Stored } from '../../lib/index.js'
import { erase } from '../../lib/tools/index.js'
import { runs } from '../size.js'
import { failAt } from './failing.js'
import { makeHistory, persons, type Step, steps } from './histories.js'
import { buyers, families, orders, tables } from './people.js'
import { places, readRows } from './places.js'

const isOf = (person: number) => (value: unknown): boolean => {
  if (typeof value === 'number') return Math.floor((value - 910_000) / 1000) === person
  const text = String(value)
  return text.includes(`zq${person}x`) || text.includes(`17${70 + person}-`)
}

function listLeaves (value: unknown): unknown[] {
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(listLeaves) : [value]
}

/** What stays of an entry. */
const keepFacts = ({ id, family, target, action, outcome, revision, createdAt, principal, about }: Stored): object =>
  ({ id, family, target, action, outcome, revision, createdAt, principal, about })

const read = (storage: Storage): ReturnType<typeof readRows> => readRows(storage, ['people', 'orders', 'commands'])

const busy: readonly Step[] = [
  [0, 0, 3], [1, 0, 4], [2, 0, 6], [8, 0, 9], [9, 0, 12], [4, 0, 15], [5, 1, 3], [7, 0, 3], [0, 0, 18], [6, 0, 2]
]

for (const { name, make } of places) {
  t.test(`${name}: nothing is left of a person, and everything of others`, async t => {
    let [checked, touched] = [0, 0]
    const sizes = fc.integer({ min: 1, max: 7 })
    await fc.assert(fc.asyncProperty(steps, fc.nat(persons - 1), sizes, async (history, gone, batch) => {
      const { storage, dump } = await make(t, tables)
      const id = (await makeHistory(storage, history))[gone] as number
      const before = await read(storage)
      assert(listLeaves(before).some(isOf(gone)))
      const report = await erase(storage, families, { family: 'people', id, by: 'dpo', batch })
      touched += report.entries['orders'] ?? 0
      const after = await read(storage)
      assert.deepEqual(listLeaves(after).filter(isOf(gone)), [])
      const text = await dump()
      assert(!text.includes(`zq${gone}x`) && !text.includes(`17${70 + gone}-`))
      const entries = after['commands'] as CommandRecord[]
      const erasures = entries.filter(({ action }) => action === 'ErasePerson')
      assert.deepEqual(erasures.map(({ target, principal }) => [target, principal]), [[String(id), 'dpo']])
      const kept = entries.filter(entry => !erasures.includes(entry))
      assert.deepEqual(kept.map(keepFacts), before['commands']?.map(keepFacts))
      for (const [family, rows] of Object.entries(before)) {
        for (const row of rows) {
          const isTheirs = row['target'] === String(id) || (family === 'people' && row.id === id)
          if (isTheirs || row['digest'] !== undefined || listLeaves(row).some(isOf(gone))) continue
          assert.deepEqual(after[family]?.find(each => each.id === row.id), row)
        }
      }
      const item = after['people']?.find(each => each.id === id)
      if (item !== undefined) assert.deepEqual(listFlaws(item), [])
      const again = await erase(storage, families, { family: 'people', id, by: 'dpo' })
      assert.deepEqual(again, { items: {}, entries: {}, parked: 0 })
      assert.deepEqual(await read(storage), after)
      checked++
      // What a random history touches is left to chance; these commands of people and of orders change each other.
    }), { numRuns: runs(name === 'memory' ? 300 : 25), examples: [[[...busy], 0, 2]] })
    t.ok(checked >= runs(25), `${checked} histories`)
    t.ok(touched >= 2, `${touched} entries of others`)
  })
}

function listFlaws ({ revision, createdAt, updatedAt, ...item }: Stored): unknown[] {
  return [item['name'] === 'erased', item['label'] === 'erased <none>', item['born'] === null, item['age'] === 18,
    !('email' in item), String(item['code']).startsWith('erased-')].filter(holds => !holds)
}

/** Without what differs from one run to the next. */
async function readState (storage: Storage): Promise<unknown> {
  const rows = await read(storage)
  const omit = ({ updatedAt, position, ...row }: Stored): object =>
    row['action'] === 'ErasePerson' ? { ...row, id: '', createdAt: '' } : row
  return Object.values(rows).map(list => list.map(omit).sort((a, b) => JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))
}

for (const { name, make } of places) {
  for (const [what, isDeleted] of [['an erasure', false], ['that of a deleted item', true]] as const) {
    t.test(`${name}: ${what} that is killed at any step is completed`, async t => {
      const history = isDeleted ? [...busy, [11, 0, 1] as const] : busy
      const options = { family: 'people', by: 'dpo', batch: 2 }
      const whole = await make(t, tables)
      const [id] = await makeHistory(whole.storage, history, true) as [number]
      const counted = failAt(whole.storage, Infinity, false)
      await erase(counted, families, { ...options, id })
      const expected = await readState(whole.storage)
      t.notOk((await whole.dump()).includes('zq0x'))
      t.ok(counted.commits > 5, `killed at ${counted.commits} commits`)
      for (let n = 1; n <= counted.commits; n++) {
        // In databases, this takes long.
        for (const isAfter of name === 'memory' ? [false, true] : [(n + (isDeleted ? 1 : 0)) % 2 === 0]) {
          const { storage, dump } = await make(t, tables)
          await makeHistory(storage, history, true)
          await assert.rejects(erase(failAt(storage, n, isAfter), families, { ...options, id }), {
            code: 'FST_DEALBOOK_INTERRUPTED'
          })
          await erase(storage, families, { ...options, id })
          assert.deepEqual(await readState(storage), expected, `killed ${isAfter ? 'after' : 'before'} commit ${n}`)
          assert(!(await dump()).includes('zq0x'))
        }
      }
    })
  }
}

for (const { name, make } of places) {
  t.test(`${name}: other processes work meanwhile`, async t => {
    const { storage, another, dump } = await make(t, tables)
    const [id] = await makeHistory(storage, [...busy, ...busy], true) as [number]
    const other = another()
    const [some, sold] = [buyers.service({ storage: other }), orders.service({ storage: other })]
    const ended = new AbortController()
    let done = 0
    const work = async (run: () => Promise<unknown>): Promise<void> => {
      for (let count = 0; count < 50 && (count < 5 || !ended.signal.aborted); count++) {
        await run()
        done++
        await new Promise(resolve => setImmediate(resolve))
      }
    }
    const works = [
      work(() => some.run('raise', id, { by: 1 })),
      work(() => sold.create({ person: id, amount: 1 })),
      work(() => some.run('rename', id, { to: 'zq0x9', because: '' }, { command: 'late' }).catch(() => {})),
      work(() => some.run('leave', id, {}, { command: `c-${done}` }).catch(() => {}))
    ]
    await Promise.all([1, 2].map(() => erase(storage, families, { family: 'people', id, batch: 1 })))
    ended.abort()
    await Promise.all(works)
    await erase(storage, families, { family: 'people', id })
    t.notOk((await dump()).includes('zq0x'))
    const { items } = await some.log(id, { limit: 1000 })
    const revisions = items.filter(({ outcome }) => outcome === 'done').map(({ revision }) => revision)
    t.strictSame(revisions, revisions.map((_, index) => index + 1), 'each revision once')
  })
}
