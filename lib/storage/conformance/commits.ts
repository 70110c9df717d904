import assert from 'node:assert/strict'
import { ConflictError, DuplicateError } from '../storage.js'
import type { Change, Id, Storage } from '../storage.js'
import { ids, insert, note, query, remove, replace, thing } from './fixture.js'
import type { Case } from './fixture.js'

/** Checks that the commit is refused for this item and that nothing of it was done. */
async function refused (storage: Storage, changes: Change[], kind: typeof ConflictError | typeof DuplicateError, family: string, id: Id): Promise<void> {
  const before = await everything(storage)
  await assert.rejects(storage.commit(changes), error => {
    assert.ok(error instanceof kind, `${String(error)} is no ${kind.name}`)
    assert.deepEqual([error.family, error.id], [family, id])
    return true
  })
  assert.deepEqual(await everything(storage), before)
}

async function everything (storage: Storage): Promise<unknown> {
  const { items } = await storage.find('things', query())
  return [items, (await storage.find('notes', query())).items].map(list => list.map(item => ({ ...item })))
}

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
      assert.deepEqual(await ids(storage, query()), [2])
      await storage.commit(insert('things', thing(1, { integer: 9 })))
      assert.equal((await storage.get('things', 1))?.['integer'], 9)
    }
  },
  {
    name: 'commit: no changes at all',
    async run ({ storage }) {
      await storage.commit([])
      assert.deepEqual(await ids(storage, query()), [])
    }
  },
  {
    name: 'commit: a thousand changes over two families',
    async run ({ storage }) {
      const many = Array.from({ length: 500 }, (_, index) => [...insert('things', thing(index)), ...insert('notes', note(`n${index}`))]).flat()
      await storage.commit(many)
      assert.equal((await storage.find('things', query({ limit: 0, count: true }))).total, 500)
      assert.equal((await storage.find('notes', query({ limit: 0, count: true }))).total, 500)
    }
  },
  {
    name: 'commit: inserts, replacements and deletions together',
    async run ({ storage }) {
      await storage.commit([...insert('things', thing(1), thing(2)), ...insert('notes', note('a'))])
      await storage.commit([replace('things', thing(1, { integer: 1 }, 2)), remove('things', 2), ...insert('things', thing(3)), remove('notes', 'a'), ...insert('notes', note('b'))])
      assert.deepEqual([await ids(storage, query()), await ids(storage, query(), 'notes')], [[1, 3], ['b']])
      assert.equal((await storage.get('things', 1))?.revision, 2)
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
    name: 'conflict: a replacement that expects another revision',
    async run ({ storage }) {
      await storage.commit(insert('things', thing(1, {}, 3)))
      await refused(storage, [replace('things', thing(1, {}, 3), 2)], ConflictError, 'things', 1)
      await refused(storage, [replace('things', thing(1, {}, 5), 4)], ConflictError, 'things', 1)
    }
  },
  {
    name: 'conflict: a replacement of what is not there',
    async run ({ storage }) {
      await refused(storage, [replace('notes', { ...note('a'), revision: 2 })], ConflictError, 'notes', 'a')
    }
  },
  {
    name: 'conflict: a deletion that expects another revision',
    async run ({ storage }) {
      await storage.commit(insert('things', thing(1)))
      await refused(storage, [remove('things', 1, 2)], ConflictError, 'things', 1)
    }
  },
  {
    name: 'conflict: a deletion of what is not there, and twice',
    async run ({ storage }) {
      await refused(storage, [remove('things', 1)], ConflictError, 'things', 1)
      await storage.commit(insert('things', thing(1)))
      await storage.commit([remove('things', 1)])
      await refused(storage, [remove('things', 1)], ConflictError, 'things', 1)
    }
  },
  {
    name: 'duplicate: the id of an insert is taken',
    async run ({ storage }) {
      await storage.commit([...insert('things', thing(0, { integer: 1 })), ...insert('notes', note('a', 'first'))])
      await refused(storage, insert('things', thing(0, { integer: 2 })), DuplicateError, 'things', 0)
      await refused(storage, insert('notes', note('a', 'second')), DuplicateError, 'notes', 'a')
    }
  },
  {
    name: 'atomic: a conflict at the end undoes all before it',
    async run ({ storage }) {
      await storage.commit([...insert('things', thing(1), thing(2)), ...insert('notes', note('a'))])
      const changes = [...insert('things', thing(3)), replace('things', thing(1, { integer: 1 }, 2)), remove('notes', 'a'), replace('things', thing(2, {}, 9), 8)]
      await refused(storage, changes, ConflictError, 'things', 2)
    }
  },
  {
    name: 'atomic: a duplicate at the end undoes all before it',
    async run ({ storage }) {
      await storage.commit([...insert('things', thing(1)), ...insert('notes', note('a'))])
      await refused(storage, [replace('things', thing(1, { integer: 1 }, 2)), ...insert('things', thing(2)), ...insert('notes', note('b'), note('a'))], DuplicateError, 'notes', 'a')
    }
  },
  {
    name: 'atomic: a duplicate at the beginning keeps away all after it',
    async run ({ storage }) {
      await storage.commit([...insert('things', thing(1)), ...insert('notes', note('a'))])
      await refused(storage, [...insert('notes', note('a')), replace('things', thing(1, { integer: 1 }, 2)), ...insert('things', thing(2))], DuplicateError, 'notes', 'a')
    }
  },
  {
    name: 'refusal: the first change that does not fit is named',
    async run ({ storage }) {
      await storage.commit([...insert('things', thing(1), thing(2)), ...insert('notes', note('a'))])
      await refused(storage, [replace('things', thing(2, {}, 9), 8), ...insert('notes', note('a'))], ConflictError, 'things', 2)
      await refused(storage, [...insert('notes', note('a')), replace('things', thing(2, {}, 9), 8)], DuplicateError, 'notes', 'a')
      await refused(storage, [...insert('things', thing(3), thing(2), thing(1))], DuplicateError, 'things', 2)
    }
  },
  {
    name: 'sequence: insert, replace and delete of one id in one commit',
    async run ({ storage }) {
      await storage.commit([...insert('things', thing(1)), replace('things', thing(1, { integer: 2 }, 2)), remove('things', 1, 2)])
      assert.equal(await storage.get('things', 1), undefined)
    }
  },
  {
    name: 'sequence: insert and replace of one id leaves the last',
    async run ({ storage }) {
      await storage.commit([...insert('things', thing(1)), replace('things', thing(1, { integer: 2 }, 2)), replace('things', thing(1, { integer: 3 }, 3))])
      assert.deepEqual({ ...await storage.get('things', 1) }, thing(1, { integer: 3 }, 3))
    }
  },
  {
    name: 'sequence: delete and insert of one id makes it anew',
    async run ({ storage }) {
      await storage.commit(insert('things', thing(1, { string: 'old' }, 7)))
      await storage.commit([remove('things', 1, 7), ...insert('things', thing(1, { integer: 1 }))])
      assert.deepEqual({ ...await storage.get('things', 1) }, thing(1, { integer: 1 }))
    }
  },
  {
    name: 'sequence: changes see those before them in the commit',
    async run ({ storage }) {
      await refused(storage, [...insert('things', thing(1), thing(1))], DuplicateError, 'things', 1)
      await refused(storage, [...insert('things', thing(1)), replace('things', thing(1, {}, 9), 8)], ConflictError, 'things', 1)
      await storage.commit(insert('things', thing(1)))
      await refused(storage, [remove('things', 1), replace('things', thing(1, {}, 2), 1)], ConflictError, 'things', 1)
      await refused(storage, [...insert('things', thing(1)), remove('things', 1)], DuplicateError, 'things', 1)
    }
  },
  {
    name: 'sequence: a commit sees the one begun before it',
    async run ({ storage }) {
      const first = storage.commit(insert('things', thing(1)))
      const second = storage.commit([replace('things', thing(1, { integer: 2 }, 2))])
      const third = storage.commit([replace('things', thing(1, { integer: 3 }, 3))])
      await Promise.all([first, second, third])
      assert.equal((await storage.get('things', 1))?.revision, 3)
    }
  }
]
