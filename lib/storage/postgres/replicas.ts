import { delay, performance } from '../../core/runtime.js'
import { markDeadlineAware } from '../../core/storage/deadline.js'
import type { FamilyShape, Found, FoundText, Query, Storage, StorageReads } from '../../core/storage/storage.js'
import { getCode, statementTimedOut } from './driver.js'

type TextReads = Required<Pick<StorageReads, 'findText'>>

// Milliseconds.
const longestWait = 50
const pollReplicaEvery = 5
// A replica that is started again may be further back, but takes longer than this.
const positionMaxAge = 20
const behindFor = 1000
const downFor = 5000
// For a new timeline of the primary.
const checkReplicasEvery = 1000

/** In the log of a server. Bytes of different timelines cannot be compared. */
export interface WalPosition {
  /** One more after each promotion. */
  readonly timeline: number
  readonly bytes: bigint
}

export interface PostgresServer {
  readonly storage: Storage
  /** How far its log is written, or replayed if it is a replica. */
  readPosition (): Promise<WalPosition>
  close (): Promise<void>
}

class Replica {
  #position = start
  #readAt = -Infinity
  #reading: Promise<void> | undefined
  #prepared = 0
  #preparing = Promise.resolve()
  #downUntil = 0
  /** A position that it did not reach in time. */
  #missed = { position: start, until: 0 }

  constructor (readonly server: PostgresServer, readonly shapes: readonly FamilyShape[]) {}

  isSkipped (position: WalPosition): boolean {
    const now = performance.now()
    return now < this.#downUntil || (now < this.#missed.until && includes(position, this.#missed.position))
  }

  skip (): void {
    this.#downUntil = performance.now() + downFor
    this.#readAt = -Infinity
    this.#prepared = 0
  }

  /** Whether it has, or soon has, everything up to a position. A later read sees it, but not one that has begun. */
  async reaches (position: WalPosition): Promise<boolean> {
    const end = performance.now() + longestWait
    for (;;) {
      const now = performance.now()
      if (includes(this.#position, position) && now - this.#readAt < positionMaxAge) return true
      if (now >= end) break
      await Promise.race([this.#read(), delay(end - now)])
      if (this.#downUntil > now) return false
      if (!includes(this.#position, position)) await delay(pollReplicaEvery)
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

const start: WalPosition = { timeline: 0, bytes: 0n }

function includes (position: WalPosition, earlier: WalPosition): boolean {
  return position.timeline === earlier.timeline && position.bytes >= earlier.bytes
}

/** Undefined if it is not a token of `writeToken`. */
function readToken (token: string): WalPosition | undefined {
  const [, timeline, bytes] = /^([\da-f]{1,8})-([\da-f]{1,16})$/.exec(token) ?? []
  return bytes === undefined ? undefined : { timeline: parseInt(timeline as string, 16), bytes: BigInt(`0x${bytes}`) }
}

function writeToken ({ timeline, bytes }: WalPosition): string {
  return `${timeline.toString(16)}-${bytes.toString(16)}`
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
  let position: Promise<WalPosition | undefined> = Promise.resolve(start)
  let lookedAt = performance.now()

  return markDeadlineAware<Storage>({
    ...storage,

    async prepare (shape) {
      await storage.prepare(shape)
      shapes.push(shape)
      note()
    },

    find,
    findText,

    async commit (changes) {
      await storage.commit(changes)
      note()
    },

    async close () {
      await Promise.all([primary, ...replicas].map(each => each.close()))
    },

    metrics: () => ({ ...storage.metrics?.(), ...counts }),

    async seen () {
      const seen = await note()
      return seen && writeToken(seen)
    },

    replica (seen) {
      const least = seen === undefined ? start : readToken(seen)
      if (least === undefined) return storage
      return {
        find: (family, query, signal) => isPositioned(family, query)
          ? find(family, query, signal)
          : read(least, signal, source => source.find(family, query, signal)),
        findText: (...given) => isPositioned(...given)
          ? findText(...given)
          : read(least, given[3], source => (source as TextReads).findText(...given)),
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

  async function findText (...given: Parameters<TextReads['findText']>): Promise<FoundText> {
    const found = await (storage as TextReads).findText(...given)
    if (isPositioned(...given)) note()
    return found
  }

  function note (): Promise<WalPosition | undefined> {
    lookedAt = performance.now()
    position = primary.readPosition().catch(() => undefined)
    return position
  }

  /** A process that only reads must notice, too, that a replica has stayed behind at a failover. */
  async function look (own: WalPosition): Promise<void> {
    if (performance.now() - lookedAt < checkReplicasEvery) return
    lookedAt = performance.now()
    const known = position
    const found = await primary.readPosition().catch(() => own)
    if (found.timeline !== own.timeline && position === known) position = Promise.resolve(found)
  }

  /** What a replica must have; undefined if no replica can be known to have it. */
  async function findRequired (least: WalPosition): Promise<WalPosition | undefined> {
    let own = await position ?? await note()
    if (own === undefined) return undefined
    const looking = look(own)
    // A new timeline, or a token that a client has made up, which must not cost a read each time.
    if (own.timeline < least.timeline) {
      await looking
      own = await position
    }
    if (own === undefined || own.timeline < least.timeline) return undefined
    // What was seen on an earlier timeline is before this one, or lost.
    return own.timeline === least.timeline && least.bytes > own.bytes ? least : own
  }

  function isPositioned (family: string, { where, order }: Query, ..._rest: unknown[]): boolean {
    const sequence = shapes.find(({ name }) => name === family)?.sequence
    return sequence !== undefined && [...where, ...order].some(({ field }) => field === sequence)
  }

  async function read<T> (
    least: WalPosition, signal: AbortSignal | undefined, work: (source: StorageReads) => Promise<T>
  ): Promise<T> {
    const required = await findRequired(least)
    const replica = required === undefined ? undefined : await choose(required)
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
  async function choose (position: WalPosition): Promise<Replica | undefined> {
    next++
    const inTurn = replicas.map((_, index) => replicas[(next + index) % replicas.length] as Replica)
    const replica = inTurn.find(each => !each.isSkipped(position))
    return await replica?.reaches(position) === true ? replica : undefined
  }
}
