import { defineFamily, Type } from '../../lib/index.js'

/** Refer to each other, and have names of their own. */
export const people = defineFamily({
  name: 'people',
  singular: 'person',
  fields: Type.Object({ id: Type.Integer(), name: Type.String(), boss: Type.Optional(Type.Integer()) }),
  create: ['name', 'boss'],
  edit: ['name', 'boss'],
  unique: [['name']],
  references: { boss: 'people' }
})

/** Refer to people, by two fields. */
export const bills = defineFamily({
  name: 'bills',
  singular: 'bill',
  fields: Type.Object({
    id: Type.String(),
    number: Type.Optional(Type.String()),
    customer: Type.Integer(),
    payer: Type.Union([Type.Integer(), Type.Null()], { default: null }),
    room: Type.Optional(Type.Integer()),
    day: Type.Optional(Type.String({ format: 'date' })),
    at: Type.Optional(Type.String({ format: 'date-time' })),
    share: Type.Optional(Type.Number())
  }),
  create: ['number', 'customer', 'payer', 'room', 'day', 'at', 'share'],
  edit: ['number', 'customer', 'payer', 'room', 'day'],
  unique: [['number'], ['room', 'day'], ['at'], ['share']],
  references: { customer: people, payer: people },
  operations: {
    renumber: {
      name: 'renumber',
      verb: 'renumber',
      participle: 'renumbered',
      noun: 'renumberings',
      action: 'RenumberBill',
      params: Type.Object({ to: Type.String() }),
      changes: ['number'],
      apply: (bill, { to }) => ({ ...bill, number: to })
    },
    'hand-over': {
      name: 'hand-over',
      verb: 'hand-over',
      participle: 'handed-over',
      noun: 'handovers',
      action: 'HandBillOver',
      params: Type.Object({ to: Type.Integer() }),
      changes: ['customer'],
      apply: (bill, { to }) => ({ ...bill, customer: to })
    }
  }
})
