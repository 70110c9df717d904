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
