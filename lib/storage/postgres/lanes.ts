import { BusyError } from '../../core/storage/storage.js'
import type { PostgresPool } from './driver.js'

// Nobody is helped by standing further back in the line than this.
export const maxWaiting = 1000
export const tooMany = 'Too many requests wait for the database'

/** How long somebody waits for a connection. */
export interface LanePatience {
  /** In milliseconds. */
  readonly timeout: number
  readonly signal: AbortSignal | undefined
}

/**
 * Some connections of a pool, for one purpose. One table takes at most as many as it leaves to others, so that a table
 * which somebody has locked does not keep those of all others waiting.
 */
export class Lane {
  readonly #held = new Map<string | undefined, number>()
  readonly #lines = new Map<string | undefined, (() => void)[]>()
  #free: number
  /** How many wait now who do not wait for ever. */
  waiting = 0
  /** How often one of them has had to wait. */
  waits = 0

  constructor (readonly size: number) {
    this.#free = size
  }

  /**
   * @param table what the work may have to wait for, where that is to be bounded
   * @param patience without it, the work waits until it is its turn
   */
  async run<T> (table: string | undefined, work: () => Promise<T>, patience?: LanePatience): Promise<T> {
    if (this.#isFree(table)) this.#take(table)
    else await this.#wait(table, patience)
    try {
      return await work()
    } finally {
      this.#giveBack(table)
    }
  }

  #isFree (table: string | undefined): boolean {
    const held = table === undefined ? 0 : this.#held.get(table) ?? 0
    return held === 0 ? this.#free > 0 : held < this.#free
  }

  #take (table: string | undefined): void {
    this.#free--
    this.#held.set(table, (this.#held.get(table) ?? 0) + 1)
  }

  #giveBack (table: string | undefined): void {
    this.#free++
    const held = (this.#held.get(table) as number) - 1
    if (held === 0) this.#held.delete(table)
    else this.#held.set(table, held)
    for (const [waitingFor, line] of this.#lines) {
      if (!this.#isFree(waitingFor)) continue
      // Put at the end again, so that the tables take turns.
      this.#lines.delete(waitingFor)
      const next = line.shift() as () => void
      if (line.length > 0) this.#lines.set(waitingFor, line)
      this.#take(waitingFor)
      next()
      if (this.#free === 0) return
    }
  }

  async #wait (table: string | undefined, patience: LanePatience | undefined): Promise<void> {
    if (patience !== undefined && this.waiting >= maxWaiting) throw new BusyError(tooMany)
    const line = this.#lines.get(table) ?? []
    this.#lines.set(table, line)
    await new Promise<void>((resolve, reject) => {
      if (patience === undefined) {
        line.push(resolve)
        return
      }
      const { signal, timeout } = patience
      const end = (): void => {
        this.waiting--
        clearTimeout(timer)
        signal?.removeEventListener('abort', stop)
      }
      const start = (): void => {
        end()
        resolve()
      }
      const leave = (reason: unknown): void => {
        end()
        line.splice(line.indexOf(start), 1)
        if (line.length === 0) this.#lines.delete(table)
        reject(reason)
      }
      const stop = (): void => { leave(signal?.reason) }
      const timer = setTimeout(() => { leave(new BusyError(tooMany)) }, timeout)
      signal?.addEventListener('abort', stop, { once: true })
      line.push(start)
      this.waits++
      this.waiting++
    })
  }
}

/** How the connections of a pool are shared out, so that neither reads nor commits wait for the others. */
export interface Lanes {
  readonly reads: Lane
  /** One for each batch of commits that is under way. */
  readonly batches: Lane
  /** For commits that wait for a lock. */
  readonly alone: Lane
}

const lanesOfPools = new WeakMap<PostgresPool, Lanes>()

/** The same for all storages that share a pool. */
export function getLanes (pool: PostgresPool, size: number): Lanes {
  let lanes = lanesOfPools.get(pool)
  if (lanes === undefined) lanesOfPools.set(pool, lanes = makeLanes(size))
  return lanes
}

function makeLanes (size: number): Lanes {
  const forAlone = Math.round(size / 5)
  const forBatches = size < 6 ? 1 : 2
  const batches = new Lane(forBatches)
  return {
    reads: size === 1 ? batches : new Lane(size - forBatches - forAlone),
    batches,
    alone: forAlone === 0 ? batches : new Lane(forAlone)
  }
}
