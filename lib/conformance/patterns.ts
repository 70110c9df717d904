import assert from 'node:assert/strict'
import type { Condition } from '../core/storage/storage.js'
import type { Case } from './fixture.js'
import { assertIds, insert, note, query, thing, where } from './fixture.js'

// [what is fixed, field, values of things 1, 2, 3…, patterns, ids found]
const table: [string, string, readonly unknown[], readonly string[], number[]][] = [
  ['any of several patterns', 'string', ['alpha', 'beta', 'gamma'], ['^a', 'mm'], [1, 3]],
  ['found anywhere in the text', 'string', ['xay', 'a', 'b'], ['a'], [1, 2]],
  ['the case counts, unless (?i)', 'string', ['A', 'a'], ['a'], [2]],
  ['(?i) folds the case', 'string', ['A', 'a', 'b'], ['(?i)^A$'], [1, 2]],
  ['$ is the very end', 'string', ['end', 'end\n'], ['end$'], [1]],
  ['^ is the very beginning', 'string', ['b', 'a\nb'], ['^b'], [1]],
  ['(?m) makes them lines', 'string', ['b', 'a\nb'], ['(?m)^b$'], [1, 2]],
  ['the dot is no newline, unless (?s)', 'string', ['a\nb', 'a-b'], ['a.b'], [2]],
  ['the dot is a whole code point', 'string', ['😀', 'ab', 'a'], ['^.$'], [1, 3]],
  ['\\d is ASCII only', 'string', ['٣', '3'], ['^\\d$'], [2]],
  ['\\pL is a letter of any script', 'string', ['д', '1'], ['^\\pL$'], [1]],
  ['\\Q…\\E quotes', 'string', ['a.b', 'axb'], ['\\Qa.b\\E'], [1]],
  ['% and _ stand for themselves', 'string', ['100%', '100x', 'a_c', 'abc'], ['0%$', 'a_c'], [1, 3]],
  ['the empty pattern is found in everything but absent', 'string', ['', 'a', undefined], [''], [1, 2]],
  ['an integer has no decimal point', 'integer', [1, 10, -1], ['^-?1$'], [1, 3]],
  ['a whole number is written without .0', 'number', [1, 1.5, 100], ['^1(00)?$'], [1, 3]],
  ['a small number as 1e-7', 'number', [1e-7, 0.000001], ['^1e-7$'], [1]],
  ['a number that is not quite decimal', 'number', [0.1 + 0.2, 0.3], ['^0\\.30000000000000004$'], [1]],
  ['the largest integers', 'number', [9007199254740991, -9007199254740991], ['^-?9007199254740991$'], [1, 2]],
  ['booleans are true and false', 'boolean', [true, false, undefined], ['^false$'], [2]],
  ['dates as they are written', 'date', ['2026-01-31', '0001-01-01'], ['^0001-'], [2]],
  ['a pattern that makes other engines hang', 'string', ['a'.repeat(40) + '!', 'aaa'], ['^(a+)+$'], [2]]
]

const all: Condition[] = [where('string', 'regex', '^[a-m]'), where('integer', 'gte', 5)]

export const patterns: readonly Case[] = [
  ...table.map(([name, field, values, given, expected]): Case => ({
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
      await assertIds(storage, { where: all }, matches)
      await assertIds(storage, { where: all, sort: ['-id'] }, [...matches].reverse())
      await assertIds(storage, { where: all, sort: ['-string'], offset: 1, limit: 2 }, [9, 8])
      await assertIds(storage, { where: [...all, where('id', 'gt', 7)], limit: 2 }, [8, 9])
      const { items, total } = await storage.find('things', query({ where: all, offset: 3, limit: 1, count: true }))
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
