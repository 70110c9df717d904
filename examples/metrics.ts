// Metrics in the text format of Prometheus, and a health check, without packages: node build/examples/metrics.js
import Fastify from 'fastify'
import type { Storage } from 'fastify-dealbook'
import { checkHealth, dealbook, memoryStorage, readMetrics } from 'fastify-dealbook'

/** The metrics of a storage for Prometheus; names that end with _total are counters, the others gauges. */
export function writeMetrics (storage: Storage): string {
  return Object.entries(readMetrics(storage)).map(([name, value]) => {
    const type = name.endsWith('_total') ? 'counter' : 'gauge'
    return `# TYPE dealbook_${name} ${type}\ndealbook_${name} ${value}\n`
  }).join('')
}

/** An application with customers and deals, metrics and a health check. */
export function buildApp (storage: Storage = memoryStorage()) {
  const app = Fastify({ logger: process.env.NODE_ENV === 'production' })
  app.register(dealbook, { storage, version: 'v1' })

  app.get('/metrics', async (_request, reply) =>
    await reply.type('text/plain; version=0.0.4; charset=utf-8').send(writeMetrics(storage)))

  app.get('/health', async (request, reply) => {
    const { healthy, error } = await checkHealth(storage, { timeout: 500 })
    // The reason is only for the log.
    if (!healthy) request.log.error({ err: error }, 'the storage is not healthy')
    return await reply.code(healthy ? 200 : 503).header('cache-control', 'no-store').send({ healthy })
  })
  return app
}

if (import.meta.filename === process.argv[1]) {
  console.log(`${await buildApp().listen({ port: Number(process.env.PORT ?? 3000) })}/metrics`)
}
