import assert from 'node:assert/strict'
import type { Case } from './fixture.js'
import { assertIds, insert, note, query, thing, where } from './fixture.js'

// Code points in their order; UTF-16 units would put the emoji before U+E000 and U+FFFD.
const texts = [
  '', ' ', 'A', 'B', 'Z', 'a', 'aa', 'b', 'Ä', 'ä', 'я', '\u{d7ff}', '\u{e000}', '\u{fffd}', '😀', '\u{10ffff}'
]

export const order: readonly Case[] = [
  {
    name: 'order: by several fields, each its own way',
    async run ({ storage }) {
      await storage.commit(
        insert(
          'things',
          thing(1, { integer: 1, string: 'a' }),
          thing(2, { integer: 2, string: 'b' }),
          thing(3, { integer: 1, string: 'b' }),
          thing(4, { string: 'a' }),
          thing(5, { integer: 1 })
        )
      )
      await assertIds(storage, { sort: ['integer', '-string'] }, [4, 3, 1, 5, 2])
      await assertIds(storage, { sort: ['-integer', 'string', '-id'] }, [2, 5, 1, 3, 4])
    }
  },
  {
    name: 'order: pages along an index that ends with the id, at any place and both ways',
    async run ({ storage }) {
      const items = Array.from({ length: 60 }, (_, index) => thing(index, {
        string: index % 3 === 0 ? 'other' : 'log',
        ...(index % 5 === 0 ? {} : { integer: index % 4 }),
        ...(index % 7 === 0 ? {} : { number: (index * 5) % 9 / 2 })
      }))
      await storage.commit(insert('things', ...items))
      await storage.commit([
        { type: 'delete', family: 'things', id: 4, expected: 1 },
        { type: 'replace', family: 'things', item: thing(7, { string: 'log', integer: 9 }, 2), expected: 1 }
      ])
      const left = items.filter(({ id }) => id !== 4)
        .map(item => item.id === 7 ? { ...item, integer: 9, number: undefined } : item)
      const rank = (value: unknown): number => value === undefined ? -1 : value as number
      const sorted = left.filter(({ string }) => string === 'log').sort((a, b) =>
        rank(a.integer) - rank(b.integer) || rank(a.number) - rank(b.number) || rank(a.id) - rank(b.id))
      const isLog = where('string', 'eq', 'log')
      const sort = ['string', 'integer', 'number', 'id']
      const ids = sorted.map(({ id }) => id)
      await assertIds(storage, { where: [isLog], sort, limit: 100 }, ids)
      await assertIds(storage, { where: [isLog], sort, limit: 7, offset: 11 }, ids.slice(11, 18))
      const backwards = sort.map(field => `-${field}`)
      await assertIds(storage, { where: [isLog], sort: backwards, limit: 9 }, ids.toReversed().slice(0, 9))
      const among = (...integers: readonly unknown[]) => sorted.filter(({ integer }) => integers.includes(integer))
        .map(({ id }) => id)
      await assertIds(storage, { where: [isLog, where('integer', 'gt', 1)], sort, limit: 100 }, among(2, 3, 9))
      await assertIds(storage, { where: [isLog, where('integer', 'lte', 1)], sort, limit: 100 }, among(0, 1))
      await assertIds(storage, { where: [isLog, where('integer', 'eq', 3, 1, 1)], sort, limit: 100 }, among(1, 3))
      const ones = sorted.filter(({ integer }) => integer === 1)
      const below = [isLog, where('integer', 'eq', 1), where('number', 'lt', 3)]
      const belowIds = ones.filter(({ number }) => number !== undefined && rank(number) < 3).map(({ id }) => id)
      await assertIds(storage, { where: below, sort: ['-number', '-id'], limit: 100 }, belowIds.toReversed())
      await assertIds(storage, { where: [isLog, where('mood', 'eq', 'calm')], sort }, [])
    }
  },
  {
    name: 'order: text by code point',
    async run ({ storage }) {
      await storage.commit(insert('things', ...texts.map((string, index) => thing(100 - index, { string }))))
      const { items } = await storage.find('things', query({ sort: ['string'] }))
      assert.deepEqual(items.map(item => item['string']), texts)
      const aboveE000 = query({ where: [where('string', 'gt', '\u{e000}')], sort: ['-string'] })
      const above = await storage.find('things', aboveE000)
      assert.deepEqual(above.items.map(item => item['string']), ['\u{10ffff}', '😀', '\u{fffd}'])
    }
  },
  {
    name: 'order: string ids by code point, by key both ways',
    async run ({ storage }) {
      const keys = texts.slice(1)
      await storage.commit(insert('notes', ...[...keys].reverse().map(id => note(id))))
      await assertIds(storage, {}, keys, 'notes')
      await assertIds(storage, { where: [where('id', 'gt', '\u{ffff}')] }, ['😀', '\u{10ffff}'], 'notes')
      await assertIds(storage, { where: [where('id', 'lte', 'A')], sort: ['-id'] }, ['A', ' '], 'notes')
      const afterUmlaut = [where('text', 'eq', 'note'), where('id', 'gt', 'ä')]
      await assertIds(storage, { where: afterUmlaut, limit: 1 }, ['я'], 'notes')
    }
  }
]
