import assert from 'node:assert/strict'
import type { Case } from './fixture.js'
import { insert, note, notes, query, replace, thing, things } from './fixture.js'

export const lifecycle: readonly Case[] = [
  {
    name: 'get: an id that is not there',
    async run ({ storage }) {
      assert.equal(await storage.get('things', 1), undefined)
      assert.equal(await storage.get('notes', 'none'), undefined)
      assert.equal(await storage.get('notes', ''), undefined)
    }
  },
  {
    name: 'get: the id 0 and negative ids are ids',
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
    name: 'a signal: reads that it has ended are rejected with its reason, or answered where it is not heeded',
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
    name: 'what the caller changes after a commit does not change what is stored',
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
    name: 'what a reader changes does not change what is stored',
    async run ({ storage }) {
      await storage.commit(insert('things', thing(1, { json: { list: [1] } })))
      const { items: [item] } = await storage.find('things', query())
      const list = (item as unknown as { json: { list: number[] } }).json.list
      // A storage may hand out what cannot be changed.
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
    name: 'reopened: what was committed is there',
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
    name: 'reopened: revisions and taken ids still count',
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
    name: 'reopened: a field added later is absent in the items from before',
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
