import type { Test } from 'tap'
import { ids, query, where } from '../../lib/conformance/fixture.js'
import type { Field, Storage } from '../../lib/core/storage/storage.js'

/** Fields of people in a table of somebody else. */
export const defaulted: readonly Field[] = [
  { name: 'fullName', kind: 'string', optional: false, default: 'Nobody' },
  { name: 'active', kind: 'boolean', optional: false, default: true },
  { name: 'age', kind: 'number', optional: false, default: 1 }
]

/** Asserts that person 1, who has neither name nor activity, has the defaults; person 2 is bob. */
export async function assertFilled (t: Test, storage: Storage): Promise<void> {
  t.match(await storage.get('people', 1), { fullName: 'Nobody', active: true, age: 5 })
  const find = async (parts: Parameters<typeof query>[0]) => await ids(storage, query(parts), 'people')
  t.strictSame(await find({ where: [where('fullName', 'eq', 'Nobody')] }), [1])
  t.strictSame(await find({ where: [where('fullName', 'eq', 'nobody')] }), [])
  t.strictSame(await find({ where: [where('active', 'eq', true), where('age', 'gte', 5)] }), [1])
  t.strictSame(await find({ where: [where('fullName', 'ne', 'Nobody')], sort: ['-age'] }), [2])
  t.strictSame(await find({ sort: ['fullName'] }), [1, 2])
  t.strictSame(await find({ where: [where('fullName', 'regex', 'body$')] }), [1])
  const found = await storage.findText?.('people', query(), ['id', 'fullName', 'active'])
  if (found !== undefined) {
    t.equal(found.text, '{"id":1,"fullName":"Nobody","active":true},{"id":2,"fullName":"bob","active":false}')
  }
}
