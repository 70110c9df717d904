import t from 'tap'
import { where } from '../../lib/conformance/fixture.js'
import { matcher } from '../../lib/core/storage/conditions.js'
import type { Condition, Stored } from '../../lib/core/storage/storage.js'
import { tighten } from '../../lib/storage/sql/tighten.js'

// [what is asked for, what it means]
const table: Record<string, [Condition[], Condition[]]> = {
  'one condition': [[where('age', 'gt', 1)], [where('age', 'gt', 1)]],
  'different fields': [
    [where('age', 'gt', 1), where('name', 'lt', 'm')],
    [where('age', 'gt', 1), where('name', 'lt', 'm')]
  ],
  'the greatest lower bound': [
    [where('age', 'gte', 5), where('age', 'gt', 7), where('age', 'gte', 6)],
    [where('age', 'gt', 7)]
  ],
  'the least upper bound': [[where('age', 'lt', 9), where('age', 'lte', 5)], [where('age', 'lte', 5)]],
  'of two with one value, the one that excludes it': [
    [
      where('age', 'gte', 5), where('age', 'gt', 5), where('age', 'gte', 5),
      where('age', 'lt', 8), where('age', 'lte', 8)
    ],
    [where('age', 'gt', 5), where('age', 'lt', 8)]
  ],
  'values within bounds': [
    [where('age', 'gte', 5), where('age', 'eq', 1, 5, 9), where('age', 'lt', 9), where('age', 'ne', 3)],
    [where('age', 'eq', 5)]
  ],
  'values of which none is left': [[where('age', 'eq', 1), where('age', 'eq', 2)], [where('age', 'eq')]],
  'patterns and what is excluded stay': [
    [where('name', 'regex', 'a'), where('name', 'gt', 'a'), where('name', 'gt', 'b'), where('name', 'ne', 'c')],
    [where('name', 'gt', 'b'), where('name', 'ne', 'c'), where('name', 'regex', 'a')]
  ],
  'bounds and whether it is there': [
    [{ field: 'age', op: 'null', is: false }, where('age', 'gt', 5), where('age', 'gt', 2)],
    [where('age', 'gt', 5), { field: 'age', op: 'null', is: false }]
  ],
  'values of what is there': [
    [where('age', 'eq', 5), { field: 'age', op: 'null', is: false }],
    [where('age', 'eq', 5)]
  ],
  'values of what is not': [[where('age', 'eq', 5), { field: 'age', op: 'null', is: true }], [where('age', 'eq')]],
  'alternatives stay, and searches in their order': [
    [
      where('age', 'gt', 1), where('name', 'regex', 'a'),
      { op: 'any', of: [[where('age', 'has', '5')], [where('age', 'lt', 9)]] },
      where('age', 'regex', '7'), where('age', 'gt', 5), { op: 'any', of: [] }
    ],
    [
      where('age', 'gt', 5), where('name', 'regex', 'a'),
      { op: 'any', of: [[where('age', 'has', '5')], [where('age', 'lt', 9)]] },
      where('age', 'regex', '7'), { op: 'any', of: [] }
    ]
  ],
  'patterns beside values stay': [
    [where('name', 'regex', 'a'), where('name', 'eq', 'ab', 'c'), where('name', 'lte', 'b')],
    [where('name', 'eq', 'ab'), where('name', 'regex', 'a')]
  ]
}

for (const [asked, [given, meant]] of Object.entries(table)) {
  t.test(asked, async t => {
    t.strictSame(tighten(given), meant)
    for (const age of [undefined, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9]) {
      const item = { ...age === undefined ? {} : { age, name: 'abc'.slice(age % 3) } } as unknown as Stored
      t.equal(matcher(tighten(given))(item), matcher(given)(item))
    }
  })
}
