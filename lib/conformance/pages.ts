import assert from 'node:assert/strict'
import type { Id, Storage } from '../core/storage/storage.js'
import { assertIds, type Case, ids, insert, note, query, thing, where } from './fixture.js'

const size = 25

async function load (storage: Storage): Promise<void> {
  await storage.commit(
    insert('things', ...Array.from({ length: size }, (_, index) => thing(index + 1, { integer: index % 3 })))
  )
}

/** All pages one after the other, each starting at the end of the previous one. */
async function crawl (next: (seen: readonly Id[]) => Promise<Id[]>): Promise<Id[]> {
  const seen: Id[] = []
  for (;;) {
    const page = await next(seen)
    if (page.length === 0) return seen
    seen.push(...page)
    assert.ok(seen.length <= size, 'a page brought an item again')
  }
}

const upwards = Array.from({ length: size }, (_, index) => index + 1)
const downwards = [...upwards].reverse()

export const pages: readonly Case[] = [
  {
    name: 'page: by key, upwards',
    async run ({ storage }) {
      await load(storage)
      const seen = await crawl(seen => {
        const after = seen.length === 0 ? [] : [where('id', 'gt', seen.at(-1))]
        return ids(storage, query({ where: after, limit: 7 }))
      })
      assert.deepEqual(seen, upwards)
    }
  },
  {
    name: 'page: by key, downwards',
    async run ({ storage }) {
      await load(storage)
      const seen = await crawl(seen => {
        const after = seen.length === 0 ? [] : [where('id', 'lt', seen.at(-1))]
        return ids(storage, query({ where: after, sort: ['-id'], limit: 7 }))
      })
      assert.deepEqual(seen, downwards)
    }
  },
  {
    name: 'page: by number, upwards and downwards',
    async run ({ storage }) {
      await load(storage)
      assert.deepEqual(await crawl(seen => ids(storage, query({ offset: seen.length, limit: 7 }))), upwards)
      assert.deepEqual(
        await crawl(seen => ids(storage, query({ sort: ['-id'], offset: seen.length, limit: 7 }))),
        downwards
      )
    }
  },
  {
    name: 'page: by number with a filter and a different order',
    async run ({ storage }) {
      await load(storage)
      const sort = ['-integer']
      const expected = [2, 1, 0].flatMap(rest => upwards.filter(id => (id - 1) % 3 === rest))
      assert.deepEqual(await crawl(seen => ids(storage, query({ sort, offset: seen.length, limit: 4 }))), expected)
      const filtered = [where('integer', 'gte', 1)]
      assert.deepEqual(await crawl(seen => ids(storage, query({ where: filtered, offset: seen.length, limit: 4 }))),
        upwards.filter(id => (id - 1) % 3 >= 1))
    }
  },
  {
    name: 'page: by key with a filter, in both directions',
    async run ({ storage }) {
      await load(storage)
      const filtered = where('integer', 'ne', 1)
      const upTo10 = [filtered, where('id', 'gt', 4), where('id', 'lte', 10)]
      const below10 = [filtered, where('id', 'gte', 4), where('id', 'lt', 10)]
      await assertIds(storage, { where: upTo10, limit: 3 }, [6, 7, 9])
      await assertIds(storage, { where: below10, sort: ['-id'], limit: 3 }, [9, 7, 6])
    }
  },
  {
    name: 'page: limit 0 returns no items, but the count',
    async run ({ storage }) {
      await load(storage)
      const { items, total } = await storage.find('things', query({ limit: 0, count: true }))
      assert.deepEqual([items.length, total], [0, size])
    }
  },
  {
    name: 'page: an offset past the end returns no items, but the count',
    async run ({ storage }) {
      await load(storage)
      const { items, total } = await storage.find('things', query({ offset: 1_000_000, count: true }))
      assert.deepEqual([items.length, total], [0, size])
      await assertIds(storage, { offset: Number.MAX_SAFE_INTEGER, limit: 5 }, [])
      await assertIds(storage, { offset: size - 1, limit: 5 }, [size])
    }
  },
  {
    name: 'page: a limit larger than the number of items',
    async run ({ storage }) {
      await load(storage)
      await assertIds(storage, { limit: 1000 }, upwards)
    }
  },
  {
    name: 'page: no more than maxLength, but at least one item, if the storage measures them',
    async run ({ storage }) {
      const texts = [1000, 1000, 5000, 1000, 1000, 1000]
      await storage.commit(insert('things', ...texts.map((length, index) =>
        thing(index + 1, { string: 'ä'.repeat(length) }))))
      const seen: unknown[] = []
      for (let reads = 0; seen.length < texts.length; reads++) {
        assert.ok(reads < texts.length - 1, 'too few at once')
        const rest = query({ where: [where('id', 'gt', seen.length)], limit: 10 })
        const { items, isPartial } = await storage.find('things', { ...rest, maxLength: 4500 })
        seen.push(...items.map(({ id }) => id))
        if (isPartial === undefined) continue
        const length = items.reduce((sum, { string }) => sum + String(string).length, 0)
        assert.ok(items.length === 1 || length <= 4500, `${length} characters`)
        assert.equal(isPartial, seen.length < texts.length)
      }
      assert.deepEqual(seen, [1, 2, 3, 4, 5, 6])
    }
  },
  {
    name: 'count: all matching items, whatever the offset and limit',
    async run ({ storage }) {
      await load(storage)
      const zeros = query({ where: [where('integer', 'eq', 0)], offset: 2, limit: 3, count: true })
      const { items, total } = await storage.find('things', zeros)
      assert.deepEqual([items.map(item => item.id), total], [[7, 10, 13], 9])
    }
  },
  {
    name: 'count: only if requested',
    async run ({ storage }) {
      await load(storage)
      assert.equal((await storage.find('things', query())).total, undefined)
      assert.equal((await storage.find('things', query({ where: [where('integer', 'gt', 7)], count: true }))).total, 0)
    }
  },
  {
    name: 'page: a filter that matches few of many items',
    async run ({ storage }) {
      const many = Array.from({ length: 5000 }, (_, index) =>
        thing(index + 1, { integer: index % 1000 === 999 ? 7 : 1, string: index > 4990 ? 'late' : 'early' })
      )
      await storage.commit(insert('things', ...many))
      const rare = [where('integer', 'gt', 1)]
      await assertIds(storage, { where: rare }, [1000, 2000, 3000, 4000, 5000])
      await assertIds(storage, { where: rare, sort: ['-id'], offset: 1, limit: 2 }, [4000, 3000])
      await assertIds(storage, { where: [...rare, where('string', 'eq', 'late')] }, [5000])
      await assertIds(storage, { where: [...rare, where('id', 'gt', 2000)], limit: 2 }, [3000, 4000])
      const common = [where('integer', 'lt', 7)]
      const { total } = await storage.find('things', query({ where: common, offset: 4000, limit: 1, count: true }))
      assert.equal(total, 4995)
      await assertIds(storage, { where: common, offset: 4993, limit: 9 }, [4998, 4999])
    }
  }
]

// Code points in their order; UTF-16 units would put the emoji before U+E000 and U+FFFD.
const texts = [
  '', ' ', 'A', 'B', 'Z', 'a', 'aa', 'b', 'Ä', 'ä', 'я', '\u{d7ff}', '\u{e000}', '\u{fffd}', '😀', '\u{10ffff}'
]

export const order: readonly Case[] = [
  {
    name: 'order: by several fields, each in its own direction',
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
    name: 'order: pages along an index that ends with the id, from any position in both directions',
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
    name: 'order: string ids by code point, by key in both directions',
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
