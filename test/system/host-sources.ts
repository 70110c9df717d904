// An application as a host writes it, in modules.
export const application = `
import Fastify from 'fastify'
import { defineFamily, Type } from 'fastify-dealbook'
import { sqliteStorage } from 'fastify-dealbook/sqlite'

const invoices = defineFamily({
  name: 'invoices',
  singular: 'invoice',
  fields: Type.Object({ id: Type.Integer(), total: Type.Number(), paid: Type.Boolean({ default: false }) }),
  create: ['total'],
  operations: {
    pay: {
      name: 'pay', verb: 'pay', participle: 'paid', noun: 'payments', action: 'PayInvoice',
      params: Type.Object({ on: Type.String({ format: 'date' }) }),
      allowed: invoice => !invoice.paid,
      apply: invoice => ({ ...invoice, paid: true })
    }
  }
})
const storage = sqliteStorage({ file: 'invoices.db' })
const app = Fastify()
app.register(invoices, { storage, version: 'v1' })
console.log((await app.inject('/rest/v1/invoices')).statusCode)
await storage.close()
`

// With types, a family of its own and every way to register, as a CommonJS host writes it.
export const commonjs = `
import Fastify from 'fastify'
import dealbook, { defineFamily, memoryStorage, Type } from 'fastify-dealbook'
import type { Static } from 'fastify-dealbook'
import { sqliteStorage } from 'fastify-dealbook/sqlite'

const fields = Type.Object({ id: Type.Integer(), total: Type.Number(), paid: Type.Boolean({ default: false }) })
export type Invoice = Static<typeof fields>
const invoices = defineFamily({
  name: 'invoices',
  singular: 'invoice',
  fields,
  create: ['total'],
  operations: {
    pay: {
      name: 'pay', verb: 'pay', participle: 'paid', noun: 'payments', action: 'PayInvoice',
      params: Type.Object({}),
      allowed: invoice => !invoice.paid,
      apply: invoice => ({ ...invoice, paid: true })
    }
  }
})

export function build () {
  const app = Fastify()
  const storage = memoryStorage()
  app.register(invoices, { storage, prefix: '/crm', version: 'v1' })
  app.register(dealbook, { storage, prefix: '/crm', version: 'v1' })
  app.register(import('fastify-dealbook'), { storage, prefix: '/other', version: 'v1' })
  return app
}
export { sqliteStorage }
`
