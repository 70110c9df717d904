// Two versions of one stored deal: what v1 calls name is the title in v2: node build/examples/second-version.js
import Fastify from 'fastify'
import type { FamilyDefinition, Storage } from 'fastify-dealbook'
import { deals, defineFamily, defineQuery, memoryStorage, Type } from 'fastify-dealbook'
import { renamedFields } from './renamed-fields.js'

const { id, name: title, ...others } = deals.definition.fields.properties

const definition = {
  ...deals.definition,
  fields: Type.Object({ id, title, ...others }),
  create: ['title', 'price', 'completionDate'],
  edit: ['title'],
  indexes: ['title', 'status'],
  title: 'title',
  list: ['title', 'status', 'held', 'price', 'completionDate', 'createdAt'],
  queries: {
    'deals-by-title': defineQuery({ field: 'title' }),
    'deals-by-status': defineQuery({ field: 'status' })
  }
}

// The operations of deals know a name, but none of them looks at it.
export const dealsWithTitle = defineFamily(definition as unknown as FamilyDefinition)

/** An application with both versions; the first says when it ends and what comes after it. */
export function buildApp (storage: Storage = memoryStorage(), sunset: Date | string = '2099-12-31') {
  const app = Fastify()
  app.register(deals, { storage, version: 'v1', deprecation: '2026-01-01', sunset, successor: '/rest/v2/deals' })
  app.register(dealsWithTitle, {
    storage: renamedFields(storage, 'deals', { title: 'name' }),
    version: 'v2',
    unversioned: true
  })
  return app
}

if (import.meta.filename === process.argv[1]) {
  const app = buildApp()
  console.log(`${await app.listen({ port: Number(process.env.PORT ?? 3000) })}/rest/v2/deals`)
}
