import assert from 'node:assert/strict'
import type { AnyCondition, Condition, FieldCondition } from '../core/storage/storage.js'
import { assertIds, type Case, insert, note, query, thing, where } from './fixture.js'

// [name, field, values of things 1, 2, 3…, patterns, ids found]
const patternTable: [string, string, readonly unknown[], readonly string[], number[]][] = [
  ['any of several patterns', 'string', ['alpha', 'beta', 'gamma'], ['^a', 'mm'], [1, 3]],
  ['found anywhere in the text', 'string', ['xay', 'a', 'b'], ['a'], [1, 2]],
  ['the case counts, unless (?i)', 'string', ['A', 'a'], ['a'], [2]],
  ['(?i) folds the case', 'string', ['A', 'a', 'b'], ['(?i)^A$'], [1, 2]],
  ['$ is the very end', 'string', ['end', 'end\n'], ['end$'], [1]],
  ['^ is the very beginning', 'string', ['b', 'a\nb'], ['^b'], [1]],
  ['(?m) makes them lines', 'string', ['b', 'a\nb'], ['(?m)^b$'], [1, 2]],
  ['the dot does not match a newline, unless (?s)', 'string', ['a\nb', 'a-b'], ['a.b'], [2]],
  ['the dot is a whole code point', 'string', ['😀', 'ab', 'a'], ['^.$'], [1, 3]],
  ['\\d is ASCII only', 'string', ['٣', '3'], ['^\\d$'], [2]],
  ['\\pL is a letter of any script', 'string', ['д', '1'], ['^\\pL$'], [1]],
  ['\\Q…\\E quotes', 'string', ['a.b', 'axb'], ['\\Qa.b\\E'], [1]],
  ['% and _ are ordinary characters', 'string', ['100%', '100x', 'a_c', 'abc'], ['0%$', 'a_c'], [1, 3]],
  ['the empty pattern is found in everything but absent', 'string', ['', 'a', undefined], [''], [1, 2]],
  ['an integer has no decimal point', 'integer', [1, 10, -1], ['^-?1$'], [1, 3]],
  ['a whole number is written without .0', 'number', [1, 1.5, 100], ['^1(00)?$'], [1, 3]],
  ['a small number as 1e-7', 'number', [1e-7, 0.000001], ['^1e-7$'], [1]],
  ['a number that is not exactly decimal', 'number', [0.1 + 0.2, 0.3], ['^0\\.30000000000000004$'], [1]],
  ['the largest integers', 'number', [9007199254740991, -9007199254740991], ['^-?9007199254740991$'], [1, 2]],
  ['booleans are true and false', 'boolean', [true, false, undefined], ['^false$'], [2]],
  ['dates as they are written', 'date', ['2026-01-31', '0001-01-01'], ['^0001-'], [2]],
  ['a pattern that makes other engines hang', 'string', ['a'.repeat(40) + '!', 'aaa'], ['^(a+)+$'], [2]]
]

const both: Condition[] = [where('string', 'regex', '^[a-m]'), where('integer', 'gte', 5)]

export const patterns: readonly Case[] = [
  ...patternTable.map(([name, field, values, given, expected]): Case => ({
    name: `regex: ${name}`,
    async run ({ storage }) {
      const members = values.map(value => value === undefined ? {} : { [field]: value })
      await storage.commit(insert('things', ...members.map((each, index) => thing(index + 1, each))))
      await assertIds(storage, { where: [where(field, 'regex', ...given)] }, expected)
    }
  })),
  {
    name: 'regex: together with other conditions, order, paging and count',
    async run ({ storage }) {
      const letters = 'abcdefghijklmnopqrstuvwxyz'
      const many = [...letters].map((string, index) => thing(index + 1, { string, integer: index % 10 }))
      await storage.commit(insert('things', ...many))
      const matches = [6, 7, 8, 9, 10]
      await assertIds(storage, { where: both }, matches)
      await assertIds(storage, { where: both, sort: ['-id'] }, [...matches].reverse())
      await assertIds(storage, { where: both, sort: ['-string'], offset: 1, limit: 2 }, [9, 8])
      await assertIds(storage, { where: [...both, where('id', 'gt', 7)], limit: 2 }, [8, 9])
      const { items, total } = await storage.find('things', query({ where: both, offset: 3, limit: 1, count: true }))
      assert.deepEqual([items.map(item => item.id), total], [[9], 5])
    }
  },
  {
    name: 'regex: over more items than one batch, sparse and dense',
    async run ({ storage }) {
      const many = Array.from({ length: 3000 }, (_, index) => thing(index + 1, { string: `n${index + 1}` }))
      await storage.commit(insert('things', ...many))
      await assertIds(storage, { where: [where('string', 'regex', '^n2999$')] }, [2999])
      await assertIds(storage, { where: [where('string', 'regex', 'n')], offset: 2500, limit: 2 }, [2501, 2502])
      const hundreds = query({ where: [where('string', 'regex', '00$')], limit: 0, count: true })
      assert.equal((await storage.find('things', hundreds)).total, 30)
      await assertIds(storage, { where: [where('string', 'regex', '000$')], sort: ['-string'] }, [3000, 2000, 1000])
    }
  },
  {
    name: 'regex: on ids',
    async run ({ storage }) {
      await storage.commit([
        ...insert('things', thing(7), thing(17), thing(8)),
        ...insert('notes', note('n-1'), note('m-1'))
      ])
      await assertIds(storage, { where: [where('id', 'regex', '7$')] }, [7, 17])
      await assertIds(storage, { where: [where('id', 'regex', '^n')] }, ['n-1'], 'notes')
    }
  }
]

const any = (...of: FieldCondition[][]): AnyCondition => ({ op: 'any', of })

const items = [
  thing(1, { integer: 1, string: 'Tea', date: '2026-01-01' }),
  thing(2, { integer: 2, string: 'coffee', boolean: true }),
  thing(3, { integer: 3, number: 0.5, dateTime: '2026-01-01T00:00:00.000Z' }),
  thing(4, { string: 'tea and coffee' }),
  thing(5)
]

// [name, conditions, ids found]
const anyTable: [string, readonly Condition[], number[]][] = [
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

// [name, texts of things 1, 2, 3…, texts to find, ids found]
const folds: [string, readonly unknown[], readonly string[], number[]][] = [
  ['in either case', ['Tea', 'TEA', 'steam', 'te a', undefined], ['tEa'], [1, 2, 3]],
  ['any of several', ['tea', 'coffee', 'milk'], ['EE', 'lk'], [2, 3]],
  ['other letters than English ones', ['ÄÖ', 'äö', 'ЯБ', 'яб', 'ΑΣ', 'ας', 'ασ'], ['äÖ', 'Яб', 'ασ'],
    [1, 2, 3, 4, 5, 6, 7]],
  ['beyond the first plane', ['\u{10400}', '\u{10428}', '😀'], ['\u{10428}'], [1, 2]],
  ['one letter that has three forms', ['K', 'k', '\u212a', 'ſ', 's'], ['K', 'S'], [1, 2, 3, 4, 5]],
  ['a letter is never two', ['straße', 'STRASSE', 'STRAẞE'], ['strasse'], [2]],
  ['independent of the language', ['I', 'i', 'İ', 'ı'], ['I'], [1, 2]],
  ['accents count', ['e\u0301', '\u00e9', 'e'], ['\u00c9'], [2]],
  ['no character is special', ['a.c', 'abc', '100%', '1000', 'a_c', '(', '\\'], ['A.C', '0%', 'A_', '(', '\\'],
    [1, 3, 5, 6, 7]],
  ['the empty text is in everything but absent', ['', 'a', undefined], [''], [1, 2]]
]

export const alternatives: readonly Case[] = [
  ...anyTable.map(([name, conditions, expected]): Case => ({
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
