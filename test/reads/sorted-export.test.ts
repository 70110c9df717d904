import { Type } from '@sinclair/typebox'
import Fastify from 'fastify'
import t from 'tap'
import { decimal, defineFamily } from '../../lib/index.js'
import { loadItems } from '../../lib/tools/index.js'
import { parseCsv } from '../csv.js'
import { isLong } from '../size.js'
import { storages } from '../storages.js'

const rows = defineFamily({
  name: 'rows',
  singular: 'row',
  fields: Type.Object({
    id: Type.Integer(),
    // Neither has an index.
    grade: Type.Integer(),
    note: Type.Optional(Type.String()),
    price: decimal({ scale: 2 })
  }),
  create: ['grade', 'note', 'price']
})

interface Row { readonly id: number, readonly grade: number, readonly note?: string, readonly price: string }

// More than SQLite reads at once.
const all = Array.from({ length: isLong ? 3000 : 2100 }, (_, index): Row => {
  const id = index + 1
  const note = id % 5 === 0 ? {} : { note: `n${id % 11}` }
  return { id, grade: id * 7 % 13, ...note, price: `${id * 37 % 101}.50` }
})

type Compare = (a: Row, b: Row) => number
const byNote: Compare = (a, b) => (a.note ?? '') < (b.note ?? '') ? -1 : (a.note ?? '') > (b.note ?? '') ? 1 : 0

const orders: readonly (readonly [string, Compare])[] = [
  ['grade', (a, b) => a.grade - b.grade || a.id - b.id],
  ['-grade', (a, b) => b.grade - a.grade || a.id - b.id],
  ['-grade,-id', (a, b) => b.grade - a.grade || b.id - a.id],
  ['note', (a, b) => byNote(a, b) || a.id - b.id],
  ['-note', (a, b) => -byNote(a, b) || a.id - b.id],
  ['price,-grade', (a, b) => Number(a.price) - Number(b.price) || b.grade - a.grade || a.id - b.id],
  ['-id', (a, b) => b.id - a.id]
]

for (const { name, make } of storages) {
  t.test(`${name}: an export in any order has every row once`, async t => {
    const { storage, dispose } = await make()
    const app = Fastify()
    t.teardown(async () => {
      await app.close()
      await dispose()
    })
    app.register(rows, { storage })
    await loadItems(storage, rows, all)
    const exported = async (query: string) =>
      parseCsv((await app.inject(`/rows.csv?fields=id&${query}`)).body).slice(1).map(([id]) => Number(id))
    const sorted = (compare: Compare, list = all) => list.toSorted(compare).map(({ id }) => id)
    for (const [sort, compare] of orders) t.strictSame(await exported(`sort=${sort}`), sorted(compare), sort)
    const [, [, compare]] = orders as [unknown, readonly [string, Compare]]
    const some = all.filter(({ grade, id }) => grade >= 6 && id > 100)
    t.strictSame(await exported('sort=-grade&min-grade=6&gt=100'), sorted(compare, some), 'with filters')
    const first = await app.inject('/rows?sort=-grade&maxpagesize=700')
    const { links: { next } } = first.json<{ links: { next: string } }>()
    const after = new URLSearchParams(next.split('?')[1]).get('after')
    t.strictSame(await exported(`sort=-grade&after=${after}`), sorted(compare).slice(700), 'from a place on')
    t.equal((await app.inject('/rows.csv?sort=grade&before=a')).statusCode, 400)
    const lines = (await app.inject('/rows.ndjson?sort=note&fields=id')).body.trim().split('\n')
    t.strictSame(lines.map(line => JSON.parse(line).id), sorted(orders[3]?.[1] as Compare), 'NDJSON too')
  })
}
