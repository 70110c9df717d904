import assert from 'node:assert/strict'
import type { Change, Storage } from '../core/storage/storage.js'
import { ConflictError, DuplicateError } from '../core/storage/storage.js'
import type { Case } from './fixture.js'
import { insert, need, note, query, remove, replace, thing } from './fixture.js'

/** Asserts that the commit is refused in this way, for this item, and that nothing of it was done. */
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
    name: 'conflict: a replacement that expects another revision',
    async run ({ storage }) {
      await storage.commit(insert('things', thing(1, {}, 3)))
      await assertRefused(storage, [replace('things', thing(1, {}, 3), 2)], new ConflictError('things', 1))
      await assertRefused(storage, [replace('things', thing(1, {}, 5), 4)], new ConflictError('things', 1))
    }
  },
  {
    name: 'conflict: a replacement of what is not there',
    async run ({ storage }) {
      await assertRefused(storage, [replace('notes', { ...note('a'), revision: 2 })], new ConflictError('notes', 'a'))
    }
  },
  {
    name: 'conflict: a deletion that expects another revision',
    async run ({ storage }) {
      await storage.commit(insert('things', thing(1)))
      await assertRefused(storage, [remove('things', 1, 2)], new ConflictError('things', 1))
    }
  },
  {
    name: 'conflict: a deletion of what is not there, and twice',
    async run ({ storage }) {
      await assertRefused(storage, [remove('things', 1)], new ConflictError('things', 1))
      await storage.commit(insert('things', thing(1)))
      await storage.commit([remove('things', 1)])
      await assertRefused(storage, [remove('things', 1)], new ConflictError('things', 1))
    }
  },
  {
    name: 'conflict: what is required is not there, or at another revision',
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
    name: 'atomic: a conflict at the end undoes all before it',
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
    name: 'atomic: a duplicate at the end undoes all before it',
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
    name: 'atomic: a duplicate at the beginning keeps away all after it',
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
    name: 'refusal: the first change that does not fit is named',
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
