import { Type } from '@sinclair/typebox'
import t from 'tap'
import { deals } from '../../lib/deals/deals.js'
import { compileFamily } from '../../lib/family/family.js'
import type { FamilyDefinition } from '../../lib/index.js'
import type { Decision } from '../../lib/service/decide.js'
import { decide, decideCreation } from '../../lib/service/decide.js'
import type { Stored } from '../../lib/storage/storage.js'

const family = compileFamily(deals.definition as unknown as FamilyDefinition)
const context = { now: '2026-02-02T00:00:00.000Z', command: 'c-1', principal: 'ann' }
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
  t.strictSame(decideCreation(family, 'd-2', params, context), {
    id: 'd-2', name: 'tea', price: 0, held: false, status: 'open', revision: 1, createdAt: now, updatedAt: now
  })
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
    return compileFamily({ ...definition, operations: { hold: { ...hold, apply } } } as unknown as FamilyDefinition)
  }
  const hold = { action: 'HoldDeal', target: 'd-1', params: { reason: 'a' } }
  t.throws(() => decide(wrong(item => ({ ...item, price: 'much' })), open, hold, context),
    { code: 'FST_DEALBOOK_INVALID_ITEM', message: /deals, hold: the item after it .*: \/price must be a number/ })
  t.throws(() => decide(wrong(item => ({ ...item, unknown: 1 })), open, hold, context),
    { code: 'FST_DEALBOOK_INVALID_ITEM' })
  t.throws(() => decide(wrong(item => { item.held = true; return item }), open, hold, context), /read only/)
  t.throws(() => decide(wrong(({ name, ...item }) => item), open, hold, context),
    { code: 'FST_DEALBOOK_INVALID_ITEM', message: /\/name is required/ })
  const old = { ...open, price: 'much' }
  t.throws(() => decide(wrong(item => ({ ...item, price: 'more' })), old, hold, context),
    { code: 'FST_DEALBOOK_INVALID_ITEM', message: /\/price/ }, 'not what it was, and still wrong')
})

t.test('what was stored before a field was as it is now stays, and is no fault of an operation', async t => {
  const { name, ...nameless } = open
  const given: Record<string, Stored> = { nameless, priceless: { ...open, price: 'much' } }
  for (const [what, item] of Object.entries(given)) {
    const complete = { action: 'CompleteDeal', target: 'd-1', params: {} }
    t.strictSame(decide(family, item, complete, context), after(item, { status: 'completed' }), what)
  }
})
