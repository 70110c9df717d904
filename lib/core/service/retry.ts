import { setTimeout as pause } from 'node:timers/promises'
import { Problem } from '../problems.js'
import { ConflictError, DuplicateError } from '../storage/storage.js'
import type { Counters } from './counters.js'

// Each attempt that fails means that another process succeeded in between; of sixteen that compete, each wins in time.
const maxAttempts = 150

/** Decides again from what is there now, as long as another writer was faster. */
export async function retryConflicts<T> (attempt: () => Promise<T>, counters: Counters): Promise<T> {
  for (let failures = 0; failures < maxAttempts; failures++) {
    try {
      return await attempt()
    } catch (error) {
      if (!(error instanceof ConflictError || error instanceof DuplicateError)) throw error
      counters.retries++
      if (failures > 2) await pause(Math.random() * Math.min(2 * failures, 20))
    }
  }
  const detail = 'Others kept changing it at the same time; nothing was done'
  throw new Problem('busy', detail, { headers: { 'retry-after': '1' } })
}
