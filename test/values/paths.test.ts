import t from 'tap'
import { findPathSchema, listPaths } from '../../lib/core/family/paths.js'
import { getPathField, listPathValues, mapPathValues } from '../../lib/core/values/paths.js'
import { Type } from '../../lib/index.js'

const order = {
  id: 1,
  lines: [{ product: 'a' }, { product: null }, {}, { product: 'b', parts: [{ ids: [1, 2] }, { ids: [] }] }],
  tags: [3, 4],
  address: { country: 'de', 'a/b': 1 },
  none: null
}

t.test('the values that a path leads to, with their pointers', async t => {
  const cases: [path: string, found: [value: unknown, pointer: string][]][] = [
    ['lines.product', [['a', '/lines/0/product'], ['b', '/lines/3/product']]],
    ['lines.parts.ids', [[1, '/lines/3/parts/0/ids/0'], [2, '/lines/3/parts/0/ids/1']]],
    ['tags', [[3, '/tags/0'], [4, '/tags/1']]],
    ['address.country', [['de', '/address/country']]],
    ['address.a/b', [[1, '/address/a~1b']]],
    ['none', []],
    ['none.product', []],
    ['missing.product', []],
    ['lines.toString', []],
    ['id.product', []]
  ]
  for (const [path, found] of cases) {
    t.strictSame(listPathValues(order, path), found.map(([value, pointer]) => ({ value, pointer })), path)
  }
})

t.test('values are replaced in a copy', async t => {
  const shown = mapPathValues(order, 'lines.product', id => ({ id }))
  t.strictSame(shown.lines.map(({ product }) => product), [{ id: 'a' }, null, undefined, { id: 'b' }])
  t.equal(shown.tags, order.tags)
  t.equal(order.lines[0]?.product, 'a')
  t.strictSame(mapPathValues(order, 'tags', id => Number(id) * 2).tags, [6, 8])
  t.strictSame(mapPathValues(order, 'address.country', () => 1).address, { country: 1, 'a/b': 1 })
  for (const path of ['none', 'none.product', 'missing.product', 'id.product', 'lines.toString']) {
    t.strictSame(mapPathValues(order, path, () => 1), order, path)
  }
})

t.test('the schema of a path', async t => {
  const schema = Type.Object({
    id: Type.Integer(),
    lines: Type.Optional(Type.Array(Type.Object({
      product: Type.Union([Type.String(), Type.Null()]),
      parts: Type.Array(Type.Object({ id: Type.Integer() }))
    }))),
    tags: Type.Union([Type.Array(Type.Integer()), Type.Null()]),
    grid: Type.Array(Type.Array(Type.Integer()))
  })
  t.equal(findPathSchema(schema, 'lines.product')?.type, 'string')
  t.equal(findPathSchema(schema, 'lines.parts.id')?.type, 'integer')
  t.equal(findPathSchema(schema, 'tags')?.type, 'integer')
  t.equal(findPathSchema(schema, 'grid')?.type, 'array')
  for (const path of ['lines.prodct', 'id.product', 'toString', 'lines.', '']) {
    t.equal(findPathSchema(schema, path), undefined, path)
  }
  t.strictSame(listPaths(schema),
    ['id', 'lines', 'lines.product', 'lines.parts', 'lines.parts.id', 'tags', 'grid'])
  t.equal(getPathField('lines.parts.id'), 'lines')
  t.equal(getPathField('tags'), 'tags')
})
