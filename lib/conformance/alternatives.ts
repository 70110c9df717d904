import assert from 'node:assert/strict'
import type { AnyCondition, Condition, FieldCondition } from '../core/storage/storage.js'
import type { Case } from './fixture.js'
import { assertIds, insert, query, thing, where } from './fixture.js'

const any = (...of: FieldCondition[][]): AnyCondition => ({ op: 'any', of })

const items = [
  thing(1, { integer: 1, string: 'Tea', date: '2026-01-01' }),
  thing(2, { integer: 2, string: 'coffee', boolean: true }),
  thing(3, { integer: 3, number: 0.5, dateTime: '2026-01-01T00:00:00.000Z' }),
  thing(4, { string: 'tea and coffee' }),
  thing(5)
]

// [what is fixed, conditions, ids found]
const table: [string, readonly Condition[], number[]][] = [
  ['one of two fields', [any([where('integer', 'eq', 1)], [where('string', 'eq', 'coffee')])], [1, 2]],
  ['all of one alternative', [
    any([where('integer', 'gte', 2), where('integer', 'lt', 3)], [where('id', 'eq', 5)])
  ], [2, 5]],
  ['every group', [
    any([where('integer', 'lte', 2)], [where('id', 'gt', 3)]),
    any([where('boolean', 'eq', true)], [where('string', 'eq', 'Tea', 'other')], [where('id', 'eq', 3)])
  ], [1, 2]],
  ['beside other conditions', [
    where('id', 'lt', 5), any([where('string', 'null', true)], [where('id', 'eq', 4)])
  ], [3, 4]],
  ['what is absent', [any([where('integer', 'null', true)], [where('integer', 'ne', 1, 3)])], [2, 4, 5]],
  ['values of every kind', [any(
    [where('date', 'lte', '2026-01-01')],
    [where('dateTime', 'gte', '2026-01-01T00:00:00.000Z')],
    [where('number', 'lt', 1)]
  )], [1, 3]],
  ['no value to equal', [any([where('integer', 'eq')], [where('id', 'eq', 1)])], [1]],
  ['none to differ from', [any([where('integer', 'ne')])], [1, 2, 3, 4, 5]],
  ['no alternative', [any()], []],
  ['one without conditions', [any([])], [1, 2, 3, 4, 5]],
  ['patterns', [any([where('string', 'regex', '^t'), where('id', 'gt', 1)], [where('integer', 'eq', 3)])], [3, 4]],
  ['texts', [any([where('string', 'has', 'COFFEE')], [where('integer', 'eq', 1)]), where('id', 'gt', 1)], [2, 4]]
]

// [what is fixed, texts of things 1, 2, 3…, what is looked for, ids found]
const folds: [string, readonly unknown[], readonly string[], number[]][] = [
  ['in either case', ['Tea', 'TEA', 'steam', 'te a', undefined], ['tEa'], [1, 2, 3]],
  ['any of several', ['tea', 'coffee', 'milk'], ['EE', 'lk'], [2, 3]],
  ['other letters than English ones', ['ÄÖ', 'äö', 'ЯБ', 'яб', 'ΑΣ', 'ας', 'ασ'], ['äÖ', 'Яб', 'ασ'],
    [1, 2, 3, 4, 5, 6, 7]],
  ['beyond the first plane', ['\u{10400}', '\u{10428}', '😀'], ['\u{10428}'], [1, 2]],
  ['one letter that has three forms', ['K', 'k', '\u212a', 'ſ', 's'], ['K', 'S'], [1, 2, 3, 4, 5]],
  ['a letter is never two', ['straße', 'STRASSE', 'STRAẞE'], ['strasse'], [2]],
  ['no language of its own', ['I', 'i', 'İ', 'ı'], ['I'], [1, 2]],
  ['accents count', ['e\u0301', '\u00e9', 'e'], ['\u00c9'], [2]],
  ['nothing has a meaning of its own', ['a.c', 'abc', '100%', '1000', 'a_c', '(', '\\'], ['A.C', '0%', 'A_', '(', '\\'],
    [1, 3, 5, 6, 7]],
  ['the empty text is in everything but absent', ['', 'a', undefined], [''], [1, 2]]
]

export const alternatives: readonly Case[] = [
  ...table.map(([name, conditions, expected]): Case => ({
    name: `any: ${name}`,
    async run ({ storage }) {
      await storage.commit(insert('things', ...items))
      await assertIds(storage, { where: conditions }, expected)
      await assertIds(storage, { where: conditions, sort: ['-integer', '-id'] }, sortByInteger(expected))
      const { items: page, total } = await storage.find('things', query({ where: conditions, limit: 1, count: true }))
      assert.deepEqual([page.map(({ id }) => id), total], [expected.slice(0, 1), expected.length])
    }
  })),
  ...folds.map(([name, texts, given, expected]): Case => ({
    name: `has: ${name}`,
    async run ({ storage }) {
      const members = texts.map(string => string === undefined ? {} : { string })
      await storage.commit(insert('things', ...members.map((each, index) => thing(index + 1, each))))
      await assertIds(storage, { where: [where('string', 'has', ...given)] }, expected)
    }
  })),
  {
    name: 'has: the text of other kinds, and long texts',
    async run ({ storage }) {
      await storage.commit(insert('things', ...items, thing(6, { string: `${'ab'.repeat(60_000)}Tea` })))
      await assertIds(storage, { where: [where('boolean', 'has', 'TR')] }, [2])
      await assertIds(storage, { where: [where('date', 'has', '-01-')] }, [1])
      await assertIds(storage, { where: [where('number', 'has', '.5')] }, [3])
      await assertIds(storage, { where: [where('string', 'has', 'BTEA')] }, [6])
      const either = where('string', 'has', `${'AB'.repeat(90)}T`, 'coffee')
      await assertIds(storage, { where: [either], sort: ['-id'] }, [6, 4, 2])
    }
  }
]

function sortByInteger (ids: readonly number[]): number[] {
  const rank = (id: number): number => (items[id - 1]?.['integer'] as number | undefined) ?? 0
  return ids.toSorted((a, b) => rank(b) - rank(a) || b - a)
}
