import { setTimeout as delay } from 'node:timers/promises'
import { markDeadlineAware } from '../../core/storage/deadline.js'
import type { FamilyShape, Found, Query, Storage, StorageReads } from '../../core/storage/storage.js'
import { getCode, statementTimedOut } from './driver.js'

// Milliseconds.
const longestWait = 50
const pollEvery = 5
// A replica that is started again may be further back, but takes longer than this.
const positionMaxAge = 20
const behindFor = 1000
const downFor = 5000

export interface PostgresServer {
  readonly storage: Storage
  /** How far its log is written, or replayed if it is a replica, in bytes. */
  readPosition (): Promise<bigint>
  close (): Promise<void>
}

class Replica {
  #position = 0n
  #readAt = -Infinity
  #reading: Promise<void> | undefined
  #prepared = 0
  #preparing = Promise.resolve()
  #downUntil = 0
  /** A position that it did not reach in time. */
  #missed = { position: 0n, until: 0 }

  constructor (readonly server: PostgresServer, readonly shapes: readonly FamilyShape[]) {}

  isSkipped (position: bigint): boolean {
    const now = performance.now()
    return now < this.#downUntil || (now < this.#missed.until && position >= this.#missed.position)
  }

  skip (): void {
    this.#downUntil = performance.now() + downFor
    this.#readAt = -Infinity
    this.#prepared = 0
  }

  /** Whether it has, or soon has, everything up to a position. A later read sees it, but not one that has begun. */
  async reaches (position: bigint): Promise<boolean> {
    const end = performance.now() + longestWait
    for (;;) {
      const now = performance.now()
      if (this.#position >= position && now - this.#readAt < positionMaxAge) return true
      if (now >= end) break
      await Promise.race([this.#read(), delay(end - now, undefined, { ref: false })])
      if (this.#downUntil > now) return false
      if (this.#position < position) await delay(pollEvery)
    }
    this.#missed = { position, until: performance.now() + behindFor }
    return false
  }

  #read (): Promise<void> {
    this.#reading ??= this.server.readPosition().then(position => {
      this.#position = position
      this.#readAt = performance.now()
    }, () => { this.skip() }).finally(() => { this.#reading = undefined })
    return this.#reading
  }

  /** After it has reached the position at which the tables were made. */
  prepare (): Promise<void> {
    if (this.#prepared !== this.shapes.length) {
      this.#prepared = this.shapes.length
      this.#preparing = this.#prepareAll()
    }
    return this.#preparing
  }

  async #prepareAll (): Promise<void> {
    for (const shape of this.shapes) await this.server.storage.prepare(shape)
  }

  async close (): Promise<void> {
    await this.server.close()
    this.#prepared = 0
  }
}

/**
 * The primary's storage, with replicas for clients' reads: those that decide nothing. Each waits until its replica has
 * all that this process has committed, or read as a feed, and what the client has seen elsewhere.
 */
export function addReplicas (primary: PostgresServer, servers: readonly PostgresServer[]): Storage {
  const { storage } = primary
  const shapes: FamilyShape[] = []
  const replicas = servers.map(server => new Replica(server, shapes))
  const counts = { replica_reads_total: 0, replica_misses_total: 0 }
  let next = 0
  // Undefined if it could not be read: then replicas are not used. The last one is the highest.
  let position: Promise<bigint | undefined> = Promise.resolve(0n)

  return markDeadlineAware<Storage>({
    ...storage,

    async prepare (shape) {
      await storage.prepare(shape)
      shapes.push(shape)
      note()
    },

    find,

    async commit (changes) {
      await storage.commit(changes)
      note()
    },

    async close () {
      await Promise.all([primary, ...replicas].map(each => each.close()))
    },

    metrics: () => ({ ...storage.metrics?.(), ...counts }),

    async seen () {
      return (await note())?.toString(16)
    },

    replica (seen) {
      const least = seen === undefined ? 0n : /^[\da-f]{1,16}$/.test(seen) ? BigInt(`0x${seen}`) : undefined
      if (least === undefined) return storage
      return {
        find: (family, query, signal) => isPositioned(family, query)
          ? find(family, query, signal)
          : read(least, signal, source => source.find(family, query, signal)),
        findText: (family, query, members, signal) => read(least, signal, source =>
          (source as Required<StorageReads>).findText(family, query, members, signal)),
        get: (family, id, signal) => read(least, signal, source => source.get(family, id, signal))
      }
    }
  })

  // A client must find what is before its position in a feed.
  async function find (family: string, query: Query, signal?: AbortSignal): Promise<Found> {
    const found = await storage.find(family, query, signal)
    if (isPositioned(family, query)) note()
    return found
  }

  function note (): Promise<bigint | undefined> {
    position = primary.readPosition().catch(() => undefined)
    return position
  }

  function isPositioned (family: string, { where, order }: Query): boolean {
    const sequence = shapes.find(({ name }) => name === family)?.sequence
    return sequence !== undefined && [...where, ...order].some(({ field }) => field === sequence)
  }

  async function read<T> (
    least: bigint, signal: AbortSignal | undefined, work: (source: StorageReads) => Promise<T>
  ): Promise<T> {
    const own = await position ?? await note()
    const replica = own === undefined ? undefined : await choose(own > least ? own : least)
    if (replica !== undefined) {
      try {
        await replica.prepare()
        const result = await work(replica.server.storage)
        counts.replica_reads_total++
        return result
      } catch (error) {
        if (signal?.aborted === true || getCode(error) === statementTimedOut) throw error
        replica.skip()
      }
    }
    counts.replica_misses_total++
    return await work(storage)
  }

  /** In turns, except those that are down or behind. */
  async function choose (position: bigint): Promise<Replica | undefined> {
    next++
    const inTurn = replicas.map((_, index) => replicas[(next + index) % replicas.length] as Replica)
    const replica = inTurn.find(each => !each.isSkipped(position))
    return await replica?.reaches(position) === true ? replica : undefined
  }
}
