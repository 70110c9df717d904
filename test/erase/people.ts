import { defineFamily, Type } from '../../lib/index.js'

const Phones = Type.Array(Type.Object({ kind: Type.String(), phone: Type.String() }), { default: [] })

/** Fields of all kinds, some of them personal. */
export const people = defineFamily({
  name: 'people',
  singular: 'person',
  fields: Type.Object({
    id: Type.Integer(),
    name: Type.String(),
    email: Type.Optional(Type.String({ format: 'email' })),
    code: Type.String(),
    born: Type.Union([Type.String({ format: 'date' }), Type.Null()]),
    age: Type.Integer({ minimum: 18, default: 18 }),
    phones: Phones,
    notes: Type.Array(Type.String(), { default: [] }),
    label: Type.String(),
    level: Type.Integer({ default: 0 }),
    active: Type.Boolean({ default: true })
  }),
  create: {
    fields: ['name', 'email', 'code', 'born', 'age', 'phones', 'notes'],
    params: Type.Object({ remark: Type.Optional(Type.String()) })
  },
  edit: ['name', 'email', 'born', 'age', 'phones', 'notes'],
  unique: [['code']],
  derive: { label: person => `${person.name} <${person.email ?? 'none'}>` },
  personal: ['name', 'email', 'code', 'born', 'age', 'phones.phone', 'notes', 'remark', 'years'],
  operations: {
    rename: {
      name: 'rename',
      verb: 'rename',
      participle: 'renamed',
      noun: 'renamings',
      action: 'RenamePerson',
      params: Type.Object({ to: Type.String(), because: Type.String(), years: Type.Optional(Type.Integer()) }),
      allowed: person => person.active || `${person.name} is not active`,
      apply: (person, { to, years }) => ({ ...person, name: to, ...years !== undefined && { age: years } })
    },
    raise: {
      name: 'raise',
      verb: 'raise',
      participle: 'raised',
      noun: 'raises',
      action: 'RaisePerson',
      params: Type.Object({ by: Type.Integer({ minimum: 1 }) }),
      apply: (person, { by }) => ({ ...person, level: person.level + by })
    },
    leave: {
      name: 'leave',
      verb: 'leave',
      participle: 'left',
      noun: 'departures',
      action: 'LeavePerson',
      params: Type.Object({}),
      apply: person => ({ ...person, active: false })
    }
  }
})

/** Its commands change people, and people see their parameters. */
export const orders = defineFamily({
  name: 'orders',
  singular: 'order',
  fields: Type.Object({
    id: Type.Integer(),
    person: Type.Integer(),
    amount: Type.Integer(),
    state: Type.Union([Type.Literal('open'), Type.Literal('sent')], { default: 'open' })
  }),
  create: ['person', 'amount'],
  references: { person: people },
  operations: {
    deliver: {
      name: 'deliver',
      verb: 'deliver',
      participle: 'delivered',
      noun: 'deliveries',
      action: 'DeliverOrder',
      params: Type.Object({ to: Type.String(), note: Type.String() }),
      with: { person: 'person' },
      apply: (order, { to }, { items: { person } }) =>
        ({ item: { ...order, state: 'sent' }, others: { person: { ...person, name: to, level: person.level + 1 } } })
    }
  }
})

/** Commands of people that change orders. */
export const buyers = people.extend({
  operations: {
    cancel: {
      name: 'cancel',
      verb: 'cancel',
      participle: 'cancelled',
      noun: 'cancellations',
      action: 'CancelForPerson',
      params: Type.Object({ order: Type.Integer(), remark: Type.String() }),
      with: { order: { family: orders, id: ({ order }: { order: number }) => order } },
      apply: (person, _params, { items: { order } }) =>
        ({ item: { ...person, level: person.level - 1 }, others: { order: { ...order, amount: 0 } } })
    }
  }
})

export const families = [buyers, orders]
export const tables = ['people', 'orders', 'commands', 'command-consumers']
