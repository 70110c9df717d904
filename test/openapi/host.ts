import swagger from '@fastify/swagger'
import Fastify from 'fastify'
import { invoices } from '../../examples/own-family.js'
import { ourDeals } from '../../examples/own-operation.js'
import { customers, deals, memoryStorage } from '../../lib/index.js'
import { bills, people } from '../family/keyed.js'

/** A host with families of its own and two versions of deals, described as one would describe it. */
export async function buildHost () {
  const app = Fastify()
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Our deals',
        description: 'Customers, deals in two versions, invoices, people and their bills',
        version: '2.0.0',
        contact: { name: 'The team', url: 'https://example.org' },
        license: { name: 'MIT', identifier: 'MIT' }
      },
      servers: [{ url: 'https://api.example.org' }],
      // Who may come in is for the host to say.
      security: [{ basic: [] }],
      components: { securitySchemes: { basic: { type: 'http', scheme: 'basic' } } }
    },
    refResolver: { buildLocalReference: json => String(json.$id) }
  })
  const storage = memoryStorage()
  app.register(customers, { storage, prefix: '/crm' })
  app.register(deals, {
    storage: memoryStorage(),
    prefix: '/crm',
    version: 'v1',
    deprecation: '2026-01-01',
    successor: '/crm/rest/v2/deals'
  })
  app.register(ourDeals, { storage, prefix: '/crm', version: 'v2', unversioned: true })
  app.register(invoices, { storage, prefix: '/crm', version: 'v1' })
  app.register(people, { storage, prefix: '/crm' })
  app.register(bills, { storage, prefix: '/crm' })
  await app.ready()
  return app
}
