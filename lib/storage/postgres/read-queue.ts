import { BusyError } from '../storage.js'
import type { Lane } from './lanes.js'
import { maxWaiting, tooMany } from './lanes.js'
import type { QueuedRead, Statement } from './queued-read.js'

/** A read that is about to be sent. */
export interface TakenRead {
  readonly read: QueuedRead
  readonly statement: Statement
}

/** The reads of one table that are not sent yet. */
interface ReadLine {
  reads: QueuedRead[]
  /** Whether a connection is waited for. */
  isCalling: boolean
  /** How many of the first reads have waited for longer than a turn. */
  late: number
}

/**
 * Small reads: those of one turn of the event loop, and all that come while no connection is free, go to the server in
 * one go, on as few connections as do. To send each by itself takes as long as all that is done with its answer.
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

  /**
   * @param timeout milliseconds that a read waits for a connection
   * @param send sends them all on one connection
   */
  constructor (readonly lane: Lane, readonly timeout: number, readonly send: (reads: TakenRead[]) => Promise<void>) {}

  /** How many go on one connection. */
  maxTogether = 1

  add (read: QueuedRead): void {
    if (this.waiting >= maxWaiting) return refuse(read)
    let line = this.#lines.get(read.table)
    if (line === undefined) this.#lines.set(read.table, line = { reads: [], isCalling: false, late: 0 })
    line.reads.push(read)
    this.waiting++
    read.onLeft = () => { this.#remove(line, read) }
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
      this.waits += line.reads.length - line.late
      line.late = line.reads.length
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
        try {
          await this.send(taken)
        } finally {
          this.#running--
        }
      }).finally(() => { this.#tellIdle() })
    }
  }

  #take (line: ReadLine): TakenRead[] {
    const taken: TakenRead[] = []
    while (line.reads.length > 0 && taken.length < this.maxTogether) {
      const read = line.reads.shift() as QueuedRead
      this.waiting--
      line.late = Math.max(0, line.late - 1)
      read.onLeft = undefined
      const statement = read.take()
      if (statement !== undefined) taken.push({ read, statement })
    }
    return taken
  }

  // What others may still join stays where it is.
  #remove (line: ReadLine, read: QueuedRead): void {
    const at = line.reads.indexOf(read)
    if (at === -1 || read.isOpen) return
    line.reads.splice(at, 1)
    if (at < line.late) line.late--
    this.waiting--
  }

  #refuseLate (): void {
    this.#timer = undefined
    const latest = performance.now() - this.timeout
    let oldest = Infinity
    for (const line of this.#lines.values()) {
      for (const read of line.reads.filter(({ since }) => since <= latest)) {
        refuse(read)
        this.#remove(line, read)
      }
      for (const { since } of line.reads) oldest = Math.min(oldest, since)
    }
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

// Once it is taken, nobody joins those who wait for it.
function refuse (read: QueuedRead): void {
  read.take()
  read.reject(new BusyError(tooMany))
}
