import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import Fastify from 'fastify'
import type { Committed, Context, Deal, FamilyOptions, Operation } from 'fastify-dealbook'
import {
  customers, dealbook, deals, defineFamily, defineOperation, defineQuery, memoryStorage
} from 'fastify-dealbook'
import { describe, expect, test } from 'tstyche'

const words = { name: 'approve', verb: 'approve', participle: 'approved', noun: 'approvals', action: 'ApproveDeal' }

describe('an operation on its own', () => {
  test('knows the fields of a deal and the types of its parameters', () => {
    const approve = defineOperation({
      ...words,
      params: Type.Object({ by: Type.String(), stars: Type.Optional(Type.Integer()) }),
      allowed (deal) {
        expect(deal).type.toBe<Deal>()
        return deal.status === 'open' && !deal.held
      },
      apply (deal, params, context) {
        expect(deal).type.toBe<Deal>()
        expect(params).type.toBe<{ by: string, stars?: number }>()
        expect(context).type.toBeAssignableTo<Context>()
        return { ...deal, approvedBy: params.by }
      }
    })
    expect(approve.params.properties.by.type).type.toBe<'string'>()
    expect(approve).type.toBeAssignableTo<Operation<Deal, typeof approve.params>>()
  })

  test('a field that a deal has not is an error', () => {
    defineOperation({
      ...words,
      params: Type.Object({}),
      // @ts-expect-error Property 'colour' does not exist
      allowed: deal => deal.colour === 'red',
      apply: deal => deal
    })
  })

  test('a parameter that it has not is an error', () => {
    defineOperation({
      ...words,
      params: Type.Object({ by: Type.String() }),
      // @ts-expect-error Property 'buy' does not exist
      apply: (deal, { buy }) => ({ ...deal, approvedBy: buy })
    })
  })

  test('a field of a wrong type is an error', () => {
    defineOperation({
      ...words,
      params: Type.Object({}),
      // @ts-expect-error is not assignable
      apply: deal => ({ ...deal, price: 'much' })
    })
  })

  test('every word is needed', () => {
    const some = { name: 'approve', verb: 'approve', params: Type.Object({}) }
    expect(defineOperation).type.not.toBeCallableWith({ ...some, apply: (deal: Deal) => deal })
  })
})

describe('an operation in a family', () => {
  const fields = Type.Object({
    id: Type.Integer(),
    total: Type.Number(),
    paid: Type.Boolean({ default: false }),
    paidOn: Type.Optional(Type.String({ format: 'date' }))
  })

  test('knows the fields of the family and the types of its parameters', () => {
    defineFamily({
      name: 'invoices',
      singular: 'invoice',
      fields,
      create: ['total'],
      operations: {
        pay: {
          name: 'pay',
          verb: 'pay',
          participle: 'paid',
          noun: 'payments',
          action: 'PayInvoice',
          params: Type.Object({ on: Type.String({ format: 'date' }) }),
          allowed (invoice) {
            expect(invoice.total).type.toBe<number>()
            expect(invoice.paidOn).type.toBe<string | undefined>()
            expect(invoice.revision).type.toBe<number>()
            expect(invoice).type.not.toHaveProperty('price')
            return !invoice.paid
          },
          apply (invoice, params) {
            expect(params).type.toBe<{ on: string }>()
            return { ...invoice, paid: true, paidOn: params.on }
          }
        }
      },
      queries: { 'invoices-by-total': defineQuery({ field: 'total' }) }
    })
  })

  test('wrong names are errors', () => {
    const words = { name: 'pay', verb: 'pay', participle: 'paid', noun: 'payments', action: 'PayInvoice' }
    defineFamily({
      name: 'invoices',
      singular: 'invoice',
      fields,
      // @ts-expect-error Property 'paidd' does not exist
      operations: { pay: { ...words, params: Type.Object({}), apply: item => ({ ...item, paid: item.paidd }) } }
    })
    defineFamily({
      name: 'invoices',
      singular: 'invoice',
      fields,
      // @ts-expect-error Type 'boolean' is not assignable to type '"is not a field of the family"'
      operations: { pay: { ...words, params: Type.Object({}), apply: item => ({ ...item, piad: true }) } }
    })
    defineFamily({
      name: 'invoices',
      singular: 'invoice',
      fields,
      operations: {
        pay: {
          ...words,
          params: Type.Object({}),
          // @ts-expect-error "is not a field of the family"
          apply: item => item.paid ? item : { ...item, piad: true }
        }
      }
    })
    defineFamily({
      name: 'invoices',
      singular: 'invoice',
      fields,
      // @ts-expect-error Type '() => boolean' is not assignable to type 'IsNoMemberOfAnOperation'
      operations: { pay: { ...words, params: Type.Object({}), allow: () => true, apply: item => item } }
    })
    // @ts-expect-error 'feilds' does not exist in type
    defineFamily({ name: 'invoices', singular: 'invoice', fields, feilds: fields })
    // @ts-expect-error is not assignable
    defineFamily({ name: 'invoices', singular: 'invoice', fields, create: ['totals'] })
    // @ts-expect-error is not assignable
    defineFamily({ name: 'invoices', singular: 'invoice', fields, create: ['id', 'total'], unique: [['id']] })
  })
})

describe('what onCommitted receives', () => {
  test('items of the family', () => {
    Fastify().register(deals, {
      storage: memoryStorage(),
      version: 'v1',
      onCommitted ({ before, after }) {
        expect(before).type.toBe<Deal | undefined>()
        expect(after?.status).type.toBe<'open' | 'completed' | 'cancelled' | undefined>()
        expect(after as NonNullable<typeof after>).type.not.toHaveProperty('colour')
      }
    })
    Fastify().register(deals.extend({ fields: Type.Object({ region: Type.String() }), create: ['region'] }), {
      storage: memoryStorage(),
      version: 'v1',
      onCommitted ({ after }) {
        expect(after?.region).type.toBe<string | undefined>()
      }
    })
    Fastify().register(dealbook, {
      storage: memoryStorage(),
      version: 'v1',
      onCommitted ({ after }) {
        expect(after?.price).type.toBe<unknown>()
      }
    })
  })

  test('one function may do for all families', () => {
    const onCommitted = ({ family, after }: Committed) => { console.log(family, after?.price) }
    const options = { storage: memoryStorage(), version: 'v1', onCommitted }
    const { register } = Fastify()
    expect(register).type.toBeCallableWith(deals, options)
    expect(register).type.toBeCallableWith(customers, options)
  })
})

describe('how deals are mounted', () => {
  test('a wrong option is one error, where it stands', () => {
    const app = Fastify()
    const options = { storage: memoryStorage(), version: 'v1' }
    // @ts-expect-error The last overload gave the following error.
    app.register(deals, { ...options, emptyList: 'nothing' })
    // @ts-expect-error The last overload gave the following error.
    app.register(deals, { ...options, pagesize: 5 })
    // @ts-expect-error Property 'storage' is missing in type
    app.register(deals, { version: 'v1' })
    app.register(deals, { ...options, logLevel: 'warn', prefix: '/crm' })
    app.withTypeProvider<TypeBoxTypeProvider>().register(deals, options)
    app.register(deals, () => options)
  })

  test('forms have names', () => {
    const forms = ['verb', 'noun'] as const
    expect<FamilyOptions>().type.toBeAssignableFrom({ storage: memoryStorage(), version: 'v1', forms })
    expect<FamilyOptions>().type.not.toBeAssignableFrom({ storage: memoryStorage(), forms: ['verbs'] as const })
    expect<FamilyOptions>().type.not.toBeAssignableFrom({ storage: memoryStorage(), preconditions: true })
  })

  test('a deal has the members that the interface names', () => {
    expect<Deal>().type.toBeAssignableTo<{
      id: string
      name: string
      price: number
      held: boolean
      holdReason?: string
      status: 'open' | 'completed' | 'cancelled'
      completionDate?: string
      amercement?: number
      revision: number
    }>()
    expect(deals.definition.name).type.toBe<string>()
  })
})

describe('rules', () => {
  const words = { name: 'pay', verb: 'pay', participle: 'paid', noun: 'payments', action: 'PayInvoice' }
  const names = { name: 'invoices', singular: 'invoice' }
  const fields = Type.Object({ id: Type.Integer(), total: Type.Number(), owner: Type.String() })

  test('initial completes an item from the context', () => {
    defineFamily({
      ...names,
      fields,
      create: ['total'],
      initial (invoice, context) {
        expect(invoice).type.toBe<{ owner?: string, id: number, total: number }>()
        expect(context).type.toBeAssignableTo<Context>()
        return { ...invoice, owner: context.principal ?? 'nobody' }
      }
    })
    // @ts-expect-error Property 'totals' does not exist
    defineFamily({ ...names, fields, create: ['total'], initial: item => ({ ...item, owner: String(item.totals) }) })
    // @ts-expect-error is not assignable to type
    defineFamily({ ...names, fields, create: ['total'], initial: item => ({ ...item, owner: 7 }) })
    // @ts-expect-error is missing in type
    defineFamily({ ...names, fields, create: ['total'], initial: ({ id, total }) => ({ id, total }) })
    // @ts-expect-error is not assignable to type
    defineFamily({ ...names, fields, create: ['total'], initial: async item => item })
  })

  test('so does that of an extension', () => {
    deals.extend({
      fields: Type.Object({ owner: Type.String() }),
      initial (deal, { principal }) {
        expect(deal.owner).type.toBe<string | undefined>()
        expect(deal.name).type.toBe<string>()
        expect(deal).type.not.toHaveProperty('revision')
        return { ...deal, owner: principal ?? 'nobody' }
      }
    })
    // @ts-expect-error is not assignable to type
    deals.extend({ fields: Type.Object({ owner: Type.String() }), initial: deal => ({ ...deal, owner: 7 }) })
  })

  test('allowed may say why not', () => {
    const params = Type.Object({})
    const pay = { ...words, params, allowed: () => 'Not now', apply: (item: Deal) => item }
    expect(defineOperation).type.toBeCallableWith(pay)
    expect(defineOperation).type.not.toBeCallableWith({ ...pay, allowed: () => 7 })
    expect(defineOperation).type.not.toBeCallableWith({ ...pay, allowed: async () => true })
    deals.extend({
      operations: { pay: { ...words, params, allowed: deal => deal.price > 1 || 'No', apply: deal => deal } }
    })
  })
})

describe('an operation on two items', () => {
  const fields = Type.Object({ id: Type.Integer(), total: Type.Number() })
  const words = { name: 'move', verb: 'move', participle: 'moved', noun: 'moves', action: 'MoveTotal' }
  const params = Type.Object({ to: Type.Integer(), fee: Type.Optional(Type.Integer()) })

  test('knows the parameters in with and allowed, and gives back others', () => {
    const boxes = defineFamily({
      name: 'boxes',
      singular: 'box',
      fields,
      operations: {
        move: {
          ...words,
          params,
          with: {
            to: { family: 'boxes', id: sent => sent.to },
            fee: { family: customers, id: ({ fee }) => fee }
          },
          allowed (box, sent, { items }) {
            expect(box.total).type.toBe<number>()
            expect(sent?.to).type.toBe<number | undefined>()
            expect(items.to?.total).type.toBe<number | undefined>()
            return box.total > 0
          },
          apply: (box, { to }, { items }) => to === 1
            ? box
            : { item: { ...box, total: 0 }, others: { to: { ...items.to, total: box.total } } }
        }
      }
    })
    const book = boxes.service({ storage: memoryStorage() })
    expect(book.run('move', 1, { to: 2 })).type.not.toBe<never>()
    // @ts-expect-error is not assignable
    book.run('move', 1, { to: '2' })
  })

  test('wrong names are errors', () => {
    defineFamily({
      name: 'boxes',
      singular: 'box',
      fields,
      operations: {
        move: {
          ...words,
          params,
          // @ts-expect-error Property 'two' does not exist
          with: { to: { family: 'boxes', id: sent => sent.two } },
          apply: box => box
        }
      }
    })
    defineFamily({
      name: 'boxes',
      singular: 'box',
      fields,
      operations: {
        move: {
          ...words,
          params,
          // @ts-expect-error "is not a field of the family"
          apply: box => ({ item: { ...box, totl: 1 }, others: {} })
        }
      }
    })
  })
})
