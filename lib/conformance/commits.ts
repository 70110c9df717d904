import assert from 'node:assert/strict'
import { type Change, ConflictError, DuplicateError, type Storage } from '../core/storage/storage.js'
import { assertIds, type Case, ids, insert, need, note, query, remove, replace, thing } from './fixture.js'

export const commits: readonly Case[] = [
  {
    name: 'commit: an inserted item can be read when the promise resolves',
    async run ({ storage }) {
      await storage.commit(insert('things', thing(1, { integer: 5 })))
      assert.equal((await storage.get('things', 1))?.['integer'], 5)
    }
  },
  {
    name: 'commit: a replacement replaces the whole item',
    async run ({ storage }) {
      await storage.commit(insert('things', thing(1, { integer: 5, string: 'x', json: [1] })))
      const changed = { ...thing(1, { integer: 6, boolean: true }, 2), updatedAt: '2026-05-05T05:05:05.005Z' }
      await storage.commit([replace('things', changed)])
      assert.deepEqual({ ...await storage.get('things', 1) }, changed)
    }
  },
  {
    name: 'commit: a deleted item is gone, and its id can be used again',
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
    name: 'commit: no changes',
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
    name: 'commit: a required item stays unchanged',
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
    name: 'commit: items with the same id in two families are different items',
    async run ({ storage }) {
      await storage.commit([...insert('notes', note('1')), ...insert('things', thing(1))])
      await storage.commit([remove('notes', '1')])
      assert.ok(await storage.get('things', 1) !== undefined)
    }
  },
  {
    name: 'commit: a commit sees the changes of earlier ones',
    async run ({ storage }) {
      const first = storage.commit(insert('things', thing(1)))
      const second = storage.commit([replace('things', thing(1, { integer: 2 }, 2))])
      const third = storage.commit([replace('things', thing(1, { integer: 3 }, 3))])
      await Promise.all([first, second, third])
      assert.equal((await storage.get('things', 1))?.revision, 3)
    }
  }
]

/** Asserts that the commit is refused with this error, for this item, and that nothing was changed. */
async function assertRefused (
  storage: Storage,
  changes: Change[],
  expected: ConflictError | DuplicateError
): Promise<void> {
  const before = await readAll(storage)
  await assert.rejects(storage.commit(changes), error => {
    assert.ok(error instanceof expected.constructor, `${String(error)} is no ${expected.name}`)
    const { family, id } = error as ConflictError | DuplicateError
    assert.deepEqual([family, id], [expected.family, expected.id])
    return true
  })
  assert.deepEqual(await readAll(storage), before)
}

async function readAll (storage: Storage): Promise<unknown> {
  const { items } = await storage.find('things', query())
  return [items, (await storage.find('notes', query())).items].map(list => list.map(item => ({ ...item })))
}

export const refusals: readonly Case[] = [
  {
    name: 'conflict: a replacement that expects a different revision',
    async run ({ storage }) {
      await storage.commit(insert('things', thing(1, {}, 3)))
      await assertRefused(storage, [replace('things', thing(1, {}, 3), 2)], new ConflictError('things', 1))
      await assertRefused(storage, [replace('things', thing(1, {}, 5), 4)], new ConflictError('things', 1))
    }
  },
  {
    name: 'conflict: the item was changed at a different time, as after a failover, though it has the same revision',
    async run ({ storage }) {
      const stored = thing(1, { integer: 5 }, 2)
      const lost = { ...stored, integer: 4, updatedAt: '2026-01-02T03:04:05.677Z' }
      await storage.commit([...insert('things', stored), ...insert('things', thing(2)), ...insert('notes', note('a'))])
      const change = Object.assign(replace('things', thing(1, { integer: 4, string: 'x' }, 3)), { current: lost })
      const deletion = Object.assign(remove('things', 1, 2), { current: lost })
      const requirement = Object.assign(need('things', 1, 2), { current: lost })
      const other = replace('things', thing(2, {}, 2))
      const refusal = new ConflictError('things', 1)
      for (const expecting of [change, deletion, requirement]) {
        await assertRefused(storage, [expecting], refusal)
        await assertRefused(storage, [other, expecting], refusal)
        await assertRefused(storage, [expecting, remove('notes', 'a')], refusal)
      }
      await storage.commit([Object.assign(requirement, { current: stored }), other])
      await storage.commit([Object.assign(change, { current: stored })])
      await storage.commit([Object.assign(remove('things', 1, 3), { current: thing(1, {}, 3) })])
      await assertIds(storage, {}, [2])
    }
  },
  {
    name: 'conflict: a replacement of a missing item',
    async run ({ storage }) {
      await assertRefused(storage, [replace('notes', { ...note('a'), revision: 2 })], new ConflictError('notes', 'a'))
    }
  },
  {
    name: 'conflict: a deletion that expects a different revision',
    async run ({ storage }) {
      await storage.commit(insert('things', thing(1)))
      await assertRefused(storage, [remove('things', 1, 2)], new ConflictError('things', 1))
    }
  },
  {
    name: 'conflict: a deletion of a missing item, and a second deletion',
    async run ({ storage }) {
      await assertRefused(storage, [remove('things', 1)], new ConflictError('things', 1))
      await storage.commit(insert('things', thing(1)))
      await storage.commit([remove('things', 1)])
      await assertRefused(storage, [remove('things', 1)], new ConflictError('things', 1))
    }
  },
  {
    name: 'conflict: a required item is missing, or at a different revision',
    async run ({ storage }) {
      await storage.commit([...insert('things', thing(1), thing(2, {}, 3)), ...insert('notes', note('a'))])
      const change = replace('things', thing(1, { integer: 1 }, 2))
      await assertRefused(storage, [change, need('things', 2, 2)], new ConflictError('things', 2))
      await assertRefused(storage, [need('things', 2, 4), change], new ConflictError('things', 2))
      await assertRefused(storage, [change, need('things', 3)], new ConflictError('things', 3))
      await assertRefused(storage, [...insert('things', thing(4)), need('notes', 'b')], new ConflictError('notes', 'b'))
      await assertRefused(storage, [need('notes', 'a'), need('notes', 'b')], new ConflictError('notes', 'b'))
    }
  },
  {
    name: 'duplicate: the id of an insert is taken',
    async run ({ storage }) {
      await storage.commit([...insert('things', thing(0, { integer: 1 })), ...insert('notes', note('a', 'first'))])
      await assertRefused(storage, insert('things', thing(0, { integer: 2 })), new DuplicateError('things', 0))
      await assertRefused(storage, insert('notes', note('a', 'second')), new DuplicateError('notes', 'a'))
    }
  },
  {
    name: 'atomic: a conflict in the last change undoes the others',
    async run ({ storage }) {
      await storage.commit([...insert('things', thing(1), thing(2)), ...insert('notes', note('a'))])
      const changes = [
        ...insert('things', thing(3)),
        replace('things', thing(1, { integer: 1 }, 2)),
        remove('notes', 'a'),
        replace('things', thing(2, {}, 9), 8)
      ]
      await assertRefused(storage, changes, new ConflictError('things', 2))
    }
  },
  {
    name: 'atomic: a duplicate in the last change undoes the others',
    async run ({ storage }) {
      await storage.commit([...insert('things', thing(1)), ...insert('notes', note('a'))])
      const changes = [
        replace('things', thing(1, { integer: 1 }, 2)),
        ...insert('things', thing(2)),
        ...insert('notes', note('b'), note('a'))
      ]
      await assertRefused(storage, changes, new DuplicateError('notes', 'a'))
    }
  },
  {
    name: 'atomic: a duplicate in the first change prevents the others',
    async run ({ storage }) {
      await storage.commit([...insert('things', thing(1)), ...insert('notes', note('a'))])
      const changes = [
        ...insert('notes', note('a')),
        replace('things', thing(1, { integer: 1 }, 2)),
        ...insert('things', thing(2))
      ]
      await assertRefused(storage, changes, new DuplicateError('notes', 'a'))
    }
  },
  {
    name: 'refusal: the error names the first change that fails',
    async run ({ storage }) {
      await storage.commit([...insert('things', thing(1), thing(2)), ...insert('notes', note('a'))])
      const stale = replace('things', thing(2, {}, 9), 8)
      const [taken] = insert('notes', note('a')) as [Change]
      await assertRefused(storage, [stale, taken], new ConflictError('things', 2))
      await assertRefused(storage, [taken, stale], new DuplicateError('notes', 'a'))
      await assertRefused(storage, insert('things', thing(3), thing(2), thing(1)), new DuplicateError('things', 2))
    }
  },
  {
    name: 'duplicate: two inserts with one id in one commit',
    async run ({ storage }) {
      await assertRefused(storage, insert('things', thing(1), thing(2), thing(1)), new DuplicateError('things', 1))
    }
  },
  {
    name: 'refusal: two changes of one item in one commit',
    async run ({ storage }) {
      await storage.commit(insert('things', thing(1)))
      const before = await readAll(storage)
      const repeated: Change[][] = [
        [...insert('things', thing(3)), replace('things', thing(3, {}, 2))],
        [replace('things', thing(1, {}, 2)), ...insert('notes', note('a')), replace('things', thing(1, {}, 3))],
        [remove('things', 1), ...insert('things', thing(1))],
        [replace('things', thing(1, {}, 2)), remove('things', 1)],
        [need('things', 1), ...insert('notes', note('a')), replace('things', thing(1, {}, 2))]
      ]
      for (const changes of repeated) {
        await assert.rejects(storage.commit(changes), { code: 'FST_DEALBOOK_REPEATED_CHANGE' })
        assert.deepEqual(await readAll(storage), before)
      }
    }
  }
]
