import assert from 'node:assert/strict'
import {
  type Change, ConstraintError, type FamilyShape, type Id, type Storage, type Stored
} from '../core/storage/storage.js'
import {
  type Case, ids, insert, need, note, notes, query, remove, replace, settle, shape, thing, things
} from './fixture.js'

/** Refer to `notes`, to `things` and to each other, in lists and within fields. */
const papers: FamilyShape = {
  ...shape('papers', 'integer', [
    { name: 'number', kind: 'integer', optional: true },
    { name: 'lines', kind: 'json', optional: true },
    { name: 'tags', kind: 'json', optional: false, nullable: true, default: null },
    { name: 'place', kind: 'json', optional: true }
  ]),
  pathReferences: {
    'lines.thing': 'things', 'lines.parts.note': 'notes', 'lines.next': 'papers', tags: 'things', 'place.note': 'notes'
  }
}

function paper (id: number, members: Record<string, unknown> = {}, revision = 1): Stored {
  return thing(id, { tags: null, ...members }, revision)
}

const lines = (...things: unknown[]): Record<string, unknown> => ({ lines: things.map(thing => ({ thing })) })

/** Asserts that a rule refuses a commit, and that nothing was changed. */
async function assertRefused (
  storage: Storage, changes: readonly Change[], expected: Partial<ConstraintError>
): Promise<void> {
  const before = await readAll(storage)
  await assert.rejects(storage.commit(changes), error => {
    assert.ok(error instanceof ConstraintError, `${String(error)} is no ConstraintError`)
    assert.equal(error.declared, true)
    for (const name of Object.keys(expected) as (keyof ConstraintError)[]) {
      assert.deepEqual(error[name], expected[name], name)
    }
    return true
  })
  assert.deepEqual(await readAll(storage), before)
}

async function readAll (storage: Storage): Promise<unknown> {
  const found = await Promise.all(['things', 'notes', 'papers'].map(family => storage.find(family, query())))
  return found.map(({ items }) => items.map(item => ({ ...item })))
}

const dangling = (path: string, other: string, ...missing: Id[]): Partial<ConstraintError> =>
  ({ rule: 'reference', family: 'papers', id: 1, fields: [path], other, missing })

export const pathReferences: readonly Case[] = [
  {
    name: 'path reference: each id must exist; absent and null are allowed',
    async run ({ storage }) {
      await storage.prepare(papers)
      await storage.commit([...insert('things', thing(1), thing(2)), ...insert('notes', note('a'))])
      const cases: [path: string, other: string, missing: Id[], members: Record<string, unknown>][] = [
        ['lines.thing', 'things', [3], { lines: [{ thing: 1 }, { thing: null }, {}, { thing: 3 }, { thing: 2 }] }],
        ['lines.thing', 'things', [3, 4], { lines: [{ thing: 3 }, { thing: 4 }, { thing: 1 }, { thing: 3 }] }],
        ['lines.parts.note', 'notes', ['A'], { lines: [{ parts: [{ note: 'a' }, { note: 'A' }] }, { parts: [] }] }],
        ['lines.next', 'papers', [9], { lines: [{ next: 1 }, { next: 9 }] }],
        ['tags', 'things', [4, 9], { tags: [1, 4, 1, 9, 4] }],
        ['place.note', 'notes', [''], { place: { note: '' } }]
      ]
      for (const [path, other, missing, members] of cases) {
        await assertRefused(storage, insert('papers', paper(1, members)), dangling(path, other, ...missing))
        await storage.commit(insert('papers', paper(1)))
        const after = paper(1, members, 2)
        await assertRefused(storage, [replace('papers', after)], dangling(path, other, ...missing))
        const changed: Change = { type: 'replace', family: 'papers', item: after, expected: 1, current: paper(1) }
        await assertRefused(storage, [changed], dangling(path, other, ...missing))
        await storage.commit([remove('papers', 1)])
      }
      await storage.commit(insert('papers', paper(1), paper(2, { lines: [], tags: [] }), paper(3, {
        lines: [{ thing: 1, next: 3, parts: [{ note: 'a' }, { note: 'a' }] }, { thing: 1 }],
        tags: [2, 2],
        place: { note: 'a' }
      })))
    }
  },
  {
    name: 'path reference: items that the same commit inserts exist, and items that it deletes do not',
    async run ({ storage }) {
      await storage.prepare(papers)
      await storage.commit([...insert('papers', paper(1, lines(1, 2))), ...insert('things', thing(1), thing(2))])
      await storage.commit(insert('papers', paper(2, { lines: [{ next: 3 }] }), paper(3, { lines: [{ next: 2 }] })))
      await assert.rejects(storage.commit([...insert('papers', paper(4, { lines: [{ next: 3 }] })),
        remove('papers', 3)]), ConstraintError)
      await storage.commit(insert('things', thing(9)))
      await assert.rejects(storage.commit([remove('things', 9), ...insert('papers', paper(4, lines(1, 9)))]),
        ConstraintError)
      await storage.commit([remove('papers', 2), remove('papers', 3)])
    }
  },
  {
    name: 'path reference: unchanged ids are not checked',
    async run ({ storage }) {
      const { pathReferences: paths, ...plain } = papers
      await storage.prepare(plain)
      await storage.commit([...insert('papers', paper(1, lines(99))), ...insert('things', thing(1))])
      await storage.prepare(papers)
      const change = (members: Record<string, unknown>): Change =>
        ({ type: 'replace', family: 'papers', item: paper(1, members, 2), expected: 1, current: paper(1, lines(99)) })
      await assertRefused(storage, [change(lines(99, 98))], dangling('lines.thing', 'things', 98))
      await storage.commit([change(lines(1, 99))])
    }
  },
  {
    name: 'path in use: an item cannot be deleted while others refer to it',
    async run ({ storage }) {
      await storage.prepare(papers)
      const members = { lines: [{ thing: 1 }, { thing: 2, parts: [{ note: 'a' }] }], tags: [3], place: { note: 'b' } }
      await storage.commit([...insert('things', thing(1), thing(2), thing(3)),
        ...insert('notes', note('a'), note('b'), note('c')), ...insert('papers', paper(1, members), paper(2))])
      const inUse = { rule: 'in-use', other: 'papers' } as const
      for (const id of [1, 2, 3]) await assertRefused(storage, [remove('things', id)], { ...inUse, id })
      for (const id of ['a', 'b']) await assertRefused(storage, [remove('notes', id)], { ...inUse, id })
      await storage.commit([remove('notes', 'c')])
      // In the same commit: one that stays as it is, or still refers to it.
      await assertRefused(storage, [remove('things', 1), need('papers', 1)], inUse)
      const keeping = replace('papers', paper(1, { ...members, number: 1 }, 2))
      await assertRefused(storage, [remove('things', 1), keeping], inUse)
      await storage.commit([remove('things', 1), replace('papers', paper(1, { ...lines(2, 2), tags: [3] }, 2)),
        remove('notes', 'a'), remove('notes', 'b')])
      await assertRefused(storage, [remove('things', 2)], inUse)
      const current = paper(1, { ...lines(2, 2), tags: [3] }, 2)
      const item = paper(1, { ...lines(2, 2), tags: [] }, 3)
      await storage.commit([{ type: 'replace', family: 'papers', item, expected: 2, current }])
      await storage.commit([remove('things', 3)])
      await storage.commit([remove('papers', 1, 3), remove('things', 2)])
    }
  },
  {
    name: 'path reference: ids are compared exactly',
    async run ({ storage }) {
      await storage.prepare(papers)
      const odd = ['a"b', "it's", 'a\\b', 'a\nb', 'ü', 'u\u0308', '\ud83d\ude00', '1', 'null', '[1]', 'a.b', '$', ' a']
      const lines = odd.map(id => ({ parts: [{ note: id }] }))
      await storage.commit([...insert('notes', ...odd.map(id => note(id))), ...insert('papers', paper(1, { lines }))])
      for (const id of odd) await assert.rejects(storage.commit([remove('notes', id)]), { rule: 'in-use', id })
      for (const missing of ['a', 'A"B', 'a\\\\b', 'U\u0308', 'Ü', '01', 'NULL', '', '$.a', ' a ']) {
        const item = paper(2, { lines: [{ parts: [{ note: missing }] }] })
        await assert.rejects(storage.commit(insert('papers', item)), { rule: 'reference', missing: [missing] })
      }
      await storage.commit([remove('papers', 1), ...odd.map(id => remove('notes', id))])
    }
  },
  {
    name: 'path in use: an item that refers to itself can be deleted',
    async run ({ storage }) {
      await storage.prepare(papers)
      await storage.commit(insert('papers', paper(1, { lines: [{ next: 1 }, { next: 2 }] }), paper(2)))
      await assertRefused(storage, [remove('papers', 2)], { rule: 'in-use', other: 'papers', id: 2 })
      await storage.commit([remove('papers', 1)])
      await storage.commit([remove('papers', 2)])
    }
  },
  {
    name: 'path in use: of a concurrent reference and deletion, one succeeds',
    async run ({ storage }) {
      await storage.prepare(papers)
      for (let round = 0; round < 10; round++) {
        await storage.commit(insert('things', thing(round), thing(100 + round)))
        const attempts = Array.from({ length: 6 }, (_, n) => n === round % 6
          ? storage.commit([remove('things', round)])
          : storage.commit(insert('papers', paper(round * 10 + n, lines(100 + round, round)))))
        const { reasons } = await settle(attempts)
        assert.ok(reasons.every(error => error instanceof ConstraintError && error.declared), String(reasons[0]))
        const written = await ids(storage, query(), 'papers')
        const isLinked = written.some(id => Math.floor(Number(id) / 10) === round)
        assert.equal(await storage.get('things', round) === undefined, !isLinked)
      }
    }
  },
  {
    name: 'path in use: items from before the path was declared refer too',
    async run ({ storage }) {
      const { pathReferences: paths, ...plain } = papers
      await storage.prepare(plain)
      await storage.commit([...insert('things', thing(1), thing(2), thing(3)),
        ...insert('papers', paper(1, { ...lines(1, 1), tags: [2] }), paper(2, lines(1)))])
      await storage.prepare(papers)
      const inUse = { rule: 'in-use', other: 'papers' } as const
      for (const id of [1, 2]) await assertRefused(storage, [remove('things', id)], inUse)
      await storage.commit([remove('papers', 1), remove('things', 2), remove('things', 3)])
      await assertRefused(storage, [remove('things', 1)], inUse)
      await storage.commit([remove('papers', 2)])
      await storage.commit([remove('things', 1)])
    }
  },
  {
    name: 'reopened: references by paths are enforced once they are prepared again',
    needs: 'reopen',
    async run ({ storage, reopen }) {
      await storage.prepare(papers)
      await storage.commit([...insert('things', thing(1)), ...insert('papers', paper(1, lines(1)))])
      const again = await reopen()
      for (const family of [things, notes, papers]) await again.prepare(family)
      await assert.rejects(again.commit([remove('things', 1)]), { rule: 'in-use' })
      await assert.rejects(again.commit(insert('papers', paper(2, lines(2)))), { rule: 'reference' })
    }
  }
]
