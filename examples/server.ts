// The whole service: `npm start`, then open one of the addresses that it prints.
import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import scalar from '@scalar/fastify-api-reference'
import type { FastifyInstance } from 'fastify'
import Fastify from 'fastify'
import type { Storage } from 'fastify-dealbook'
import { csv, dealbook, html, json, ndjson, xml } from 'fastify-dealbook'
import { loadFirstCustomers } from './first-customers.js'
import type { Settings } from './settings.js'
import { readSettings } from './settings.js'
import { explainFailure, finishRequests } from './start-and-stop.js'
import { openStorage } from './storage-from-url.js'

const stopping = new AbortController()
// Once: a second signal ends the process at once.
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stopping.abort())

let app: FastifyInstance | undefined
let storage: Storage | undefined
try {
  const settings = readSettings(process.env)
  storage = await openStorage(settings.storage)
  app = await buildApp(settings, storage)
  await loadFirstCustomers(storage, settings.customers, stopping.signal)
  const address = await app.listen({ port: settings.port, host: settings.host })
  console.log(`Dealbook is ready:
  home           ${address}${settings.prefix}/
  customers      ${address}${settings.prefix}/customers?min-age=30&sort=-age
  deals          ${address}${settings.prefix}/rest/${settings.version}/deals
  documentation  ${address}${settings.prefix}/documentation, or ${address}${settings.prefix}/reference`)
  await finishRequests(app, stopping.signal)
} catch (error) {
  if (stopping.signal.aborted) console.log('Stopped before it was ready; the next start goes on')
  else {
    console.error(explainFailure(error))
    process.exitCode = 1
  }
} finally {
  await app?.close()
  await storage?.close()
}

async function buildApp ({ prefix, version, logLevel }: Settings, storage: Storage): Promise<FastifyInstance> {
  const app = Fastify({
    logger: { level: logLevel },
    // Node's own defaults would let a slow client keep its connection for minutes or for ever.
    requestTimeout: 30_000,
    connectionTimeout: 60_000,
    keepAliveTimeout: 10_000
  })
  // A client that keeps its connection would hold up the end until it goes.
  app.addHook('onSend', async (_request, reply) => { if (stopping.signal.aborted) reply.header('connection', 'close') })
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Dealbook',
        description: 'Customers, read as pages with filters, and deals, driven by business operations',
        version
      },
      servers: [{ url: '/', description: 'This server' }],
      tags: [
        { name: 'home', description: 'Which families there are' },
        { name: 'customers', description: 'Read as pages, with filters' },
        { name: 'deals', description: 'Read, created and deleted' },
        { name: 'deals: operations', description: 'What can be done with a deal, in several forms that mean the same' },
        { name: 'deals: commands', description: 'The log of what was done, and commands by name or under an id' },
        { name: 'commands', description: 'Commands of all families, under ids that clients choose' }
      ]
    },
    // Schemas by their names, which swagger would number otherwise.
    refResolver: { buildLocalReference: json => String(json.$id) }
  })
  // The tags on one screen, and the operations of each a click away.
  await app.register(swaggerUi, { routePrefix: `${prefix}/documentation`, uiConfig: { docExpansion: 'none' } })
  // Nothing of it comes from elsewhere, nor is anything told to others.
  await app.register(scalar, {
    routePrefix: `${prefix}/reference` as `/${string}`,
    configuration: { withDefaultFonts: false, telemetry: false, hideClientButton: true, agent: { disabled: true } }
  })
  const pages = html({ title: 'Dealbook', documentation: `${prefix}/documentation` })
  const representations = [json, xml, pages, csv, ndjson]
  await app.register(dealbook, { storage, prefix, version, representations, home: true })
  return app
}
