import { randomUUID } from 'node:crypto'
import { BusyError } from '../../core/storage/storage.js'
import type { Connection, Connections, Statement, TakePart } from './connections.js'
import { isRefusal } from './driver.js'

// With more reads in one statement, little is saved, and the last waits for all.
const maxMerged = 32
// Milliseconds until a slow text is merged again.
const pause = 60_000

export class KeptText {
  #most: number
  #pausedUntil = 0

  /**
   * `isStable`: the plan does not depend on the values, so it can be prepared. `shared` takes an array for each value,
   * and returns at most one row per set, with its number (from 1) last; without values, one answer is for all.
   */
  constructor (
    readonly text: string,
    readonly name: string | undefined,
    readonly isStable: boolean,
    readonly shared?: Pick<Statement, 'text' | 'name'>
  ) {
    this.#most = isStable ? maxMerged : 2
  }

  get mostMerged (): number {
    if (this.shared === undefined) return 1
    if (this.#most === 1 && performance.now() > this.#pausedUntil) this.#most = 2
    return this.#most
  }

  /** Merged reads are planned without their values, which may be much slower than one after the other. */
  noteMerged (count: number, took: number): void {
    if (this.isStable) return
    if (took > 20 + 5 * count) {
      this.#most = 1
      this.#pausedUntil = performance.now() + pause
    } else if (count === this.#most) this.#most = Math.min(maxMerged, 2 * count)
  }

  merge (reads: readonly { readonly values: readonly unknown[] }[]): Statement {
    const { values } = reads[0] as { readonly values: readonly unknown[] }
    const { text, name } = this.shared as Pick<Statement, 'text' | 'name'>
    return { text, name, values: values.map((_, index) => reads.map(read => read.values[index])) }
  }
}

export interface Reading {
  readonly signal?: AbortSignal | undefined
  /** May take long: cancelled on the server when the client disconnects. */
  readonly isHeavy?: boolean
  /** Takes the rows part by part; then the result is empty. */
  readonly take?: TakePart
}

interface PendingRead {
  readonly kept: KeptText
  readonly values: readonly unknown[]
  readonly reading: Reading
  readonly since: number
  readonly resolve: (rows: unknown[][]) => void
  readonly reject: (error: unknown) => void
  isLate: boolean
  /** A read that failed goes alone: the server may have refused the data of a different one. */
  attempts: number
}

interface TableReads {
  pending: PendingRead[]
  held: number
}

/** Reads that were sent in one statement. */
interface Flight {
  readonly reads: readonly PendingRead[]
  readonly connection: Connection
  /** A comment to find the statement by; empty where it is not cancelled. */
  readonly tag: string
  isCancelling: boolean
}

// Longer queues only time out.
const maxWaiting = 1000
const tooMany = 'Too many requests wait for the database'
const processTag = `dealbook ${randomUUID()}`
let tags = 0

/** Merges waiting reads that have the same text: a round trip costs several times the rest of a small read. */
export class ReadQueue {
  readonly #tables = new Map<string, TableReads>()
  readonly #blocked = new Set<TableReads>()
  #held = 0
  readonly #flights = new Set<Flight>()
  /** Reads that wait for a connection now, and that ever had to. */
  waiting = 0
  waits = 0

  constructor (readonly connections: Connections, readonly maxHeld: number, readonly connectionTimeout: number) {
    connections.onInterval(now => this.#check(now))
  }

  get isIdle (): boolean {
    return this.waiting === 0 && this.#held === 0
  }

  read (name: string, kept: KeptText, values: readonly unknown[], reading: Reading): Promise<unknown[][]> {
    return new Promise((resolve, reject) => {
      if (this.waiting >= maxWaiting) return reject(new BusyError(tooMany))
      let table = this.#tables.get(name)
      if (table === undefined) this.#tables.set(name, table = { pending: [], held: 0 })
      const since = performance.now()
      this.#add(table, { kept, values, reading, since, resolve, reject, isLate: false, attempts: 0 })
    })
  }

  #add (table: TableReads, read: PendingRead): void {
    table.pending.push(read)
    this.waiting++
    // Further ones are sent with the first, or when a connection is free.
    if (table.pending.length > 1) return
    this.connections.watch()
    // Reads of one burst come before the next tick, those of other sockets within this turn.
    if (this.#held === 0) process.nextTick(() => { this.#call(table) })
    else setImmediate(() => { this.#call(table) })
  }

  #call (table: TableReads): void {
    if (table.pending.length === 0) return
    // A table may use at most half of the connections: its reads may all wait for one lock.
    const left = this.maxHeld - this.#held
    if (left > 0 && (table.held === 0 || table.held < left)) {
      this.#send(table)
      return
    }
    this.#blocked.add(table)
    for (const read of table.pending) {
      if (!read.isLate) this.waits++
      read.isLate = true
    }
  }

  async #send (table: TableReads): Promise<void> {
    this.#held++
    table.held++
    let reads: readonly PendingRead[] = []
    let connection: Connection | undefined
    try {
      connection = this.connections.takeIdle() ?? await this.connections.connect()
      reads = this.#take(table)
      if (table.pending.length > 0) this.#call(table)
      if (reads.length > 0) await this.#run(reads, connection)
      this.connections.giveBack(connection)
    } catch (error) {
      if (connection === undefined) {
        reads = table.pending.splice(0)
        this.waiting -= reads.length
      } else this.connections.giveBack(connection, error)
      for (const read of reads) {
        read.attempts++
        // A refused connection is no answer to a read: asking again at once would only add to it.
        const isUndone = connection !== undefined && isRefusal(error) && read.reading.take === undefined
        if (isUndone && (reads.length > 1 || this.connections.isRetried(error, read.attempts))) this.#add(table, read)
        else read.reject(error)
      }
    }
    this.#held--
    table.held--
    const blocked = [...this.#blocked]
    this.#blocked.clear()
    for (const each of blocked) this.#call(each)
  }

  #take (table: TableReads): PendingRead[] {
    const [first, ...others] = table.pending
    if (first === undefined) return []
    const taken = [first]
    const { kept, attempts } = first
    const most = attempts > 0 ? 1 : kept.mostMerged
    table.pending = others.filter(read => {
      if (taken.length >= most || read.kept !== kept || read.attempts > 0) return true
      taken.push(read)
      return false
    })
    this.waiting -= taken.length
    return taken
  }

  async #run (reads: readonly PendingRead[], connection: Connection): Promise<void> {
    const [{ kept, values, reading: { isHeavy = false, take }, resolve }] = reads as [PendingRead]
    const tag = isHeavy ? `/* ${processTag} ${++tags} */ ` : ''
    const flight: Flight = { reads, connection, tag, isCancelling: false }
    this.#flights.add(flight)
    try {
      if (take !== undefined) {
        await this.connections.scan(connection, { text: kept.text, values }, tag, take)
        resolve([])
      } else if (reads.length > 1) {
        const sent = performance.now()
        const rows = await this.connections.read(connection, kept.merge(reads))
        kept.noteMerged(reads.length, performance.now() - sent)
        answer(reads, rows)
      } else {
        const { text, name } = kept
        const statement = isHeavy ? { text: tag + text, values } : { text, name, values }
        settle(reads[0] as PendingRead, await this.connections.read(connection, statement))
      }
    } finally {
      this.#flights.delete(flight)
    }
  }

  /** Cancels reads of disconnected clients, and refuses those that have waited too long. */
  #check (now: number): boolean {
    for (const table of this.#tables.values()) {
      const { length } = table.pending
      table.pending = table.pending.filter(({ reading: { signal }, since, reject }) => {
        if (signal?.aborted === true) reject(signal.reason)
        else if (now - since > this.connectionTimeout) reject(new BusyError(tooMany))
        else return true
        return false
      })
      this.waiting -= length - table.pending.length
    }
    for (const flight of this.#flights) {
      const left = flight.reads.filter(({ reading: { signal } }) => signal?.aborted === true)
      for (const { reading: { signal }, reject } of left) reject(signal?.reason)
      if (left.length === flight.reads.length) this.#cancel(flight)
    }
    return !this.isIdle
  }

  /** Called until the statement has ended: it may not have begun yet. */
  #cancel (flight: Flight): void {
    if (flight.tag === '' || flight.isCancelling) return
    flight.isCancelling = true
    // A late cancel would end the next statement on the connection.
    flight.connection.isSpent = true
    this.connections.cancel(flight.tag).catch(() => {}).finally(() => { flight.isCancelling = false })
  }
}

/** One row at most for each read, with its number; without values, all rows are for each. */
function answer (reads: readonly PendingRead[], rows: unknown[][]): void {
  const isForAll = reads[0]?.values.length === 0
  const found = new Map(isForAll ? [] : rows.map(row => [Number(row.at(-1)), row]))
  for (const [index, read] of reads.entries()) {
    const row = found.get(index + 1)
    settle(read, isForAll ? rows : row === undefined ? [] : [row])
  }
}

function settle ({ reading: { signal }, resolve, reject }: PendingRead, rows: unknown[][]): void {
  if (signal?.aborted === true) reject(signal.reason)
  else resolve(rows)
}
