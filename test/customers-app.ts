import type { FastifyInstance, FastifyServerOptions } from 'fastify'
import Fastify from 'fastify'
import type { FamilyOptions, Storage } from '../lib/index.js'
import { customers, memoryStorage } from '../lib/index.js'
import { loadItems } from '../lib/tools/index.js'

/** Customers with the ids from 1, of all ages. */
export function people (count: number): { id: number, age: number, children: number }[] {
  return Array.from({ length: count }, (_, index) => ({
    id: index + 1,
    age: ((index + 1) * 37) % 73,
    children: index % 4
  }))
}

export async function storageOf (items: Iterable<unknown>): Promise<Storage> {
  const storage = memoryStorage()
  await loadItems(storage, customers, items)
  return storage
}

/** An application with customers in it, and with what else the test wants, declared before them. */
export async function customersApp (
  t: { teardown (close: () => Promise<unknown>): void },
  { count = 10, options = {}, server = {}, before }: {
    count?: number
    options?: Partial<FamilyOptions>
    server?: FastifyServerOptions
    before?: (app: FastifyInstance) => void
  } = {}
): Promise<FastifyInstance> {
  const app = Fastify(server)
  t.teardown(() => app.close())
  before?.(app)
  app.register(customers, { storage: await storageOf(people(count)), ...options })
  await app.ready()
  return app
}
