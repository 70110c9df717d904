import { deepEqual } from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import fc from 'fast-check'
import t from 'tap'
import { shape, thing } from '../../lib/conformance/fixture.js'
import type { Change, Condition, Query, Storage, Stored } from '../../lib/core/storage/storage.js'
import type { TableMappings } from '../../lib/storage/sql/layout.js'
import { createSqlStorage } from '../../lib/storage/sql/sql-storage.js'
import { openSqlite } from '../../lib/storage/sqlite/connection.js'
import { runs } from '../size.js'
import { limits } from './small-limits.js'

const folder = await mkdtemp(join(tmpdir(), 'dealbook-anchors-'))
t.teardown(() => rm(folder, { recursive: true }))

const people = shape('people', 'integer', [{ name: 'team', kind: 'string', optional: false }])
// All pages are small, so that they go by anchors.
const wide = { ...limits, skipRows: 1000 }

function open (source: Parameters<typeof openSqlite>[0], tables: TableMappings = {}): Storage {
  return createSqlStorage(() => openSqlite(source, wide), { tables })
}

function person (id: number, team: string, revision = 1): Stored {
  return { ...thing(id), id, team, revision }
}

/** What is done to the rows, and by whom. */
type Step =
  | { readonly type: 'insert' | 'delete' | 'replace', readonly id: number, readonly team: string, readonly by: number }
  | { readonly type: 'page', readonly descending: boolean } & Pick<Query, 'where' | 'offset'>

const ids = fc.integer({ min: 1, max: 60 })
const team = fc.constantFrom('red', 'blue')
const steps = fc.array(fc.oneof(
  fc.record({ type: fc.constantFrom('insert', 'delete', 'replace'), id: ids, team, by: fc.constantFrom(0, 0, 0, 1) }),
  fc.record({
    type: fc.constant('page'),
    offset: fc.integer({ min: 0, max: 40 }),
    descending: fc.boolean(),
    where: fc.constantFrom<Condition[]>(
      [], [{ field: 'id', op: 'gt', value: 4 }], [{ field: 'team', op: 'eq', values: ['red'] }])
  })
), { minLength: 20, maxLength: 60 }) as fc.Arbitrary<Step[]>

let files = 0

t.test('pages by number are right, whichever process writes', async t => {
  await fc.assert(fc.asyncProperty(steps, async steps => {
    const file = join(folder, `${++files}.db`)
    const writers = [open({ file }), open({ file })]
    for (const storage of writers) await storage.prepare({ ...people, indexes: [['team']] })
    const [reader] = writers as [Storage]
    const rows = new Map<number, Stored>()
    for (let id = 1; id <= 40; id++) rows.set(id, person(id, id % 2 === 0 ? 'red' : 'blue'))
    await reader.commit([...rows.values()].map(item => ({ type: 'insert', family: 'people', item })))
    for (const step of steps) {
      if (step.type === 'page') {
        const { where, offset, descending } = step
        const query: Query = { where, offset, limit: 5, order: [{ field: 'id', descending }], count: false }
        const found = await reader.find('people', query)
        deepEqual(found.items.map(({ id }) => id), naivePage([...rows.values()], query))
      } else {
        const change = toChange(step, rows)
        if (change !== undefined) await writers[step.by]?.commit([change])
      }
    }
    for (const storage of writers) await storage.close()
  }), { numRuns: runs(50) })
  t.pass()
})

function toChange ({ type, id, team }: Exclude<Step, { type: 'page' }>, rows: Map<number, Stored>): Change | undefined {
  const before = rows.get(id)
  if ((type === 'insert') !== (before === undefined)) return undefined
  if (before === undefined) {
    const item = person(id, team)
    rows.set(id, item)
    return { type: 'insert', family: 'people', item }
  }
  const expected = before.revision
  if (type === 'delete') {
    rows.delete(id)
    return { type: 'delete', family: 'people', id, expected }
  }
  const item = person(id, team, expected + 1)
  rows.set(id, item)
  return { type: 'replace', family: 'people', item, expected }
}

function naivePage (rows: readonly Stored[], { where, offset, limit, order }: Query): unknown[] {
  const sign = order[0]?.descending === true ? -1 : 1
  return rows
    .filter(row => where.every(condition => 'values' in condition
      ? condition.values.includes(row[condition.field] as string)
      : (row[condition.field as string] as number) > ('value' in condition ? condition.value as number : 0)))
    .map(({ id }) => id as number)
    .sort((a, b) => (a - b) * sign)
    .slice(offset, offset + limit)
}

const deep: Query = { where: [], offset: 30, limit: 5, order: [{ field: 'id', descending: false }], count: false }

t.test('what a host writes over the same connection is seen, by triggers and through views too', async t => {
  const database = new DatabaseSync(':memory:')
  const storage = open({ database }, { seen: { table: 'seen_people' } })
  await storage.prepare(people)
  const all = Array.from({ length: 50 }, (_, at) => person(at + 1, 'red'))
  await storage.commit(all.map(item => ({ type: 'insert', family: 'people', item })))
  database.exec('CREATE VIEW seen_people AS SELECT id, team FROM people')
  await storage.prepare({ ...people, name: 'seen' })
  const checkPages = async (expected: number[], after: string) => {
    for (const family of ['people', 'seen', 'people', 'seen']) {
      const { items } = await storage.find(family, deep)
      t.strictSame(items.map(({ id }) => id), expected, `${family}: ${after}`)
    }
  }
  await checkPages([31, 32, 33, 34, 35], 'before')
  database.exec('DELETE FROM people WHERE id = 1')
  await checkPages([32, 33, 34, 35, 36], 'a statement of the host')
  await storage.commit([{ type: 'delete', family: 'people', id: 2, expected: 1 }])
  await checkPages([33, 34, 35, 36, 37], 'a commit')
  database.exec('CREATE TRIGGER cascade AFTER DELETE ON people BEGIN DELETE FROM people WHERE id = 4; END')
  await storage.commit([{ type: 'delete', family: 'people', id: 40, expected: 1 }])
  await checkPages([34, 35, 36, 37, 38], 'a trigger')
  await storage.close()
  database.close()
})
