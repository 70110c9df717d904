import t from 'tap'
import { type Family, getFamily } from '../../lib/core/family/family.js'
import type { Caller, Grant, Intent } from '../../lib/core/service/caller.js'
import { identifyCommand } from '../../lib/core/service/command-ids.js'
import type { Command } from '../../lib/core/service/decide.js'
import {
  authorizeCommand, type Execution, load, prepareFacts
} from '../../lib/core/service/load.js'
import { loadReferencedItems } from '../../lib/core/service/others.js'
import { refuseUnreadable } from '../../lib/core/service/unreadable.js'
import type { Id, Storage, Stored } from '../../lib/index.js'
import { defineFamily, Problem, Type } from '../../lib/index.js'

const words = (verb: string) => ({ name: verb, verb, participle: `${verb}-ed`, noun: `${verb}s`, action: `Do${verb}` })
const shelvesPlugin = defineFamily({
  name: 'shelves', singular: 'shelf', fields: Type.Object({ id: Type.Integer() })
})
const shelves = getFamily(shelvesPlugin)
const plainBooks = defineFamily({
  name: 'books',
  singular: 'book',
  fields: Type.Object({
    id: Type.Integer(), shelf: Type.Union([Type.Integer(), Type.Null()]), sequel: Type.Optional(Type.Integer())
  }),
  create: ['shelf'],
  edit: ['sequel'],
  references: { shelf: shelvesPlugin, sequel: 'books' },
  operations: {
    move: {
      ...words('move'),
      params: Type.Object({ from: Type.Integer() }),
      with: { shelf: 'shelf', from: { family: 'books', id: ({ from }) => from } },
      apply: book => ({ item: book, others: {} })
    }
  }
})
const books = getFamily(plainBooks.extend({
  operations: {
    copy: {
      ...words('copy'),
      params: Type.Object({}),
      creates: { copy: plainBooks },
      apply: book => ({ item: book, created: { copy: { shelf: 1 } } })
    }
  }
}))

const book = { id: 1, shelf: null, revision: 1 } as unknown as Stored
const forbidden = new Problem('forbidden', 'Not you')
const broken = new Error('no answer')

/** A caller that is granted this for each action, and what it asks for. */
function makeCaller (grants: Readonly<Record<string, Grant | Error>> = {}, isGuarded = true) {
  const asked: string[] = []
  const storage = {
    get: async (family: string, id: Id) => family === 'books' && id === 1 ? book : undefined,
    find: async () => ({ items: [] })
  } as unknown as Storage
  const caller = {
    authorize ({ family, action, id }: Intent) {
      asked.push(`${family} ${action} ${id}`)
      const grant = grants[action] ?? {}
      if (!isGuarded) return grant as Grant
      return grant instanceof Error ? Promise.reject(grant) : Promise.resolve(grant)
    },
    storage: () => storage,
    other: (its: Family) => its === shelves ? { family: shelves, caller } : undefined,
    makers: {},
    isGuarded
  } as unknown as Caller
  return { caller, asked }
}

const read: Command = { action: undefined, target: 1, params: {}, key: 'k', interpret: () => read }

t.test('a key belongs to whom authorize names, if need be for what an attribute may mean', async t => {
  const [ann, bob] = [{ principal: 'ann' }, { principal: 'bob' }]
  const first = ['books read 1']
  const second = [...first, 'books Domove 1']
  const all = [...second, 'books Docopy 1', 'books EditBook 1']
  for (const [what, grants, command, principal, asked] of [
    ['who reads', { read: ann, Docopy: bob }, read, 'ann', first],
    ['who changes', { Domove: bob }, read, 'bob', second],
    ['who is refused one change', { Domove: forbidden, Docopy: bob }, read, 'bob', all.slice(0, 3)],
    ['nobody', {}, read, undefined, all],
    ['an operation', { Docopy: bob }, { ...read, action: 'EditBook', interpret: undefined }, undefined,
      ['books EditBook 1']]
  ] as const) {
    const { caller, asked: its } = makeCaller(grants)
    const { identity } = await authorizeCommand(books, caller, command)
    t.strictSame(identity, identifyCommand({ key: 'k' }, principal), what)
    t.strictSame(its, asked, what)
  }
  await t.rejects(authorizeCommand(books, makeCaller({ Docopy: broken }).caller, read), broken)
  const { caller, asked } = makeCaller()
  t.equal((await authorizeCommand(books, caller, { ...read, key: undefined, id: 'c-1' })).identity?.id, 'c-1')
  t.strictSame(asked, first, 'an id needs no name')
})

t.test('who may not see every item is refused before it waits', async t => {
  const where = [{ field: 'shelf', op: 'eq', values: [1] }] as const
  const edit = { ...read, action: 'EditBook', interpret: undefined }
  for (const [command, grant, isGuarded, expected] of [
    [read, {}, true, true], [edit, {}, true, false], [edit, { where }, true, true], [read, {}, false, false]
  ] as const) {
    const { caller } = makeCaller({ read: grant, EditBook: grant }, isGuarded)
    t.equal((await authorizeCommand(books, caller, command)).isGuarded, expected)
  }
})

t.test('nothing is authorized that is not done', async t => {
  for (const [what, meant, asked] of [
    ['nothing', { action: undefined, params: {} }, []],
    ['an edit', { action: 'EditBook', params: {} }, ['books EditBook 1']],
    ['a creation beside it', { action: 'Docopy', params: {} }, ['books Docopy 1', 'books Docopy undefined']]
  ] as const) {
    const { caller, asked: its } = makeCaller()
    const execution = await authorizeCommand(books, caller, { ...read, key: undefined, interpret: () => meant })
    its.length = 0
    t.equal((await load(execution)).command.action, meant.action, what)
    t.strictSame(its, asked, what)
  }
})

t.test('prepare is asked once for an action, and not where nothing is to be done any more', async t => {
  const asked: unknown[] = []
  const family = { ...books, prepare: ({ action }: { action: string }) => { asked.push(action) } }
  const caller = { ...makeCaller().caller, makers: { clock: () => new Date(0) } }
  const execution = { family, caller, prepared: undefined } as unknown as Execution
  for (const action of [undefined, 'EditBook', 'EditBook', undefined, 'Docopy']) {
    const command = { action, target: 1, params: {} }
    await prepareFacts(execution, { command, current: book, grant: {}, others: [], creating: [] })
  }
  t.strictSame(asked, ['EditBook', 'Docopy'])
})

t.test('what an operation refers to is read by its fields, if it refers to anything', async t => {
  for (const [given, asked] of [
    [book, []], [{ ...book, shelf: undefined }, []], [{ ...book, shelf: 2 }, ['shelves read 2']]
  ] as const) {
    const { caller, asked: its } = makeCaller()
    t.strictSame([...await loadReferencedItems({ family: books, caller }, given as Stored)], [['shelf', undefined]])
    t.strictSame(its, asked)
  }
})

t.test('an item of the same family cannot be referred to by who may not read it', async t => {
  for (const [grant, expected] of [[{}, undefined], [forbidden, 'reference'], [broken, 'no answer']] as const) {
    const { caller, asked } = makeCaller({ read: grant })
    const changed = { family: books, caller, current: book, after: { ...book, sequel: 2 } as Stored }
    const checking = refuseUnreadable({ sequel: 2 }, [changed], new Set())
    const found = await checking.then(() => undefined, ({ message, cause }) => cause?.rule ?? message)
    t.equal(found, expected)
    t.strictSame(asked, ['books read 2'])
  }
})
