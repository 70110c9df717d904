import type { PostgresPool } from './driver.js'

/** A queue that takes connections. */
export interface Taker {
  /** How many it has. */
  held: number
  /** Called when it was refused one and may try again. */
  call (): void
}

// As many as a pool of pg has where nothing is said.
const defaultSize = 10
const shares = new WeakMap<PostgresPool, ConnectionShare>()

/**
 * How the connections of a pool are shared out, so that neither reads nor commits that wait for a lock keep others from
 * the database. The pool itself then never has to queue anything.
 */
export class ConnectionShare {
  readonly size: number
  readonly maxReads: number
  /** For commits that wait for a lock, of those that commits have. */
  readonly maxAlone: number
  readonly #maxCommits: number
  #reads = 0
  #commits = 0
  readonly #refused = new Set<Taker>()

  private constructor (size: number) {
    this.size = size
    this.#maxCommits = Math.max(1, Math.floor(size * 0.4))
    this.maxReads = Math.max(1, size - this.#maxCommits)
    this.maxAlone = Math.ceil(this.#maxCommits / 2)
  }

  /** The same for all storages over one pool. */
  static of (pool: PostgresPool): ConnectionShare {
    let share = shares.get(pool)
    if (share === undefined) shares.set(pool, share = new ConnectionShare(pool.options?.max ?? defaultSize))
    return share
  }

  /** One table has at most as many as it leaves to others: its reads may all wait for one lock. */
  takeForRead (taker: Taker): boolean {
    const left = Math.min(this.maxReads - this.#reads, this.#left)
    if (left <= 0 || (taker.held > 0 && taker.held >= left)) return this.#refuse(taker)
    this.#reads++
    taker.held++
    return true
  }

  takeForCommit (taker: Taker): boolean {
    if (this.#commits >= this.#maxCommits || this.#left <= 0) return this.#refuse(taker)
    this.#commits++
    taker.held++
    return true
  }

  // Of a pool of one connection, reads and commits take turns.
  get #left (): number {
    return this.size - this.#reads - this.#commits
  }

  #refuse (taker: Taker): false {
    this.#refused.add(taker)
    return false
  }

  giveBackRead (taker: Taker): void {
    this.#reads--
    this.#giveBack(taker)
  }

  giveBackCommit (taker: Taker): void {
    this.#commits--
    this.#giveBack(taker)
  }

  #giveBack (taker: Taker): void {
    taker.held--
    if (this.#refused.size === 0) return
    const refused = [...this.#refused]
    this.#refused.clear()
    for (const each of refused) each.call()
  }
}
