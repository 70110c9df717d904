import t from 'tap'
import {
  growNames, invertNames, joinNames, renamePath, renameProperties, renameSegments, renameWithin
} from '../../lib/core/family/name-tree.js'
import { Type } from '../../lib/index.js'

const first = growNames([['lines', 'rows'], ['lines.price', 'unitPrice'], ['place.zip', 'code']])

t.test('names are joined, whichever tree has them', async t => {
  const second = growNames([['rows.product', 'item'], ['place.code', 'zip'], ['note.by', 'author'], ['total', 'sum']])
  const both = joinNames(first, second)
  const cases = [
    ['lines.price', 'rows.unitPrice'], ['lines.product', 'rows.item'], ['place.zip', 'place.zip'],
    ['note.by', 'note.author'], ['total', 'sum'], ['other.price', 'other.price']
  ] as const
  for (const [path, renamed] of cases) {
    t.equal(renamePath(both, path), renamed)
    t.equal(renamePath(invertNames(both), renamed), path)
  }
})

t.test('values: unknown members with a new name are left out', async t => {
  const value = { lines: [{ price: 1, unitPrice: 2, other: 3 }, null, 4], place: null, rows: 5 }
  t.strictSame(renameWithin(first, value), { rows: [{ unitPrice: 1, other: 3 }, null, 4], place: null })
  t.equal(renameWithin(undefined, value), value)
})

t.test('schemas, with their defaults and examples', async t => {
  const line = Type.Object({ price: Type.Integer(), note: Type.Optional(Type.String()) })
  const { rows } = renameProperties(first, {
    lines: Type.Array(line, { default: [{ price: 1 }], examples: [[{ price: 2 }]] })
  })
  t.match(rows, { default: [{ unitPrice: 1 }], examples: [[{ unitPrice: 2 }]], items: { required: ['unitPrice'] } })
  const { place } = renameProperties(first, { place: Type.Object({ zip: Type.String() }) })
  t.strictSame(Object.keys(place ?? {}).sort(), ['properties', 'required', 'type'])
})

t.test('pointers: indexes stay', async t => {
  t.strictSame(renameSegments(first, ['lines', '2', 'price']), ['rows', '2', 'unitPrice'])
  t.strictSame(renameSegments(first, ['lines', '2', 'other', 'price']), ['rows', '2', 'other', 'price'])
  t.strictSame(renameSegments(first, []), [])
})
