import type { Condition, Scalar, Storage } from '../core/storage/storage.js'
import { assertIds, type Case, insert, thing, where } from './fixture.js'

type ThreeValues = readonly [Scalar, Scalar, Scalar]

// Three values of each kind from low to high, and a pattern that is found in the middle one only.
const kinds: Record<string, { values: ThreeValues, pattern: string }> = {
  integer: { values: [-9, 10, 100], pattern: '^10$' },
  number: { values: [-0.5, 2.25, 10], pattern: '^2\\.25$' },
  string: { values: ['Ab', 'a', 'ä'], pattern: '^a$' },
  date: { values: ['1999-12-31', '2024-02-29', '2026-01-01'], pattern: '-02-' },
  dateTime: {
    values: ['1969-12-31T23:59:59.999Z', '2024-02-29T12:00:00.001Z', '2024-02-29T12:00:00.002Z'],
    pattern: '001Z$'
  },
  mood: { values: ['calm', 'glad', 'wild'], pattern: '^g' }
}

/** Things 1, 2, 3 have the values from low to high, 4 has none, 5 the middle one again. */
async function load (storage: Storage, field: string, [low, middle, high]: ThreeValues): Promise<void> {
  await storage.commit(insert('things', thing(3, { [field]: high }), thing(1, { [field]: low }),
    thing(5, { [field]: middle }), thing(4), thing(2, { [field]: middle })))
}

const ofEveryKind = Object.entries(kinds).flatMap(([field, { values, pattern }]): Case[] => {
  const [low, middle, high] = values
  const table: [string, Condition, number[]][] = [
    ['eq', where(field, 'eq', middle), [2, 5]],
    ['eq any of many', where(field, 'eq', low, high), [1, 3]],
    ['ne, absent among them', where(field, 'ne', middle), [1, 3, 4]],
    ['ne none of many', where(field, 'ne', low, high), [2, 4, 5]],
    ['gt', where(field, 'gt', middle), [3]],
    ['gte', where(field, 'gte', middle), [2, 3, 5]],
    ['lt', where(field, 'lt', middle), [1]],
    ['lte', where(field, 'lte', middle), [1, 2, 5]],
    ['regex', where(field, 'regex', pattern), [2, 5]]
  ]
  return [
    ...table.map(([name, condition, expected]): Case => ({
      name: `filter ${field}: ${name}`,
      async run ({ storage }) {
        await load(storage, field, values)
        await assertIds(storage, { where: [condition] }, expected)
      }
    })),
    {
      name: `order ${field}: absent first, ties by id`,
      async run ({ storage }) {
        await load(storage, field, values)
        await assertIds(storage, { sort: [field] }, [4, 1, 2, 5, 3])
      }
    },
    {
      name: `order ${field} descending: absent last, ties by id`,
      async run ({ storage }) {
        await load(storage, field, values)
        await assertIds(storage, { sort: [`-${field}`] }, [3, 2, 5, 1, 4])
      }
    }
  ]
})

const booleans: [string, Condition, number[]][] = [
  ['eq true', where('boolean', 'eq', true), [2]],
  ['eq false', where('boolean', 'eq', false), [1]],
  ['eq any of both', where('boolean', 'eq', false, true), [1, 2]],
  ['ne', where('boolean', 'ne', true), [1, 3]],
  ['ne none of both', where('boolean', 'ne', true, false), [3]],
  ['gt: false comes before true', where('boolean', 'gt', false), [2]],
  ['gte', where('boolean', 'gte', false), [1, 2]],
  ['lt', where('boolean', 'lt', true), [1]],
  ['lte', where('boolean', 'lte', false), [1]],
  ['regex on the text true', where('boolean', 'regex', '^tru'), [2]]
]

async function loadBooleans (storage: Storage): Promise<void> {
  await storage.commit(insert('things', thing(1, { boolean: false }), thing(2, { boolean: true }), thing(3)))
}

const ofBooleans: Case[] = [
  ...booleans.map(([name, condition, expected]): Case => ({
    name: `filter boolean: ${name}`,
    async run ({ storage }) {
      await loadBooleans(storage)
      await assertIds(storage, { where: [condition] }, expected)
    }
  })),
  {
    name: 'order boolean: absent, false, true, and in reverse',
    async run ({ storage }) {
      await loadBooleans(storage)
      await assertIds(storage, { sort: ['boolean'] }, [3, 1, 2])
      await assertIds(storage, { sort: ['-boolean'] }, [2, 1, 3])
    }
  }
]

const ofOthers: Case[] = [
  {
    name: 'filter: eq without values matches nothing, ne without values everything',
    async run ({ storage }) {
      await storage.commit(insert('things', thing(1, { integer: 1 }), thing(2)))
      await assertIds(storage, { where: [where('integer', 'eq')] }, [])
      await assertIds(storage, { where: [where('integer', 'ne')] }, [1, 2])
    }
  },
  {
    name: 'filter: a hundred values',
    async run ({ storage }) {
      await storage.commit(insert('things', ...[1, 99, 100].map((integer, index) => thing(index + 1, { integer }))))
      const hundred = Array.from({ length: 100 }, (_, index) => index)
      await assertIds(storage, { where: [where('integer', 'eq', ...hundred)] }, [1, 2])
      await assertIds(storage, { where: [where('integer', 'ne', ...hundred)] }, [3])
    }
  },
  {
    name: 'filter: a fraction against integers, an integer against numbers',
    async run ({ storage }) {
      await storage.commit(insert('things', thing(1, { integer: 1, number: 1 }), thing(2, { integer: 2, number: 1.5 })))
      await assertIds(storage, { where: [where('number', 'eq', 1)] }, [1])
      await assertIds(storage, { where: [where('number', 'gt', 1)] }, [2])
      await assertIds(storage, { where: [where('number', 'lt', 1.5)] }, [1])
    }
  },
  {
    name: 'filter: all conditions must hold, also several on one field',
    async run ({ storage }) {
      await storage.commit(insert('things', ...Array.from({ length: 20 }, (_, index) =>
        thing(index + 1, { integer: index % 5, string: index % 2 === 0 ? 'even' : 'odd' }))))
      const integers = [where('integer', 'gte', 1), where('integer', 'lt', 3)]
      const conditions = [...integers, where('string', 'eq', 'odd'), where('id', 'gt', 2)]
      await assertIds(storage, { where: conditions }, [8, 12, 18])
    }
  },
  {
    name: 'filter: text is compared exactly, with its case, accents and blanks',
    async run ({ storage }) {
      const strings = ['straße', 'STRASSE', 'e\u0301', '\u00e9', 'straße ']
      await storage.commit(insert('things', ...strings.map((string, index) => thing(index + 1, { string }))))
      await assertIds(storage, { where: [where('string', 'eq', 'straße')] }, [1])
      await assertIds(storage, { where: [where('string', 'eq', '\u00e9')] }, [4])
      await assertIds(storage, { where: [where('string', 'ne', 'straße')] }, [2, 3, 4, 5])
    }
  },
  {
    name: 'filter: the empty string is a value',
    async run ({ storage }) {
      await storage.commit(insert('things', thing(1, { string: '' }), thing(2), thing(3, { string: ' ' })))
      await assertIds(storage, { where: [where('string', 'eq', '')] }, [1])
      await assertIds(storage, { where: [where('string', 'ne', '')] }, [2, 3])
      await assertIds(storage, { sort: ['string'] }, [2, 1, 3])
    }
  },
  {
    name: 'filter: revision, createdAt and updatedAt like any field',
    async run ({ storage }) {
      const later = { createdAt: '2027-01-01T00:00:00.000Z', updatedAt: '2028-01-01T00:00:00.000Z' }
      await storage.commit(insert('things', thing(1), thing(2, later)))
      await assertIds(storage, { where: [where('createdAt', 'gt', '2026-12-31T23:59:59.999Z')] }, [2])
      await assertIds(storage, { where: [where('updatedAt', 'eq', '2028-01-01T00:00:00.000Z')] }, [2])
      await assertIds(storage, { where: [where('revision', 'eq', 1)], sort: ['-createdAt'] }, [2, 1])
    }
  }
]

export const filters: readonly Case[] = [...ofEveryKind, ...ofBooleans, ...ofOthers]
