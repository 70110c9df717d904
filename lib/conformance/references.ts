import assert from 'node:assert/strict'
import { ConstraintError } from '../core/storage/constraint-error.js'
import type { Change } from '../core/storage/storage.js'
import type { Case } from './fixture.js'
import { ids, insert, note, notes, query, remove, replace, settle, thing, things, where } from './fixture.js'
import { assertBroken, link, links } from './keys.js'

export const references: readonly Case[] = [
  {
    name: 'reference: what is referred to must be there, absent and null refer to nothing',
    async run ({ storage }) {
      await storage.prepare(links)
      await storage.commit([...insert('things', thing(1)), ...insert('notes', note('a'))])
      for (const [field, other, there, missing] of [['thing', 'things', 1, 2], ['note', 'notes', 'a', 'A']] as const) {
        await assertBroken(storage, insert('links', link(1, { [field]: missing })), 'reference',
          { fields: [field], other }, 1)
        await storage.commit(insert('links', link(1, { [field]: there })))
        await assertBroken(storage, [replace('links', link(1, { [field]: missing }, 2))], 'reference',
          { fields: [field], other })
        await storage.commit([replace('links', link(1, {}, 2))])
        await storage.commit([remove('links', 1, 2)])
      }
    }
  },
  {
    name: 'reference: what the same commit makes is there, and what it deletes is not',
    async run ({ storage }) {
      await storage.prepare(links)
      await storage.commit([...insert('links', link(1, { thing: 1, next: 1 })), ...insert('things', thing(1))])
      await storage.commit(insert('links', link(2, { next: 3 }), link(3, { next: 2 })))
      await assert.rejects(storage.commit([...insert('links', link(4, { next: 3 })), remove('links', 3)]),
        ConstraintError)
      await storage.commit(insert('things', thing(9)))
      await assert.rejects(storage.commit([remove('things', 9), ...insert('links', link(4, { thing: 9 }))]),
        ConstraintError)
    }
  },
  {
    name: 'reference: what stays as it was is not looked at',
    async run ({ storage }) {
      const { unique, references: others, ...plain } = links
      await storage.prepare(plain)
      await storage.commit(insert('links', link(1, { thing: 99 })))
      await storage.prepare(links)
      const current = link(1, { thing: 99 })
      const item = link(1, { thing: 99, number: 1 }, 2)
      await storage.commit([{ type: 'replace', family: 'links', item, expected: 1, current }])
    }
  },
  {
    name: 'in use: what is referred to is not deleted, until nothing refers to it',
    async run ({ storage }) {
      await storage.prepare(links)
      await storage.commit([...insert('things', thing(1)), ...insert('notes', note('a')),
        ...insert('links', link(1, { thing: 1, note: 'a' }), link(2, { next: 1 }), link(3, { next: 3 }))])
      await assertBroken(storage, [remove('things', 1)], 'in-use', { other: 'links' }, 1)
      await assertBroken(storage, [remove('notes', 'a')], 'in-use', { other: 'links' }, 'a')
      await assertBroken(storage, [remove('links', 1)], 'in-use', { other: 'links' })
      await storage.commit([replace('things', thing(1, { integer: 1 }, 2))])
      const kept = link(1, { thing: 1, note: 'a', number: 1 }, 2)
      const current = link(1, { thing: 1, note: 'a' })
      const keeping: Change = { type: 'replace', family: 'links', item: kept, expected: 1, current }
      await assertBroken(storage, [remove('things', 1, 2), keeping], 'in-use', { other: 'links' })
      await storage.commit([remove('things', 1, 2), replace('links', link(1, { note: 'a' }, 2))])
      await storage.commit([remove('links', 1, 2), remove('links', 2), remove('notes', 'a'), remove('links', 3)])
      assert.deepEqual(await ids(storage, query(), 'links'), [])
    }
  },
  {
    name: 'in use: of a reference and a deletion at once, one wins',
    async run ({ storage }) {
      await storage.prepare(links)
      for (let round = 0; round < 10; round++) {
        await storage.commit(insert('things', thing(round)))
        const attempts = Array.from({ length: 6 }, (_, n) => n === round % 6
          ? storage.commit([remove('things', round)])
          : storage.commit(insert('links', link(round * 10 + n, { thing: round }))))
        const { reasons } = await settle(attempts)
        assert.ok(reasons.every(error => error instanceof ConstraintError && error.declared), String(reasons[0]))
        const linked = await ids(storage, query({ where: [where('thing', 'eq', round)] }), 'links')
        assert.equal(await storage.get('things', round) === undefined, linked.length === 0)
      }
    }
  },
  {
    name: 'reopened: rules are kept once they are prepared again',
    needs: 'reopen',
    async run ({ storage, reopen }) {
      await storage.prepare(links)
      await storage.commit([...insert('things', thing(1)), ...insert('links', link(1, { thing: 1, text: 'a' }))])
      const again = await reopen()
      for (const family of [things, notes, links]) await again.prepare(family)
      await assert.rejects(again.commit(insert('links', link(2, { text: 'a' }))), { rule: 'unique' })
      await assert.rejects(again.commit([remove('things', 1)]), { rule: 'in-use' })
      await assert.rejects(again.commit(insert('links', link(2, { thing: 2 }))), { rule: 'reference' })
    }
  }
]
