import t from 'tap'
import { query, where } from '../../lib/conformance/fixture.js'
import type { Query } from '../../lib/core/storage/storage.js'
import { planPage } from '../../lib/storage/sql/planner.js'
import type { Equality, Index, Step } from '../../lib/storage/sql/steps.js'

const limits = { lookRows: 20, fewEntries: 40, skipRows: 500 }
const makeIndex = (...fields: string[]): Index => ({ name: fields.join('_'), fields, sortedById: true })
const age = makeIndex('age')
const ageAndName = makeIndex('age', 'name')
const name = makeIndex('name')
const all = [age, ageAndName, name]
// Of a table that somebody else made.
const unsorted = { ...age, sortedById: false }

const is30: Equality = { field: 'age', op: 'eq', values: [30] }
const isAnn: Equality = { field: 'name', op: 'eq', values: ['ann'] }
const ageless: Equality = { field: 'age', op: 'null', is: true }
const adult = where('age', 'gte', 18)
const minor = where('age', 'lt', 18)
const notAnn = where('name', 'ne', 'ann')
const tall = where('height', 'gt', 180)
const after7 = where('id', 'gt', 7)
const upTo9 = where('id', 'lte', 9)

const read: Step = { type: 'read' }
const heavy: Step = { type: 'heavy' }
const few: Step = { type: 'few', range: [], maxEntries: 40 }

// [what is asked for, indexes, steps]
const table: Record<string, [Query, Index[], Step[]]> = {
  'no conditions': [query(), all, [read]],
  'bounds of the id alone': [query({ where: [after7, upTo9] }), all, [read]],
  'very far down': [query({ offset: 1000, limit: 1 }), all, [heavy]],
  'an order that comes after one value in an index': [
    query({ where: [is30, where('name', 'gt', 'm')], sort: ['-age', '-name', '-id'], offset: 100 }),
    all,
    [{ type: 'read-index', index: ageAndName, equal: [is30], range: [where('name', 'gt', 'm')] }]
  ],
  'the same, and more': [
    query({ where: [is30, tall], sort: ['name'] }),
    all,
    [
      { type: 'look', index: ageAndName, equal: [is30], range: [], filters: [tall], rows: 20 },
      { type: 'fewest', choices: [{ index: age, where: [is30] }], maxEntries: 40 },
      few,
      heavy
    ]
  ],
  'what is absent is one value of an index': [
    query({ where: [ageless] }),
    all,
    [{ type: 'read-index', index: age, equal: [ageless], range: [] }]
  ],
  'what is not absent is no bound': [
    query({ where: [{ field: 'age', op: 'null', is: false }], sort: ['age'] }),
    [age],
    [
      {
        type: 'look',
        index: age,
        equal: [],
        range: [],
        filters: [{ field: 'age', op: 'null', is: false }],
        rows: 20
      },
      { type: 'fewest', choices: [{ index: age, where: [{ field: 'age', op: 'null', is: false }] }], maxEntries: 40 },
      few,
      heavy
    ]
  ],
  'an order that no index has in both directions': [
    query({ where: [is30], sort: ['-name', 'id'], limit: 10 }),
    all,
    [
      { type: 'window', index: name, range: [], rows: 20, maxEntries: 60 },
      { type: 'fewest', choices: [{ index: age, where: [is30] }], maxEntries: 40 },
      few,
      heavy
    ]
  ],
  'ids that are named': [query({ where: [where('id', 'eq', 1, 2), adult] }), all, [read]],
  'ids that are named, in another order': [query({ where: [where('id', 'eq', 1, 2)], sort: ['name'] }), all, [read]],
  'one value of an index': [
    query({ where: [is30, after7], offset: 100 }),
    all,
    [{ type: 'read-index', index: age, equal: [is30], range: [after7] }]
  ],
  'one value of an index, very far down': [query({ where: [is30], offset: 1000 }), all, [heavy]],
  'the longest index whose fields are all given': [
    query({ where: [isAnn, is30], sort: ['-id'] }),
    all,
    [{ type: 'read-index', index: ageAndName, equal: [is30, isAnn], range: [] }]
  ],
  'a value of an index, and more': [
    query({ where: [tall, is30, after7] }),
    all,
    [
      { type: 'look', index: age, equal: [is30], range: [after7], filters: [tall], rows: 20 },
      { type: 'fewest', choices: [{ index: age, where: [is30] }], maxEntries: 40 },
      { ...few, range: [after7] },
      heavy
    ]
  ],
  'ranges: the first index of each field, with all conditions on the field': [
    query({ where: [adult, tall, minor, where('name', 'lt', 'm'), upTo9] }),
    all,
    [
      {
        type: 'look',
        index: undefined,
        equal: [],
        range: [upTo9],
        filters: [adult, tall, minor, where('name', 'lt', 'm')],
        rows: 20
      },
      {
        type: 'fewest',
        choices: [{ index: age, where: [adult, minor] }, { index: name, where: [where('name', 'lt', 'm')] }],
        maxEntries: 40
      },
      { ...few, range: [upTo9] },
      heavy
    ]
  ],
  'one of several values is a range': [
    query({ where: [where('age', 'eq', 30, 40)] }),
    [age],
    [
      { type: 'look', index: undefined, equal: [], range: [], filters: [where('age', 'eq', 30, 40)], rows: 20 },
      { type: 'fewest', choices: [{ index: age, where: [where('age', 'eq', 30, 40)] }], maxEntries: 40 },
      few,
      heavy
    ]
  ],
  'with an offset no look': [
    query({ where: [adult], offset: 1 }),
    all,
    [{ type: 'fewest', choices: [{ index: age, where: [adult] }], maxEntries: 40 }, few, heavy]
  ],
  'no index leaves few where a value is excluded': [
    query({ where: [notAnn] }),
    all,
    [{ type: 'look', index: undefined, equal: [], range: [], filters: [notAnn], rows: 20 }, few, heavy]
  ],
  'no index at all': [
    query({ where: [is30] }),
    [],
    [{ type: 'look', index: undefined, equal: [], range: [], filters: [is30], rows: 20 }, few, heavy]
  ],
  'an index whose ties are in no known order only narrows': [
    query({ where: [is30] }),
    [unsorted],
    [
      { type: 'look', index: undefined, equal: [], range: [], filters: [is30], rows: 20 },
      { type: 'fewest', choices: [{ index: unsorted, where: [is30] }], maxEntries: 40 },
      few,
      heavy
    ]
  ],
  'an id that is excluded': [
    query({ where: [where('id', 'ne', 3), after7] }),
    all,
    [
      { type: 'look', index: undefined, equal: [], range: [after7], filters: [where('id', 'ne', 3)], rows: 20 },
      { ...few, range: [after7] },
      heavy
    ]
  ],
  'the order of an index, with bounds of its first field': [
    query({ sort: ['age'], where: [adult, minor], offset: 100 }),
    all,
    [{ type: 'read-index', index: age, equal: [], range: [adult, minor] }]
  ],
  'the order of an index of two fields, backwards': [
    query({ sort: ['-age', '-name', '-id'] }),
    all,
    [{ type: 'read-index', index: ageAndName, equal: [], range: [] }]
  ],
  'the order of an index, and conditions on others': [
    query({ sort: ['age'], where: [adult, tall] }),
    all,
    [
      { type: 'look', index: age, equal: [], range: [adult], filters: [tall], rows: 20 },
      { type: 'fewest', choices: [{ index: age, where: [adult] }], maxEntries: 40 },
      few,
      heavy
    ]
  ],
  'the order of an index but for the ties': [
    query({ sort: ['-age'], where: [adult], limit: 10 }),
    all,
    [
      { type: 'window', index: age, range: [adult], rows: 20, maxEntries: 60 },
      { type: 'fewest', choices: [{ index: age, where: [adult] }], maxEntries: 40 },
      few,
      heavy
    ]
  ],
  'the same further down, where nothing else is asked': [
    query({ sort: ['-age'], offset: 90, limit: 10 }),
    [unsorted],
    [{ type: 'window', index: unsorted, range: [], rows: 100, maxEntries: 140 }, few, heavy]
  ],
  'the same further down with conditions': [query({ sort: ['-age'], where: [tall], offset: 1 }), all, [few, heavy]],
  'the same very far down': [query({ sort: ['age'], offset: 1000 }), all, [few, heavy]],
  'an order without an index': [query({ sort: ['height'], where: [after7] }), all, [{ ...few, range: [after7] }, heavy]]
}

for (const [asked, [query, indexes, steps]] of Object.entries(table)) {
  t.test(asked, async t => {
    t.strictSame([...planPage(query, indexes, limits)], steps)
  })
}
