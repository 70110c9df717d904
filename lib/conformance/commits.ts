import assert from 'node:assert/strict'
import type { Case } from './fixture.js'
import { assertIds, ids, insert, need, note, query, remove, replace, thing } from './fixture.js'

export const commits: readonly Case[] = [
  {
    name: 'commit: an insert is there when it is fulfilled',
    async run ({ storage }) {
      await storage.commit(insert('things', thing(1, { integer: 5 })))
      assert.equal((await storage.get('things', 1))?.['integer'], 5)
    }
  },
  {
    name: 'commit: a replacement takes the place of the whole item',
    async run ({ storage }) {
      await storage.commit(insert('things', thing(1, { integer: 5, string: 'x', json: [1] })))
      const changed = { ...thing(1, { integer: 6, boolean: true }, 2), updatedAt: '2026-05-05T05:05:05.005Z' }
      await storage.commit([replace('things', changed)])
      assert.deepEqual({ ...await storage.get('things', 1) }, changed)
    }
  },
  {
    name: 'commit: what was deleted is gone, and its id free again',
    async run ({ storage }) {
      await storage.commit(insert('things', thing(1), thing(2)))
      await storage.commit([remove('things', 1)])
      assert.equal(await storage.get('things', 1), undefined)
      await assertIds(storage, {}, [2])
      await storage.commit(insert('things', thing(1, { integer: 9 })))
      assert.equal((await storage.get('things', 1))?.['integer'], 9)
    }
  },
  {
    name: 'commit: no changes at all',
    async run ({ storage }) {
      await storage.commit([])
      await assertIds(storage, {}, [])
    }
  },
  {
    name: 'commit: a thousand changes over two families',
    async run ({ storage }) {
      const many = Array.from({ length: 500 }, (_, index) => [
        ...insert('things', thing(index)),
        ...insert('notes', note(`n${index}`))
      ]).flat()
      await storage.commit(many)
      assert.equal((await storage.find('things', query({ limit: 0, count: true }))).total, 500)
      assert.equal((await storage.find('notes', query({ limit: 0, count: true }))).total, 500)
    }
  },
  {
    name: 'commit: inserts, replacements and deletions together',
    async run ({ storage }) {
      await storage.commit([...insert('things', thing(1), thing(2)), ...insert('notes', note('a'))])
      await storage.commit([
        replace('things', thing(1, { integer: 1 }, 2)),
        remove('things', 2),
        ...insert('things', thing(3)),
        remove('notes', 'a'),
        ...insert('notes', note('b'))
      ])
      assert.deepEqual([await ids(storage, query()), await ids(storage, query(), 'notes')], [[1, 3], ['b']])
      assert.equal((await storage.get('things', 1))?.revision, 2)
    }
  },
  {
    name: 'commit: what is required stays as it is',
    async run ({ storage }) {
      await storage.commit([...insert('things', thing(1, { integer: 5 }), thing(2)), ...insert('notes', note('a'))])
      await storage.commit([need('things', 1), replace('things', thing(2, {}, 2)), need('notes', 'a')])
      await storage.commit([need('things', 2, 2), need('notes', 'a')])
      assert.deepEqual({ ...await storage.get('things', 1) }, thing(1, { integer: 5 }))
      assert.equal((await storage.get('things', 2))?.revision, 2)
      assert.deepEqual({ ...await storage.get('notes', 'a') }, note('a'))
    }
  },
  {
    name: 'commit: the same id in two families is two items',
    async run ({ storage }) {
      await storage.commit([...insert('notes', note('1')), ...insert('things', thing(1))])
      await storage.commit([remove('notes', '1')])
      assert.ok(await storage.get('things', 1) !== undefined)
    }
  },
  {
    name: 'commit: one sees what was begun before it',
    async run ({ storage }) {
      const first = storage.commit(insert('things', thing(1)))
      const second = storage.commit([replace('things', thing(1, { integer: 2 }, 2))])
      const third = storage.commit([replace('things', thing(1, { integer: 3 }, 3))])
      await Promise.all([first, second, third])
      assert.equal((await storage.get('things', 1))?.revision, 3)
    }
  }
]
