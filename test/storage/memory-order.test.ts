import fc from 'fast-check'
import t from 'tap'
import { makeComparator } from '../../lib/core/storage/compare.js'
import { matcher } from '../../lib/core/storage/match.js'
import type { Condition, Order, Stored } from '../../lib/index.js'
import { memoryStorage } from '../../lib/index.js'

const at = '2026-01-01T00:00:00.000Z'
const shape = {
  name: 'people',
  fields: [
    { name: 'id', kind: 'integer' as const, optional: false },
    { name: 'age', kind: 'integer' as const, optional: true },
    { name: 'revision', kind: 'integer' as const, optional: false },
    { name: 'createdAt', kind: 'date-time' as const, optional: false },
    { name: 'updatedAt', kind: 'date-time' as const, optional: false }
  ],
  indexes: [['age']]
}

function makePerson (id: number, age: number | undefined): Stored {
  return { id, revision: 1, createdAt: at, updatedAt: at, ...age === undefined ? {} : { age } }
}

const orders: Order[][] = [false, true].flatMap(byAge => [false, true].map(byId =>
  [{ field: 'age', descending: byAge }, { field: 'id', descending: byId }]))

const bounds = fc.array(fc.oneof(
  fc.record({
    field: fc.constant('age'),
    op: fc.constantFrom('gt' as const, 'gte' as const, 'lt' as const, 'lte' as const),
    value: fc.integer({ min: -1, max: 21 })
  }),
  fc.record({
    field: fc.constant('age'),
    op: fc.constant('eq' as const),
    values: fc.array(fc.nat(20), { minLength: 1 })
  }),
  fc.record({ field: fc.constant('age'), op: fc.constant('null' as const), is: fc.boolean() }),
  fc.record({ field: fc.constant('id'), op: fc.constantFrom('gt' as const, 'lt' as const), value: fc.nat(4000) })
), { maxLength: 2 })

t.test('an order among many items is kept from the first time it is asked for, through changes', async t => {
  const storage = memoryStorage()
  await storage.prepare(shape)
  const model = new Map<number, Stored>()
  for (let id = 1; id <= 4000; id++) model.set(id, makePerson(id, id % 23 === 0 ? undefined : id * 7 % 21))
  await storage.commit([...model.values()].map(item => ({ type: 'insert', family: 'people', item })))

  const compare = async (where: readonly Condition[], order: readonly Order[], offset: number): Promise<void> => {
    const found = await storage.find('people', { where, order, offset, limit: 30, count: true })
    const all = [...model.values()].filter(matcher(where)).sort(makeComparator(order))
    t.strictSame(
      { ids: found.items.map(({ id }) => id), total: found.total },
      { ids: all.slice(offset, offset + 30).map(({ id }) => id), total: all.length },
      JSON.stringify({ where, order, offset })
    )
  }
  let next = 4001
  const change = async (): Promise<void> => {
    const id = next++ - 2000
    const before = model.get(id) as Stored
    model.set(next, makePerson(next, next % 5))
    model.set(id, { ...makePerson(id, id % 3 === 0 ? undefined : 20), revision: 2 })
    model.delete(id - 1990)
    await storage.commit([
      { type: 'insert', family: 'people', item: model.get(next) as Stored },
      { type: 'replace', family: 'people', item: model.get(id) as Stored, expected: before.revision },
      { type: 'delete', family: 'people', id: id - 1990, expected: 1 }
    ])
  }
  for (const order of orders) {
    await compare([], order, 0)
    // While the index is made, and after it.
    for (let n = 0; n < 5; n++) await change()
  }
  await fc.assert(fc.asyncProperty(bounds, fc.constantFrom(...orders), fc.nat(100), async (where, order, offset) => {
    await change()
    await compare(where, order, offset)
  }), { numRuns: 100 })
})
