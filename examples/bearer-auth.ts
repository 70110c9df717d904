// Bearer tokens, some of which may only read: node build/examples/bearer-auth.js
import { createHash } from 'node:crypto'
import Fastify from 'fastify'
import type { FamilyOptions, Storage } from 'fastify-dealbook'
import { dealbook, memoryStorage, Problem } from 'fastify-dealbook'

interface Token { readonly client: string, readonly mayWrite: boolean }

// Only hashes are kept: neither this file nor the time of a lookup reveals a token.
const tokens = new Map<string, Token>([
  [hash('reader-token'), { client: 'reports', mayWrite: false }],
  [hash('writer-token'), { client: 'shop', mayWrite: true }]
])

const authorize: NonNullable<FamilyOptions['authorize']> = (request, { family, action }) => {
  const given = /^Bearer ([\w~+/.-]+=*)$/i.exec(request.headers.authorization ?? '')?.[1]
  const token = given === undefined ? undefined : tokens.get(hash(given))
  if (token === undefined) {
    throw new Problem('unauthorized', 'Send a valid token', {
      headers: { 'www-authenticate': 'Bearer realm="Dealbook"' }
    })
  }
  const reads = action === 'list' || action === 'read'
  if (!reads && !token.mayWrite) throw new Problem('forbidden', `This token may only read ${family}`)
  return { principal: token.client }
}

/** An application in which every path requires a token. */
export function buildApp (storage: Storage = memoryStorage()) {
  const app = Fastify()
  app.register(dealbook, { storage, version: 'v1', authorize })
  return app
}

function hash (token: string): string {
  return createHash('sha256').update(token).digest('hex')
}

if (import.meta.filename === process.argv[1]) {
  const app = buildApp()
  const address = await app.listen({ port: Number(process.env.PORT ?? 3000) })
  console.log(`curl -H "Authorization: Bearer writer-token" ${address}/rest/v1/deals`)
}
