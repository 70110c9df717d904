import Fastify, { type FastifyServerOptions } from 'fastify'
import { checkHealth, type Storage } from 'fastify-dealbook'
import { tickets } from './tickets.js'

export function buildApp (storage: Storage, options: FastifyServerOptions = {}) {
  const app = Fastify(options)
  // Add `authorize` before others can reach it: everyone may do everything without it.
  app.register(tickets, { storage, version: 'v1' })
  app.get('/health', async (_request, reply) => {
    const { healthy } = await checkHealth(storage)
    return await reply.code(healthy ? 200 : 503).send({ healthy })
  })
  return app
}
