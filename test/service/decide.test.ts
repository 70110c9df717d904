import { Type } from '@sinclair/typebox'
import t from 'tap'
import { compileFamily } from '../../lib/core/family/compile.js'
import { type CompiledOperation, getFamily } from '../../lib/core/family/family.js'
import { Problem } from '../../lib/core/problems.js'
import type { Decision } from '../../lib/core/service/decide.js'
import { decide, decideCreation } from '../../lib/core/service/decide.js'
import { explainNow } from '../../lib/core/service/refusal.js'
import type { Stored } from '../../lib/core/storage/storage.js'
import { deals } from '../../lib/deals/deals.js'
import { defineFamily, type FamilyDefinition } from '../../lib/index.js'

const family = compileFamily(deals.definition as unknown as FamilyDefinition)
const now = '2026-02-02T00:00:00.000Z'
const context = { now, command: 'c-1', principal: 'ann', claims: {}, items: {}, newIds: {}, facts: {} }
const open: Stored = {
  id: 'd-1',
  name: 'tea',
  price: 100,
  held: false,
  status: 'open',
  revision: 3,
  createdAt: '2026-01-01T00:00:00.000Z',
  updatedAt: '2026-01-03T00:00:00.000Z'
}
const held: Stored = { ...open, held: true, holdReason: 'papers' }
const completed: Stored = { ...open, status: 'completed' }
const after = (item: Stored, changes: object): Decision =>
  ({ outcome: 'done', after: { ...item, ...changes, revision: 4, updatedAt: context.now } })
const { holdReason, ...unheld } = held
const unchanged: Decision = { outcome: 'unchanged' }
const date = { newDate: '2027-01-31', amercement: 5, whyChanged: 'snow' }

/** Given this deal, when this is asked for, then this is decided. */
const table: readonly (readonly [when: string, given: Stored, params: object, then: Decision])[] = [
  ['HoldDeal', open, { reason: 'papers' }, after(open, { held: true, holdReason: 'papers' })],
  ['HoldDeal', held, { reason: 'papers' }, unchanged],
  ['UnholdDeal', held, {}, after(unheld as unknown as Stored, { held: false })],
  ['UnholdDeal', open, {}, unchanged],
  ['CompleteDeal', open, {}, after(open, { status: 'completed' })],
  ['CompleteDeal', open, { comment: 'well done' }, after(open, { status: 'completed' })],
  ['CompleteDeal', completed, {}, unchanged],
  ['CancelDeal', open, { amercement: 0, reason: 'a' }, after(open, { status: 'cancelled', amercement: 0 })],
  ['CancelDeal', held, { amercement: 1, reason: 'a' },
    after(unheld as unknown as Stored, { held: false, status: 'cancelled', amercement: 1 })],
  ['ChangeDealPrice', open, { newPrice: 90, reason: 'a' }, after(open, { price: 90 })],
  ['ChangeDealPrice', completed, { newPrice: 100, reason: 'a' }, unchanged],
  ['ChangeDealCompletionDate', open, date, after(open, { completionDate: '2027-01-31', amercement: 5 })],
  ['EditDeal', open, { name: 'silk' }, after(open, { name: 'silk' })],
  ['EditDeal', completed, { name: 'silk' }, after(completed, { name: 'silk' })],
  ['EditDeal', held, { name: 'tea' }, unchanged],
  ['EditDeal', open, {}, unchanged]
]

for (const [action, given, params, then] of table) {
  t.test(`given a deal at ${given.status}${given.held === true ? ', held' : ''}, when ${action}`, async t => {
    const frozen = Object.freeze({ ...given })
    t.strictSame(decide(family, frozen, { action, target: given.id, params: { ...params } }, context), then)
  })
}

/** Given this deal, when this is asked for, then it is refused, and these are allowed. */
const free = ['hold', 'complete', 'cancel', 'change-price', 'change-completion-date', 'edit']
type Refusal = readonly [
  when: string, given: Stored, params: object, operation: string, state: string, allowed: string[]
]
const refusals: readonly Refusal[] = [
  ['HoldDeal', held, { reason: 'another' }, 'hold', 'held', ['unhold', 'cancel', 'edit']],
  ['HoldDeal', completed, { reason: 'a' }, 'hold', 'completed', ['edit']],
  ['CompleteDeal', held, {}, 'complete', 'held', ['unhold', 'cancel', 'edit']],
  ['ChangeDealPrice', completed, { newPrice: 1, reason: 'a' }, 'change-price', 'completed', ['edit']],
  ['CancelDeal', completed, { amercement: 1, reason: 'a' }, 'cancel', 'completed', ['edit']]
]

for (const [action, given, params, operation, state, allowed] of refusals) {
  t.test(`given a deal that is ${state}, when ${action}, then it is refused`, async t => {
    const decision = decide(family, given, { action, target: given.id, params: { ...params } }, context)
    t.match(decision, { outcome: 'refused', problem: { code: 'wrong-state', members: { operation, state } } })
    t.strictSame('problem' in decision && decision.problem.members.allowed, allowed)
  })
}

t.test('what is allowed is listed in the order of the operations', async t => {
  const approved = compileFamily({
    ...deals.definition as unknown as FamilyDefinition,
    operations: {
      ...deals.definition.operations,
      never: {
        name: 'never',
        verb: 'never',
        participle: 'nevered',
        noun: 'nevers',
        action: 'Never',
        params: Type.Object({}),
        allowed: () => false,
        apply: (item: object) => ({ ...item, price: 1 })
      }
    }
  } as unknown as FamilyDefinition)
  const decision = decide(approved, open, { action: 'Never', target: 'd-1', params: {} }, context)
  t.strictSame('problem' in decision && decision.problem.members.allowed, free)
})

t.test('a deletion, and a command that means nothing', async t => {
  t.strictSame(decide(family, completed, { action: 'DeleteDeal', target: 'd-1', params: {} }, context),
    { outcome: 'done', after: undefined })
  t.strictSame(decide(family, open, { action: undefined, target: 'd-1', params: {} }, context), unchanged)
})

t.test('given a new deal, its defaults and what the service gives are put in', async t => {
  const { now } = context
  const params = { name: 'tea', price: -0 }
  t.strictSame(decideCreation(family, 'd-2', params, context).after, {
    id: 'd-2', name: 'tea', price: 0, held: false, status: 'open', revision: 1, createdAt: now, updatedAt: now
  })
})

t.test('given an initial, when an item is created, then it completes it', async t => {
  const create = (initial: object) => {
    const made = compileFamily({
      name: 'notes',
      singular: 'note',
      fields: Type.Object({
        id: Type.Integer(), text: Type.String(), size: Type.Integer({ default: 1 }), owner: Type.String()
      }),
      create: ['text'],
      initial
    } as unknown as FamilyDefinition)
    return decideCreation(made, 7, { text: 'a' }, context).after
  }
  const { now } = context
  const service = { revision: 1, createdAt: now, updatedAt: now }
  const seen: object[] = []
  t.strictSame(create((item: object, { principal }: { principal: string }) => {
    seen.push(item)
    return { ...item, id: 8, owner: principal, revision: 9, updatedAt: undefined, onwer: undefined }
  }), { id: 7, text: 'a', size: 1, owner: 'ann', ...service }, 'what is the service\'s stays the service\'s')
  t.strictSame(seen, [{ id: 7, size: 1, text: 'a' }], 'it sees the defaults and what was sent')
  const fault = (message: RegExp) => ({ code: 'FST_DEALBOOK_INVALID_ITEM', message })
  t.throws(() => create((item: object) => item), fault(/notes, create: .*: \/owner is required/))
  t.throws(() => create((item: object) => ({ ...item, owner: 7 })), fault(/\/owner must be a string/))
  t.throws(() => create((item: object) => ({ ...item, owner: 'a', onwer: 'b' })), fault(/\/onwer is unknown/))
  t.throws(() => create(() => undefined), fault(/it must be an object, but the rule returned nothing/))
  t.throws(() => create(() => null), fault(/but the rule returned null/))
  t.throws(() => create(() => 'a'), fault(/but the rule returned a value of the type string/))
  t.throws(() => create(async (item: object) => item), fault(/but the rule returned a promise/))
  t.throws(() => create((item: { owner: string }) => { item.owner = 'ann'; return item }), {
    code: 'FST_DEALBOOK_CHANGED_ARGUMENT',
    message: /notes, create: initial changes its arguments, .*object is not extensible/
  })
  const problem = new Problem('forbidden', 'Not you')
  t.throws(() => create(() => { throw problem }), problem)
})

/** Given this rule, when the deal is held, then this is decided. */
const throwing = (problem: unknown) => () => { throw problem }
const flaws = [{ pointer: '/reason', detail: 'is no reason' }]
const rules: Readonly<Record<string, { rule: object, then: object }>> = {
  'allowed says why not': {
    rule: { allowed: () => 'The lawyer is away' },
    then: { message: 'The lawyer is away', members: { state: 'open', operation: 'hold', allowed: free.slice(1) } }
  },
  'allowed says nothing': { rule: { allowed: () => '' }, then: { message: /^hold is not allowed while/ } },
  'allowed says more than can be kept': {
    rule: { allowed: () => 'x'.repeat(999) + '\u{1f600}' },
    then: { message: 'x'.repeat(999) + '\ufffd' }
  },
  'allowed throws': {
    rule: { allowed: throwing(new Problem('wrong-state', 'No', { members: { until: '2030', by: 'a\0' } })) },
    then: { message: 'No', members: { until: '2030', by: 'a\ufffd' } }
  },
  'apply throws': {
    rule: { apply: throwing(new Problem('other', 'No', { status: 409, errors: flaws, headers: { 'x-a': 'b' } })) },
    then: { message: 'No', code: 'other', statusCode: 409, errors: flaws, headers: { 'x-a': 'b' } }
  }
}

const ruled = (hold: object, complete: object = {}) => {
  const { operations } = deals.definition
  return compileFamily({
    ...deals.definition,
    operations: {
      ...operations, hold: { ...operations?.hold, ...hold }, complete: { ...operations?.complete, ...complete }
    }
  } as unknown as FamilyDefinition)
}
const holding = { action: 'HoldDeal', target: 'd-1', params: { reason: 'papers' } }

for (const [given, { rule, then }] of Object.entries(rules)) {
  t.test(`given a deal whose hold has a rule, when ${given}, then it is refused`, async t => {
    t.match(decide(ruled(rule), open, holding, context), { outcome: 'refused', problem: then })
    // Where nothing would change, nobody is asked.
    if (!('apply' in rule)) t.strictSame(decide(ruled(rule), held, holding, context), unchanged)
  })
}

t.test('given a rule that throws another problem, or breaks, when the deal is held, then that is thrown', async t => {
  for (const member of ['apply', 'allowed']) {
    for (const error of [new Problem('invalid-body', 'No', { errors: flaws }), new TypeError('broken')]) {
      t.throws(() => decide(ruled({ [member]: throwing(error) }), open, holding, context), error)
    }
  }
})

t.test('given an operation whose allowed throws, when another is refused, then that says so all the same', async t => {
  for (const error of [new Problem('forbidden', 'No'), new TypeError('broken')]) {
    const family = ruled({ allowed: throwing(error) }, { allowed: () => false })
    const decision = decide(family, open, { action: 'CompleteDeal', target: 'd-1', params: {} }, context)
    t.strictSame('problem' in decision && decision.problem.members.allowed,
      ['cancel', 'change-price', 'change-completion-date', 'edit'])
  }
})

t.test('fields of another version stay as they are', async t => {
  const newer = { ...open, region: 'north' }
  t.match(decide(family, newer, { action: 'CompleteDeal', target: 'd-1', params: {} }, context),
    { after: { region: 'north', status: 'completed' } })
})

t.test('an operation that makes what is no deal, or changes it in place, is a fault', async t => {
  const wrong = (apply: (item: Record<string, unknown>) => unknown) => {
    const definition = deals.definition as unknown as FamilyDefinition
    const { hold } = definition.operations as unknown as Record<string, object>
    const operations = { hold: { ...hold, apply } }
    return compileFamily({ ...definition, labels: {}, operations } as unknown as FamilyDefinition)
  }
  const hold = { action: 'HoldDeal', target: 'd-1', params: { reason: 'a' } }
  t.throws(() => decide(wrong(item => ({ ...item, price: 'much' })), open, hold, context),
    { code: 'FST_DEALBOOK_INVALID_ITEM', message: /deals, hold: the resulting item .*: \/price must be a number/ })
  t.throws(() => decide(wrong(item => ({ ...item, unknown: 1 })), open, hold, context),
    { code: 'FST_DEALBOOK_INVALID_ITEM' })
  t.throws(() => decide(wrong(item => { item.held = true; return item }), open, hold, context), {
    code: 'FST_DEALBOOK_CHANGED_ARGUMENT',
    message: /deals, hold: apply changes its arguments, which are frozen; .* a new item .*read only property 'held'/,
    cause: TypeError
  })
  t.throws(() => decide(wrong(({ name, ...item }) => item), open, hold, context),
    { code: 'FST_DEALBOOK_INVALID_ITEM', message: /\/name is required/ })
  const old = { ...open, price: 'much' }
  t.throws(() => decide(wrong(item => ({ ...item, price: 'more' })), old, hold, context),
    { code: 'FST_DEALBOOK_INVALID_ITEM', message: /\/price/ }, 'not what it was, and still wrong')
})

t.test('given an operation that is not allowed, then what it would make need not be valid', async t => {
  const definition = deals.definition as unknown as FamilyDefinition
  const { hold } = definition.operations as unknown as Record<string, object>
  const allowed = (item: Stored, params?: { reason: string }) => params?.reason !== 'much' || `Not for ${item.id}`
  const apply = (item: Stored) => ({ ...item, price: 'much' })
  const operations = { hold: { ...hold, allowed, apply } }
  const wrong = compileFamily({ ...definition, labels: {}, operations } as unknown as FamilyDefinition)
  const decision = decide(wrong, open, { action: 'HoldDeal', target: 'd-1', params: { reason: 'much' } }, context)
  t.match(decision, { outcome: 'refused', problem: { message: 'Not for d-1' } })
  t.throws(() => decide(wrong, open, { action: 'HoldDeal', target: 'd-1', params: { reason: 'a' } }, context), {
    code: 'FST_DEALBOOK_INVALID_ITEM'
  })
})

t.test('what was stored before a field was as it is now stays, and is no fault of an operation', async t => {
  const { name, ...nameless } = open
  const given: Record<string, Stored> = { nameless, priceless: { ...open, price: 'much' } }
  for (const [what, item] of Object.entries(given)) {
    const complete = { action: 'CompleteDeal', target: 'd-1', params: {} }
    t.strictSame(decide(family, item, complete, context), after(item, { status: 'completed' }), what)
  }
})

const shelves = defineFamily({
  name: 'shelves',
  singular: 'shelf',
  fields: Type.Object({ id: Type.Integer(), used: Type.Integer() }),
  create: ['used']
})

/** Books on a shelf, whose rules return what is given. */
function makeBooks (result: (book: object, shelf: object) => unknown) {
  return compileFamily({
    name: 'books',
    singular: 'book',
    fields: Type.Object({ id: Type.Integer(), text: Type.String(), shelf: Type.Integer() }),
    references: { shelf: shelves },
    create: { fields: ['text', 'shelf'], with: { shelf: 'shelf' } },
    initial: (book: object, { items }: { items: { shelf: object } }) => result(book, items.shelf),
    operations: {
      move: {
        name: 'move',
        verb: 'move',
        participle: 'moved',
        noun: 'moves',
        action: 'MoveBook',
        params: Type.Object({}),
        with: { shelf: 'shelf' },
        creates: { spare: shelves },
        apply: (book: object, _params: object, { items }: { items: { shelf: object } }) => result(book, items.shelf)
      }
    }
  } as unknown as FamilyDefinition)
}

const service = { revision: 1, createdAt: now, updatedAt: now }
const shelf = { id: 3, used: 1, ...service, revision: 5 }
const others = [{ name: 'shelf', family: getFamily(shelves), current: shelf }]
const spare = [{ name: 'spare', family: getFamily(shelves), id: 9 }]
const fuller = { ...shelf, used: 2, revision: 6 }
const unknown = (message: RegExp) => ({ code: 'FST_DEALBOOK_INVALID_ITEM', message })

/** Given what a rule returns, then these other items are changed, and these created. */
const made: readonly (readonly [
  what: string, result: (book: object, shelf: object) => unknown, changed: object | undefined, created?: object
])[] = [
  ['the item alone', book => book, undefined],
  ['no others', book => ({ item: book, others: {} }), undefined],
  ['an undefined one', book => ({ item: book, others: { shelf: undefined } }), undefined],
  ['the same', (book, shelf) => ({ item: book, others: { shelf } }), undefined],
  ['another', (book, shelf) => ({ item: book, others: { shelf: { ...shelf, used: 2 } } }), fuller],
  ['a new one', book => ({ item: book, created: { spare: { used: 7 } } }), undefined, { id: 9, used: 7, ...service }],
  ['none that is new', book => ({ item: book, created: { spare: undefined } }), undefined]
]

for (const [what, result, changed, created] of made) {
  t.test(`given a rule with other items, when it returns ${what}`, async t => {
    const books = makeBooks(result)
    const book = { id: 1, text: 'a', shelf: 3, ...service }
    const next = { outcome: 'done', after: { ...book, revision: 2 } }
    const move = { action: 'MoveBook', target: 1, params: {} }
    const decision = decide(books, book, move, context, others, new Map(), spare) as
      { others?: ReadonlyMap<string, Stored>, created?: ReadonlyMap<string, Stored> }
    const isChanged = changed !== undefined || created !== undefined
    t.match(decision, isChanged ? next : unchanged)
    t.strictSame(decision.others?.get('shelf'), changed)
    t.strictSame(decision.created?.get('spare'), created)
    t.equal('others' in decision, isChanged)
    if (what.includes('new')) return
    const creation = decideCreation(books, 1, { text: 'a', shelf: 3 }, context, { others })
    t.strictSame(creation, {
      outcome: 'done', after: book, ...(changed && { others: new Map([['shelf', changed]]) })
    })
  })
}

t.test('given a rule with other items, when it returns some that it was not given, then that is a fault', async t => {
  const book = { id: 1, text: 'a', shelf: 3, ...service }
  const move = { action: 'MoveBook', target: 1, params: {} }
  const run = (result: object) => () =>
    decide(makeBooks(book => ({ item: book, ...result })), book, move, context, others, new Map(), spare)
  t.throws(run({ others: { shelv: {} } }), unknown(/books, move: .*others\.shelv is unknown; there is shelf$/))
  t.throws(run({ created: { spar: {} } }), unknown(/created\.spar is unknown; there is spare$/))
  const create = () => decideCreation(makeBooks(book => ({ item: book, created: { spare: {} } })), 1,
    { text: 'a', shelf: 3 }, context, { others })
  t.throws(create, unknown(/books, create: .*created\.spare is unknown$/))
  for (const [result, said] of [[undefined, 'nothing'], [null, 'null'], ['a', 'a value of the type string']] as const) {
    const nothing = () => decide(makeBooks(() => result), book, move, context, others, new Map(), spare)
    t.throws(nothing, unknown(new RegExp(`it must be an object, but the rule returned ${said}$`)))
  }
  const wrong = { ...shelf, used: 'much' }
  t.throws(run({ others: { shelf: wrong } }), unknown(/shelves, move: .*\/used must be an integer/))
})

t.test('given rules without other items, when they return a field of that name, then it is a field', async t => {
  const plain = compileFamily({
    name: 'plain',
    singular: 'one',
    fields: Type.Object({ id: Type.Integer(), others: Type.String(), created: Type.Integer({ default: 0 }) }),
    create: ['others'],
    remove: false,
    initial: (item: object) => item,
    operations: {
      count: {
        name: 'count',
        verb: 'count',
        participle: 'counted',
        noun: 'counts',
        action: 'CountOne',
        params: Type.Object({}),
        apply: (item: { created: number }) => ({ ...item, created: item.created + 1 })
      }
    }
  } as unknown as FamilyDefinition)
  const { after } = decideCreation(plain, 1, { others: 'a' }, context)
  t.strictSame(after, { id: 1, others: 'a', created: 0, ...service })
  t.strictSame(decide(plain, after, { action: 'CountOne', target: 1, params: {} }, context),
    { outcome: 'done', after: { ...after, created: 1, revision: 2 } })
})

t.test('given a family that creates and deletes nothing, then its rules hold all the same', async t => {
  const stones = (apply: (stone: object) => object) => compileFamily({
    name: 'stones',
    singular: 'stone',
    fields: Type.Object({
      id: Type.Integer(),
      weight: Type.Number({ minimum: 1 }),
      seen: Type.Optional(Type.String({ format: 'date-time', maxLength: 24 })),
      marks: Type.Optional(Type.Array(Type.Integer())),
      labels: Type.Optional(Type.Array(Type.String()))
    }),
    operations: {
      turn: {
        name: 'turn',
        verb: 'turn',
        participle: 'turned',
        noun: 'turns',
        action: 'TurnStone',
        params: Type.Object({}),
        apply
      }
    }
  } as unknown as FamilyDefinition)
  const stone = { id: 1, weight: 0, marks: [1], ...service }
  const turn = (apply: (stone: object) => object) =>
    decide(stones(apply), stone, { action: 'TurnStone', target: 1, params: {} }, context)
  const turned = { ...stone, marks: [2], revision: 2 }
  const marks = [2]
  const decision = turn(stone => ({ ...stone, id: 7, weight: -0, marks }))
  t.strictSame(decision, { outcome: 'done', after: turned },
    'the id is not that of the rule, and what is as it was need not fit')
  marks.push(3)
  t.strictSame('after' in decision && decision.after?.marks, [2], 'what a rule keeps of it does not matter')
  t.strictSame(turn(stone => ({ ...stone, marks: [1], seen: undefined })), unchanged)
  t.strictSame(turn(stone => ({ ...stone, marks: [2], seen: undefined })), { outcome: 'done', after: turned })
  const labelled = (apply: (stone: object) => object) =>
    decide(stones(apply), { ...stone, labels: ['\u0001'] }, { action: 'TurnStone', target: 1, params: {} }, context)
  const labels = ['\u0001']
  t.strictSame(labelled(stone => ({ ...stone, labels })), unchanged, 'what could not be stored now, but was')
  t.strictSame(labelled(stone => ({ ...stone, labels, marks })),
    { outcome: 'done', after: { ...turned, labels, marks } })
  t.throws(() => labelled(stone => ({ ...stone, labels: ['\u0002'] })), unknown(/\/labels\/0 must not contain/))
  t.strictSame(turn(stone => ({ ...stone, seen: '2026-01-01T00:00:00Z' })),
    { outcome: 'done', after: { ...stone, seen: '2026-01-01T00:00:00.000Z', revision: 2 } })
  const same = stones(stone => ({ ...stone, seen: '2026-01-01T01:00:00.0+01:00' }))
  const seen = { ...stone, seen: '2026-01-01T00:00:00.000Z' }
  t.strictSame(decide(same, seen, { action: 'TurnStone', target: 1, params: {} }, context), unchanged, 'the same time')
  for (const [more, flaw] of [
    [{ weight: 0.5 }, /\/weight must be at least 1/],
    [{ mark: 1 }, /\/mark is unknown/],
    [{ marks: [1n] }, /\/marks\/0/],
    [{ seen: 'now', weight: 5 }, /\/seen/]
  ] as const) t.throws(() => turn(stone => ({ ...stone, ...more })), unknown(flaw))
})

t.test('a refusal says in which state the item is, and what is allowed', async t => {
  const words = (verb: string) => ({
    name: verb, verb, participle: `${verb}-ed`, noun: `${verb}s`, action: `Do${verb}`, params: Type.Object({})
  })
  const change = (thing: { size: number }) => ({ ...thing, size: thing.size + 1 })
  const refuse = (state: unknown, allowed: unknown, apply: (thing: { size: number }) => object = change) => {
    const things = compileFamily({
      name: 'things',
      singular: 'thing',
      fields: Type.Object({ id: Type.Integer(), size: Type.Integer() }),
      ...(state !== undefined && { state: () => state }),
      operations: {
        go: { ...words('go'), allowed: () => false, apply }, turn: { ...words('turn'), allowed: () => allowed, apply }
      }
    } as unknown as FamilyDefinition)
    const decision = decide(things, { id: 1, size: 1, ...service }, { action: 'Dogo', target: 1, params: {} }, context)
    return decision.outcome === 'refused' ? decision.problem : undefined
  }
  const rows: readonly (readonly [state: unknown, allowed: unknown, message: string, members: object])[] = [
    ['open', false, 'while the thing is open; no operation is allowed now', { state: 'open', allowed: [] }],
    ['open', true, 'while the thing is open; allowed now: turn', { state: 'open', allowed: ['turn'] }],
    ['open', 'No', 'while the thing is open; no operation is allowed now', { state: 'open', allowed: [] }],
    ['', true, 'for this thing now; allowed now: turn', { allowed: ['turn'] }],
    [7, true, 'for this thing now; allowed now: turn', { allowed: ['turn'] }],
    [undefined, true, 'for this thing now; allowed now: turn', { allowed: ['turn'] }],
    ['x'.repeat(200), false, `while the thing is ${'x'.repeat(100)}; no operation is allowed now`,
      { state: 'x'.repeat(100), allowed: [] }]
  ]
  for (const [state, allowed, message, members] of rows) {
    const problem = refuse(state, allowed)
    t.equal(problem?.message, `go is not allowed ${message}`)
    t.same(problem?.members, { operation: 'go', ...members })
    t.equal(Object.hasOwn(problem?.members ?? {}, 'state'), 'state' in members)
  }
  const errors = Array.from({ length: 25 }, (_, index) => ({ pointer: `/${index}`, detail: 'x'.repeat(1500) }))
  const thrown = (options: object) =>
    refuse('open', true, () => { throw new Problem('wrong-state', 'No', options) })
  const lengths = thrown({ errors })?.errors?.map(({ detail }) => detail.length)
  t.strictSame(lengths, Array(20).fill(1000), 'as much as is kept')
  t.equal(thrown({})?.errors, undefined)
  t.equal(thrown({})?.message, 'No')
})

t.test('why an operation is not offered now, in its own words or ours', async t => {
  const bug = new TypeError('size of undefined')
  const rows: readonly (readonly [allowed: unknown, reason: string | undefined, reported?: unknown[]])[] = [
    [undefined, undefined],
    [() => true, undefined],
    [() => 'Not before noon', 'Not before noon'],
    [() => 'x'.repeat(1500), 'x'.repeat(1000)],
    [() => false, 'go is not allowed while the thing is open'],
    [() => '', 'go is not allowed while the thing is open'],
    [() => { throw new Problem('wrong-state', 'Not in winter') }, 'Not in winter'],
    [() => { throw bug }, 'go is not allowed while the thing is open', [bug]]
  ]
  for (const [allowed, reason, reported = []] of rows) {
    const things = compileFamily({
      name: 'things',
      singular: 'thing',
      fields: Type.Object({ id: Type.Integer() }),
      state: () => 'open',
      operations: {
        go: {
          name: 'go',
          verb: 'go',
          participle: 'gone',
          noun: 'goes',
          action: 'GoThing',
          params: Type.Object({}),
          apply: (thing: object) => thing,
          ...(allowed !== undefined && { allowed })
        }
      }
    } as unknown as FamilyDefinition)
    const { operation } = things.operations.get('GoThing') as CompiledOperation
    const errors: unknown[] = []
    t.equal(explainNow(things, operation, { id: 1 }, context, new Map(), error => { errors.push(error) }), reason)
    t.strictSame(errors, reported)
  }
})
