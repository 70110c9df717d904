import assert from 'node:assert/strict'
import { ConflictError, DuplicateError, type Found } from '../core/storage/storage.js'
import {
  assertIds, type Case, ids, insert, need, note, query, remove, replace, settle, thing, things, where
} from './fixture.js'

const hundred = Array.from({ length: 100 }, (_, index) => index)

/** A value of every kind that grows with the index. */
function makeMembers (index: number): Record<string, unknown> {
  const day = String(1 + index % 28).padStart(2, '0')
  return {
    integer: index % 10,
    number: index / 4 - 3,
    string: ['', '"', '\\', '{', ',', 'NULL', 'ä', '😀'][index % 8],
    boolean: index % 3 === 0,
    date: `2026-02-${day}`,
    dateTime: `2026-02-${day}T00:00:00.${100 + index}Z`
  }
}

export const concurrency: readonly Case[] = [
  {
    name: 'concurrent: of 100 replacements expecting one revision exactly one succeeds',
    async run ({ storage }) {
      await storage.commit(insert('things', thing(1)))
      const { fulfilled, reasons } = await settle(
        hundred.map(integer => storage.commit([replace('things', thing(1, { integer }, 2))]))
      )
      assert.equal(fulfilled, 1)
      assert.ok(reasons.every(reason => reason instanceof ConflictError && reason.id === 1))
      assert.equal((await storage.get('things', 1))?.revision, 2)
    }
  },
  {
    name: 'concurrent: 100 inserts of different ids all succeed',
    async run ({ storage }) {
      const { fulfilled } = await settle(hundred.map(id => storage.commit(insert('things', thing(id)))))
      assert.equal(fulfilled, 100)
      await assertIds(storage, {}, hundred)
    }
  },
  {
    name: 'concurrent: of 100 inserts of one id exactly one succeeds',
    async run ({ storage }) {
      const { fulfilled, reasons } = await settle(
        hundred.map(text => storage.commit(insert('notes', note('same', String(text)))))
      )
      assert.equal(fulfilled, 1)
      assert.ok(
        reasons.every(reason => reason instanceof DuplicateError && reason.id === 'same' && reason.family === 'notes')
      )
      assert.equal((await ids(storage, query(), 'notes')).length, 1)
    }
  },
  {
    name: 'concurrent: of 50 deletions of one item exactly one succeeds',
    async run ({ storage }) {
      await storage.commit(insert('things', thing(1)))
      const { fulfilled } = await settle(hundred.slice(50).map(() => storage.commit([remove('things', 1)])))
      assert.equal(fulfilled, 1)
    }
  },
  {
    name: 'concurrent: a refused commit does not affect the others',
    async run ({ storage }) {
      await storage.commit(insert('things', ...hundred.map(id => thing(id))))
      const attempts = hundred.map(id => storage.commit([
        ...insert('notes', note(`n${id}`)),
        replace('things', thing(id, {}, id % 3 === 0 ? 9 : 2), id % 3 === 0 ? 8 : 1)
      ]))
      const { fulfilled, reasons } = await settle(attempts)
      assert.equal(fulfilled, 66)
      assert.ok(reasons.every(reason => reason instanceof ConflictError && Number(reason.id) % 3 === 0))
      assert.equal((await ids(storage, query(), 'notes')).length, 66)
    }
  },
  {
    name: 'concurrent: increments with retries are all counted',
    async run ({ storage }) {
      await storage.commit(insert('things', thing(1, { integer: 0 })))
      const raise = async (): Promise<void> => {
        for (;;) {
          const current = await storage.get('things', 1)
          assert.ok(current !== undefined)
          const next = { ...current, integer: Number(current['integer']) + 1, revision: current.revision + 1 }
          try {
            return await storage.commit([replace('things', next)])
          } catch (error) {
            if (!(error instanceof ConflictError)) throw error
          }
        }
      }
      await Promise.all(Array.from({ length: 10 }, async () => { await raise(); await raise() }))
      const { integer, revision } = await storage.get('things', 1) as { integer?: number, revision: number }
      assert.deepEqual([integer, revision], [20, 21])
    }
  },
  {
    name: 'concurrent: commits that change the same items in a different order',
    async run ({ storage }) {
      await storage.commit(insert('things', thing(1), thing(2)))
      const attempts = hundred.map(index => {
        const changes = [replace('things', thing(1, {}, 2)), replace('things', thing(2, {}, 2))]
        return storage.commit(index % 2 === 0 ? changes : changes.reverse())
      })
      assert.equal((await settle(attempts)).fulfilled, 1)
      assert.deepEqual([(await storage.get('things', 1))?.revision, (await storage.get('things', 2))?.revision], [2, 2])
    }
  },
  {
    name: 'concurrent: of changes that each require an item that another changes, one succeeds',
    async run ({ storage }) {
      await storage.commit(insert('things', thing(1), thing(2)))
      const attempts = hundred.map(index => {
        const [one, other] = index % 2 === 0 ? [1, 2] : [2, 1]
        return storage.commit([replace('things', thing(one, {}, 2)), need('things', other)])
      })
      const { fulfilled, reasons } = await settle(attempts)
      assert.equal(fulfilled, 1)
      assert.ok(reasons.every(reason => reason instanceof ConflictError))
    }
  },
  {
    name: 'concurrent: a reader sees all of a commit or nothing of it',
    async run ({ storage }) {
      const readAfter = async (pauses: number): Promise<void> => {
        for (let paused = 0; paused < pauses; paused++) await null
        assert.equal((await ids(storage, query())).length % 10, 0)
      }
      const readWhile = async (state: { readonly committing: boolean }): Promise<void> => {
        while (state.committing) {
          // A commit may pause for no longer than a promise, or for turns of the event loop.
          await Promise.all(hundred.slice(0, 20).map(readAfter))
          await new Promise(resolve => setImmediate(resolve))
        }
      }
      for (let from = 0; from < 100; from += 10) {
        const state = { committing: true }
        const changes = insert('things', ...hundred.slice(from, from + 10).map(id => thing(id)))
        const committed = storage.commit(changes).finally(() => { state.committing = false })
        await Promise.all([committed, readWhile(state)])
      }
    }
  },
  {
    name: 'concurrent: parallel reads find the same as single ones',
    async run ({ storage }) {
      await storage.commit(insert('things', ...hundred.map(id => thing(id, makeMembers(id)))))
      for (const op of ['eq', 'ne', 'gt', 'lte'] as const) {
        for (const field of ['id', ...Object.keys(makeMembers(0))]) {
          if (field === 'boolean' && op !== 'eq' && op !== 'ne') continue
          const queries = [3, 12, 7, 99, 7, 40].map((index, at) => {
            const value = field === 'id' ? index : makeMembers(index)[field]
            const paging = { limit: 3, offset: at % 2 * index, count: at % 3 === 0, sort: at < 4 ? [] : ['-integer'] }
            return query({ where: [where(field, op, value), where('id', 'lt', 90 + at)], ...paging })
          })
          const alone: Found[] = []
          for (const each of queries) alone.push(await storage.find('things', each))
          assert.deepEqual(await Promise.all(queries.map(each => storage.find('things', each))), alone)
          const texts = queries.map(each => storage.findText?.('things', each, ['id', 'string']))
          for (const [at, text] of texts.entries()) {
            const { items } = alone[at] as Found
            const written = items.map(item => JSON.stringify({ id: item.id, string: item['string'] }))
            if (text !== undefined) assert.equal((await text).text, written.join())
          }
        }
      }
      const found = await Promise.all([5, 200, 7, 5, -1].map(id => storage.get('things', id)))
      assert.deepEqual(found.map(item => item?.id), [5, undefined, 7, 5, undefined])
      const gets = ['a', '"', '\\', '{}', 'NULL', ''].map(id => storage.get('notes', id))
      assert.deepEqual(await Promise.all(gets), Array(6).fill(undefined))
    }
  },
  {
    name: 'concurrent: prepare repeated and in parallel',
    async run ({ storage }) {
      await storage.commit(insert('things', thing(1)))
      await Promise.all(hundred.slice(90).map(() => storage.prepare(things)))
      await storage.prepare(things)
      await assertIds(storage, {}, [1])
    }
  }
]
