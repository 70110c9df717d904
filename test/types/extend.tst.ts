import { Type } from '@sinclair/typebox'
import type { FastifyPluginAsync } from 'fastify'
import type { Deal, FamilyOptions, ItemOf } from 'fastify-dealbook'
import { customers, deals, defineFamily, defineOperation, defineQuery, memoryStorage } from 'fastify-dealbook'
import { loadItems } from 'fastify-dealbook/tools'
import { describe, expect, test } from 'tstyche'

const words = { name: 'approve', verb: 'approve', participle: 'approved', noun: 'approvals', action: 'ApproveDeal' }
const fields = Type.Object({
  region: Type.Union([Type.Literal('north'), Type.Literal('south')]),
  approvedBy: Type.Optional(Type.String())
})
const params = Type.Object({ by: Type.String() })

describe('what a host adds to a family', () => {
  test('the items have the fields of both', () => {
    const ours = deals.extend({ fields, create: ['region'] })
    type Ours = ItemOf<typeof ours.definition.fields.properties>
    expect<Ours>().type.toBeAssignableTo<Deal & { region: 'north' | 'south', approvedBy?: string }>()
    expect<Ours>().type.not.toHaveProperty('colour')
    expect(deals).type.toBeAssignableTo<FastifyPluginAsync<FamilyOptions>>()
    expect(ours).type.toBeAssignableTo<FastifyPluginAsync<FamilyOptions>>()
    expect(loadItems).type.toBeCallableWith(memoryStorage(), deals, [])
    expect(loadItems).type.toBeCallableWith(memoryStorage(), ours, [])
  })

  test('inline operations know the fields of both', () => {
    deals.extend({
      fields,
      create: ['region'],
      operations: {
        approve: {
          ...words,
          params,
          allowed (deal) {
            expect(deal.region).type.toBe<'north' | 'south'>()
            expect(deal.approvedBy).type.toBe<string | undefined>()
            expect(deal.status).type.toBe<'open' | 'completed' | 'cancelled'>()
            expect(deal.revision).type.toBe<number>()
            expect(deal).type.not.toHaveProperty('colour')
            return deal.region === 'north'
          },
          apply (deal, { by }) {
            expect(by).type.toBe<string>()
            return { ...deal, approvedBy: by }
          }
        }
      }
    })
  })

  test('several inline operations have their own parameters each', () => {
    deals.extend({
      fields,
      create: ['region'],
      operations: {
        approve: { ...words, params, apply: (deal, { by }) => ({ ...deal, approvedBy: by }) },
        move: {
          ...words,
          name: 'move',
          params: Type.Object({ to: Type.Union([Type.Literal('north'), Type.Literal('south')]) }),
          apply (deal, sent) {
            expect(sent).type.toBe<{ to: 'north' | 'south' }>()
            return { ...deal, region: sent.to }
          }
        }
      }
    })
  })

  test('attributes, state and queries know them too', () => {
    deals.extend({
      fields,
      create: ['region'],
      state: deal => deal.region,
      attributes: {
        fields: ['approvedBy'],
        read: (wanted, current) => ({ operation: 'approve', params: { by: wanted.approvedBy ?? current.region } })
      },
      queries: { 'deals-by-region': defineQuery({ field: 'region' }) },
      makeId: () => 'D-1'
    })
  })

  test('states, search and labels know them too', () => {
    const extended = deals.extend({
      fields,
      create: ['region'],
      states: { open: 'good', approved: { tone: 'good', filter: 'approvedBy.null=false' } },
      search: ['name', 'region'],
      labels: { fr: { fields: { region: 'Région' }, operations: { hold: { label: 'Retenir', done: 'Retenu' } } } }
    })
    expect(extended.definition.search).type.toBeAssignableTo<readonly string[] | undefined>()
    // @ts-expect-error Type '"regoin"' is not assignable
    deals.extend({ fields, create: ['region'], search: ['regoin'] })
    // @ts-expect-error Type '"god"' is not assignable
    deals.extend({ states: { open: 'god' } })
    // @ts-expect-error 'plurals' does not exist
    deals.extend({ labels: { de: { plurals: 'Geschäfte' } } })
  })

  test('a wrong field name is an error', () => {
    deals.extend({
      fields,
      create: ['region'],
      // @ts-expect-error Property 'regoin' does not exist
      operations: { approve: { ...words, params, allowed: deal => deal.regoin === 'north', apply: deal => deal } }
    })
    deals.extend({
      fields,
      create: ['region'],
      // @ts-expect-error Property 'regoin' does not exist
      operations: { approve: { ...words, params, apply: deal => ({ ...deal, approvedBy: deal.regoin }) } }
    })
    // @ts-expect-error Property 'regoin' does not exist
    deals.extend({ fields, create: ['region'], state: deal => deal.regoin })
  })

  test('a field that is given back and does not exist is an error', () => {
    deals.extend({
      fields,
      create: ['region'],
      // @ts-expect-error Type 'string' is not assignable to type '"is not a field of the family"'
      operations: { approve: { ...words, params, apply: (deal, { by }) => ({ ...deal, aprovedBy: by }) } }
    })
  })

  test('a field of a wrong type is an error', () => {
    deals.extend({
      fields,
      create: ['region'],
      // @ts-expect-error is not assignable to type
      operations: { approve: { ...words, params, apply: deal => ({ ...deal, approvedBy: 7 }) } }
    })
    deals.extend({
      fields,
      create: ['region'],
      // @ts-expect-error is not assignable to type
      operations: { approve: { ...words, params, apply: deal => ({ ...deal, region: 'west' }) } }
    })
  })

  test('a parameter of a wrong name is an error', () => {
    deals.extend({
      fields,
      create: ['region'],
      // @ts-expect-error Property 'buy' does not exist
      operations: { approve: { ...words, params, apply: (deal, { buy }) => ({ ...deal, approvedBy: buy }) } }
    })
  })

  test('create takes field names only', () => {
    expect(customers.extend).type.toBeCallableWith({ create: ['age', 'children'] as const })
    // @ts-expect-error Type '"regoin"' is not assignable to type
    deals.extend({ fields, create: ['regoin'] })
    // @ts-expect-error Type '"regoin"' is not assignable to type
    deals.extend({ create: ['regoin'] })
    expect(customers.extend).type.toBeCallableWith({ create: ['id', 'age', 'children'] as const })
    // @ts-expect-error Type '"id"' is not assignable to type
    customers.extend({ edit: ['id'] })
    // @ts-expect-error 'feilds' does not exist in type
    deals.extend({ feilds: fields })
  })
})

describe('an operation that was declared by itself', () => {
  const approve = defineOperation({
    ...words,
    params,
    allowed: deal => deal.status === 'open',
    apply: (deal, { by }) => ({ ...deal, approvedBy: by })
  })

  test('fits deals, and deals that were extended, once and again', () => {
    deals.extend({ operations: { approve } })
    const ours = deals.extend({ fields, create: ['region'], operations: { approve } })
    const note = Type.Object({ note: Type.Optional(Type.String()) })
    ours.extend({ fields: note, operations: { again: { ...approve, name: 'again' } } })
  })

  test('and no other family', () => {
    // @ts-expect-error is not assignable to type
    customers.extend({ operations: { approve } })
    const other = Type.Object({ id: Type.Integer() })
    // @ts-expect-error is not assignable to type
    defineFamily({ name: 'invoices', singular: 'invoice', fields: other, operations: { approve } })
  })
})

describe('what authorize and storage may be', () => {
  test('conditions and a principal, now or later', () => {
    const storage = memoryStorage()
    const where = [{ field: 'owner', op: 'eq' as const, values: ['ann'] }]
    expect<FamilyOptions>().type.toBeAssignableFrom({ storage, authorize: () => ({ principal: 'ann', where }) })
    expect<FamilyOptions>().type.toBeAssignableFrom({ storage, authorize: async () => {} })
    expect<FamilyOptions>().type.toBeAssignableFrom({ storage, authorize: () => ({ hide: ['a', 'a.b', 'principal'] }) })
    expect<FamilyOptions>().type.not.toBeAssignableFrom({ storage, authorize: () => ({ hide: 'a' }) })
    expect<FamilyOptions>().type.not.toBeAssignableFrom({ storage, authorize: () => ({ principal: 7 }) })
    expect<FamilyOptions>().type.not.toBeAssignableFrom({ storage, authorize: () => true })
  })

  test('one storage, or one by request', () => {
    expect<FamilyOptions>().type.toBeAssignableFrom({ storage: () => memoryStorage() })
    expect<FamilyOptions>().type.toBeAssignableFrom({ storage: async () => memoryStorage() })
    expect<FamilyOptions>().type.not.toBeAssignableFrom({ storage: () => undefined })
  })

  test('a renamed family has the same types under other names', () => {
    const titled = deals.rename({ name: 'title' })
    type Titled = ItemOf<typeof titled.definition.fields.properties>
    expect<Titled['title']>().type.toBe<string>()
    expect<Titled>().type.not.toHaveProperty('name')
    expect<Titled['status']>().type.toBe<Deal['status']>()
    const book = titled.service({ storage: memoryStorage() })
    expect(book.create).type.toBeCallableWith({ title: 'Tea', price: 3 })
    expect(book.create).type.not.toBeCallableWith({ name: 'Tea', price: 3 })
    expect(book.run).type.toBeCallableWith('edit', 'd-1', { title: 'Tea' })
    expect(deals.rename).type.not.toBeCallableWith({ nam: 'title' })
    expect(deals.rename).type.not.toBeCallableWith({ id: 'number' })
  })
})
