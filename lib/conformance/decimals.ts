import assert from 'node:assert/strict'
import type { Condition, Field, Id, Query, Storage } from '../core/storage/storage.js'
import { assertIds, type Case, insert, query, replace, shape, thing, where } from './fixture.js'

const fields: readonly Field[] = [
  { name: 'cents', kind: 'decimal', scale: 2, optional: true },
  { name: 'whole', kind: 'decimal', scale: 0, optional: false, nullable: true, default: null },
  { name: 'parts', kind: 'decimal', scale: 15, optional: true }
]
const prices = { ...shape('prices', 'integer', fields, [['cents'], ['whole', 'cents', 'id']]), unique: [['parts']] }

// From low to high, in neither the order of text nor that of the ids; items 8 and 9 have none.
const sorted = ['-9999999999999.99', '-9999999999999.98', '-10.00', '-9.50', '0.00', '0.29', '9.00', '10.00', '100.00']
const ids: readonly Id[] = [5, 3, 1, 7, 2, 4, 10, 6, 11]

async function load (storage: Storage): Promise<void> {
  await storage.prepare(prices)
  const items = sorted.map((cents, index) => thing(ids[index] as Id, { cents, whole: null }))
  await storage.commit(insert('prices', ...items, thing(8, { whole: '7' }), thing(9, { whole: '-12' })))
}

/** Orders of decimals are marked, like those of a client. */
function order (...sort: string[]): Query {
  const made = query({ sort })
  return { ...made, order: made.order.map(term => term.field === 'id' ? term : { ...term, numeric: true }) }
}

export const decimals: readonly Case[] = [
  {
    name: 'decimals: keep their text, with all digits',
    async run ({ storage }) {
      await storage.prepare(prices)
      const items = [
        thing(1, { cents: '-0.10', whole: '999999999999999', parts: '0.999999999999999' }),
        thing(2, { cents: '9999999999999.99', whole: '-999999999999999', parts: '-0.000000000000001' }),
        thing(3, { cents: '20.00', whole: '0', parts: '0.000000000000000' }),
        thing(4, { whole: null })
      ]
      await storage.commit(insert('prices', ...items))
      for (const item of items) assert.deepEqual({ ...await storage.get('prices', item.id) }, item)
      const found = await storage.find('prices', query())
      assert.deepEqual(found.items.map(item => ({ ...item })), items)
      await storage.commit([replace('prices', thing(4, { cents: '1.10', whole: '5' }, 2))])
      assert.deepEqual({ ...await storage.get('prices', 4) }, thing(4, { cents: '1.10', whole: '5' }, 2))
    }
  },
  {
    name: 'decimals: filters compare numbers',
    async run ({ storage }) {
      await load(storage)
      const table: [Condition[], number[]][] = [
        [[where('cents', 'eq', 10)], [6]],
        [[where('cents', 'eq', 0.29, -9.5, 3)], [4, 7]],
        [[where('cents', 'ne', 10, 9)], [1, 2, 3, 4, 5, 7, 8, 9, 11]],
        [[where('cents', 'gt', 9)], [6, 11]],
        [[where('cents', 'gte', 9)], [6, 10, 11]],
        [[where('cents', 'lt', -9999999999999.98)], [5]],
        [[where('cents', 'lte', -10)], [1, 3, 5]],
        [[where('cents', 'gt', -10), where('cents', 'lt', 10)], [2, 4, 7, 10]],
        [[where('cents', 'null', true)], [8, 9]],
        [[where('whole', 'gte', -Number.MAX_VALUE)], [8, 9]],
        [[where('whole', 'gte', -12), where('whole', 'lt', 7)], [9]],
        [[where('cents', 'regex', '^-?9.*[05]$')], [7, 10]],
        [[where('cents', 'has', '0.'), where('cents', 'gte', 0.29), where('cents', 'ne', 100)], [4, 6]],
        [[{ op: 'any', of: [[where('cents', 'eq', 0)], [where('whole', 'eq', 7)]] }], [2, 8]]
      ]
      for (const [conditions, expected] of table) await assertIds(storage, { where: conditions }, expected, 'prices')
    }
  },
  {
    name: 'decimals: are ordered as numbers, and read from any position',
    async run ({ storage }) {
      await load(storage)
      const table = [['cents', 'gt', [8, 9, ...ids]], ['-cents', 'lt', [...ids.toReversed(), 8, 9]]] as const
      for (const [sort, op, expected] of table) {
        const asked = order(sort)
        const { items } = await storage.find('prices', asked)
        assert.deepEqual(items.map(({ id }) => id), expected)
        for (const { id, cents } of items.filter(({ cents }) => cents !== undefined)) {
          const found = await storage.find('prices', { ...asked, where: [where('cents', op, Number(cents))] })
          const rest = expected.slice(expected.indexOf(id) + 1).filter(other => ids.includes(other))
          assert.deepEqual(found.items.map(({ id }) => id), rest)
        }
      }
      const { items } = await storage.find('prices', order('whole', '-cents'))
      assert.deepEqual(items.map(({ id }) => id), [...ids.toReversed(), 9, 8])
    }
  },
  {
    name: 'decimals: unique values may differ in one digit',
    async run ({ storage }) {
      await storage.prepare(prices)
      await storage.commit(insert('prices', thing(1, { parts: '0.999999999999998', whole: null })))
      await storage.commit(insert('prices', thing(2, { parts: '0.999999999999999', whole: null })))
      await assert.rejects(storage.commit(insert('prices', thing(3, { parts: '0.999999999999998', whole: null }))), {
        name: 'ConstraintError', rule: 'unique', fields: ['parts'], declared: true
      })
    }
  },
  {
    name: 'decimals: a field added later has its default in existing items',
    async run ({ storage }) {
      await load(storage)
      const fee: Field = { name: 'fee', kind: 'decimal', scale: 3, optional: false, default: '1.500' }
      await storage.prepare({ ...prices, fields: [...prices.fields, fee], indexes: [...prices.indexes, ['fee']] })
      await storage.commit(insert('prices', thing(12, { whole: null, fee: '12.000' })))
      assert.equal((await storage.get('prices', 1))?.['fee'], '1.500')
      await assertIds(storage, { where: [where('fee', 'gt', 1.5)] }, [12], 'prices')
      await assertIds(storage, { where: [where('fee', 'eq', 1.5), where('id', 'gt', 9)] }, [10, 11], 'prices')
    }
  }
]
