import type { SqliteDatabase, SqliteStatement } from './driver.js'

/** Reads, and returns what answers the one who asked. */
type Read = () => () => void

// What is read may lead to further reads in the same turn. Who reads on and on must let others have theirs.
const maxPasses = 3

/**
 * What one turn of the event loop asks of a database, done in one go at its end: first the reads, back to back in one
 * transaction, then what they lead to is written. Where parsing, reading and sending take turns, each finds the caches
 * of the processor filled by the others, and a small read takes four times as long.
 */
export class Round {
  #reads: Read[] = []
  #afterReads: (() => void)[] = []
  #isPlanned = false
  #passes = 0
  #until = 0
  readonly #transaction: { readonly begin: SqliteStatement, readonly end: SqliteStatement } | undefined

  /**
   * @param isOurs whether nobody else uses the connection, so that it is in no transaction between two turns
   * @param maxMs so long it may read while others wait for the event loop; the rest is for the next turn
   */
  constructor (database: SqliteDatabase, isOurs: boolean, readonly maxMs = 10) {
    if (isOurs) this.#transaction = { begin: database.prepare('BEGIN'), end: database.prepare('COMMIT') }
  }

  /** Reads at the end of this turn. */
  read<T> (run: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#reads.push(() => {
        try {
          const result = run()
          return () => { resolve(result) }
        } catch (error) {
          return () => { reject(error) }
        }
      })
      this.#plan()
    })
  }

  /** Calls this when the reads of this turn are done, with all that follows from them at once. */
  afterReads (run: () => void): void {
    this.#afterReads.push(run)
    this.#plan()
  }

  /** Fulfilled when nothing waits to be read any more. */
  async idle (): Promise<void> {
    while (this.#isPlanned) await new Promise<void>(resolve => { this.afterReads(resolve) })
  }

  #plan (): void {
    if (this.#isPlanned) return
    this.#isPlanned = true
    setImmediate(() => {
      this.#passes = 0
      this.#until = performance.now() + this.maxMs
      this.#pass()
    })
  }

  #pass (): void {
    this.#passes++
    for (const answer of this.#runReads()) answer()
    // Ticks come when all that follows from the answers has been done.
    queueMicrotask(() => process.nextTick(() => { this.#goOn() }))
  }

  #goOn (): void {
    const isOver = this.#passes >= maxPasses || performance.now() > this.#until
    if (this.#reads.length > 0 && !isOver) return this.#pass()
    const runs = this.#afterReads
    this.#afterReads = []
    this.#isPlanned = false
    if (this.#reads.length > 0) this.#plan()
    for (const run of runs) run()
  }

  /** Where no transaction can be begun, each read says itself what is wrong. */
  #begin (): SqliteStatement | undefined {
    try {
      this.#transaction?.begin.run()
      return this.#transaction?.end
    } catch {
      return undefined
    }
  }

  /** Reads as much as there is time for. */
  #runReads (): (() => void)[] {
    const answers: (() => void)[] = []
    if (this.#reads.length === 0) return answers
    const end = this.#begin()
    for (const read of this.#reads) {
      answers.push(read())
      if (performance.now() > this.#until) break
    }
    end?.run()
    this.#reads = this.#reads.slice(answers.length)
    return answers
  }
}
