import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { Problem, type Storage, type Stored } from '../../lib/index.js'
import { erase } from '../../lib/tools/index.js'
import { runs } from '../size.js'
import { failAt } from './failing.js'
import { papers, paperTables } from './papers.js'
import { places, readRows } from './places.js'

// The first name is in the second, which is in the third.
const names = ['zqan', 'zqanna', 'of zqanna 2']
type Step = readonly [what: number, paper: number, author: number]

const step: fc.Arbitrary<Step> = fc.tuple(fc.nat(7), fc.nat(2), fc.nat(2))
const steps = fc.array(step, { minLength: 3, maxLength: 20 })

/** Of all kinds, also refused, repeated and unchanged ones; papers that are deleted, and come back. */
async function makeHistory (storage: Storage, history: readonly Step[]): Promise<void> {
  let made = 0
  const makers = { clock: () => new Date(1_900_000_000_000 + made), makeCommandId: () => `c-${++made}` }
  const book = papers.service({ storage, ...makers })
  for (const [index, principal] of names.entries()) {
    await book.create({ title: `paper ${index}` }, { principal, ...index > 0 && { key: `made-${index}` } })
  }
  for (const [at, [what, paper, author]] of history.entries()) {
    const id = paper + 1
    const principal = names[author] as string
    const options = { principal, ...at % 3 === 0 && { command: `own-${at}` } }
    const done = [
      () => book.run('approve', id, {}, options),
      () => book.run('see', id, { remark: 'seen' }, options),
      () => book.run('reject', id, {}, { principal, command: `rejected-${at}` }),
      () => book.run('cite', id, { other: 1 + (paper + 1) % 3 }, options),
      () => book.run('edit', id, { title: `title ${at}` }, options),
      () => book.remove(id, options),
      () => book.restore(id, options),
      () => book.run('approve', id, {}, { principal, key: 'again' })
    ][what]
    await done?.().catch((error: unknown) => { if (!(error instanceof Problem)) throw error })
  }
}

/** What differs if a name is a part of another. */
const hasName = (text: string, name: string): boolean => {
  const others = names.filter(other => other !== name && other.includes(name))
  return others.reduce((rest, other) => rest.replaceAll(other, ''), text).includes(name)
}

const read = (storage: Storage): ReturnType<typeof readRows> => readRows(storage, ['papers', 'commands'])
const readText = async (storage: Storage): Promise<string> => JSON.stringify(await read(storage))

/** Others have her name in their entries after hers; papers are deleted, and come back. */
const busy: Step[] = [
  [0, 0, 0], [1, 0, 0], [1, 0, 1], [0, 0, 1], [0, 0, 0], [2, 0, 1], [2, 0, 0], [3, 0, 0], [3, 1, 0], [1, 1, 2],
  [4, 1, 0], [5, 1, 1], [6, 1, 0], [1, 1, 1], [7, 2, 0], [0, 2, 1], [5, 2, 2], [0, 0, 2], [1, 0, 2], [3, 0, 1]
]

for (const { name: place, make } of places) {
  t.test(`${place}: an author's name is nowhere, and others are as they were`, async t => {
    let checked = 0
    const sizes = fc.integer({ min: 1, max: 7 })
    await fc.assert(fc.asyncProperty(steps, fc.nat(2), sizes, fc.boolean(), async (history, gone, batch, isCut) => {
      const { storage: whole, dump } = await make(t, paperTables)
      // Of long values, the log only says that there were some.
      const storage = isCut ? { ...whole, maxLogged: 9 } : whole
      await makeHistory(storage, history)
      const name = names[gone] as string
      const before = await read(storage)
      assert(hasName(JSON.stringify(before), name))
      await erase(storage, [papers], { principal: name, by: 'dpo', batch })
      const after = await read(storage)
      assert(!hasName(JSON.stringify(after), name), JSON.stringify(after).slice(0, 3000))
      if (place !== 'memory') assert(!hasName(await dump(), name))
      const erasures = after['commands']?.filter(({ action }) => action === 'ErasePaper') ?? []
      const kept = after['commands']?.filter(each => !erasures.includes(each))
      assert.deepEqual(kept?.map(keepFacts), before['commands']?.map(keepFacts))
      for (const [index, row] of (before['commands'] ?? []).entries()) {
        if (!JSON.stringify(row).includes('zqan')) assert.deepEqual(kept?.[index], row)
      }
      assert.deepEqual(await erase(storage, [papers], { principal: name }), { items: {}, entries: {}, parked: 0 })
      assert.deepEqual(await read(storage), after)
      checked++
    }), { numRuns: runs(place === 'memory' ? 300 : 25), examples: [[busy, 0, 2, false], [busy, 1, 1, true]] })
    t.ok(checked >= runs(25), `${checked} histories`)
  })

  t.test(`${place}: the erasure of an author that is killed at any step is completed`, async t => {
    const [name = ''] = names
    const options = { principal: name, by: 'dpo', batch: 2 }
    const whole = await make(t, paperTables)
    await makeHistory(whole.storage, busy)
    const counted = failAt(whole.storage, Infinity, false)
    await erase(counted, [papers], options)
    t.ok(counted.commits > 10, `killed at ${counted.commits} commits`)
    const expected = await readState(whole.storage)
    for (let n = 1; n <= counted.commits; n++) {
      // In databases, this takes long.
      for (const isAfter of place === 'memory' ? [false, true] : [n % 2 === 0]) {
        const { storage } = await make(t, paperTables)
        await makeHistory(storage, busy)
        const killed = erase(failAt(storage, n, isAfter), [papers], options)
        await assert.rejects(killed, { code: 'FST_DEALBOOK_INTERRUPTED' })
        await erase(storage, [papers], options)
        assert(!hasName(await readText(storage), name), `killed ${isAfter ? 'after' : 'before'} commit ${n}`)
        assert.deepEqual(await readState(storage), expected, `killed ${isAfter ? 'after' : 'before'} commit ${n}`)
      }
    }
  })
}

const keepFacts = ({ id, family, target, action, outcome, revision, createdAt, about }: Stored): object =>
  ({ id, family, target, action, outcome, revision, createdAt, about })

/** Without what differs from one run to the next. */
async function readState (storage: Storage): Promise<unknown> {
  const omit = ({ updatedAt, position, ...row }: Stored): object =>
    row['action'] === 'ErasePaper' ? { ...row, id: '', createdAt: '' } : row
  const sort = (row: object): string => JSON.stringify(row)
  return Object.values(await read(storage)).map(list => list.map(omit).sort((a, b) => sort(a) < sort(b) ? -1 : 1))
}
