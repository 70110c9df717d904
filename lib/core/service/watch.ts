import { commandsShape } from '../family/command-schema.js'
import type { Storage } from '../storage/storage.js'
import { getCounters } from './counters.js'
import { guardStorage, makeStorageAccess } from './storage-access.js'
import { getWriteLines } from './write-lines.js'

/**
 * What this process has done with a storage, and what it is at, as plain numbers by their names. A name that ends with
 * `_total` counts since the process began; any other is how much of it there is now. What the storage itself shows
 * stands among them.
 *
 * @example
 * for (const [name, value] of Object.entries(readMetrics(storage))) console.log(`dealbook_${name} ${value}`)
 */
export function readMetrics (storage: Storage): Readonly<Record<string, number>> {
  const owner = guardStorage(storage)
  const { outcomes, replays, retries } = getCounters(owner)
  return {
    commands_done_total: outcomes.done,
    commands_unchanged_total: outcomes.unchanged,
    commands_refused_total: outcomes.refused,
    commands_failed_total: outcomes.failed,
    replays_total: replays,
    retries_total: retries,
    writers_waiting: getWriteLines(owner).waiting,
    ...storage.metrics?.()
  }
}

/** Whether a storage answers. */
export interface Health {
  readonly healthy: boolean
  /** Milliseconds until it answered, or until nobody waited any more. */
  readonly duration: number
  /** Why it is not healthy: for the log, and for nobody else. */
  readonly error?: unknown
}

// Prepared once, and after that only asked.
const open = makeStorageAccess([commandsShape])

/**
 * Asks a storage for something that is not there, which is as cheap as a read can be.
 *
 * @param options timeout: milliseconds to wait for it; 1000 unless given
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
  let timer: NodeJS.Timeout | undefined
  const deadline = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer in ${timeout} ms`)), timeout)
  })
  try {
    await Promise.race([ask(storage), deadline])
    return { healthy: true, duration: performance.now() - began }
  } catch (error) {
    return { healthy: false, duration: performance.now() - began, error }
  } finally {
    clearTimeout(timer)
  }
}

async function ask (storage: Storage): Promise<void> {
  await open(storage)
  await storage.get('commands', 'health')
}
