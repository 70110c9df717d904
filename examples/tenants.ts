// One storage for each tenant, at /{tenant}/…: node build/examples/tenants.js
import Fastify from 'fastify'
import type { Storage } from 'fastify-dealbook'
import { dealbook, memoryStorage, Problem } from 'fastify-dealbook'

/** An application with a dealbook for each of these tenants, opened at the first request. */
export function buildApp (
  tenants: readonly string[] = ['north', 'south'],
  open: (tenant: string) => Storage = () => memoryStorage()
) {
  const app = Fastify()
  const opened = new Map<string, Storage>()
  app.register(dealbook, {
    prefix: '/:tenant',
    version: 'v1',
    storage (request) {
      const { tenant } = request.params as { tenant: string }
      // Never from the name alone: clients could create new ones.
      if (!tenants.includes(tenant)) throw new Problem('not-found', `There is no tenant "${tenant}"`)
      const storage = opened.get(tenant) ?? open(tenant)
      opened.set(tenant, storage)
      return storage
    }
  })
  app.addHook('onClose', async () => {
    for (const storage of opened.values()) await storage.close()
  })
  return app
}

if (import.meta.filename === process.argv[1]) {
  const app = buildApp()
  console.log(`${await app.listen({ port: Number(process.env.PORT ?? 3000) })}/north/rest/v1/deals`)
}
