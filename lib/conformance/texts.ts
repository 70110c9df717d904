import assert from 'node:assert/strict'
import type { Query, Storage, Stored } from '../core/storage/storage.js'
import { type Case, insert, note, query, thing, where } from './fixture.js'

const members = [
  'id',
  'revision',
  'createdAt',
  'updatedAt',
  'integer',
  'number',
  'string',
  'boolean',
  'date',
  'dateTime',
  'mood',
  'json'
]

/** Asserts that the text of a page is what `JSON.stringify` makes of its items. */
async function assertSameAsItems (storage: Storage, asked: Query, shown = members, family = 'things'): Promise<void> {
  const { items, total } = await storage.find(family, asked)
  const { items: further } = await storage.find(family, { ...asked, offset: asked.offset + asked.limit, limit: 1 })
  const { text, ...rest } = await (storage as Required<Storage>).findText(family, asked, shown)
  const write = (names: readonly string[]): string => items.map(item =>
    JSON.stringify(Object.fromEntries(shown.map((member, index) => [names[index], item[member]])))).join(',')
  assert.equal(text, write(shown))
  // Each has the name of the one before; the id keeps its own.
  const renamable = shown.filter(member => member !== 'id')
  const names = shown.map(member => member === 'id' ? member : renamable.at(renamable.indexOf(member) - 1) as string)
  const { text: renamed, isNamed, ...same } =
    await (storage as Required<Storage>).findText(family, asked, shown, undefined, names)
  assert.equal(renamed, write(isNamed === true ? names : shown))
  assert.deepEqual(same, rest)
  const keyOf = (item: Stored | undefined): object => Object.fromEntries(asked.order.map(({ field }) => field)
    .filter(field => item?.[field] !== undefined).map(field => [field, item?.[field]]))
  const last = items.at(-1)
  const expected = { count: items.length, more: further.length > 0 }
  const { first, ...others } = rest
  if (last !== undefined && asked.offset > 0) assert.deepEqual({ ...first }, keyOf(items[0]))
  assert.deepEqual(others, {
    ...expected,
    ...last === undefined ? {} : { last: keyOf(last) },
    ...total === undefined ? {} : { total }
  })
}

const table: Record<string, Record<string, unknown>[]> = {
  numbers: [
    0, 1, -1, 1.5, 0.1, 0.1 + 0.2, 1e-7, 123456.78901234567, 5e-324, -2.5e-10, 1e15, 9007199254740991,
    -9007199254740991, 8999999999999999, 100, -0, 0.0001, 0.00001, -0.000123456789, 1e14, 1e14 + 0.5, 12345678901234.5,
    999999999999999.9, 1e16, 1e20, 123456789012345680000, 1e21, -1e300, Number.MAX_VALUE, 2 ** -44, 2 ** 60, 1 / 3,
    577802315005944000
  ].map(number => ({ number })),
  'numbers of any size': Array.from({ length: 200 }, (_, index) => ({ number: makeNumber(index) })),
  integers: [{ integer: 0 }, { integer: -5 }, { integer: Number.MAX_SAFE_INTEGER }],
  'booleans, absent members': [{ boolean: true }, { boolean: false }, {}],
  dates: [{ date: '0001-01-01', dateTime: '9999-12-31T23:59:59.999Z' }],
  strings: [
    '', '"', '\\', '/', '\'', '\u0001\b\t\n\u000b\f\r\u001e\u001f', '\u007f\u0080\u2028\u2029\ufeff', '😀 ä 漢',
    '</script>', 'null', '1', '{"a":1}', '{"id":1},{"id":2}', 'x'.repeat(100_000),
    '\u001e1.50\u001e', '\u001e', '\\u001e',
    ...Array.from({ length: 31 }, (_, index) => `${String.fromCharCode(index + 1)}1`)
  ].map(string => ({ string })),
  json: [
    { a: [1, { b: null }] }, 'a "b"\n', 1.5, false, [], {}, { '\u001e': '\u001e,{' }, { b: 1, a: 2, 1: 3, '': '' },
    [0.1 + 0.2, 1e21, 1e-7, 5e-324], [{ id: 1 }, { id: 2 }], '😀\u2028/', { ' a ': ' , : ' }, ['\u001e1.50\u001e']
  ].map(json => ({ json }))
}

/** A number that needs many digits, or few, with one exponent or another. */
function makeNumber (index: number): number {
  const digits = ((index + 1) * 2654435761) % 2 ** 32 / 2 ** 32
  return Number(`${digits.toPrecision(1 + index % 17)}e${index % 43 - 21}`) * (index % 2 === 0 ? 1 : -1)
}

export const texts: readonly Case[] = [
  ...Object.entries(table).map(([name, rows]): Case => ({
    name: `text: ${name} as JSON.stringify writes them`,
    needs: 'findText',
    async run ({ storage }) {
      await storage.commit(insert('things', ...rows.map((row, index) => thing(index + 1, row))))
      await assertSameAsItems(storage, query())
      await assertSameAsItems(storage, query(), ['string', 'number', 'id', 'boolean', 'json'])
      await assertSameAsItems(storage, query(), ['mood', 'boolean'])
      for (const limit of [1, rows.length - 1].filter(limit => limit > 0 && limit < rows.length)) {
        const asked = query({ limit, offset: rows.length - limit - 1 })
        await assertSameAsItems(storage, asked)
        await assertSameAsItems(storage, asked, ['id', 'string', 'number'])
      }
    }
  })),
  {
    name: 'text: of pages with filters, order, patterns, count and nothing',
    needs: 'findText',
    async run ({ storage }) {
      await storage.commit(
        insert(
          'things',
          ...Array.from({ length: 30 }, (_, index) => thing(index, { integer: index % 7, string: `s${index % 3}` }))
        )
      )
      const filters = [
        [],
        [where('integer', 'gte', 3)],
        [where('integer', 'eq', 3), where('id', 'gt', 4)],
        [where('string', 'regex', '[12]$')],
        [where('integer', 'gt', 99)]
      ]
      for (const filter of filters) {
        for (const sort of [['id'], ['-id'], ['-integer'], ['string', '-number', 'integer']]) {
          await assertSameAsItems(storage, query({ where: filter, sort, limit: 4 }))
          await assertSameAsItems(storage, query({ where: filter, sort, offset: 3, limit: 4, count: true }))
          await assertSameAsItems(storage, query({ where: filter, sort, limit: 30 }))
          await assertSameAsItems(storage, query({ where: filter, sort, limit: 3 }), ['integer'])
        }
      }
      await assertSameAsItems(storage, query({ limit: 0, count: true }))
    }
  },
  {
    name: 'text: of string ids',
    needs: 'findText',
    async run ({ storage }) {
      await storage.commit(insert('notes', note('a"b'), note('\u001e'), note('😀', '')))
      await assertSameAsItems(storage, query({ limit: 2 }), ['id', 'text'], 'notes')
      await assertSameAsItems(storage, query({ sort: ['-text'] }), ['text', 'id'], 'notes')
    }
  }
]
