import { randomUUID } from 'node:crypto'
import { BusyError } from '../../core/storage/storage.js'
import type { Connection, Connections, Statement, TakePart } from './connections.js'
import { isRefusal } from './driver.js'

// Reads that become one statement: with more, little is saved, and the last waits for all.
const maxMerged = 32
// Milliseconds after which a text is merged again that was slow.
const pause = 60_000

/** The text of a statement, which many reads have in common. */
export class KeptText {
  #most: number
  #pausedUntil = 0

  /**
   * @param isStable whether PostgreSQL reads by the same plan whatever the values are, so that it can be prepared
   * @param shared the same for several sets of values: takes an array for each value, and returns one row at most for
   *   each set, with the number of the set (from 1) after its columns. Without values, one answer is for all
   */
  constructor (
    readonly text: string,
    readonly name: string | undefined,
    readonly isStable: boolean,
    readonly shared?: Pick<Statement, 'text' | 'name'>
  ) {
    this.#most = isStable ? maxMerged : 2
  }

  /** How many reads are merged at most. */
  get mostMerged (): number {
    if (this.shared === undefined) return 1
    if (this.#most === 1 && performance.now() > this.#pausedUntil) this.#most = 2
    return this.#most
  }

  /** Several at once are planned without their values, which may be much worse than one after the other. */
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

/** How something is read. */
export interface Reading {
  readonly signal?: AbortSignal | undefined
  /** Whether it may take long: then it is ended on the server when its client has left. */
  readonly isHeavy?: boolean
  /** Takes the rows part by part; the result is empty then. */
  readonly take?: TakePart
}

interface PendingRead {
  readonly kept: KeptText
  readonly values: readonly unknown[]
  readonly reading: Reading
  readonly since: number
  readonly resolve: (rows: unknown[][]) => void
  readonly reject: (error: unknown) => void
  /** Whether it has waited for a connection. */
  isLate: boolean
  /** How often it has failed. Then it goes alone: what the server refuses of several may be the data of one. */
  attempts: number
}

/** The reads of one table. */
interface TableReads {
  /** Those that are not sent yet. */
  pending: PendingRead[]
  /** How many connections they have. */
  held: number
}

/** Reads that are on their way. */
interface Flight {
  readonly reads: readonly PendingRead[]
  readonly connection: Connection
  /** A comment by which the server knows the statement. */
  readonly tag: string
  isCancelling: boolean
}

// Longer queues only time out.
const maxWaiting = 1000
const tooMany = 'Too many requests wait for the database'
const processTag = `dealbook ${randomUUID()}`
let tags = 0

/**
 * Sends reads. One alone is sent at once. Those that come in one turn of the event loop while others are under way, and
 * all that come while no connection is free, are merged where they have the same text: to send a statement and to read
 * its answer takes several times as long as everything else that is done for a small read.
 */
export class ReadQueue {
  readonly #tables = new Map<string, TableReads>()
  /** Those for which there was no connection. */
  readonly #blocked = new Set<TableReads>()
  #held = 0
  readonly #flights = new Set<Flight>()
  /** How many wait for a connection now, and how many have had to. */
  waiting = 0
  waits = 0

  /**
   * @param maxHeld connections that reads have at most
   * @param connectionTimeout milliseconds that a read waits for one
   */
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
    // The others are sent with the first, or when there is a connection.
    if (table.pending.length > 1) return
    this.connections.watch()
    // Those of one burst come before the next tick, those of other sockets within this turn.
    if (this.#held === 0) process.nextTick(() => { this.#call(table) })
    else setImmediate(() => { this.#call(table) })
  }

  #call (table: TableReads): void {
    if (table.pending.length === 0) return
    // One table has at most as many as it leaves to others: its reads may all wait for one lock.
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
        const isUndone = isRefusal(error) && read.reading.take === undefined
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

  /** The first, and those that can be merged with it. */
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

  /** Gives up on reads whose clients have left, and refuses those that have waited for too long. */
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

  /** Again and again until it has ended: it may not have begun yet. */
  #cancel (flight: Flight): void {
    if (flight.tag === '' || flight.isCancelling) return
    flight.isCancelling = true
    // What comes too late would end the next statement on the connection.
    flight.connection.isSpent = true
    this.connections.cancel(flight.tag).catch(() => {}).finally(() => { flight.isCancelling = false })
  }
}

/** @param rows one at most for each read, with its number; without values, all rows are for each */
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
