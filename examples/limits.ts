// Limits of a mount, and a rate limit of the host whose 429 is a problem like any other:
// node build/examples/limits.js
import rateLimit from '@fastify/rate-limit'
import Fastify from 'fastify'
import type { Storage } from 'fastify-dealbook'
import { dealbook, memoryStorage } from 'fastify-dealbook'

/** An application that accepts this many requests per minute from each client. */
export async function buildApp (storage: Storage = memoryStorage(), max = 100) {
  const app = Fastify({ requestTimeout: 30_000, connectionTimeout: 60_000 })
  await app.register(rateLimit, { max, timeWindow: '1 minute' })
  app.register(dealbook, {
    storage,
    version: 'v1',
    pageSize: 20,
    maxPageSize: 200,
    timeout: 5000,
    bodyLimit: 16_384
  })
  return app
}

if (import.meta.filename === process.argv[1]) {
  const app = await buildApp()
  console.log(`${await app.listen({ port: Number(process.env.PORT ?? 3000) })}/customers`)
}
