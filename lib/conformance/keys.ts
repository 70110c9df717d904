import assert from 'node:assert/strict'
import {
  type Change, ConstraintError, type ConstraintOptions, type ConstraintRule, DuplicateError, type FamilyShape, type Id,
  type Storage, type Stored
} from '../core/storage/storage.js'
import {
  type Case, ids, insert, need, note, notes, query, remove, replace, settle, shape, thing, things, where
} from './fixture.js'

/** Refer to `notes`, to `things` and to each other. */
const links: FamilyShape = {
  ...shape('links', 'integer', [
    { name: 'number', kind: 'integer', optional: true },
    { name: 'text', kind: 'string', optional: true },
    { name: 'share', kind: 'number', optional: true },
    { name: 'at', kind: 'date-time', optional: true },
    { name: 'day', kind: 'date', optional: true },
    { name: 'isGood', kind: 'boolean', optional: true },
    { name: 'note', kind: 'string', optional: true },
    { name: 'thing', kind: 'integer', optional: false, nullable: true, default: null },
    { name: 'next', kind: 'integer', optional: true }
  ], [['text'], ['note'], ['thing'], ['next']]),
  unique: [['number'], ['text'], ['share'], ['at'], ['day', 'isGood']],
  references: { note: 'notes', thing: 'things', next: 'links' }
}

function link (id: number, members: Record<string, unknown> = {}, revision = 1): Stored {
  return thing(id, { thing: null, ...members }, revision)
}

/** Asserts that a rule refuses a commit, and that nothing was changed. */
async function assertBroken (
  storage: Storage,
  changes: readonly Change[],
  rule: ConstraintRule,
  { fields = [], other }: ConstraintOptions = {},
  id?: Id
): Promise<void> {
  const before = await readAll(storage)
  await assert.rejects(storage.commit(changes), error => {
    assert.ok(error instanceof ConstraintError, `${String(error)} is no ConstraintError`)
    assert.deepEqual([error.rule, error.declared, [...error.fields].sort()], [rule, true, [...fields].sort()])
    if (rule !== 'unique') assert.equal(error.other, other)
    if (id !== undefined) assert.equal(error.id, id)
    return true
  })
  assert.deepEqual(await readAll(storage), before)
}

async function readAll (storage: Storage): Promise<unknown> {
  const found = await Promise.all(['things', 'notes', 'links'].map(family => storage.find(family, query())))
  return found.map(({ items }) => items.map(item => ({ ...item })))
}

export const references: readonly Case[] = [
  {
    name: 'reference: the item must exist; absent and null are allowed',
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
    name: 'reference: items that the same commit inserts exist, and items that it deletes do not',
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
    name: 'reference: unchanged references are not checked',
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
    name: 'in use: an item cannot be deleted while others refer to it',
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
      await assertBroken(storage, [remove('things', 1, 2), need('links', 1)], 'in-use', { other: 'links' })
      await storage.commit([remove('things', 1, 2), replace('links', link(1, { note: 'a' }, 2))])
      await storage.commit([remove('links', 1, 2), remove('links', 2), remove('notes', 'a'), remove('links', 3)])
      assert.deepEqual(await ids(storage, query(), 'links'), [])
    }
  },
  {
    name: 'in use: of a concurrent reference and deletion, one succeeds',
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
    name: 'reopened: rules are enforced once they are prepared again',
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

// Of each kind: values that are equal, in different forms, and some that are not.
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
    name: `unique ${field}: only identical values are refused`,
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
    name: 'unique: several fields are compared together, and absent values not at all',
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
    name: 'unique: a replacement may keep its own values, but not take those of another item',
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
    name: 'unique: two items of one commit, which is undone',
    async run ({ storage }) {
      await storage.prepare(links)
      await storage.commit(insert('things', thing(1)))
      const twice = insert('links', link(1, { number: 1 }), link(2, { number: 1 }))
      await assertBroken(storage, [replace('things', thing(1, { integer: 1 }, 2)), ...twice], 'unique',
        { fields: ['number'] })
    }
  },
  {
    name: 'unique: a taken id is a duplicate, whatever other values are taken',
    async run ({ storage }) {
      await storage.prepare(links)
      await storage.commit(insert('links', link(1, { number: 1, text: 'a' })))
      await assert.rejects(storage.commit(insert('links', link(1, { number: 1, text: 'a' }))), DuplicateError)
    }
  },
  {
    name: 'unique: of 40 concurrent commits with one value, one succeeds, and others are not affected',
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
    name: 'unique: prepare fails if items clash, and names them',
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
    name: 'unique: an item from before a field has the default',
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
