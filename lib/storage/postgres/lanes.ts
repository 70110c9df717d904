import { BusyError } from '../storage.js'
import type { PostgresPool } from './driver.js'

// Nobody is helped by standing further back in the line than this.
const maxWaiting = 1000
const tooMany = 'Too many requests wait for the database'

interface Waiter {
  readonly start: () => void
}

/**
 * Some connections of a pool, for one purpose. One table takes at most as many as it leaves to others, so that a table
 * which somebody has locked does not keep those of all others waiting.
 */
export class Lane {
  readonly #held = new Map<string | undefined, number>()
  readonly #lines = new Map<string | undefined, Waiter[]>()
  #free: number
  /** How many wait now. */
  waiting = 0
  /** How often somebody has had to wait. */
  waits = 0

  /** @param timeout milliseconds that somebody waits; without one, all wait until it is their turn */
  constructor (readonly size: number, readonly timeout?: number) {
    this.#free = size
  }

  /** @param table what the work may have to wait for, where that is to be bounded */
  async run<T> (table: string | undefined, work: () => Promise<T>): Promise<T> {
    if (this.#isFree(table)) this.#take(table)
    else await this.#wait(table)
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
      const next = line.shift() as Waiter
      if (line.length > 0) this.#lines.set(waitingFor, line)
      this.waiting--
      this.#take(waitingFor)
      next.start()
      if (this.#free === 0) return
    }
  }

  async #wait (table: string | undefined): Promise<void> {
    this.waits++
    if (this.timeout !== undefined && this.waiting >= maxWaiting) throw new BusyError(tooMany)
    await new Promise<void>((resolve, reject) => {
      const line = this.#lines.get(table) ?? []
      const waiter: Waiter = {
        start () {
          clearTimeout(timer)
          resolve()
        }
      }
      const giveUp = (): void => {
        this.waiting--
        line.splice(line.indexOf(waiter), 1)
        if (line.length === 0) this.#lines.delete(table)
        reject(new BusyError(tooMany))
      }
      const timer = this.timeout === undefined ? undefined : setTimeout(giveUp, this.timeout)
      line.push(waiter)
      this.#lines.set(table, line)
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
export function getLanes (pool: PostgresPool, size: number, timeout: number): Lanes {
  let lanes = lanesOfPools.get(pool)
  if (lanes === undefined) lanesOfPools.set(pool, lanes = makeLanes(size, timeout))
  return lanes
}

function makeLanes (size: number, timeout: number): Lanes {
  const forAlone = Math.round(size / 5)
  const forBatches = size < 6 ? 1 : 2
  // Commits wait for each other in a queue of their own, which knows how long each may.
  const batches = new Lane(forBatches)
  return {
    reads: size === 1 ? batches : new Lane(size - forBatches - forAlone, timeout),
    batches,
    alone: forAlone === 0 ? batches : new Lane(forAlone)
  }
}
