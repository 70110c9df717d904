import { Type } from '@sinclair/typebox'
import type {
  CallOptions, Condition, CreateOptions, Deal, Done, FindOptions, Grant, Intent, ItemPage, LoggedCommand,
  RunOptions, Service, ServiceOptions
} from 'fastify-dealbook'
import { customers, deals, defineFamily, memoryStorage, Type as OurType } from 'fastify-dealbook'
import { describe, expect, test } from 'tstyche'

const storage = memoryStorage()
const book = deals.service({ storage })

describe('the service of deals', () => {
  test('gives deals', () => {
    expect(book.create({ name: 'Tea', price: 5 })).type.toBe<Promise<Done<Deal>>>()
    expect(book.run('hold', 'a', { reason: 'b' })).type.toBe<Promise<Done<Deal | undefined>>>()
    expect(book.get('a')).type.toBe<Promise<Deal>>()
    expect(book.find()).type.toBe<Promise<ItemPage<Deal>>>()
    expect(book.log('a')).type.toBe<Promise<ItemPage<LoggedCommand>>>()
    expect(book.remove('a')).type.not.toHaveProperty('item')
    expect<ItemPage<Deal>['items'][number]['status']>().type.toBe<'open' | 'completed' | 'cancelled'>()
  })

  test('what became of a command', () => {
    expect<Done<Deal>['changed']>().type.toBe<boolean>()
    expect<Done<Deal>['replayed']>().type.toBe<boolean>()
    expect<Done<Deal>['command']['outcome']>().type.toBe<'done' | 'unchanged' | 'refused'>()
    expect<Done<Deal>['command']['id']>().type.toBe<string | undefined>()
    expect<LoggedCommand['id']>().type.toBe<string>()
    expect<LoggedCommand['deal']>().type.toBe<unknown>()
  })

  test('knows its operations', () => {
    expect(book.run).type.not.toBeCallableWith('hodl', 'a')
    expect(book.run).type.not.toBeCallableWith('HoldDeal', 'a', { reason: 'b' })
    expect(book.run).type.toBeCallableWith('change-price', 'a', { newPrice: 5, reason: 'b' })
  })

  test('knows their parameters', () => {
    expect(book.run).type.not.toBeCallableWith('hold', 'a')
    expect(book.run).type.not.toBeCallableWith('hold', 'a', {})
    expect(book.run).type.not.toBeCallableWith('hold', 'a', { reason: 5 })
    expect(book.run).type.not.toBeCallableWith('hold', 'a', { raison: 'b' })
    expect(book.run).type.not.toBeCallableWith('cancel', 'a', { reason: 'b' })
    expect(book.run).type.toBeCallableWith('cancel', 'a', { reason: 'b', amercement: 0 })
  })

  test('parameters may be left out where all of them are optional, and only there', () => {
    expect(book.run).type.toBeCallableWith('unhold', 'a')
    expect(book.run).type.toBeCallableWith('unhold', 'a', {}, { command: 'b' })
    expect(book.run).type.toBeCallableWith('complete', 'a')
    expect(book.run).type.toBeCallableWith('complete', 'a', { comment: 'b' })
    expect(book.run).type.toBeCallableWith('complete', 'a', undefined, { key: 'b' })
    expect(book.run).type.not.toBeCallableWith('complete', 'a', { comment: 5 })
    expect(book.run).type.not.toBeCallableWith('hold', 'a', undefined, { key: 'b' })
  })

  test('runs many', () => {
    const hold = { operation: 'hold', id: 'a', params: { reason: 'b' } } as const
    expect(book.runAll([hold], { atomic: true })).type.toBe<Promise<Done<Deal | undefined>[]>>()
    expect(book.runAll([hold])).type.toBe<Promise<PromiseSettledResult<Done<Deal | undefined>>[]>>()
    expect(book.runAll).type.toBeCallableWith([
      { operation: 'hold', id: 'a', params: { reason: 'b' }, command: 'c', revision: 1 },
      { operation: 'unhold', id: 'a' },
      { operation: 'edit', id: 'a', params: { name: 'b' } },
      { operation: 'create', params: { name: 'a', price: 1 }, key: 'd' },
      { operation: 'remove', id: 'a' }
    ], { principal: 'ann' })
    expect(book.runAll).type.not.toBeCallableWith([{ operation: 'hodl', id: 'a' }])
    expect(book.runAll).type.not.toBeCallableWith([{ operation: 'hold', id: 'a' }])
    expect(book.runAll).type.not.toBeCallableWith([{ operation: 'hold', id: 'a', params: { reason: 5 } }])
    expect(book.runAll).type.not.toBeCallableWith([{ operation: 'hold', id: 5, params: { reason: 'b' } }])
    expect(book.runAll).type.not.toBeCallableWith([{ operation: 'create', params: { name: 'a' } }])
    expect(book.runAll).type.not.toBeCallableWith([{ operation: 'unhold', id: 'a', comand: 'b' }])
    expect(book.runAll).type.not.toBeCallableWith([hold], { atomci: true })
    const invoices = defineFamily({
      name: 'invoices', singular: 'invoice', fields: Type.Object({ id: Type.Integer() }), create: []
    }).service({ storage })
    expect(invoices.runAll).type.not.toBeCallableWith([{ operation: 'edit', id: 1, params: {} }])
    expect(invoices.runAll).type.toBeCallableWith([{ operation: 'remove', id: 1 }])
  })

  test('knows the fields', () => {
    expect(book.create).type.not.toBeCallableWith({ name: 'Tea', price: '5' })
    expect(book.create).type.not.toBeCallableWith({ name: 'Tea', price: 5, colour: 'green' })
    expect(book.create).type.not.toBeCallableWith({ id: 5, name: 'Tea', price: 5 })
    expect(deals.extend({ create: ['id'] }).service({ storage: memoryStorage() }).create)
      .type.toBeCallableWith({ id: 'a', name: 'Tea', price: 5 })
  })

  test('is asked by text or by conditions', () => {
    expect(book.find).type.toBeCallableWith('status=open', { limit: 20, page: 2, sort: '-price', count: true })
    expect(book.find).type.toBeCallableWith([{ field: 'price', op: 'gte', value: 10 } as const])
    expect(book.find).type.toBeCallableWith([] as readonly Condition[], { principal: 'ann' })
    expect(book.find).type.not.toBeCallableWith({ status: 'open' })
    expect(book.find).type.not.toBeCallableWith([{ field: 'price', op: 'like', value: 10 }])
    expect(book.find).type.not.toBeCallableWith('', { limit: '20' })
    expect(book.find).type.not.toBeCallableWith('', { maxpagesize: 20 })
  })
})

describe('options', () => {
  test('of the service', () => {
    expect(deals.service).type.toBeCallableWith({ storage })
    expect(deals.service).type.not.toBeCallableWith({})
    expect(deals.service).type.not.toBeCallableWith({ storage: () => storage })
    expect(deals.service).type.not.toBeCallableWith({ storage, authorise () {} })
    expect<ServiceOptions['authorize']>().type.toBeAssignableFrom(
      async (call: CallOptions, intent: Intent): Promise<Grant> => ({ principal: `${call.principal} ${intent.action}` })
    )
    expect<ServiceOptions['authorize']>().type.not.toBeAssignableFrom(() => ({ principal: 5 }))
  })

  test('of a call', () => {
    expect<RunOptions>().type.toBeAssignableTo<CallOptions>()
    expect<FindOptions>().type.toBeAssignableTo<CallOptions>()
    type Options = {
      readonly principal?: string, readonly signal?: AbortSignal, readonly key?: string, readonly command?: string
    }
    expect<CreateOptions>().type.toBe<Options>()
    expect(book.create).type.not.toBeCallableWith({ name: 'Tea', price: 5 }, { revision: 1 })
    expect(book.run).type.not.toBeCallableWith('unhold', 'a', {}, { revision: '1' })
    expect(book.run).type.not.toBeCallableWith('unhold', 'a', {}, { comand: 'b' })
    expect(book.get).type.not.toBeCallableWith('a', { key: 'b' })
  })
})

describe('other families', () => {
  test('what a host adds to deals is known', () => {
    const service = deals.extend({
      fields: Type.Object({ region: Type.String(), approvedBy: Type.Optional(Type.String()) }),
      create: ['region'],
      operations: {
        approve: {
          name: 'approve',
          verb: 'approve',
          participle: 'approved',
          noun: 'approvals',
          action: 'ApproveDeal',
          params: Type.Object({ by: Type.String() }),
          apply: (deal, { by }) => ({ ...deal, approvedBy: by })
        }
      }
    }).service({ storage })
    expect(service.run).type.toBeCallableWith('approve', 'a', { by: 'ann' })
    expect(service.run).type.not.toBeCallableWith('approve', 'a')
    expect(service.run).type.not.toBeCallableWith('approve', 'a', { by: 5 })
    expect(service.run).type.toBeCallableWith('hold', 'a', { reason: 'b' })
    expect(service.run).type.not.toBeCallableWith('refuse', 'a')
    expect(service.create).type.toBeCallableWith({ name: 'Tea', price: 5, region: 'north' })
    type Item = Awaited<ReturnType<typeof service.get>>
    expect<Item>().type.toBeAssignableTo<Deal & { region: string, approvedBy?: string }>()
  })

  test('a family without operations has none to run', () => {
    const service = customers.service({ storage })
    expect(service.run).type.not.toBeCallableWith('hold', 1)
    expect<Awaited<ReturnType<typeof service.get>>['age']>().type.toBe<number | undefined>()
    expect<Awaited<ReturnType<typeof service.get>>>().type.not.toHaveProperty('name')
  })

  test('a family of the host\'s own', () => {
    const service = defineFamily({
      name: 'notes',
      singular: 'note',
      fields: Type.Object({ id: Type.Integer(), text: Type.String() }),
      create: ['text']
    }).service({ storage })
    expect<Awaited<ReturnType<typeof service.create>>['item']['id']>().type.toBe<number>()
    expect(service.create).type.not.toBeCallableWith({ text: 5 })
    expect(service).type.toBeAssignableTo<Pick<Service, 'remove' | 'log'>>()
  })

  test('members with a default may be omitted inside lists and objects', () => {
    const line = OurType.Object({
      product: Type.String(), note: Type.Optional(Type.String()), received: OurType.Integer({ default: 0 })
    })
    const { create, run, runAll } = defineFamily({
      name: 'orders',
      singular: 'order',
      fields: OurType.Object({
        id: Type.Integer(),
        lines: OurType.Array(line, { default: [] }),
        place: Type.Object({ town: OurType.String({ default: '' }) }),
        tags: Type.Optional(Type.Array(Type.String()))
      }),
      create: ['lines', 'place', 'tags'],
      edit: ['lines', 'tags'],
      operations: {
        add: {
          name: 'add',
          verb: 'add',
          participle: 'added',
          noun: 'additions',
          action: 'AddLines',
          params: Type.Object({ rows: Type.Array(line), days: OurType.Integer({ default: 1 }) }),
          apply (order, { rows }) {
            expect(rows).type.toBe<{ product: string, note?: string, received: number }[]>()
            return order
          }
        }
      }
    }).service({ storage })
    const place = {}
    const lines = [{ product: 'a' }, { product: 'b', received: 1 }]
    expect(create).type.toBeCallableWith({ place, lines, tags: ['new'] })
    expect(create).type.toBeCallableWith({ place })
    expect(create).type.not.toBeCallableWith({ lines })
    expect(create).type.not.toBeCallableWith({ place, lines: [{}] })
    expect(create).type.not.toBeCallableWith({ place, lines: [{ product: 'a', received: '1' }] })
    expect(create).type.not.toBeCallableWith({ place, lines: [{ product: 'a', recieved: 1 }] })
    expect(create).type.not.toBeCallableWith({ place, tags: [1] })
    expect(run).type.toBeCallableWith('edit', 1, { lines, tags: null })
    expect(run).type.not.toBeCallableWith('edit', 1, { lines: [{ note: 'b' }] })
    expect(run).type.toBeCallableWith('add', 1, { rows: lines, days: 1 })
    // Of parameters themselves, a default is what forms begin with.
    expect(run).type.not.toBeCallableWith('add', 1, { rows: lines })
    expect(run).type.not.toBeCallableWith('add', 1, { rows: [{}], days: 1 })
    expect(runAll).type.toBeCallableWith([
      { operation: 'create', params: { place, lines } }, { operation: 'add', id: 1, params: { rows: lines, days: 1 } }
    ])
    expect<Awaited<ReturnType<typeof create>>['item']['lines'][0]['received']>().type.toBe<number>()
  })
})
