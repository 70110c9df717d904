import { setImmediate as yieldToEventLoop } from 'node:timers/promises'
import { BusyError } from './storage.js'

// In milliseconds: how long searches may block the event loop before other requests continue.
const maxMs = 5

let end: number | undefined

/** Whether this turn of the loop was long. All work in it shares its time: many short parts block it too. */
export function isTurnOver (): boolean {
  if (end === undefined) {
    end = performance.now() + maxMs
    setImmediate(() => { end = undefined })
  }
  return performance.now() > end
}

/** Lets other requests run. Throws if the signal is aborted. */
export async function passTurn (signal?: AbortSignal): Promise<void> {
  await yieldToEventLoop()
  signal?.throwIfAborted()
}

let last = Promise.resolve()

/** Pauses if this turn of the loop was long: for long work that may never wait for anything else. */
export async function endLongTurn (): Promise<void> {
  // One in each turn, however long it is: none waits forever, and together they do not make one long turn.
  if (isTurnOver()) await (last = last.then(() => passTurn()))
}

/** Bounds how many heavy reads run at once and how many wait; others are refused. */
export class HeavyReadQueue {
  readonly #waiting: (() => void)[] = []
  running = 0
  waits = 0
  refusals = 0

  constructor (readonly limits: { readonly maxHeavyReads?: number, readonly maxWaitingReads?: number }) {}

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

  async enter (signal?: AbortSignal): Promise<() => void> {
    signal?.throwIfAborted()
    if (this.running < (this.limits.maxHeavyReads ?? 2)) {
      this.running++
    } else {
      if (this.waiting >= (this.limits.maxWaitingReads ?? 50)) {
        this.refusals++
        throw new BusyError(`Too many heavy reads are waiting: ${this.waiting}`)
      }
      this.waits++
      await waitInQueue(this.#waiting, signal)
    }
    return () => {
      const next = this.#waiting.shift()
      if (next === undefined) this.running--
      else next()
    }
  }
}

/** Waits for a call of the function that it adds to the queue. @param left called when it no longer waits */
export function waitInQueue (queue: (() => void)[], signal?: AbortSignal, left?: () => void): Promise<void> {
  return new Promise<void>((resolve, reject) => {
    const stop = (): void => {
      queue.splice(queue.indexOf(start), 1)
      left?.()
      reject((signal as AbortSignal).reason)
    }
    const start = (): void => {
      signal?.removeEventListener('abort', stop)
      left?.()
      resolve()
    }
    queue.push(start)
    signal?.addEventListener('abort', stop, { once: true })
  })
}
