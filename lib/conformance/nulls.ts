import assert from 'node:assert/strict'
import type { Condition, Kind, Storage } from '../core/storage/storage.js'
import { assertIds, type Case, insert, query, replace, shape, thing, things, where } from './fixture.js'

// Two values of each kind, from low to high, and a pattern that the text of null would also match.
const kinds: Record<string, { kind: Kind, low: unknown, high: unknown, pattern: string }> = {
  integer: { kind: 'integer', low: 0, high: 9, pattern: '0|null' },
  number: { kind: 'number', low: -0.5, high: 0, pattern: '5|null' },
  string: { kind: 'string', low: '', high: 'null', pattern: '^$|null' },
  boolean: { kind: 'boolean', low: false, high: true, pattern: 'fal|null' },
  date: { kind: 'date', low: '2024-02-29', high: '2026-01-01', pattern: '^2024|null' },
  dateTime: {
    kind: 'date-time', low: '2024-02-29T12:00:00.001Z', high: '2026-01-01T00:00:00.000Z', pattern: '^2024|null'
  },
  json: { kind: 'json', low: {}, high: [null], pattern: '' }
}

/** A nullable field of every kind. */
const maybes = shape('maybes', 'integer', Object.entries(kinds).map(([name, { kind }]) =>
  ({ name, kind, optional: false, nullable: true, default: null })), [['integer'], ['string', 'date'], ['boolean']])
const nothing = Object.fromEntries(Object.keys(kinds).map(name => [name, null]))

/** Items 1 and 4 have no value, 2 the low value of a field, 3 the high one. */
async function load (storage: Storage, family: string, field: string, absent: object = {}): Promise<void> {
  const { low, high } = kinds[field] as { low: unknown, high: unknown }
  await storage.commit(insert(family, thing(4, { ...absent }), thing(3, { ...absent, [field]: high }),
    thing(1, { ...absent }), thing(2, { ...absent, [field]: low })))
}

const isNull = (field: string, is: boolean): Condition => ({ field, op: 'null', is })

/** The same for null and for absent. */
const ofBoth = (['maybes', 'things'] as const).flatMap(family => Object.entries(kinds).map(([field, each]): Case => ({
  name: `null: filters and orders of ${family === 'maybes' ? 'null' : 'absent'} values: ${field}`,
  async run ({ storage }) {
    await storage.prepare(maybes)
    await load(storage, family, field, family === 'maybes' ? nothing : {})
    const { low, high, pattern } = each
    const table: [Condition[], number[]][] = [
      [[isNull(field, true)], [1, 4]],
      [[isNull(field, false)], [2, 3]],
      [[isNull(field, true), where('id', 'gt', 1)], [4]],
      [[isNull(field, true), isNull(field, false)], []]
    ]
    if (each.kind !== 'json') {
      table.push(
        [[where(field, 'eq', low)], [2]],
        [[where(field, 'ne', low)], [1, 3, 4]],
        [[where(field, 'ne', low, high)], [1, 4]],
        [[where(field, 'gte', low)], [2, 3]],
        [[where(field, 'lte', high)], [2, 3]],
        [[where(field, 'regex', pattern)], each.high === 'null' ? [2, 3] : [2]],
        [[isNull(field, true), where(field, 'eq', low)], []],
        [[isNull(field, false), where(field, 'eq', low)], [2]],
        [[isNull(field, true), where(field, 'lte', high)], []]
      )
      await assertIds(storage, { sort: [field] }, [1, 4, 2, 3], family)
      await assertIds(storage, { sort: [`-${field}`] }, [3, 2, 1, 4], family)
      await assertIds(storage, { sort: [`-${field}`], where: [isNull(field, true)] }, [1, 4], family)
    }
    for (const [conditions, expected] of table) {
      await assertIds(storage, { where: conditions }, expected, family)
      const { total } = await storage.find(family, query({ where: conditions, count: true, limit: 1 }))
      assert.equal(total, expected.length)
    }
  }
})))

export const nulls: readonly Case[] = [
  ...ofBoth,
  {
    name: 'null: stored and returned as null in nullable fields',
    async run ({ storage }) {
      await storage.prepare(maybes)
      await storage.commit(insert('maybes', thing(1, nothing)))
      assert.deepEqual({ ...await storage.get('maybes', 1) }, thing(1, nothing))
      const values = Object.fromEntries(Object.entries(kinds).map(([name, { high }]) => [name, high]))
      await storage.commit([replace('maybes', thing(1, values, 2))])
      assert.deepEqual({ ...await storage.get('maybes', 1) }, thing(1, values, 2))
      const current = await storage.get('maybes', 1)
      const change = { ...replace('maybes', thing(1, nothing, 3)), current }
      await storage.commit([change as ReturnType<typeof replace>])
      const { items } = await storage.find('maybes', query())
      assert.deepEqual(items.map(item => ({ ...item })), [thing(1, nothing, 3)])
    }
  },
  {
    name: 'null: of a field that was added later, in existing items',
    async run ({ storage }) {
      await storage.commit(insert('things', thing(1), thing(2)))
      const later = { name: 'addedLater', kind: 'string', optional: false, nullable: true, default: null } as const
      await storage.prepare({ ...things, fields: [...things.fields, later], indexes: [['addedLater']] })
      await storage.commit([replace('things', thing(2, { addedLater: 'x' }, 2))])
      assert.deepEqual({ ...await storage.get('things', 1) }, thing(1, { addedLater: null }))
      await assertIds(storage, { where: [isNull('addedLater', true)] }, [1])
      await assertIds(storage, { sort: ['-addedLater'] }, [2, 1])
    }
  },
  {
    name: 'null: a default other than null, for existing items without the field only',
    async run ({ storage }) {
      await storage.commit(insert('things', thing(1)))
      const later = { name: 'addedLater', kind: 'integer', optional: false, nullable: true, default: 7 } as const
      const more = { ...things, fields: [...things.fields, later], indexes: [['addedLater']] }
      await storage.prepare(more)
      await storage.commit(insert('things', thing(2, { addedLater: null })))
      await storage.prepare(more)
      await assertIds(storage, { where: [where('addedLater', 'eq', 7)] }, [1])
      await assertIds(storage, { where: [isNull('addedLater', true)] }, [2])
    }
  },
  {
    name: 'text: null as JSON.stringify writes it',
    needs: 'findText',
    async run ({ storage }) {
      await storage.prepare(maybes)
      await storage.commit(insert('maybes', thing(1, nothing), thing(2, { ...nothing, string: 'null' })))
      const shown = ['id', ...Object.keys(kinds)]
      const found = await storage.findText?.('maybes', query({ sort: ['string'] }), shown)
      const expected = [{ id: 1, ...nothing }, { id: 2, ...nothing, string: 'null' }]
      assert.equal(found?.text, expected.map(item => JSON.stringify(item)).join())
    }
  }
]
