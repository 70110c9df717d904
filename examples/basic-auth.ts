// All users see and change only their own deals, with HTTP basic authentication: node build/examples/basic-auth.js
import { timingSafeEqual } from 'node:crypto'
import basicAuth from '@fastify/basic-auth'
import Fastify from 'fastify'
import type { Storage } from 'fastify-dealbook'
import { deals, memoryStorage, Problem, Type } from 'fastify-dealbook'

declare module 'fastify' {
  interface FastifyRequest { user: string }
}

// In production: hashed, and not in the source.
const passwords = new Map([['ann', 'tea for two'], ['bob', 'coffee to go']])

export const ownedDeals = deals.extend({
  fields: Type.Object({ owner: Type.String() }),
  create: ['owner']
})

/** An application with the deals of several owners. */
export async function buildApp (storage: Storage = memoryStorage()) {
  const app = Fastify()
  app.decorateRequest('user', '')
  await app.register(basicAuth, {
    authenticate: { realm: 'Dealbook' },
    async validate (user, password, request) {
      if (!isEqual(password, passwords.get(user) ?? '')) {
        throw new Problem('unauthorized', 'This name or this password is wrong')
      }
      request.user = user
    }
  })
  // For every path of this scope, including the deals.
  app.addHook('onRequest', app.basicAuth)
  app.register(ownedDeals, {
    storage,
    version: 'v1',
    authorize: ({ user }) => ({ principal: user, where: [{ field: 'owner', op: 'eq', values: [user] }] })
  })
  return app
}

function isEqual (given: string, expected: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(expected)]
  return expected !== '' && one.length === other.length && timingSafeEqual(one, other)
}

if (import.meta.filename === process.argv[1]) {
  const app = await buildApp()
  console.log(`${await app.listen({ port: Number(process.env.PORT ?? 3000) })}/rest/v1/deals as ann, "tea for two"`)
}
