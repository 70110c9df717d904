import t from 'tap'
import { type Condition, defineFamily, memoryStorage, Type } from '../../lib/index.js'

const notes = defineFamily({
  name: 'notes',
  singular: 'note',
  fields: Type.Object({
    id: Type.Integer(),
    code: Type.String(),
    cost: Type.String({ format: 'decimal', scale: 2 }),
    pages: Type.Optional(Type.Integer()),
    parts: Type.Array(Type.String(), { default: [] })
  }),
  create: ['code', 'cost', 'pages']
})
const storage = memoryStorage()
const book = notes.service({ storage })

t.before(async () => {
  await book.create({ code: '12', cost: '12.00' })
  await book.create({ code: '12.00', cost: '12.00' })
  await book.create({ code: '7', cost: '12.00', pages: 3 })
})

t.test('conditions of a program: each operator, and only decimals as numbers', async t => {
  const table: [condition: Condition, ...ids: number[]][] = [
    [{ field: 'code', op: 'eq', values: ['12'] }, 1],
    [{ field: 'code', op: 'gt', value: '12' }, 2, 3],
    [{ field: 'cost', op: 'eq', values: ['12.00'] }, 1, 2, 3],
    [{ field: 'cost', op: 'lt', value: '12.01' }, 1, 2, 3],
    [{ field: 'pages', op: 'null', is: true }, 1, 2],
    [{ field: 'pages', op: 'null', is: false }, 3],
    [{ field: 'code', op: 'has', texts: ['2.'] }, 2],
    [{ op: 'any', of: [[{ field: 'code', op: 'eq', values: ['12'] }], [{ field: 'pages', op: 'gt', value: 2 }]] }, 1, 3]
  ]
  const reader = (condition: Condition) => notes.service({ storage, authorize: () => ({ where: [condition] }) })
  for (const [condition, ...ids] of table) {
    const what = JSON.stringify(condition)
    t.strictSame((await book.find([condition])).items.map(({ id }) => id), ids, what)
    t.strictSame((await reader(condition).find()).items.map(({ id }) => id), ids, `granted: ${what}`)
  }
})

t.test('conditions of a program that are wrong, and why', async t => {
  const table: [condition: object, flaw: string][] = [
    [{ field: 'cod', op: 'eq', values: [] }, '"cod", which is not a field that can be filtered. Did you mean "code"?'],
    [{ field: 'parts', op: 'eq', values: [] }, '"parts", which is not a field that can be filtered.'],
    [{ field: 'code', op: 'null', is: true }, 'the operator "null" on "code"; there are eq, ne, gt, gte, lt, lte'],
    [{ field: 'code', op: 'eq', value: 'a' }, 'a condition on "code" whose "values" is not a list'],
    [{ field: 'pages', op: 'gt', value: '3' }, 'a condition on "pages" whose "value" does not fit the field'],
    [{ field: 'pages', op: 'null', is: 3 }, 'a condition on "pages" whose "is" does not fit the field'],
    [{ field: 'code', op: 'regex', patterns: [1] }, 'a condition on "code" with a pattern that must be a string'],
    [{ field: 'code', op: 'has', texts: [1] }, 'a condition on "code" with a text that must be a string'],
    [{ op: 'any', of: 1 }, 'alternatives whose "of" is not a list']
  ]
  for (const [condition, flaw] of table) {
    const found = book.find([condition as Condition])
    await t.rejects(found, { code: 'invalid-query', message: flaw }, JSON.stringify(condition))
  }
})
