// A company that rents machines, with branches that see only their own: node build/examples/rental.js
import Fastify, { type FastifyRequest } from 'fastify'
import { decimal, defineFamily, type Granted, memoryStorage, Problem, type Storage, Type } from 'fastify-dealbook'
import { openStorage } from './storage-from-url.js'

const money = decimal({ scale: 2, minimum: 0 })
const date = Type.String({ format: 'date' })
const branch = Type.String({ description: 'Set from the person who signed in' })

export const machines = defineFamily({
  name: 'machines',
  singular: 'machine',
  fields: Type.Object({
    id: Type.Integer(),
    name: Type.String({ minLength: 1, maxLength: 100 }),
    rate: money,
    branch,
    status: Type.Union([Type.Literal('available'), Type.Literal('rented'), Type.Literal('repair')], {
      default: 'available'
    })
  }),
  create: ['name', 'rate'],
  edit: ['rate'],
  unique: [['branch', 'name']],
  state: ({ status }) => status,
  initial: (machine, { claims }) => ({ ...machine, branch: claims.branch }),
  operations: {
    repair: {
      name: 'repair',
      verb: 'repair',
      participle: 'in-repair',
      noun: 'repairs',
      action: 'RepairMachine',
      summary: 'Send it to repair',
      params: Type.Object({}),
      allowed: ({ status }) => status === 'available',
      apply: machine => ({ ...machine, status: 'repair' })
    },
    restore: {
      name: 'restore',
      verb: 'restore',
      participle: 'restored',
      noun: 'restorations',
      action: 'RestoreMachine',
      summary: 'Take it back from repair',
      params: Type.Object({}),
      allowed: ({ status }) => status === 'repair',
      apply: machine => ({ ...machine, status: 'available' })
    }
  }
})

const invoicesAlone = defineFamily({
  name: 'invoices',
  singular: 'invoice',
  fields: Type.Object({
    id: Type.Integer({ description: 'Its number: without gaps' }),
    booking: Type.Integer(),
    total: money,
    branch,
    paid: Type.Boolean({ default: false })
  }),
  create: ['booking', 'total'],
  // Invoice numbers must have no gaps.
  remove: false,
  unique: [['booking']],
  initial: (invoice, { claims }) => ({ ...invoice, branch: claims.branch }),
  operations: {
    pay: {
      name: 'pay',
      verb: 'pay',
      participle: 'paid',
      noun: 'payments',
      action: 'PayInvoice',
      summary: 'Record the payment',
      params: Type.Object({}),
      apply: invoice => ({ ...invoice, paid: true })
    }
  }
})

const day = 24 * 3600 * 1000

export const bookings = defineFamily({
  name: 'bookings',
  singular: 'booking',
  fields: Type.Object({
    id: Type.Integer(),
    customer: Type.String({ minLength: 1, maxLength: 100 }),
    machine: Type.Integer(),
    from: date,
    to: date,
    total: money,
    branch,
    invoice: Type.Optional(Type.Integer()),
    status: Type.Union([Type.Literal('new'), Type.Literal('out'), Type.Literal('back'), Type.Literal('billed')], {
      default: 'new'
    })
  }),
  references: { machine: machines, invoice: invoicesAlone },
  create: { fields: ['customer', 'machine', 'from', 'to'], with: { machine: 'machine' } },
  order: ['-from'],
  title: 'customer',
  list: ['customer', 'machine', 'from', 'to', 'total', 'status'],
  state: ({ status }) => status,
  // A clerk reads a clear text. Two clerks at the same moment need a constraint of the database, with its own text.
  constraints: {
    bookings_no_overlap: { detail: 'The machine is booked in these days already', pointers: ['/from', '/to'] }
  },
  async prepare ({ action, params }, { find }) {
    if (action !== 'CreateBooking') return {}
    const { machine, from, to } = params
    // Conditions, not a query string, which a value could change.
    const { items } = await find('bookings', [
      { field: 'machine', op: 'eq', values: [machine] },
      { field: 'status', op: 'eq', values: ['new', 'out'] },
      { field: 'from', op: 'lte', value: to },
      { field: 'to', op: 'gte', value: from }
    ])
    return { clash: items[0] }
  },
  initial (booking, { items: { machine }, claims, facts }) {
    const { from, to } = booking
    const refuse = (pointer: string, detail: string) =>
      new Problem('invalid-body', `${pointer} ${detail}`, { errors: [{ pointer, detail }] })
    if (to < from) throw refuse('/to', 'is before the first day')
    if (facts.clash !== undefined) throw refuse('/from', `overlaps with booking ${facts.clash.id}`)
    const days = (Date.parse(to) - Date.parse(from)) / day + 1
    const cents = Math.round(Number(machine.rate) * 100) * days
    return { ...booking, branch: claims.branch, total: (cents / 100).toFixed(2) }
  },
  operations: {
    'hand-out': {
      name: 'hand-out',
      verb: 'hand-out',
      participle: 'handed-out',
      noun: 'hand-outs',
      action: 'HandOutMachine',
      summary: 'Hand out the machine',
      params: Type.Object({}),
      with: { machine: 'machine' },
      allowed ({ status, from }, _params, { now, items: { machine } }) {
        if (status !== 'new') return 'It is already handed out'
        if (now < from) return `It begins on ${from}`
        return machine.status === 'available' || `The machine is ${machine.status}`
      },
      apply: (booking, _params, { items: { machine } }) => ({
        item: { ...booking, status: 'out' },
        others: { machine: { ...machine, status: 'rented' } }
      })
    },
    'take-back': {
      name: 'take-back',
      verb: 'take-back',
      participle: 'taken-back',
      noun: 'returns',
      action: 'TakeBackMachine',
      summary: 'Take back the machine',
      params: Type.Object({ damaged: Type.Optional(Type.Boolean()) }),
      with: { machine: 'machine' },
      allowed: ({ status }) => status === 'out',
      apply: (booking, { damaged }, { items: { machine } }) => ({
        item: { ...booking, status: 'back' },
        others: { machine: { ...machine, status: damaged === true ? 'repair' : 'available' } }
      })
    },
    bill: {
      name: 'bill',
      verb: 'bill',
      participle: 'billed',
      noun: 'bills',
      action: 'BillBooking',
      summary: 'Make the invoice',
      params: Type.Object({}),
      final: true,
      creates: { invoice: invoicesAlone },
      allowed: ({ status }) => status === 'back' || 'The machine is not back yet',
      apply: (booking, _params, { newIds }) => booking.status === 'billed'
        ? booking
        : {
            item: { ...booking, status: 'billed', invoice: newIds.invoice },
            created: { invoice: { booking: booking.id, total: booking.total } }
          }
    }
  }
})

/** Invoices and bookings refer to each other. */
export const invoices = invoicesAlone.extend({ references: { booking: bookings } })

/** The same bookings with the names of the second version. */
export const bookingsV2 = bookings.rename({ from: 'startsOn', to: 'endsOn', total: 'amount' })

// In production, use your own sign-in: https://github.com/fastify/fastify-jwt
const people = new Map([['ann-secret', ['ann', 'north']], ['bob-secret', ['bob', 'south']]])

/** Everyone sees and changes the items of one branch. Invoices are made by billing only. */
export function authorize (request: Pick<FastifyRequest, 'headers'>, { action }: { readonly action: string }): Granted {
  const token = request.headers.authorization?.replace('Bearer ', '') ?? ''
  const [principal, branch] = people.get(token) ?? []
  if (principal === undefined || branch === undefined) throw new Problem('unauthorized', 'Send a token')
  if (action === 'CreateInvoice') throw new Problem('forbidden', 'Bill a booking instead')
  return { principal, claims: { branch }, where: [{ field: 'branch', op: 'eq', values: [branch] }] }
}

/** An application with all families; the clock is for tests. */
export function buildApp (storage: Storage = memoryStorage(), clock = () => new Date()) {
  const app = Fastify()
  for (const family of [machines, invoices]) app.register(family, { storage, authorize, clock })
  app.register(bookings, { storage, authorize, clock, version: 'v1', successor: '/rest/v2/bookings' })
  app.register(bookingsV2, { storage, authorize, clock, version: 'v2', unversioned: true })
  return app
}

if (import.meta.filename === process.argv[1]) {
  const { PORT = '3000', STORAGE = 'memory:' } = process.env
  const app = buildApp(await openStorage(STORAGE))
  console.log(`${await app.listen({ port: Number(PORT) })}/machines, with "authorization: Bearer ann-secret"`)
}
