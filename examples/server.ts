// The whole service: `npm start`, then open one of the addresses that it prints.
import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import type { FastifyInstance } from 'fastify'
import Fastify from 'fastify'
import type { Storage } from 'fastify-dealbook'
import { checkHealth, csv, dealbook, html, json, ndjson, xml } from 'fastify-dealbook'
import { mcp } from 'fastify-dealbook/mcp'
import { loadFirstCustomers } from './first-customers.js'
import type { Settings } from './settings.js'
import { readSettings } from './settings.js'
import { explainFailure, finishRequests, replaced } from './start-and-stop.js'
import { openStorage } from './storage-from-url.js'

const stopping = new AbortController()
// Once: a second signal ends the process at once.
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stopping.abort())
// Another process replaces this one: clients keep their connections until they have been asked to close them.
process.once('SIGHUP', () => stopping.abort(replaced))

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
  documentation  ${address}${settings.prefix}/documentation
  tools (MCP)    ${address}${settings.prefix}/mcp`)
  await finishRequests(app, stopping.signal)
} catch (error) {
  if (stopping.signal.aborted) console.log('Stopped before it was ready; the next start continues')
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
    // With Node's defaults, a slow client could keep its connection for minutes or forever.
    requestTimeout: 30_000,
    connectionTimeout: 60_000,
    keepAliveTimeout: 10_000,
    // The last requests are served: another process may not be there to take them.
    return503OnClosing: false
  })
  // A client that keeps its connection open would delay the end.
  app.addHook('onSend', async (_request, reply) => { if (stopping.signal.aborted) reply.header('connection', 'close') })
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Dealbook',
        description: 'Read customers and deals, create and delete deals, and change them by business operations.',
        version
      },
      servers: [{ url: '/', description: 'This server' }],
      tags: [
        { name: 'customers', description: 'List and read customers' },
        { name: 'deals', description: 'List, read, create and delete deals' },
        { name: 'deals: operations', description: 'Change a deal, in the recommended form' },
        { name: 'deals: log', description: 'All commands of a deal and their outcomes' },
        { name: 'home', description: 'The families, with the number of their items' },
        { name: 'customers: other forms', description: 'Lists of customers by one value' },
        { name: 'deals: other forms', description: 'The same operations in other forms, and lists by one value' },
        { name: 'commands', description: 'Forms for all families: commands by id, or by action' }
      ]
    },
    // Keeps the names of schemas, which swagger would number otherwise.
    refResolver: { buildLocalReference: json => String(json.$id) }
  })
  // All tags on one screen; a click opens the operations of one.
  await app.register(swaggerUi, { routePrefix: `${prefix}/documentation`, uiConfig: { docExpansion: 'none' } })
  // For load balancers and containers: at the root, whatever BASE_URL is.
  app.get('/health', { schema: { hide: true } }, async (_request, reply) => {
    const { healthy } = await checkHealth(storage)
    return await reply.code(healthy ? 200 : 503).header('cache-control', 'no-store').send({ healthy })
  })
  const pages = html({ title: 'Dealbook', documentation: `${prefix}/documentation` })
  const representations = [json, xml, pages, csv, ndjson]
  await app.register(dealbook, { storage, prefix, version, representations, home: true })
  await app.register(mcp, { prefix })
  return app
}
