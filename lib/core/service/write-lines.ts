import { Problem } from '../problems.js'

/** How many writers may wait: for one item, and for all items of a storage together. */
export interface WaitingLimits {
  readonly maxWaitingPerItem: number
  readonly maxWaiting: number
}

const defaults: WaitingLimits = { maxWaitingPerItem: 100, maxWaiting: 1000 }

/** The limits that a host gave, or the usual ones. */
export function readWaitingLimits (given: { readonly [K in keyof WaitingLimits]?: number | undefined }): WaitingLimits {
  const { maxWaitingPerItem = defaults.maxWaitingPerItem, maxWaiting = defaults.maxWaiting } = given
  return { maxWaitingPerItem, maxWaiting }
}

/**
 * Where the writers of a storage wait for each other, a line for each key, so that those of one process do not run into
 * each other. Writers of other processes are told apart by the storage itself.
 */
export class WriteLines {
  // Those that wait. An empty line: somebody is at work, and nobody waits.
  readonly #lines = new Map<string, (() => void)[]>()
  #waiting = 0

  /** How many wait now. */
  get waiting (): number {
    return this.#waiting
  }

  /**
   * Does the work when nobody else works under any of these keys; without a key, at once. Refuses where too many wait.
   *
   * @param keys in one order for all, so that no two wait for each other
   * @param signal ends the waiting; the work is then not done
   */
  async run<T> (
    [key, ...keys]: readonly string[],
    limits: WaitingLimits,
    signal: AbortSignal | undefined,
    work: () => Promise<T>
  ): Promise<T> {
    if (key === undefined) return await work()
    const turn = this.#enter(key, limits, signal)
    if (turn !== undefined) await turn
    try {
      return await (keys.length === 0 ? work() : this.run(keys, limits, signal, work))
    } finally {
      this.#leave(key)
    }
  }

  /** Fulfilled when the turn has come; undefined where nobody is before. */
  #enter (
    key: string,
    { maxWaitingPerItem, maxWaiting }: WaitingLimits,
    signal: AbortSignal | undefined
  ): Promise<void> | undefined {
    const line = this.#lines.get(key)
    if (line === undefined) {
      this.#lines.set(key, [])
      return undefined
    }
    if (line.length >= maxWaitingPerItem || this.#waiting >= maxWaiting) throw refuse(line.length)
    signal?.throwIfAborted()
    this.#waiting++
    return new Promise((resolve, reject) => {
      const start = (): void => {
        signal?.removeEventListener('abort', leave)
        resolve()
      }
      const leave = (): void => {
        line.splice(line.indexOf(start), 1)
        this.#waiting--
        reject((signal as AbortSignal).reason)
      }
      line.push(start)
      signal?.addEventListener('abort', leave, { once: true })
    })
  }

  #leave (key: string): void {
    const next = this.#lines.get(key)?.shift()
    if (next === undefined) {
      this.#lines.delete(key)
      return
    }
    this.#waiting--
    next()
  }
}

function refuse (before: number): Problem {
  const detail = `Too many wait to change something, ${before} of them for this; nothing was done`
  return new Problem('busy', detail, { headers: { 'retry-after': '1' } })
}

const lines = new WeakMap<object, WriteLines>()

/** The lines of a storage, which all who write to it share. */
export function getWriteLines (storage: object): WriteLines {
  let those = lines.get(storage)
  if (those === undefined) lines.set(storage, those = new WriteLines())
  return those
}
