import type { FamilyPlugin, ServiceMembers } from 'fastify-dealbook'
import { defineFamily, defineOperation, memoryStorage, Type } from 'fastify-dealbook'
import { describe, expect, test } from 'tstyche'

const machines = defineFamily({
  name: 'machines',
  singular: 'machine',
  fields: Type.Object({
    id: Type.Integer(),
    branch: Type.String(),
    status: Type.Union([Type.Literal('available'), Type.Literal('rented')], { default: 'available' })
  }),
  create: ['branch']
})

const invoices = defineFamily({
  name: 'invoices',
  singular: 'invoice',
  fields: Type.Object({ id: Type.String(), total: Type.Number(), note: Type.Optional(Type.String()) }),
  create: ['total']
})

const names = { name: 'bookings', singular: 'booking' }
const fields = Type.Object({
  id: Type.Integer(),
  machine: Type.Integer(),
  spare: Type.Optional(Type.Integer()),
  branch: Type.String(),
  invoice: Type.Optional(Type.String()),
  total: Type.Number(),
  status: Type.Union([Type.Literal('new'), Type.Literal('out'), Type.Literal('billed')], { default: 'new' })
})
const references = { machine: machines, spare: machines, invoice: invoices }
const handOut = { name: 'hand-out', verb: 'hand-out', participle: 'handed-out', noun: 'handouts', action: 'HandOut' }
const swap = { name: 'swap', verb: 'swap', participle: 'swapped', noun: 'swaps', action: 'SwapMachine' }
const bill = { name: 'bill', verb: 'bill', participle: 'billed', noun: 'bills', action: 'BillBooking' }
const none = Type.Object({})
const to = Type.Object({ to: Type.Integer(), from: Type.Optional(Type.Integer()) })

describe('rules know the items that an operation reaches', () => {
  test('in a family, its service, and its extensions', () => {
    const bookings = defineFamily({
      ...names,
      fields,
      references,
      create: { fields: ['machine', 'total'], with: { machine: 'machine' } },
      initial (booking, { claims, items }) {
        expect(items.machine.status).type.toBe<'available' | 'rented'>()
        return {
          item: { ...booking, branch: claims.branch, status: 'new' },
          others: { machine: { ...items.machine, status: 'rented' } }
        }
      },
      operations: {
        'hand-out': {
          ...handOut,
          params: none,
          with: { machine: 'machine', second: 'spare' },
          allowed (_booking, _params, { now, items }) {
            expect(now).type.toBe<string>()
            expect(items.machine.status).type.toBe<'available' | 'rented'>()
            return items.machine.status === 'available' || 'The machine is in repair'
          },
          apply (booking, _params, { items }) {
            expect(items.second?.status).type.toBe<'available' | 'rented' | undefined>()
            expect(items).type.not.toHaveProperty('spare')
            return { item: { ...booking, status: 'out' }, others: { machine: { ...items.machine, status: 'rented' } } }
          }
        },
        swap: {
          ...swap,
          params: to,
          with: {
            to: { family: machines, id: (params, booking) => params.to + booking.machine },
            from: { family: machines, id: ({ from }) => from },
            other: { family: 'bookings', id: params => params.to },
            mine: 'machine'
          },
          allowed (_booking, _params, { items }) {
            expect(items.to?.status).type.toBe<'available' | 'rented' | undefined>()
            return items.to?.status === 'available'
          },
          apply (booking, _params, { items }) {
            expect(items.to.status).type.toBe<'available' | 'rented'>()
            expect(items.from?.id).type.toBe<number | undefined>()
            expect(items.other.total).type.toBe<number>()
            expect(items.mine.branch).type.toBe<string>()
            return { item: { ...booking, machine: items.to.id }, others: { to: { ...items.to, status: 'rented' } } }
          }
        },
        bill: {
          ...bill,
          params: none,
          creates: { invoice: invoices },
          apply (booking, _params, { newIds }) {
            expect(newIds.invoice).type.toBe<string>()
            return {
              item: { ...booking, status: 'billed', invoice: newIds.invoice },
              created: { invoice: { total: booking.total } }
            }
          }
        }
      }
    })

    const book = bookings.service({ storage: memoryStorage() })
    expect(book.create).type.toBeCallableWith({ machine: 1, total: 5 })
    expect(book.create).type.not.toBeCallableWith({ machine: 1 })
    expect(book.create).type.not.toBeCallableWith({ machine: 1, total: 5, branch: 'north' })
    expect(book.run).type.toBeCallableWith('swap', 1, { to: 2 })
    expect(book.run).type.toBeCallableWith('bill', 1)

    bookings.extend({
      fields: Type.Object({ driver: Type.Optional(Type.Integer()) }),
      references: { driver: machines },
      operations: {
        drive: {
          ...swap,
          name: 'drive',
          params: none,
          with: { driver: 'driver', machine: 'machine', other: { family: machines, id: (_, { machine }) => machine } },
          creates: { invoice: invoices },
          apply (booking, _params, { items, newIds }) {
            expect(items.driver?.branch).type.toBe<string | undefined>()
            expect(items.machine.branch).type.toBe<string>()
            expect(items.other.branch).type.toBe<string>()
            return {
              item: { ...booking, status: 'out', invoice: newIds.invoice },
              others: { machine: { ...items.machine, status: 'rented' } },
              created: { invoice: { total: 1, note: 'a' } }
            }
          }
        }
      }
    })
  })

  test('also by its only reference', () => {
    defineFamily({
      ...names,
      fields,
      references: { machine: machines },
      operations: {
        'hand-out': {
          ...handOut,
          params: none,
          with: { machine: 'machine' },
          apply: (item, _params, { items }) =>
            ({ item, others: { machine: { ...items.machine, status: 'rented' } } })
        }
      }
    })
  })

  test('and without a family', () => {
    defineOperation({
      ...swap,
      params: to,
      with: { to: { family: machines, id: params => params.to }, field: 'customer' },
      creates: { invoice: invoices },
      allowed: (_deal, _params, { items }) => items.to?.status === 'available',
      apply (deal, _params, { items, newIds }) {
        expect(items.to.status).type.toBe<'available' | 'rented'>()
        expect(items.field).type.toBe<any>()
        expect(newIds.invoice).type.toBe<string>()
        return {
          item: { ...deal, status: 'completed' },
          others: { to: { ...items.to, status: 'rented' } },
          created: { invoice: { total: deal.price } }
        }
      }
    })
  })
})

test('initial of an extension gets the parameters of the creation', () => {
  const orders = defineFamily({
    name: 'orders',
    singular: 'order',
    fields: Type.Object({ id: Type.Integer() }),
    create: { fields: [], params: Type.Object({ lines: Type.Array(Type.String()) }) }
  })
  const fields = Type.Object({ size: Type.Integer() })
  orders.extend({ fields, initial: (order, _context, { lines }) => ({ ...order, size: lines.length }) })
  // @ts-expect-error Property 'rows' does not exist
  orders.extend({ fields, initial: (order, _context, { rows }) => ({ ...order, size: rows.length }) })
})

describe('an item is possibly undefined if its id may be', () => {
  const lines = Type.Object({
    lines: Type.Array(Type.Object({ machine: Type.Integer() })),
    store: Type.Optional(Type.Integer()),
    spare: Type.Integer()
  })
  const base = { ...names, fields, references }
  const one = { ...swap, params: to } as const

  test('by the parameter with its name, and by lists', () => {
    defineFamily({
      ...base,
      operations: {
        swap: {
          ...swap,
          params: lines,
          with: {
            first: { family: machines, id: ({ lines }) => lines[0]?.machine },
            store: { family: machines, id: ({ store }) => store },
            spare: { family: machines, id: ({ spare }) => spare }
          },
          apply (booking, _params, { items }) {
            expect(items.first?.id).type.toBe<number | undefined>()
            expect(items.store?.id).type.toBe<number | undefined>()
            expect(items.spare.id).type.toBe<number>()
            // @ts-expect-error 'items.first' is possibly 'undefined'
            return { ...booking, machine: items.first.id }
          }
        }
      }
    })
  })

  test('by what id returns, if its parameters have types', () => {
    defineFamily({
      ...base,
      operations: {
        swap: {
          ...swap,
          params: lines,
          with: {
            first: { family: machines, id: ({ lines: [line] }: { lines: { machine: number }[] }) => line?.machine },
            other: { family: machines, id: (params: { spare: number }) => params.spare },
            mine: { family: 'bookings', id: (params: { store?: number }) => params.store },
            same: { family: 'bookings', id: (_: object, { id }: { id: number }) => id },
            fixed: { family: machines, id: () => 7 }
          },
          allowed: (_booking, _params, { items }) => items.other?.status === 'available',
          apply (booking, _params, { items }) {
            expect(items.first?.id).type.toBe<number | undefined>()
            expect(items.other.id).type.toBe<number>()
            expect(items.mine?.total).type.toBe<number | undefined>()
            expect(items.same.total).type.toBe<number>()
            expect(items.fixed.branch).type.toBe<string>()
            // @ts-expect-error 'items.mine' is possibly 'undefined'
            return { item: { ...booking, total: items.mine.total }, others: { other: items.other } }
          }
        }
      }
    })
    defineOperation({
      ...swap,
      params: lines,
      with: {
        first: { family: machines, id: ({ lines: [line] }: { lines: { machine: number }[] }) => line?.machine },
        other: { family: machines, id: ({ spare }: { spare: number }) => spare }
      },
      apply (deal, _params, { items }) {
        expect(items.first?.id).type.toBe<number | undefined>()
        expect(items.other.id).type.toBe<number>()
        return deal
      }
    })
  })

  test('otherwise, an id that may be undefined is an error', () => {
    defineFamily({
      ...base,
      operations: {
        swap: {
          ...one,
          // @ts-expect-error "may return undefined: give its parameters their types, so that context.items knows"
          with: { other: { family: machines, id: ({ from }) => from } },
          apply: (booking, _params, { items }) => ({ ...booking, machine: items.other.id })
        }
      }
    })
    defineFamily({
      ...base,
      operations: {
        swap: {
          ...one,
          // @ts-expect-error "may return undefined: give its parameters their types, so that context.items knows"
          with: { other: { family: machines, id: (_, { spare }) => spare } },
          allowed: (_booking, _params, { items }) => items.other?.status === 'available',
          apply: (booking, _params, { items: { other } }) => ({ item: booking, others: { other } })
        }
      }
    })
  })

  test('at creation, and of a deletion', () => {
    defineFamily({
      ...base,
      create: {
        fields: ['machine', 'total', 'invoice', 'branch', 'spare'],
        with: {
          machine: { family: machines, id: ({ machine }) => machine },
          same: { family: machines, id: ({ machine }) => machine },
          invoice: { family: invoices, id: ({ invoice }) => invoice }
        }
      },
      initial (booking, { items }) {
        expect(items.machine.branch).type.toBe<string>()
        expect(items.same.branch).type.toBe<string>()
        expect(items.invoice?.total).type.toBe<number | undefined>()
        return booking
      },
      remove: {
        with: { other: { family: machines, id: (_: object, { machine }: { machine: number }) => machine } },
        apply (_booking, _params, { items }) {
          expect(items.other.branch).type.toBe<string>()
          return { others: { other: items.other } }
        }
      }
    })
    defineFamily({
      ...base,
      create: {
        fields: ['machine', 'total', 'branch', 'spare'],
        with: { other: { family: machines, id: ({ spare }) => spare } }
      },
      // @ts-expect-error Type 'undefined' is not assignable to type
      initial: (booking, { items }) => ({ ...booking, branch: items.other.branch })
    })
  })
})

describe('an operation on items of another type', () => {
  type Thing = ServiceMembers & { id: number, status: 'new' | 'old' }

  test('is declared with that type as an argument', () => {
    defineOperation({
      ...swap,
      params: to,
      with: { to: { family: machines, id: params => params.to } },
      apply: (thing: Thing, _params, { items }) =>
        ({ item: { ...thing, status: 'old' }, others: { to: { ...items.to, status: 'rented' } } })
    })
    defineOperation({
      ...swap,
      params: to,
      apply: (thing: Thing, params) => ({ ...thing, status: params.to > 1 ? 'old' : 'new' })
    })
    // @ts-expect-error is not assignable to type
    defineOperation({ ...swap, params: to, apply: (thing: Thing) => ({ ...thing, status: 'odl' }) })
  })

  test('or as a type parameter', () => {
    defineOperation<typeof to, Thing>({
      ...swap,
      params: to,
      with: { to: { family: machines, id: params => params.to } },
      allowed: thing => thing.status === 'new',
      apply: (thing, _params, { items }) => ({ item: { ...thing, status: 'old' }, others: { to: items['to'] } })
    })
    // @ts-expect-error is not assignable to type
    defineOperation<typeof to, Thing>({ ...swap, params: to, apply: thing => ({ ...thing, status: 'odl' }) })
  })
})

describe('mistakes are errors', () => {
  test('in with, creates and references', () => {
    defineFamily({
      ...names,
      fields,
      references,
      operations: {
        swap: {
          ...swap,
          params: none,
          // @ts-expect-error Type '"machin"' is not assignable to type
          with: { machine: 'machin' },
          apply: booking => booking
        }
      }
    })
    defineFamily({
      ...names,
      fields,
      operations: {
        swap: {
          ...swap,
          params: Type.Object({ to: Type.String() }),
          // @ts-expect-error Type 'string' is not assignable to type 'number'
          with: { to: { family: machines, id: params => params.to } },
          apply: booking => booking
        }
      }
    })
    defineFamily({
      ...names,
      fields,
      // @ts-expect-error Type 'number' is not assignable to type
      operations: { swap: { ...swap, params: none, with: { to: { family: 7, id: () => 1 } }, apply: item => item } }
    })
    defineFamily({
      ...names,
      fields,
      // @ts-expect-error is not assignable to type 'AnyFamily'
      operations: { bill: { ...bill, params: none, creates: { invoice: 'invoices' }, apply: item => item } }
    })
    // @ts-expect-error is not assignable to type '"is not a field of the family"'
    defineFamily({ ...names, fields, references: { machin: machines } })
    // @ts-expect-error Type '"machin"' is not assignable to type
    defineFamily({ ...names, fields, references, create: { fields: ['total'], with: { machine: 'machin' } } })
  })

  test('in context.items and context.newIds', () => {
    defineFamily({
      ...names,
      fields,
      references,
      create: ['total', 'machine'],
      // @ts-expect-error Property 'machine' does not exist
      initial: (booking, { items }) => ({ ...booking, branch: items.machine.branch }),
      operations: {
        'hand-out': {
          ...handOut,
          params: none,
          with: { machine: 'machine' },
          // @ts-expect-error Property 'machin' does not exist
          allowed: (_booking, _params, { items }) => items.machin.status === 'available',
          // @ts-expect-error Property 'state' does not exist
          apply: (booking, _params, { items }) => ({ ...booking, branch: items.machine.state })
        },
        swap: {
          ...swap,
          params: to,
          with: { to: { family: machines, id: params => params.to } },
          // @ts-expect-error 'items.to' is possibly 'undefined'
          allowed: (_booking, _params, { items }) => items.to.status === 'available',
          // @ts-expect-error Property 'machine' does not exist
          apply: (booking, _params, { items }) => ({ ...booking, machine: items.machine.id })
        },
        bill: {
          ...bill,
          params: none,
          creates: { invoice: invoices },
          // @ts-expect-error Property 'invoce' does not exist
          apply: (booking, _params, { newIds }) => ({ ...booking, invoice: newIds.invoce })
        }
      }
    })
  })

  test('in others', () => {
    const base = { ...handOut, params: none, with: { machine: 'machine', second: 'spare' } } as const
    defineFamily({
      ...names,
      fields,
      references,
      operations: {
        'hand-out': {
          ...base,
          // @ts-expect-error is not assignable to type '"is not the name of another item"'
          apply: (booking, _params, { items }) => ({ item: booking, others: { machin: items.machine } })
        }
      }
    })
    defineFamily({
      ...names,
      fields,
      references,
      operations: {
        'hand-out': {
          ...base,
          // @ts-expect-error is not assignable to type '"is not the name of another item"'
          apply: (item, _params, { items: { machine } }) => ({ item, others: { machine, secnd: machine } })
        }
      }
    })
    defineFamily({
      ...names,
      fields,
      references,
      operations: {
        'hand-out': {
          ...base,
          // @ts-expect-error is not assignable to type '"is not a field of the family"'
          apply: (item, _params, { items: { machine } }) => ({ item, others: { machine: { ...machine, stats: 1 } } })
        }
      }
    })
    defineFamily({
      ...names,
      fields,
      references,
      operations: {
        'hand-out': {
          ...base,
          // @ts-expect-error is not assignable to type
          apply: (item, _params, { items: { machine } }) => ({ item, others: { machine: { ...machine, status: 'x' } } })
        }
      }
    })
    defineFamily({
      ...names,
      fields,
      references,
      create: { fields: ['machine', 'total', 'branch'], with: { machine: 'machine' } },
      // @ts-expect-error is not assignable to type '"is not a field of the family"'
      initial: (booking, { items }) => ({ item: booking, others: { machine: { ...items.machine, stats: 1 } } })
    })
    defineFamily({
      ...names,
      fields,
      references,
      create: { fields: ['machine', 'total', 'branch'], with: { machine: 'machine' } },
      // @ts-expect-error is not assignable to type '"is not the name of another item"'
      initial: (booking, { items }) => ({ item: booking, others: { machine: items.machine, machin: items.machine } })
    })
  })

  test('in created', () => {
    const base = { ...bill, params: none, creates: { invoice: invoices } }
    defineFamily({
      ...names,
      fields,
      operations: {
        bill: {
          ...base,
          // @ts-expect-error is not assignable to type '"is not the name of another item"'
          apply: booking => ({ item: booking, created: { invoice: { total: 1 }, invoce: { total: 1 } } })
        }
      }
    })
    defineFamily({
      ...names,
      fields,
      operations: {
        bill: {
          ...base,
          // @ts-expect-error is not assignable to type '"is not a field of the family"'
          apply: booking => ({ item: booking, created: { invoice: { total: 1, totl: 1 } } })
        }
      }
    })
    defineFamily({
      ...names,
      fields,
      operations: {
        bill: {
          ...base,
          // @ts-expect-error Property 'total' is missing in type
          apply: booking => ({ item: booking, created: { invoice: { note: 'a' } } })
        }
      }
    })
    defineFamily({
      ...names,
      fields,
      operations: {
        bill: {
          ...base,
          // @ts-expect-error Type 'string' is not assignable to type 'number'
          apply: booking => ({ item: booking, created: { invoice: { total: '1' } } })
        }
      }
    })
  })

  test('in an operation on its own', () => {
    defineOperation({
      ...swap,
      params: to,
      with: { to: { family: machines, id: params => params.to } },
      // @ts-expect-error Property 'state' does not exist
      apply: (deal, _params, { items }) => ({ ...deal, name: items.to.state })
    })
    defineOperation({
      ...swap,
      params: to,
      with: { to: { family: machines, id: params => params.to } },
      // @ts-expect-error is not assignable to type
      apply: (deal, _params, { items }) => ({ item: deal, others: { to: { ...items.to, status: 'x' } } })
    })
    defineOperation({
      ...swap,
      params: to,
      with: { to: { family: machines, id: params => params.to } },
      // @ts-expect-error 'two' does not exist in type
      apply: (deal, _params, { items }) => ({ item: deal, others: { two: items.to } })
    })
    // @ts-expect-error Property 'two' does not exist
    defineOperation({ ...swap, params: to, with: { to: { family: machines, id: q => q.two } }, apply: deal => deal })
  })
})

test('families that are not known have any items', () => {
  const any: Pick<FamilyPlugin, 'definition'> = machines as never
  defineFamily({
    ...names,
    fields,
    references: { machine: any },
    operations: {
      'hand-out': {
        ...handOut,
        params: none,
        with: { machine: 'machine' },
        apply (booking, _params, { items }) {
          expect(items.machine['status']).type.toBe<unknown>()
          return { item: booking, others: { machine: { ...items.machine, status: 'rented' } } }
        }
      }
    }
  })
})
