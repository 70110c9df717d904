import { commandsShape } from '../family/fields.js'
import { raceSignal } from '../storage/deadline.js'
import type { Storage } from '../storage/storage.js'
import { guardStorage, makeStorageAccess } from './storage-access.js'

/**
 * Metrics of this process for a storage, by name, including the storage's. A name that ends with `_total` counts since
 * the process began; any other is a current value.
 *
 * @example
 * for (const [name, value] of Object.entries(readMetrics(storage))) console.log(`dealbook_${name} ${value}`)
 */
export function readMetrics (storage: Storage): Readonly<Record<string, number>> {
  const { writers, counters } = guardStorage(storage)
  return { ...counters, writers_waiting: writers.waiting, ...storage.metrics?.() }
}

/** Whether a storage answers. */
export interface Health {
  readonly healthy: boolean
  /** Milliseconds until it answered, or until the timeout. */
  readonly duration: number
  /** For the log only. */
  readonly error?: unknown
}

const open = makeStorageAccess([commandsShape])

/**
 * Checks whether a storage answers, by the cheapest read: one of a command that does not exist.
 *
 * @param options timeout: milliseconds; default 1000
 * @example
 * app.get('/health', async (request, reply) => {
 *   const { healthy } = await checkHealth(storage)
 *   return reply.code(healthy ? 200 : 503).send({ healthy })
 * })
 */
export async function checkHealth (
  storage: Storage,
  { timeout = 1000 }: { readonly timeout?: number } = {}
): Promise<Health> {
  const began = performance.now()
  const late = new AbortController()
  const timer = setTimeout(() => { late.abort(new Error(`no answer in ${timeout} ms`)) }, timeout)
  const ask = async () => { await open(storage); await storage.get('commands', 'health') }
  try {
    await raceSignal(late.signal, ask())
    return { healthy: true, duration: performance.now() - began }
  } catch (error) {
    return { healthy: false, duration: performance.now() - began, error }
  } finally {
    clearTimeout(timer)
  }
}
