// Two versions of the same deals: the name of v1 is the title of v2: node build/examples/second-version.js
import Fastify from 'fastify'
import type { Storage } from 'fastify-dealbook'
import { deals, memoryStorage } from 'fastify-dealbook'

export const dealsWithTitle = deals.rename({ name: 'title' })

/** An application with both versions; the first announces its end and its successor. */
export function buildApp (storage: Storage = memoryStorage(), sunset: Date | string = '2099-12-31') {
  const app = Fastify()
  app.register(deals, { storage, version: 'v1', deprecation: '2026-01-01', sunset, successor: '/rest/v2/deals' })
  app.register(dealsWithTitle, { storage, version: 'v2', unversioned: true })
  return app
}

if (import.meta.filename === process.argv[1]) {
  const app = buildApp()
  console.log(`${await app.listen({ port: Number(process.env.PORT ?? 3000) })}/rest/v2/deals`)
}
