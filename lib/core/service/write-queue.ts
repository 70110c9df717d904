import { Problem } from '../problems.js'
import { waitInQueue } from '../storage/turns.js'
import type { CommandRecord } from './command.js'

export interface WaitingLimits {
  readonly maxWaitingPerItem: number
  readonly maxWaiting: number
}

export function readWaitingLimits (given: { readonly [K in keyof WaitingLimits]?: number | undefined }): WaitingLimits {
  const { maxWaitingPerItem = 100, maxWaiting = 1000 } = given
  return { maxWaitingPerItem, maxWaiting }
}

/** One writer of this process at a time per key. Between processes, the storage detects conflicts. */
export class WriteQueue {
  // Waiting writers by key; undefined while a writer is alone.
  readonly #queues = new Map<string, (() => void)[] | undefined>()
  waiting = 0

  /** Undefined if it can begin at once. @param keys sorted, so that no two writers wait for each other */
  enter (keys: readonly string[], limits: WaitingLimits, signal: AbortSignal | undefined): Promise<void> | undefined {
    if (keys.length > 1) return this.#enterAll(keys, limits, signal)
    return keys[0] === undefined ? undefined : this.#enterOne(keys[0], limits, signal)
  }

  leave (keys: readonly string[]): void {
    for (const key of keys) {
      const next = this.#queues.get(key)?.shift()
      if (next === undefined) this.#queues.delete(key)
      else next()
    }
  }

  async #enterAll (keys: readonly string[], limits: WaitingLimits, signal: AbortSignal | undefined): Promise<void> {
    const entered: string[] = []
    try {
      for (const key of keys) {
        await this.#enterOne(key, limits, signal)
        entered.push(key)
      }
    } catch (error) {
      this.leave(entered)
      throw error
    }
  }

  #enterOne (key: string, limits: WaitingLimits, signal: AbortSignal | undefined): Promise<void> | undefined {
    if (!this.#queues.has(key)) {
      this.#queues.set(key, undefined)
      return undefined
    }
    const queue = this.#queues.get(key) ?? []
    if (queue.length >= limits.maxWaitingPerItem || this.waiting >= limits.maxWaiting) {
      const detail = `Too many writers are waiting, ${queue.length} of them for this item; nothing was done`
      throw new Problem('busy', detail, { headers: { 'retry-after': '1' } })
    }
    signal?.throwIfAborted()
    this.#queues.set(key, queue)
    this.waiting++
    return waitInQueue(queue, signal, () => { this.waiting-- })
  }
}

export class Counters {
  readonly outcomes: Record<CommandRecord['outcome'] | 'failed', number> =
    { done: 0, unchanged: 0, refused: 0, failed: 0 }

  replays = 0
  /** Decisions repeated because another process was faster. */
  retries = 0

  add ({ outcomes, replays }: Counters): void {
    for (const name of Object.keys(outcomes) as (keyof typeof outcomes)[]) this.outcomes[name] += outcomes[name]
    this.replays += replays
  }

  countFailure (error: unknown): void {
    if (!(error instanceof Problem) || error.statusCode >= 500) this.outcomes.failed++
  }
}
