// The whole service: `npm start`, then open one of the addresses that it prints.
import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import Fastify from 'fastify'
import { dealbook } from 'fastify-dealbook'
import { loadFirstCustomers } from './first-customers.js'
import { defaultStorage, openStorage } from './storage-from-url.js'

const {
  PORT = '3000',
  HOST = '127.0.0.1',
  STORAGE = defaultStorage,
  BASE_URL = '',
  VERSION = 'v1',
  CUSTOMERS
} = process.env
const prefix = BASE_URL.replace(/\/+$/, '')

const app = Fastify({
  logger: { level: 'warn' },
  // Node's own defaults would let a slow client keep its connection for minutes or for ever.
  requestTimeout: 30_000,
  connectionTimeout: 60_000,
  keepAliveTimeout: 10_000
})
let stopping = false
// A client that keeps its connection would hold up the end until it goes.
app.addHook('onSend', async (_request, reply) => { if (stopping) reply.header('connection', 'close') })
const storage = await openStorage(STORAGE)

await app.register(swagger, {
  openapi: {
    openapi: '3.1.0',
    info: {
      title: 'Dealbook',
      description: 'Customers, read as pages with filters, and deals, driven by business operations',
      version: VERSION
    }
  }
})
await app.register(swaggerUi, { routePrefix: `${prefix}/documentation` })
await app.register(dealbook, { storage, prefix, version: VERSION })

await app.ready()
await loadFirstCustomers(storage, CUSTOMERS)

const address = await app.listen({ port: Number(PORT), host: HOST })
console.log(`Dealbook is ready:
  customers      ${address}${prefix}/customers?min-age=30&sort=-age
  deals          ${address}${prefix}/rest/${VERSION}/deals
  documentation  ${address}${prefix}/documentation`)

// Once: whoever is in a hurry sends it again.
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, stop)

/** Takes no more requests, finishes those that run, and then lets go of the storage. */
async function stop (): Promise<void> {
  stopping = true
  await app.close()
  await storage.close()
}
