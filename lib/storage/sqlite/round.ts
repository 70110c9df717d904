import { runInPhase } from '../../core/phases.js'
import type { SqliteDatabase, SqliteStatement } from './driver.js'

/** Reads, and returns what answers the one who asked. */
type Read = () => () => void

/** The reads of one turn of the event loop, done back to back at its end, and in one transaction. */
export class Round {
  #reads: Read[] = []
  #isPlanned = false
  #transactions = 0
  #isOpen = false
  readonly #ends: { readonly begin: SqliteStatement, readonly end: SqliteStatement } | undefined

  /**
   * @param isOurs whether nobody else uses the connection, so that it is in no transaction between two turns
   * @param maxMs so long it may read while others wait for the event loop; the rest is for the next turn
   */
  constructor (readonly database: SqliteDatabase, isOurs: boolean, readonly maxMs = 10) {
    if (isOurs) this.#ends = { begin: database.prepare('BEGIN'), end: database.prepare('COMMIT') }
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

  /** Fulfilled when nothing waits to be read any more. */
  async idle (): Promise<void> {
    while (this.#isPlanned) await new Promise<void>(resolve => { runInPhase('write', resolve) })
  }

  #plan (): void {
    if (this.#isPlanned) return
    this.#isPlanned = true
    runInPhase('read', () => {
      const answers = this.#runReads()
      this.#isPlanned = false
      if (this.#reads.length > 0) this.#plan()
      for (const answer of answers) answer()
    })
  }

  /** The number of the transaction that is open, if one is. */
  get transaction (): number | undefined {
    return this.#isOpen ? this.#transactions : undefined
  }

  /** Where no transaction can be begun, each read says itself what is wrong. */
  #begin (): void {
    if (this.#ends === undefined) return
    try {
      this.#ends.begin.run()
      this.#isOpen = true
      this.#transactions++
    } catch {}
  }

  #end (): void {
    if (!this.#isOpen) return
    this.#isOpen = false
    try {
      this.#ends?.end.run()
    } catch {
      // What was read is read; only a transaction that stayed open would do harm.
      try { this.database.exec('ROLLBACK') } catch {}
    }
  }

  /** Reads as much as there is time for. */
  #runReads (): (() => void)[] {
    const answers: (() => void)[] = []
    const until = performance.now() + this.maxMs
    this.#begin()
    for (const read of this.#reads) {
      answers.push(read())
      if (performance.now() > until) break
    }
    this.#end()
    this.#reads = this.#reads.slice(answers.length)
    return answers
  }
}
