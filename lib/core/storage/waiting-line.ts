import { BusyError } from './storage.js'

/** How many heavy reads may run at once, and how many may wait. */
export interface LineLimits {
  readonly maxHeavyReads: number
  readonly maxWaitingReads: number
}

export const lineLimits: LineLimits = { maxHeavyReads: 2, maxWaitingReads: 50 }

/** The limits that a host gave, or the defaults. */
export function readLineLimits (given: { readonly [K in keyof LineLimits]?: number | undefined }): LineLimits {
  const { maxHeavyReads = lineLimits.maxHeavyReads, maxWaitingReads = lineLimits.maxWaitingReads } = given
  return { maxHeavyReads, maxWaitingReads }
}

/** The queue of heavy reads: so many run at once, others wait, and where too many wait, more are refused. */
export class WaitingLine {
  readonly #waiting: (() => void)[] = []
  /** How many run now. */
  running = 0
  /** How many have had to wait, and how many were refused. */
  waits = 0
  refusals = 0

  constructor (readonly limits: LineLimits) {}

  /** How many wait now. */
  get waiting (): number {
    return this.#waiting.length
  }

  metrics (): Readonly<Record<string, number>> {
    return {
      heavy_reads: this.running,
      heavy_reads_waiting: this.waiting,
      heavy_reads_waited_total: this.waits,
      heavy_reads_refused_total: this.refusals
    }
  }

  /** Waits until it may run, and returns a function to call when it has. */
  async enter (signal?: AbortSignal): Promise<() => void> {
    signal?.throwIfAborted()
    if (this.running < this.limits.maxHeavyReads) this.running++
    else await this.#wait(signal)
    let hasLeft = false
    return () => {
      if (hasLeft) return
      hasLeft = true
      const next = this.#waiting.shift()
      if (next === undefined) this.running--
      else next()
    }
  }

  async #wait (signal: AbortSignal | undefined): Promise<void> {
    if (this.#waiting.length >= this.limits.maxWaitingReads) {
      this.refusals++
      throw new BusyError(`Too many heavy reads wait already: ${this.#waiting.length}`)
    }
    this.waits++
    await new Promise<void>((resolve, reject) => {
      const stop = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(start), 1)
        reject((signal as AbortSignal).reason)
      }
      const start = (): void => {
        signal?.removeEventListener('abort', stop)
        resolve()
      }
      this.#waiting.push(start)
      signal?.addEventListener('abort', stop, { once: true })
    })
  }
}
