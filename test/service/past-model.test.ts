// What came back by restore or revert, and what an item was, by a model that keeps every revision.
import fc from 'fast-check'
import t from 'tap'
import { defineFamily, type Members, Type } from '../../lib/index.js'
import { runs } from '../size.js'
import { storages } from '../storages.js'
import { codeOf } from './code-of.js'

const notes = defineFamily({
  name: 'notes',
  singular: 'note',
  fields: Type.Object({
    id: Type.String(),
    text: Type.Optional(Type.String()),
    lines: Type.Array(Type.Object({ price: Type.Integer() }), { default: [] }),
    total: Type.Integer({ default: 0 }),
    key: Type.Optional(Type.String({ writeOnly: true }))
  }),
  derive: { total: ({ lines }) => lines.reduce((sum, { price }) => sum + price, 0) },
  create: ['id', 'text', 'lines', 'key'],
  edit: ['text', 'lines', 'key'],
  revert: true
})

/** Without what differs from one revision to the next. */
function contentOf ({ revision, updatedAt, ...item }: Members): Members {
  return item
}

interface Known {
  /** By revision; undefined where it was deleted. */
  readonly revisions: (Members | undefined)[]
  isThere: boolean
}

const content = fc.record({
  text: fc.option(fc.constantFrom('a', 'b', 'c')),
  lines: fc.array(fc.record({ price: fc.integer() }), { maxLength: 2 }),
  key: fc.constantFrom('one', 'two')
}, { requiredKeys: [] })
const step = fc.record({
  id: fc.constantFrom('a', 'b'),
  what: fc.constantFrom('create', 'edit', 'edit', 'edit', 'remove', 'restore', 'restore', 'revert', 'revert'),
  content,
  to: fc.nat({ max: 20 })
})
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never

for (const { name, make } of storages) {
  t.test(`${name}: an item is what the last change of its log made it`, async t => {
    const counts = { restored: 0, reverted: 0, refused: 0 }
    const { storage, dispose } = await make()
    t.teardown(dispose)
    const book = notes.service({ storage })
    let histories = 0

    async function play (steps: readonly Step[]): Promise<void> {
      // Another pair of items in each history.
      const turn = ++histories
      const items = new Map<string, Known>()
      const first = ['a', 'b'].map(id => ({ id, what: 'create', content: {}, to: 0 } as Step))
      for (const { id: letter, what, content, to: any } of [...first, ...steps]) {
        const id = `${letter}${turn}`
        const known = items.get(id)
        const revision = known?.revisions.length ?? 0
        const to = revision === 0 ? 1 : 1 + any % revision
        const { text, ...others } = content
        const work = {
          create: () => book.create({ id, ...others, ...text != null && { text } }),
          edit: () => book.run('edit', id, content),
          remove: () => book.remove(id),
          restore: () => book.restore(id),
          revert: () => book.revert(id, { to })
        }[what]
        const was = known?.revisions[to - 1]
        const isThere = known?.isThere === true
        const expected = {
          create: known === undefined ? 'done' : 'taken',
          edit: isThere ? 'done' : 'not-found',
          remove: isThere ? 'done' : 'not-found',
          restore: known === undefined ? 'not-found' : 'done',
          revert: !isThere ? 'not-found' : was === undefined ? 'invalid-body' : 'done'
        }[what]
        const last = known?.revisions.findLast(each => each !== undefined)
        t.equal(await codeOf(work()), expected, `${what} ${id}`)
        const now = await book.get(id).catch(() => undefined)
        if (expected !== 'done') counts.refused++
        else if (what === 'remove') known?.revisions.push(undefined)
        else if (now !== undefined && now.revision > revision) {
          if (what === 'restore') t.strictSame(contentOf(now), contentOf(last ?? {}), 'as it was')
          if (what === 'revert') t.strictSame(contentOf(now), contentOf(was ?? {}), `as at revision ${to}`)
          if (what === 'restore') counts.restored++
          if (what === 'revert') counts.reverted++
          const { revisions }: Pick<Known, 'revisions'> = known ?? { revisions: [] }
          revisions.push(now)
          items.set(id, { revisions, isThere: true })
        }
        const after = items.get(id)
        if (after !== undefined) after.isThere = after.revisions.at(-1) !== undefined
        t.equal(now?.revision, after?.isThere === true ? after.revisions.length : undefined)
      }
      for (const [id, { revisions }] of items) {
        for (const [index, item] of revisions.entries()) {
          const then = await book.get(id, { revision: index + 1 }).catch(() => undefined)
          t.strictSame(then, item, `${id} at ${index + 1}`)
        }
      }
    }

    const count = runs({ memory: 300, sqlite: 60 }[name] ?? 30)
    await fc.assert(fc.asyncProperty(fc.array(step, { minLength: 15, maxLength: 40, size: 'max' }), play), {
      numRuns: count
    })
    t.ok(Object.values(counts).every(each => each > 0), JSON.stringify(counts))
  })
}
