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
  const set = new ReplicaSet(primary, servers)
  return markDeadlineAware<Storage>({
    ...storage,

    async prepare (shape) {
      await storage.prepare(shape)
      set.shapes.push(shape)
      set.note()
    },

    find: (...given) => set.find(...given),
    findText: (...given) => set.findText(...given),

    async commit (changes) {
      await storage.commit(changes)
      set.note()
    },

    async close () {
      await set.close()
    },

    metrics: () => ({ ...storage.metrics?.(), ...set.counts }),

    async seen () {
      const seen = await set.note()
      return seen && writeToken(seen)
    },

    replica (seen) {
      const least = seen === undefined ? start : readToken(seen)
      return least === undefined ? storage : set.readFrom(least)
    }
  })
}

class ReplicaSet {
  readonly shapes: FamilyShape[] = []
  readonly counts = { replica_reads_total: 0, replica_misses_total: 0 }
  readonly #primary: PostgresServer
  readonly #storage: Storage & TextReads
  readonly #replicas: readonly Replica[]
  #next = 0
  // Undefined if it could not be read: then replicas are not used. The last one is the highest.
  #position: Promise<WalPosition | undefined> = Promise.resolve(start)
  #lookedAt = performance.now()

  constructor (primary: PostgresServer, servers: readonly PostgresServer[]) {
    this.#primary = primary
    this.#storage = primary.storage as Storage & TextReads
    this.#replicas = servers.map(server => new Replica(server, this.shapes))
  }

  // A client must find what is before its position in a feed.
  async find (...given: Parameters<StorageReads['find']>): Promise<Found> {
    const found = await this.#storage.find(...given)
    if (this.#isPositioned(...given)) this.note()
    return found
  }

  async findText (...given: Parameters<TextReads['findText']>): Promise<FoundText> {
    const found = await this.#storage.findText(...given)
    if (this.#isPositioned(...given)) this.note()
    return found
  }

  /** What a client reads that has seen everything up to a position. */
  readFrom (least: WalPosition): StorageReads {
    return {
      find: (family, query, signal) => this.#isPositioned(family, query)
        ? this.find(family, query, signal)
        : this.#read(least, signal, source => source.find(family, query, signal)),
      findText: (family, query, members, signal, names) => this.#isPositioned(family, query)
        ? this.findText(family, query, members, signal, names)
        : this.#read(least, signal, source => source.findText(family, query, members, signal, names)),
      get: (family, id, signal) => this.#read(least, signal, source => source.get(family, id, signal))
    }
  }

  note (): Promise<WalPosition | undefined> {
    this.#lookedAt = performance.now()
    this.#position = this.#primary.readPosition().catch(() => undefined)
    return this.#position
  }

  async close (): Promise<void> {
    await Promise.all([this.#primary, ...this.#replicas].map(each => each.close()))
  }

  /** A process that only reads must notice, too, that a replica has stayed behind at a failover. */
  async #look (own: WalPosition): Promise<void> {
    if (performance.now() - this.#lookedAt < checkReplicasEvery) return
    this.#lookedAt = performance.now()
    const known = this.#position
    const found = await this.#primary.readPosition().catch(() => own)
    if (found.timeline !== own.timeline && this.#position === known) this.#position = Promise.resolve(found)
  }

  /** What a replica must have; undefined if no replica can be known to have it. */
  async #findRequired (least: WalPosition): Promise<WalPosition | undefined> {
    let own = await this.#position ?? await this.note()
    if (own === undefined) return undefined
    const looking = this.#look(own)
    // A new timeline, or a token that a client has made up, which must not cost a read each time.
    if (own.timeline < least.timeline) {
      await looking
      own = await this.#position
    }
    if (own === undefined || own.timeline < least.timeline) return undefined
    // What was seen on an earlier timeline is before this one, or lost.
    return own.timeline === least.timeline && least.bytes > own.bytes ? least : own
  }

  #isPositioned (family: string, { where, order }: Query, ..._rest: unknown[]): boolean {
    const sequence = this.shapes.find(({ name }) => name === family)?.sequence
    return sequence !== undefined && [...where, ...order].some(({ field }) => field === sequence)
  }

  async #read<T> (
    least: WalPosition, signal: AbortSignal | undefined, work: (source: StorageReads & TextReads) => Promise<T>
  ): Promise<T> {
    const required = await this.#findRequired(least)
    const replica = required === undefined ? undefined : await this.#choose(required)
    if (replica !== undefined) {
      try {
        await replica.prepare()
        const result = await work(replica.server.storage as Storage & TextReads)
        this.counts.replica_reads_total++
        return result
      } catch (error) {
        if (signal?.aborted === true || getCode(error) === statementTimedOut) throw error
        replica.skip()
      }
    }
    this.counts.replica_misses_total++
    return await work(this.#storage)
  }

  /** In turns, except those that are down or behind. */
  async #choose (position: WalPosition): Promise<Replica | undefined> {
    this.#next++
    const replicas = this.#replicas
    const inTurn = replicas.map((_, index) => replicas[(this.#next + index) % replicas.length] as Replica)
    const replica = inTurn.find(each => !each.isSkipped(position))
    return await replica?.reaches(position) === true ? replica : undefined
  }
}
