import assert from 'node:assert/strict'
import type { FamilyShape, Field, Storage } from '../core/storage/storage.js'
import { assertIds, type Case, insert, note, notes, query, replace, thing, things, where } from './fixture.js'

export const lifecycle: readonly Case[] = [
  {
    name: 'get: a missing id',
    async run ({ storage }) {
      assert.equal(await storage.get('things', 1), undefined)
      assert.equal(await storage.get('notes', 'none'), undefined)
      assert.equal(await storage.get('notes', ''), undefined)
    }
  },
  {
    name: 'get: the id 0 and negative ids',
    async run ({ storage }) {
      await storage.commit(insert('things', thing(0, { integer: 1 }), thing(-1)))
      assert.equal((await storage.get('things', 0))?.['integer'], 1)
      assert.equal((await storage.get('things', -1))?.id, -1)
    }
  },
  {
    name: 'find: an empty family',
    async run ({ storage }) {
      const { items, total } = await storage.find('things', query({ count: true }))
      assert.deepEqual([[...items], total], [[], 0])
    }
  },
  {
    name: 'a signal: aborted reads are rejected with its reason, or succeed if the storage ignores signals',
    async run ({ storage }) {
      await storage.commit(insert('things', thing(1)))
      const reason = new Error('enough')
      const { signal } = new AbortController()
      assert.equal((await storage.find('things', query(), signal)).items.length, 1)
      assert.equal((await storage.get('things', 1, signal))?.id, 1)
      const aborted = AbortSignal.abort(reason)
      const outcomes = await Promise.all([
        storage.find('things', query(), aborted).then(({ items }) => items.length, error => error as unknown),
        storage.get('things', 1, aborted).then(item => item?.id, error => error as unknown)
      ])
      for (const outcome of outcomes) assert.ok(outcome === reason || outcome === 1)
    }
  },
  {
    name: 'a family that was not prepared is an error that names it',
    async run ({ storage }) {
      await assert.rejects(storage.get('strangers', 1), /strangers/)
      await assert.rejects(storage.find('strangers', query()), /strangers/)
      await assert.rejects(storage.commit(insert('strangers', thing(1))), /strangers/)
    }
  },
  {
    name: 'changes that the caller makes after a commit are not stored',
    async run ({ storage }) {
      const item = { ...thing(1), integer: 1, json: { list: [1] } }
      const committed = storage.commit(insert('things', item))
      item.integer = 2
      item.json.list.push(2)
      await committed
      item.json.list.push(3)
      assert.deepEqual({ ...await storage.get('things', 1) }, { ...thing(1), integer: 1, json: { list: [1] } })
    }
  },
  {
    name: 'changes that a reader makes are not stored',
    async run ({ storage }) {
      await storage.commit(insert('things', thing(1, { json: { list: [1] } })))
      const { items: [item] } = await storage.find('things', query())
      const list = (item as unknown as { json: { list: number[] } }).json.list
      // A storage may return frozen items.
      try { list.push(2) } catch (error) { assert.ok(error instanceof TypeError) }
      assert.deepEqual((await storage.get('things', 1))?.['json'], { list: [1] })
    }
  },
  {
    name: 'close: safe to repeat',
    async run ({ storage }) {
      await storage.close()
      await storage.close()
    }
  },
  {
    name: 'reopened: committed items exist',
    needs: 'reopen',
    async run ({ storage, reopen }) {
      const item = thing(1, { integer: 0, number: 0.1, string: 'ä\n', boolean: false, json: { a: [null] } })
      await storage.commit([...insert('things', item), ...insert('notes', note('a'))])
      const again = await reopen()
      await again.prepare(things)
      await again.prepare(notes)
      assert.deepEqual({ ...await again.get('things', 1) }, item)
      assert.deepEqual({ ...await again.get('notes', 'a') }, note('a'))
    }
  },
  {
    name: 'reopened: revisions and taken ids are still checked',
    needs: 'reopen',
    async run ({ storage, reopen }) {
      await storage.commit(insert('things', thing(1), thing(2)))
      await storage.commit([replace('things', thing(1, {}, 2))])
      const again = await reopen()
      await again.prepare(things)
      await assert.rejects(again.commit([replace('things', thing(1, {}, 2))]), { name: 'ConflictError' })
      await assert.rejects(again.commit(insert('things', thing(2))), { name: 'DuplicateError' })
      await again.commit([replace('things', thing(1, {}, 3))])
    }
  },
  {
    name: 'reopened: a field added later is absent in existing items',
    needs: 'reopen',
    async run ({ storage, reopen }) {
      await storage.commit(insert('things', thing(1, { integer: 1 })))
      const again = await reopen()
      await again.prepare({
        ...things,
        fields: [...things.fields, { name: 'addedLater', kind: 'string', optional: true }]
      })
      assert.deepEqual({ ...await again.get('things', 1) }, thing(1, { integer: 1 }))
      await again.commit([replace('things', thing(1, { addedLater: 'now' }, 2))])
      assert.equal((await again.get('things', 1))?.['addedLater'], 'now')
    }
  }
]

// Of every kind: the default, and a different value.
const added: readonly (Pick<Field, 'name' | 'kind'> & { readonly values: readonly [unknown, unknown] })[] = [
  { name: 'addedInteger', kind: 'integer', values: [-7, 8] },
  { name: 'addedNumber', kind: 'number', values: [0.1, 2.5] },
  { name: 'addedString', kind: 'string', values: ['it\'s \\ "new" 😀\n', 'z'] },
  { name: 'addedEmpty', kind: 'string', values: ['', 'z'] },
  { name: 'addedBoolean', kind: 'boolean', values: [false, true] },
  { name: 'addedDate', kind: 'date', values: ['2024-02-29', '2026-01-01'] },
  { name: 'addedMoment', kind: 'date-time', values: ['2024-02-29T12:00:00.001Z', '2026-01-01T00:00:00.000Z'] },
  { name: 'addedJson', kind: 'json', values: [{ a: [1, null, 'it\'s'] }, []] }
]
const defaults = Object.fromEntries(added.map(({ name, values: [value] }) => [name, value]))
const others = Object.fromEntries(added.map(({ name, values: [, value] }) => [name, value]))
const filtered = added.filter(({ kind }) => kind !== 'json')

/** Things with more fields, which have defaults. */
const moreThings: FamilyShape = {
  ...things,
  fields: [
    ...things.fields,
    ...added.map(({ name, kind, values }) => ({ name, kind, optional: false, default: values[0] }))
  ],
  indexes: [...things.indexes, ...filtered.map(({ name }) => [name])]
}

async function prepareMore (storage: Storage): Promise<void> {
  await storage.prepare(moreThings)
  await storage.commit(insert('things', thing(3, others)))
}

/** Things 1 and 2 were stored without the fields, 3 with different values. */
async function assertCompleted (storage: Storage): Promise<void> {
  assert.deepEqual({ ...await storage.get('things', 1) }, thing(1, { integer: 1, ...defaults }))
  for (const { name, values: [value, other] } of filtered) {
    await assertIds(storage, { where: [where(name, 'eq', value)] }, [1, 2])
    await assertIds(storage, { where: [where(name, 'ne', value)] }, [3])
    await assertIds(storage, { where: [where(name, 'gte', value)] }, [1, 2, 3])
    await assertIds(storage, { where: [where(name, 'lt', other)], sort: ['-id'] }, [2, 1])
    await assertIds(storage, { sort: [name] }, [1, 2, 3])
    await assertIds(storage, { sort: [`-${name}`] }, [3, 1, 2])
  }
}

export const changedFamilies: readonly Case[] = [
  {
    name: 'a field added with a default: existing items have it, in reads, filters and orders',
    async run ({ storage }) {
      await storage.commit(insert('things', thing(1, { integer: 1 }), thing(2)))
      await prepareMore(storage)
      await assertCompleted(storage)
    }
  },
  {
    name: 'reopened: a field added with a default: existing items have it, in reads, filters and orders',
    needs: 'reopen',
    async run ({ storage, reopen }) {
      await storage.commit(insert('things', thing(1, { integer: 1 }), thing(2)))
      const again = await reopen()
      await prepareMore(again)
      await assertCompleted(again)
    }
  },
  {
    name: 'a field added with a default: items stored without it have it',
    async run ({ storage }) {
      await prepareMore(storage)
      await storage.commit(insert('things', thing(1, { integer: 1 }), thing(2, others)))
      await storage.commit([replace('things', thing(2, {}, 2))])
      await assertCompleted(storage)
    }
  },
  {
    name: 'a field added with a default: existing values stay',
    async run ({ storage }) {
      await storage.commit(insert('things', thing(1), thing(2)))
      await prepareMore(storage)
      await storage.commit([replace('things', thing(1, others, 2))])
      await storage.prepare(moreThings)
      assert.deepEqual({ ...await storage.get('things', 1) }, thing(1, others, 2))
      await assertIds(storage, { where: [where('addedInteger', 'eq', 8)] }, [1, 3])
    }
  },
  {
    name: 'text: a field added with a default',
    needs: 'findText',
    async run ({ storage }) {
      await storage.commit(insert('things', thing(1)))
      await storage.prepare(moreThings)
      const query = { where: [], order: [{ field: 'id', descending: false }], offset: 0, limit: 9, count: false }
      const found = await storage.findText?.('things', query, ['id', ...Object.keys(defaults)])
      assert.equal(found?.text, JSON.stringify({ id: 1, ...defaults }))
    }
  }
]
