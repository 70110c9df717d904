import { BusyError } from '../../core/storage/storage.js'
import type { Lane } from './lanes.js'
import { maxWaiting, tooMany } from './lanes.js'
import type { QueuedRead } from './queued-read.js'

// Reads that go on one connection: to send more of them saves little, and the last waits for all.
const maxReads = 32

/** The reads of one table that are not sent yet. */
interface ReadLine {
  reads: QueuedRead[]
  /** Whether a connection is waited for. */
  isCalling: boolean
}

/**
 * Small reads: those of one turn of the event loop, and all that come while no connection is free, go to the server in
 * one go, on as few connections as do. To send each by itself takes longer than all that is done with its answer.
 */
export class ReadQueue {
  readonly #lines = new Map<string, ReadLine>()
  #isPlanned = false
  #running = 0
  #idleWaiters: (() => void)[] = []
  #timer: NodeJS.Timeout | undefined
  /** How many wait now. */
  waiting = 0
  /** How often somebody has had to wait for a connection. */
  waits = 0
  /** How many statements can be sent at once on one connection. */
  maxStatements = 1

  /**
   * @param timeout milliseconds that a read waits for a connection
   * @param send sends them all on one connection, and answers each
   */
  constructor (
    readonly lane: Lane,
    readonly timeout: number,
    readonly send: (reads: readonly QueuedRead[]) => Promise<void>
  ) {}

  add (read: QueuedRead): void {
    if (this.waiting >= maxWaiting) return read.reject(new BusyError(tooMany))
    let line = this.#lines.get(read.table)
    if (line === undefined) this.#lines.set(read.table, line = { reads: [], isCalling: false })
    line.reads.push(read)
    this.waiting++
    read.onLeft = () => {
      line.reads.splice(line.reads.indexOf(read), 1)
      this.waiting--
      this.#tellIdle()
    }
    if (this.#isPlanned) return
    this.#isPlanned = true
    setImmediate(() => { this.#sendAll() })
  }

  /** Fulfilled when no read is under way any more. */
  async idle (): Promise<void> {
    if (this.#isIdle()) return
    await new Promise<void>(resolve => { this.#idleWaiters.push(resolve) })
  }

  #isIdle (): boolean {
    return this.#running === 0 && this.waiting === 0
  }

  #sendAll (): void {
    this.#isPlanned = false
    for (const [table, line] of this.#lines) {
      this.#call(table, line)
      for (const read of line.reads) {
        if (read.isLate) continue
        read.isLate = true
        this.waits++
      }
      if (line.reads.length > 0) this.#timer ??= setTimeout(() => { this.#refuseLate() }, this.timeout)
    }
    this.#tellIdle()
  }

  /** Takes connections as long as there are free ones; then the first that becomes free. */
  #call (table: string, line: ReadLine): void {
    while (line.reads.length > 0 && !line.isCalling) {
      line.isCalling = true
      this.lane.run(table, async () => {
        line.isCalling = false
        const taken = this.#take(line)
        this.#call(table, line)
        if (taken.length === 0) return
        this.#running++
        await this.send(taken)
        this.#running--
        this.#tellIdle()
      }).catch(() => {})
    }
  }

  #take (line: ReadLine): readonly QueuedRead[] {
    const taken: QueuedRead[] = []
    const left: QueuedRead[] = []
    const texts = new Set<string>()
    for (const read of line.reads) {
      const { statement: { text, shared }, isAlone } = read
      const isShared = shared !== undefined && !isAlone
      if (taken.length < maxReads && (texts.size < this.maxStatements || (isShared && texts.has(text)))) {
        // What cannot be shared is one statement more, whatever its text.
        texts.add(isShared ? text : `${taken.length} ${text}`)
        taken.push(read)
        read.onLeft = undefined
      } else left.push(read)
    }
    line.reads = left
    this.waiting -= taken.length
    return taken
  }

  #refuseLate (): void {
    this.#timer = undefined
    const latest = performance.now() - this.timeout
    let oldest = Infinity
    for (const line of this.#lines.values()) {
      for (const read of line.reads) if (read.since <= latest) read.reject(new BusyError(tooMany))
      line.reads = line.reads.filter(read => read.isWanted)
      for (const { since } of line.reads) oldest = Math.min(oldest, since)
    }
    this.waiting = [...this.#lines.values()].reduce((sum, { reads }) => sum + reads.length, 0)
    if (oldest < Infinity) this.#timer = setTimeout(() => { this.#refuseLate() }, oldest - latest)
    this.#tellIdle()
  }

  #tellIdle (): void {
    if (!this.#isIdle()) return
    clearTimeout(this.#timer)
    this.#timer = undefined
    for (const resolve of this.#idleWaiters.splice(0)) resolve()
  }
}
