import { Type } from '@sinclair/typebox'
import { defineFamily } from '../../lib/index.js'

/** A family beside ours, as small as one with an operation can be. */
export const invoices = defineFamily({
  name: 'invoices',
  singular: 'invoice',
  fields: Type.Object({ id: Type.Integer(), paid: Type.Boolean({ default: false }) }),
  create: [],
  operations: {
    pay: {
      name: 'pay',
      verb: 'pay',
      participle: 'paid',
      noun: 'payments',
      action: 'PayInvoice',
      params: Type.Object({}),
      apply: invoice => ({ ...invoice, paid: true })
    }
  }
})
