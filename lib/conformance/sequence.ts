import assert from 'node:assert/strict'
import { setImmediate } from 'node:timers/promises'
import { commandsShape } from '../core/family/fields.js'
import { checkEntry } from '../core/storage/chain.js'
import type { Storage, Stored } from '../core/storage/storage.js'
import { type Case, insert, settle, thing } from './fixture.js'

let made = 0

function entry (target: string, revision: number, members: Record<string, unknown> = {}): Stored {
  // Ids in no order.
  const id = `e-${++made * 7919 % 100_003}`
  return thing(id, { family: 'things', target, action: 'Test', outcome: 'done', ...members }, revision)
}

async function readAfter (storage: Storage, position: number, limit = 1000): Promise<readonly Stored[]> {
  const { items } = await storage.find('commands', {
    where: [{ field: 'position', op: 'gt', value: position }],
    order: [{ field: 'position', descending: false }],
    offset: 0,
    limit,
    count: false
  })
  return items
}

function list (items: readonly Stored[], member: string): unknown[] {
  return items.map(item => item[member])
}

function checkChain (entries: readonly Stored[]): string[] {
  return entries.map((entry, index) => checkEntry(entry, entries[index - 1]?.hash as string | undefined))
}

export const sequence: readonly Case[] = [
  {
    name: 'sequence: items are numbered in the order of their commits, whatever their ids and times',
    async run ({ storage }) {
      await storage.prepare(commandsShape)
      for (const target of ['c', 'a', 'b']) await storage.commit(insert('commands', entry(target, 1)))
      const first = await readAfter(storage, 0)
      assert.deepEqual(list(first, 'position'), [1, 2, 3])
      assert.deepEqual(list(first, 'target').sort(), ['a', 'b', 'c'])
      const earlier = { createdAt: '2020-01-01T00:00:00.000Z' }
      await storage.commit(insert('commands', entry('d', 1, earlier)))
      assert.deepEqual(list(await readAfter(storage, 3), 'target'), ['d'])
      assert.deepEqual(list(await readAfter(storage, 1, 2), 'position'), [2, 3])
      const { items: [last] } = await storage.find('commands', {
        where: [{ field: 'position', op: 'gte', value: 1 }, { field: 'family', op: 'eq', values: ['things'] }],
        order: [{ field: 'position', descending: true }],
        offset: 0,
        limit: 1,
        count: false
      })
      assert.equal(last?.target, 'd')
    }
  },
  {
    name: 'text: one by the numbers of a sequence has what was just committed',
    needs: 'findText',
    async run ({ storage }) {
      await storage.prepare(commandsShape)
      await storage.commit(insert('commands', entry('a', 1)))
      const { text } = await (storage as Required<Storage>).findText('commands', {
        where: [{ field: 'position', op: 'gt', value: 0 }],
        order: [{ field: 'position', descending: false }],
        offset: 0,
        limit: 10,
        count: false
      }, ['position', 'target'])
      assert.equal(text, '{"position":1,"target":"a"}')
    }
  },
  {
    name: 'sequence: the entries of one item are in the order of its revisions, though clocks differ',
    async run ({ storage }) {
      await storage.prepare(commandsShape)
      for (const revision of [1, 2, 3]) {
        const createdAt = `2026-01-01T00:00:0${9 - revision}.000Z`
        await storage.commit(insert('commands', entry('a', revision, { createdAt })))
      }
      assert.deepEqual(list(await readAfter(storage, 0), 'revision'), [1, 2, 3])
    }
  },
  {
    name: 'sequence: a number that is given is kept, and the next is higher',
    async run ({ storage }) {
      await storage.prepare(commandsShape)
      await storage.commit(insert('commands', entry('a', 1, { position: 41 }), entry('b', 1, { position: 40 })))
      await storage.commit(insert('commands', entry('c', 1)))
      assert.deepEqual(list(await readAfter(storage, 0), 'target'), ['b', 'a', 'c'])
      assert.deepEqual(list(await readAfter(storage, 0), 'position'), [40, 41, 42])
    }
  },
  {
    name: 'sequence: a number survives',
    needs: 'reopen',
    async run ({ storage, reopen }) {
      await storage.prepare(commandsShape)
      await storage.commit(insert('commands', entry('a', 1)))
      assert.deepEqual(list(await readAfter(storage, 0), 'position'), [1])
      const reopened = await reopen()
      await reopened.prepare(commandsShape)
      await reopened.commit(insert('commands', entry('b', 1)))
      assert.deepEqual(list(await readAfter(reopened, 0), 'target'), ['a', 'b'])
    }
  },
  {
    name: 'sequence: readers beside many writers see every entry once, in order',
    async run ({ storage }) {
      await storage.prepare(commandsShape)
      const targets = Array.from({ length: 20 }, (_, index) => `t${index}`)
      let isWriting = true
      const write = async (target: string): Promise<void> => {
        for (let revision = 1; revision <= 10; revision++) {
          const made = entry(target, revision)
          await storage.commit(insert('commands', made))
          // Refused, and leaves nothing behind.
          const { fulfilled } = await settle([storage.commit(insert('commands', made))])
          assert.equal(fulfilled, 0)
        }
      }
      const follow = async (): Promise<Stored[]> => {
        const seen: Stored[] = []
        for (;;) {
          const isLast = !isWriting
          const items = await readAfter(storage, seen.at(-1)?.position as number | undefined ?? 0, 7)
          seen.push(...items)
          // A storage with a fault may return the same entries again and again.
          if (isLast && (items.length === 0 || seen.length > 1000)) return seen
          await setImmediate()
        }
      }
      const following = [follow(), follow(), follow()]
      try {
        await Promise.all(targets.map(write))
      } finally {
        isWriting = false
      }
      for (const seen of await Promise.all(following)) {
        assert.deepEqual(list(seen, 'position'), Array.from({ length: 200 }, (_, index) => index + 1))
        for (const target of targets) {
          const own = seen.filter(each => each.target === target)
          assert.deepEqual(list(own, 'revision'), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
        }
      }
    }
  },
  {
    name: 'sequence: a watcher is woken after a commit, until it stops',
    needs: 'watch',
    async run ({ storage }) {
      await storage.prepare(commandsShape)
      let wakes = 0
      const woken = new Promise<void>(resolve => {
        const stop = storage.watch?.(() => {
          wakes++
          stop?.()
          resolve()
        })
      })
      await storage.commit(insert('commands', entry('a', 1)))
      await woken
      await storage.commit(insert('commands', entry('b', 1)))
      assert.equal(wakes, 1)
    }
  },
  {
    name: 'chain: each entry has a hash over itself and the one before it',
    needs: 'chain',
    async run ({ storage }) {
      await storage.prepare(commandsShape)
      const params = { text: 'ä "quoted" \\ \u2028', number: -0.1, nested: [{ b: null, a: [] }] }
      const all = ['a', 'b', 'c', 'd'].map(target => entry(target, 1, { params, principal: 'ann' }))
      await storage.commit(insert('commands', ...all.slice(0, 1)))
      await storage.commit(insert('commands', ...all.slice(1, 3)))
      await storage.commit(insert('commands', ...all.slice(3)))
      const found = await readAfter(storage, 0)
      assert.deepEqual(checkChain(found), ['intact', 'intact', 'intact', 'intact'])
      assert.equal(new Set(list(found, 'salt')).size, 4)
      const exchanged = [...found.slice(0, 1), ...found.slice(1, 3).reverse()]
      assert.deepEqual(checkChain(exchanged), ['intact', 'changed', 'changed'])
    }
  },
  {
    name: 'chain: an entry with a number is stored as it is, and the next one follows it',
    needs: 'chain',
    async run ({ storage }) {
      await storage.prepare(commandsShape)
      const copied = [entry('a', 1, { position: 6 }), entry('b', 1, { position: 5, hash: 'ab' })]
      await storage.commit(insert('commands', ...copied))
      await storage.commit(insert('commands', entry('c', 1)))
      const [b, a, c] = await readAfter(storage, 0)
      assert.deepEqual([b?.hash, a?.hash, a?.seal], ['ab', undefined, undefined])
      assert.equal(checkEntry(c as Stored, 'ab'), 'intact')
    }
  },
  {
    name: 'chain: the hash of an entry stays when the entry is replaced',
    needs: 'chain',
    async run ({ storage }) {
      await storage.prepare(commandsShape)
      await storage.commit(insert('commands', entry('a', 1)))
      const [linked] = await readAfter(storage, 0) as [Stored]
      // What an erasure does.
      const erased = { ...linked, salt: undefined, erasure: 'e', updatedAt: '2026-01-03T00:00:00.000Z' }
      await storage.commit([{ type: 'replace', family: 'commands', item: erased, expected: 1, current: linked }])
      await storage.commit(insert('commands', entry('b', 1)))
      const [after, next] = await readAfter(storage, 0)
      const { hash, seal, salt, erasure } = after as Stored
      assert.deepEqual([hash, seal, salt, erasure], [linked.hash, linked.seal, undefined, 'e'])
      assert.equal(checkEntry(next as Stored, linked.hash as string), 'intact')
    }
  }
]
