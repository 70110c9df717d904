import assert from 'node:assert/strict'
import type { Id, Storage } from '../core/storage/storage.js'
import type { Case } from './fixture.js'
import { assertIds, ids, insert, query, thing, where } from './fixture.js'

const size = 25

async function load (storage: Storage): Promise<void> {
  await storage.commit(
    insert('things', ...Array.from({ length: size }, (_, index) => thing(index + 1, { integer: index % 3 })))
  )
}

/** All pages one after the other, each from what the one before it ended with. */
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
    name: 'page: by number through a filter and another order',
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
    name: 'page: by key through a filter, both ways',
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
    name: 'page: limit 0 brings nothing, and the count all the same',
    async run ({ storage }) {
      await load(storage)
      const { items, total } = await storage.find('things', query({ limit: 0, count: true }))
      assert.deepEqual([items.length, total], [0, size])
    }
  },
  {
    name: 'page: an offset past the end brings nothing, and the count all the same',
    async run ({ storage }) {
      await load(storage)
      const { items, total } = await storage.find('things', query({ offset: 1_000_000, count: true }))
      assert.deepEqual([items.length, total], [0, size])
      await assertIds(storage, { offset: Number.MAX_SAFE_INTEGER, limit: 5 }, [])
      await assertIds(storage, { offset: size - 1, limit: 5 }, [size])
    }
  },
  {
    name: 'page: a limit larger than what there is',
    async run ({ storage }) {
      await load(storage)
      await assertIds(storage, { limit: 1000 }, upwards)
    }
  },
  {
    name: 'count: of what matches, whatever offset and limit are',
    async run ({ storage }) {
      await load(storage)
      const zeros = query({ where: [where('integer', 'eq', 0)], offset: 2, limit: 3, count: true })
      const { items, total } = await storage.find('things', zeros)
      assert.deepEqual([items.map(item => item.id), total], [[7, 10, 13], 9])
    }
  },
  {
    name: 'count: only where it is wanted',
    async run ({ storage }) {
      await load(storage)
      assert.equal((await storage.find('things', query())).total, undefined)
      assert.equal((await storage.find('things', query({ where: [where('integer', 'gt', 7)], count: true }))).total, 0)
    }
  },
  {
    name: 'page: a filter that holds for almost nothing, among many',
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
