import { DatabaseSync } from '@photostructure/sqlite'
import pg from 'pg'
import type { Test } from 'tap'
import t from 'tap'
import { readOrder, toTotalOrder, writeCursor } from '../../lib/core/query/cursor.js'
import { makeComparator } from '../../lib/core/storage/conditions.js'
import type { Stored } from '../../lib/core/storage/storage.js'
import type { Order, Storage } from '../../lib/index.js'
import { defineFamily, Type } from '../../lib/index.js'
import { postgresStorage } from '../../lib/storage/postgres/postgres-storage.js'
import { sqliteStorage } from '../../lib/storage/sqlite/sqlite-storage.js'
import { loadItems } from '../../lib/tools/index.js'
import { dropSchema, newSchema } from '../postgres/schema.js'
import { postgresUrl } from '../postgres/url.js'
import { isFast } from '../size.js'
import { recordPostgres, recordSqlite } from './recorded-statements.js'

// A page by its place costs the same wherever it is, in every order that begins with an indexed field: shown by the
// statements, which go along an index from there on. Those by a field with a default also search an index for rows that
// lack it.

const people = defineFamily({
  name: 'people',
  singular: 'person',
  fields: Type.Object({
    id: Type.Integer(),
    half: Type.Integer({ default: 0 }),
    name: Type.String({ default: '' }),
    level: Type.Integer({ default: 0 }),
    note: Type.String({ default: '' }),
    score: Type.Optional(Type.Number())
  }),
  indexes: ['half', 'name', 'score', ['half', 'level'], ['half', 'note']],
  order: ['-name', 'half']
})

// More with one value than are gathered and sorted in any case.
const everyone = Array.from({ length: 14_000 }, (_, id) => ({
  id,
  half: id % 2,
  name: `n${(id * 7919) % 9973}`,
  level: id % 1009,
  note: `n${id % 997}`,
  ...(id % 7 < 3 ? {} : { score: id % 11 })
}))
const orders = [
  'id', '-id', 'half', '-half', 'name', '-name', 'score', '-score', '-half,-id', '-name,half', 'name,half',
  'half,level', '-half,-level', 'half,note'
]
const fields = [
  { name: 'id', kind: 'integer', optional: false },
  { name: 'half', kind: 'integer', optional: false },
  { name: 'name', kind: 'string', optional: false },
  { name: 'level', kind: 'integer', optional: false },
  { name: 'note', kind: 'string', optional: false },
  { name: 'score', kind: 'number', optional: true }
] as const
const limit = 20

/** Reads pages before and after places all over each order, and compares them with a sorted list. */
async function readPages (t: Test, storage: Storage): Promise<void> {
  const book = people.service({ storage })
  for (const sort of orders) {
    const order: Order[] = toTotalOrder(sort.split(',').map(readOrder))
    const sorted = (everyone as unknown as Stored[]).toSorted(makeComparator(order))
    for (const at of [0, 3000, 7005, 13_900]) {
      const place = writeCursor({ name: 'people', fields, order }, { isAfter: true, item: sorted[at] as Stored })
      const next = await book.find('', { sort, limit, after: place })
      t.strictSame(idsOf(next.items), idsOf(sorted.slice(at + 1, at + 1 + limit)), `${sort} after ${at}`)
      const prev = await book.find('', { sort, limit, before: place })
      t.strictSame(idsOf(prev.items), idsOf(sorted.slice(Math.max(0, at + 1 - limit), at + 1)), `${sort} before ${at}`)
    }
    const first = await book.find('', { sort, limit })
    t.strictSame(idsOf(first.items), idsOf(sorted.slice(0, limit)), `${sort}, first page`)
  }
}

function idsOf (items: readonly { readonly id?: unknown }[]): unknown[] {
  return items.map(({ id }) => id)
}

t.test('sqlite', async t => {
  const database = new DatabaseSync(':memory:')
  const { recording, texts } = recordSqlite(database)
  const storage = sqliteStorage({ database: recording })
  t.teardown(() => storage.close())
  await loadItems(storage, people, everyone)
  texts.clear()
  await readPages(t, storage)
  const statements = [...texts].filter(text => /^SELECT.*"people"/.test(text) && / WHERE .*LIMIT/.test(text))
  t.ok(statements.length > 20, `${statements.length} statements`)
  t.strictSame(statements.filter(text => /\+"/.test(text)), [], 'none goes along the key, through all')
  t.strictSame(statements.filter(text => /ORDER BY [^()]*COALESCE/.test(text)), [], 'none sorts by what no index has')
  for (const text of statements) {
    const rows = database.prepare(`EXPLAIN QUERY PLAN ${text}`).all() as { detail: string }[]
    const plan = rows.map(({ detail }) => detail).join('\n')
    t.notMatch(plan, /SCAN people(?! USING)/, `${text}\n${plan}`)
  }
})

t.test('postgres', { skip: isFast }, async t => {
  const schema = newSchema()
  const pool = new pg.Pool({ connectionString: await postgresUrl(), max: 2 })
  const { recording, asked } = recordPostgres(pool)
  const storage = postgresStorage({ pool: recording, schema })
  t.teardown(async () => {
    await storage.close()
    await pool.end()
    await dropSchema(schema)
  })
  await loadItems(storage, people, everyone)
  await pool.query(`ANALYZE "${schema}"."people"`)
  asked.clear()
  await readPages(t, storage)
  const statements = [...asked].filter(([text]) => /^SELECT.*string_agg.* FROM \S+"people" WHERE .*LIMIT/.test(text))
  t.ok(statements.length > 20, `${statements.length} statements`)
  for (const [text, values] of statements) {
    const { rows } = await pool.query(`EXPLAIN ${text}`, values)
    const plan = rows.map(row => row['QUERY PLAN'] as string).join('\n')
    t.notMatch(plan, /Seq Scan/, `${text}\n${plan}`)
    // Only the first field of an index is searched without the others.
    t.notMatch(plan, /half_(level|note)\w* on .*\n +Index Cond: \(+"?(level|left|note)\b.* IS NULL/, `${text}\n${plan}`)
  }
})
