import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { raceSignal } from '../../core/storage/deadline.js'
import { BusyError } from '../../core/storage/storage.js'
import { type Connection, type Connections, type Statement, type TakePart, tooMany } from './connections.js'
import { getCode, ignore, isFromServer, statementTimedOut } from './driver.js'

// More reads in one statement save little, and the last one waits for all.
const maxMerged = 32
// Milliseconds until a slow text is merged again.
const pause = 60_000

export class KeptText {
  #most: number
  #pausedUntil = 0

  /**
   * `isStable`: the plan does not depend on the values. `shared` takes an array for each value, and returns at most
   * one row per set, with its number (from 1) last; without values, one answer is for all. `more`: values that the text
   * has after those of a read, but `shared` has not.
   */
  constructor (
    readonly text: string,
    readonly name: string | undefined,
    readonly isStable: boolean,
    readonly shared?: Pick<Statement, 'text' | 'name'>,
    readonly more: readonly unknown[] = []
  ) {
    this.#most = isStable ? maxMerged : 2
  }

  /** Those of the text, of the values of a read. */
  complete (values: readonly unknown[]): readonly unknown[] {
    return this.more.length === 0 ? values : [...values, ...this.more]
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
}

interface QueuedRead {
  readonly kept: KeptText
  readonly values: readonly unknown[]
  readonly signal: AbortSignal | undefined
  readonly since: number
  readonly resolve: (rows: unknown[][]) => void
  readonly reject: (error: unknown) => void
}

interface ReadRows {
  readonly rows?: unknown[][]
  readonly error?: unknown
}

interface TableReads {
  readonly name: string
  waiting: QueuedRead[]
  /** Connections. */
  held: number
}

// For each table: longer queues only time out.
const maxWaitingReads = 1000
const processTag = `dealbook ${randomUUID()}`
let tags = 0

/** Merges waiting reads that have the same text: a round trip costs several times the rest of a small read. */
export class ReadQueue {
  readonly #tables = new Map<string, TableReads>()
  readonly #running = new Set<readonly QueuedRead[]>()
  /** The comments by which running heavy reads are found. */
  readonly #heavy = new Set<string>()
  #held = 0
  /** Reads that had to wait for a connection. */
  waits = 0

  constructor (readonly connections: Connections, readonly maxHeld: number) {
    connections.onInterval(now => this.#check(now))
  }

  get waiting (): number {
    return [...this.#tables.values()].reduce((sum, { waiting }) => sum + waiting.length, 0)
  }

  get isIdle (): boolean {
    return this.#held === 0 && this.waiting === 0
  }

  read (name: string, kept: KeptText, values: readonly unknown[], signal?: AbortSignal): Promise<unknown[][]> {
    return new Promise((resolve, reject) => {
      let table = this.#tables.get(name)
      if (table === undefined) this.#tables.set(name, table = { name, waiting: [], held: 0 })
      if (table.waiting.length >= maxWaitingReads) return reject(new BusyError(tooMany))
      table.waiting.push({ kept, values, signal, since: performance.now(), resolve, reject })
      if (!this.#canSend(table)) this.waits++
      // Further ones are sent with the first, or when a connection is free.
      if (table.waiting.length > 1) return
      this.connections.watch()
      // Reads of one burst come before the next tick, those of other sockets within this turn.
      if (this.#held === 0) process.nextTick(this.#call, table)
      else setImmediate(this.#call, table)
    })
  }

  /** A table may use at most half of the connections: its reads may all wait for one lock. */
  #canSend ({ held }: TableReads): boolean {
    const left = this.maxHeld - this.#held
    return left > 0 && (held === 0 || held < left)
  }

  readonly #call = (table: TableReads): void => {
    if (table.waiting.length > 0 && this.#canSend(table)) this.#send(table)
  }

  async #send (table: TableReads): Promise<void> {
    this.#held++
    table.held++
    let reads: readonly QueuedRead[] | undefined
    let outcomes: readonly ReadRows[]
    try {
      outcomes = await this.connections.use(connection => {
        reads = this.#take(table)
        this.#call(table)
        this.#running.add(reads)
        return this.#run(reads, connection)
      })
    } catch (error) {
      reads ??= table.waiting.splice(0)
      outcomes = reads.map(() => ({ error }))
    }
    table.held--
    // Moves to the end, so that tables take turns if there are few connections.
    this.#tables.delete(table.name)
    this.#tables.set(table.name, table)
    this.#release()
    const sent = reads as readonly QueuedRead[]
    this.#running.delete(sent)
    sent.forEach(({ signal, resolve, reject }, index) => {
      const { rows, error } = outcomes[index] as ReadRows
      if (signal?.aborted === true) reject(signal.reason)
      else if (rows === undefined) reject(error)
      else resolve(rows)
    })
  }

  #release (): void {
    this.#held--
    for (const table of this.#tables.values()) this.#call(table)
  }

  #take (table: TableReads): QueuedRead[] {
    const { waiting, waiting: [first] } = table
    if (first === undefined) return []
    const { kept } = first
    const most = kept.mostMerged
    let count = 0
    const taken = waiting.filter(read => read.kept === kept && ++count <= most)
    table.waiting = taken.length === waiting.length ? [] : waiting.filter(read => !taken.includes(read))
    return taken.filter(({ signal, reject }) => {
      const isAborted = signal?.aborted === true
      if (isAborted) reject(signal.reason)
      return !isAborted
    })
  }

  async #run (reads: readonly QueuedRead[], connection: Connection): Promise<ReadRows[]> {
    const merged = reads.length > 1 ? await this.#runMerged(reads, connection) : undefined
    if (merged !== undefined) return merged
    const outcomes: ReadRows[] = []
    for (const { kept, kept: { text, name }, values } of reads) {
      try {
        const statement = { text, name, values: kept.complete(values) }
        outcomes.push({ rows: await this.connections.retry(() => this.connections.read(connection, statement)) })
      } catch (error) {
        if (!isFromServer(error)) throw error
        outcomes.push({ error })
      }
    }
    return outcomes
  }

  /** Undefined if the server refused something, which may be the data of one of them. */
  async #runMerged (reads: readonly QueuedRead[], connection: Connection): Promise<ReadRows[] | undefined> {
    const { kept, values } = reads[0] as QueuedRead
    const { text, name } = kept.shared as Pick<Statement, 'text' | 'name'>
    const arrays = values.map((_, index) => reads.map(read => read.values[index]))
    const sent = performance.now()
    try {
      const rows = await this.connections.read(connection, { text, name, values: arrays })
      if (values.length === 0) return reads.map(() => ({ rows }))
      // One row at most for each read, with its number.
      const outcomes = reads.map(() => ({ rows: [] as unknown[][] }))
      for (const row of rows) outcomes[Number(row.at(-1)) - 1]?.rows.push(row)
      return outcomes
    } catch (error) {
      if (!isFromServer(error) || getCode(error) === statementTimedOut) throw error
      return undefined
    } finally {
      kept.noteMerged(reads.length, performance.now() - sent)
    }
  }

  /** Not queued here. Cancelled on the server when the signal is aborted. With `take`, the result is empty. */
  async readHeavy (
    { text, values }: Statement, signal: AbortSignal | undefined, take?: TakePart
  ): Promise<unknown[][]> {
    const { connections } = this
    this.#held++
    try {
      return await raceSignal(signal, connections.use(async connection => {
        if (signal?.aborted === true) return []
        const tag = `/* ${processTag} ${++tags} */ `
        const cancel = (): void => { this.#cancel(tag, connection) }
        signal?.addEventListener('abort', cancel, { once: true })
        this.#heavy.add(tag)
        try {
          if (take !== undefined) return await connections.scan(connection, { text, values }, tag, take)
          return await connections.retry(() => connections.read(connection, { text: tag + text, values }))
        } finally {
          this.#heavy.delete(tag)
          signal?.removeEventListener('abort', cancel)
        }
      }))
    } finally {
      this.#release()
    }
  }

  async #cancel (tag: string, connection: Connection): Promise<void> {
    // A late cancel would end the next statement on the connection.
    connection.isSpent = true
    // Repeated, since the statement may not have begun yet.
    for (; this.#heavy.has(tag); await delay(50)) {
      await this.connections.run(`SELECT pg_cancel_backend(pid) FROM pg_stat_activity
        WHERE pid <> pg_backend_pid() AND state = 'active' AND query LIKE $1`, [`%${tag}%`]).catch(ignore)
    }
  }

  /** Ends reads of disconnected clients, and refuses those that have waited too long. */
  #check (now: number): boolean {
    for (const table of this.#tables.values()) {
      table.waiting = table.waiting.filter(({ signal, since, reject }) => {
        if (signal?.aborted === true) reject(signal.reason)
        else if (now - since > this.connections.settings.connectionTimeout) reject(new BusyError(tooMany))
        else return true
        return false
      })
    }
    for (const reads of this.#running) {
      for (const { signal, reject } of reads) if (signal?.aborted === true) reject(signal.reason)
    }
    return !this.isIdle
  }
}
