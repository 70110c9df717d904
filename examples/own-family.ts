// Your own family, with everything that deals have: node build/examples/own-family.js
import Fastify from 'fastify'
import type { Storage } from 'fastify-dealbook'
import { defineFamily, defineQuery, memoryStorage, Type } from 'fastify-dealbook'

export const invoices = defineFamily({
  name: 'invoices',
  singular: 'invoice',
  fields: Type.Object({
    id: Type.Integer(),
    customer: Type.Integer(),
    total: Type.Number({ minimum: 0 }),
    paid: Type.Boolean({ default: false }),
    paidOn: Type.Optional(Type.String({ format: 'date' }))
  }),
  create: ['customer', 'total'],
  operations: {
    pay: {
      name: 'pay',
      verb: 'pay',
      participle: 'paid',
      noun: 'payments',
      action: 'PayInvoice',
      params: Type.Object({ on: Type.String({ format: 'date' }) }),
      allowed: invoice => !invoice.paid,
      apply: (invoice, { on }) => ({ ...invoice, paid: true, paidOn: on })
    }
  },
  queries: { 'invoices-by-customer': defineQuery({ field: 'customer' }) }
})

/** An application with this family. */
export function buildApp (storage: Storage = memoryStorage()) {
  const app = Fastify()
  app.register(invoices, { storage, version: 'v1' })
  return app
}

if (import.meta.filename === process.argv[1]) {
  const app = buildApp()
  console.log(`${await app.listen({ port: Number(process.env.PORT ?? 3000) })}/rest/v1/invoices`)
}
