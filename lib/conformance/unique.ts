import assert from 'node:assert/strict'
import { ConstraintError } from '../core/storage/constraint-error.js'
import type { Change } from '../core/storage/storage.js'
import { DuplicateError } from '../core/storage/storage.js'
import type { Case } from './fixture.js'
import { ids, insert, note, query, remove, replace, settle, thing } from './fixture.js'
import { assertBroken, link, links } from './keys.js'

// Of each kind: values that are alike, however they come, and some that are not.
const alike: Record<string, readonly [unknown, unknown][]> = {
  number: [[0, -0], [7, 7]],
  share: [[0, -0], [1.5, 1.5], [1e-300, 1e-300]],
  text: [['', ''], ['a', 'a'], ['x'.repeat(100_000), 'x'.repeat(100_000)], ['\\', '\\']],
  at: [['2026-01-01T00:00:00.001Z', '2026-01-01T00:00:00.001Z']]
}
const different: Record<string, readonly unknown[]> = {
  number: [0, 1, -1, Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER - 1],
  share: [0, 0.1, 0.30000000000000004, 0.3, -0.1, 1e-300],
  text: ['a', 'A', 'a ', ' a', '', 'ß', 'ss', '\u00e9', 'e\u0301', '\\', '\\\\', '\\101', `${'x'.repeat(5000)}a`,
    `${'x'.repeat(5000)}b`],
  at: ['2026-01-01T00:00:00.001Z', '2026-01-01T00:00:00.002Z']
}

export const unique: readonly Case[] = [
  ...Object.keys(alike).map((field): Case => ({
    name: `unique ${field}: what is exactly the same is refused, and nothing else`,
    async run ({ storage }) {
      await storage.prepare(links)
      for (const [at, [one, other]] of (alike[field] as [unknown, unknown][]).entries()) {
        await storage.commit(insert('links', link(at, { [field]: one })))
        const again = insert('links', link(100, { [field]: other }))
        await assertBroken(storage, again, 'unique', { fields: [field] }, 100)
        await storage.commit([remove('links', at)])
      }
      const others = (different[field] ?? []).map((value, id) => link(id, { [field]: value }))
      await storage.commit(insert('links', ...others))
    }
  })),
  {
    name: 'unique: of several fields all count together, and what is absent is not compared',
    async run ({ storage }) {
      await storage.prepare(links)
      const day = '2026-01-31'
      await storage.commit(insert('links', link(1, { day, isGood: true }), link(2, { day, isGood: false }),
        link(3, { day }), link(4, { day }), link(5, { isGood: true }), link(6)))
      const again = insert('links', link(7, { day, isGood: true }))
      await assertBroken(storage, again, 'unique', { fields: ['day', 'isGood'] })
    }
  },
  {
    name: 'unique: a replacement is refused what another item has, and not what it has itself',
    async run ({ storage }) {
      await storage.prepare(links)
      await storage.commit(insert('links', link(1, { number: 1 }), link(2, { number: 2 })))
      const taking = replace('links', link(1, { number: 2 }, 2))
      await assertBroken(storage, [taking], 'unique', { fields: ['number'] }, 1)
      await assertBroken(storage, [{ ...taking, current: link(1, { number: 1 }) } as Change], 'unique',
        { fields: ['number'] })
      await storage.commit([replace('links', link(1, { number: 1, text: 'a' }, 2))])
      const current = link(1, { number: 1, text: 'a' }, 2)
      const item = link(1, { number: 1 }, 3)
      await storage.commit([{ type: 'replace', family: 'links', item, expected: 2, current }])
      await storage.commit([replace('links', link(1, { number: 3 }, 4)), ...insert('notes', note('a'))])
      await storage.commit(insert('links', link(3, { number: 1 })))
    }
  },
  {
    name: 'unique: two of one commit, and all of it is undone',
    async run ({ storage }) {
      await storage.prepare(links)
      await storage.commit(insert('things', thing(1)))
      const twice = insert('links', link(1, { number: 1 }), link(2, { number: 1 }))
      await assertBroken(storage, [replace('things', thing(1, { integer: 1 }, 2)), ...twice], 'unique',
        { fields: ['number'] })
    }
  },
  {
    name: 'unique: an id that is taken is a duplicate, whatever else is',
    async run ({ storage }) {
      await storage.prepare(links)
      await storage.commit(insert('links', link(1, { number: 1, text: 'a' })))
      await assert.rejects(storage.commit(insert('links', link(1, { number: 1, text: 'a' }))), DuplicateError)
    }
  },
  {
    name: 'unique: of 40 who want one value at once, one has it, and neighbours are not hurt',
    async run ({ storage }) {
      await storage.prepare(links)
      const attempts = Array.from({ length: 40 }, (_, id) => [
        storage.commit(insert('links', link(id, { number: 1 }))), storage.commit(insert('things', thing(id)))
      ])
      const { fulfilled, reasons } = await settle(attempts.map(([wanting]) => wanting as Promise<void>))
      assert.equal(fulfilled, 1)
      assert.ok(reasons.every(error => error instanceof ConstraintError && error.declared))
      assert.equal((await settle(attempts.map(([, other]) => other as Promise<void>))).fulfilled, 40)
      assert.equal((await ids(storage, query(), 'links')).length, 1)
    }
  },
  {
    name: 'unique: prepared over items that clash, it is refused, and names them',
    async run ({ storage }) {
      const { unique: rows, references, ...plain } = links
      await storage.prepare(plain)
      await storage.commit(insert('links', link(1, { number: 1 }), link(2), link(3), link(4, { number: 1 })))
      await assert.rejects(storage.prepare({ ...plain, unique: [['text'], ['number']] }), {
        code: 'FST_DEALBOOK_NOT_UNIQUE', message: /links.*"number".*1, 4/
      })
      await storage.commit([replace('links', link(4, { number: 2 }, 2))])
      await storage.prepare({ ...plain, unique: [['text'], ['number']] })
      await assertBroken(storage, insert('links', link(5, { number: 2 })), 'unique', { fields: ['number'] })
    }
  },
  {
    name: 'unique: an item from before a field has its default',
    async run ({ storage }) {
      const { unique: rows, references, ...plain } = links
      const code = { name: 'code', kind: 'string', optional: false, default: 'none' } as const
      const coded = { ...plain, fields: [...plain.fields, code], unique: [['code']] }
      await storage.prepare(plain)
      await storage.commit(insert('links', link(1), link(2)))
      await assert.rejects(storage.prepare(coded), { code: 'FST_DEALBOOK_NOT_UNIQUE' })
      await storage.commit([remove('links', 2)])
      await storage.prepare(coded)
      await assertBroken(storage, insert('links', link(3, { code: 'none' })), 'unique', { fields: ['code'] })
      await assertBroken(storage, insert('links', link(3)), 'unique', { fields: ['code'] })
      await storage.commit(insert('links', link(3, { code: 'other' })))
    }
  }
]
