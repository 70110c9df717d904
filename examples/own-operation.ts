// Deals with your own field and operation: node build/examples/own-operation.js
import Fastify from 'fastify'
import type { Storage } from 'fastify-dealbook'
import { deals, defineOperation, memoryStorage, Type } from 'fastify-dealbook'

const approve = defineOperation({
  name: 'approve',
  verb: 'approve',
  participle: 'approved',
  noun: 'approvals',
  action: 'ApproveDeal',
  params: Type.Object({ by: Type.String({ minLength: 1 }) }),
  allowed: deal => deal.status === 'open' && !deal.held,
  apply: (deal, { by }) => ({ ...deal, approvedBy: by })
})

export const ourDeals = deals.extend({
  fields: Type.Object({ region: Type.String(), approvedBy: Type.Optional(Type.String()) }),
  create: ['region'],
  operations: { approve }
})

/** An application with these deals. */
export function buildApp (storage: Storage = memoryStorage()) {
  const app = Fastify()
  app.register(ourDeals, { storage, version: 'v1' })
  return app
}

if (import.meta.filename === process.argv[1]) {
  const app = buildApp()
  console.log(`${await app.listen({ port: Number(process.env.PORT ?? 3000) })}/rest/v1/deals`)
}
