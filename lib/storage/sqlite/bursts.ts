import { isAlone, runInPhase } from '../../core/phases.js'
import { BusyError } from '../../core/storage/storage.js'
import { CommitCounts } from '../sql/options.js'
import type { SqliteDatabase, WriteStatement } from './driver.js'
import { isBusy, prepareTransaction, prepareWrite, waitUntilFree } from './driver.js'
import type { Anchors } from './paths.js'
import type { Write } from './writer.js'
import { explainRefusal, isConstraint, runWrites } from './writer.js'

/** The small reads of a connection: those of one turn of the event loop back to back, one that is alone at once. */
export class ReadBurst {
  #reads: (() => () => void)[] = []
  #transactions = 0
  #isOpen = false
  readonly #ends: { readonly begin: WriteStatement, readonly end: WriteStatement } | undefined

  /**
   * @param isOurs whether nothing else uses the connection, so that it is in no transaction between two turns
   * @param maxMs so long it may read while others wait for the event loop; the rest is for the next turn
   */
  constructor (
    readonly database: SqliteDatabase, isOurs: boolean, readonly busyTimeout: number, readonly maxMs = 10
  ) {
    if (isOurs) this.#ends = { begin: prepareWrite(database, 'BEGIN'), end: prepareWrite(database, 'COMMIT') }
  }

  /** Reads at once, or together with others at the end of this turn. */
  read<T> (run: () => T): T | Promise<T> {
    if (isAlone()) return this.#readAlone(run)
    return new Promise((resolve, reject) => {
      this.#reads.push(() => {
        try {
          const result = run()
          return () => { resolve(result) }
        } catch (error) {
          return () => { isBusy(error) ? resolve(this.#readLater(run)) : reject(error) }
        }
      })
      if (this.#reads.length === 1) this.#plan()
    })
  }

  /** The number of the transaction that is open, if one is. */
  get transaction (): number | undefined {
    return this.#isOpen ? this.#transactions : undefined
  }

  /** Fulfilled when nothing waits to be read any more. */
  async idle (): Promise<void> {
    while (this.#reads.length > 0) await new Promise<void>(resolve => { runInPhase('write', resolve) })
  }

  #readAlone<T> (run: () => T): T | Promise<T> {
    try {
      return run()
    } catch (error) {
      if (isBusy(error)) return this.#readLater(run)
      throw error
    }
  }

  /** Another process keeps even readers out, as it does while it recovers the log of one that crashed. */
  #readLater<T> (run: () => T): Promise<T> {
    return waitUntilFree(this.busyTimeout, run)
  }

  #plan (): void {
    runInPhase('read', () => {
      const answers = this.#runReads()
      if (this.#reads.length > 0) this.#plan()
      for (const answer of answers) answer()
    })
  }

  /** Reads as much as there is time for. */
  #runReads (): (() => void)[] {
    const answers: (() => void)[] = []
    const until = performance.now() + this.maxMs
    if (this.#reads.length > 1) this.#begin()
    for (const read of this.#reads) {
      answers.push(read())
      if (performance.now() > until) break
    }
    this.#end()
    this.#reads = this.#reads.slice(answers.length)
    return answers
  }

  /** Where no transaction can be begun, each read fails by itself. */
  #begin (): void {
    if (this.#ends === undefined) return
    try {
      this.#ends.begin([])
      this.#isOpen = true
      this.#transactions++
    } catch {}
  }

  #end (): void {
    if (!this.#isOpen) return
    this.#isOpen = false
    try {
      this.#ends?.end([])
    } catch {
      // What was read is read; only a transaction that stayed open would do harm.
      try { this.database.exec('ROLLBACK') } catch {}
    }
  }
}

interface PendingCommit {
  readonly writes: readonly Write[]
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

// A transaction ends after so many writes, so that a flood of commits does not hold the event loop.
const maxWrites = 2000

export interface CommitSettings {
  /** What must know of every row that is written. */
  readonly anchors: Anchors
  readonly busyTimeout: number
  readonly maxWaitingCommits: number
}

/**
 * Group commit: the commits of one turn of the event loop share one transaction, and so one wait for the disk. Each is
 * answered for itself.
 */
export class CommitQueue {
  #pending: PendingCommit[] = []
  #isRunning = false
  #onIdle: (() => void)[] = []
  readonly #counts = new CommitCounts()
  readonly #transact: (run: () => void) => void

  constructor (readonly database: SqliteDatabase, readonly settings: CommitSettings) {
    this.#transact = prepareTransaction(database)
  }

  metrics (): Readonly<Record<string, number>> {
    return this.#counts.metrics(this.#pending.length)
  }

  add (writes: readonly Write[]): Promise<void> {
    return new Promise<void>((resolve, reject) => {
      if (this.#pending.length >= this.settings.maxWaitingCommits) {
        this.#counts.refused++
        return reject(new BusyError('Too many changes wait to be made; nothing was done'))
      }
      this.#pending.push({ writes, resolve, reject })
      if (this.#isRunning) return
      this.#isRunning = true
      this.#plan()
    })
  }

  /** Fulfilled when nothing is pending any more. */
  async idle (): Promise<void> {
    if (this.#isRunning) await new Promise<void>(resolve => { this.#onIdle.push(resolve) })
  }

  #plan (): void {
    runInPhase('write', () => { this.#run() })
  }

  #run (): void {
    const group = this.#takeGroup()
    this.#counts.batches++
    this.#counts.commits += group.length
    try {
      for (const settle of this.#commitGroup(group)) settle()
    } catch (error) {
      const settling = isBusy(error) ? this.#settle(group) : this.#fail(group, error)
      settling.then(() => { this.#goOn() })
      return
    }
    this.#goOn()
  }

  #goOn (): void {
    if (this.#pending.length > 0) return this.#plan()
    this.#isRunning = false
    for (const resolve of this.#onIdle.splice(0)) resolve()
  }

  async #fail (group: readonly PendingCommit[], error: unknown): Promise<void> {
    // A rule that is tested when a transaction ends, or that ends it, does not tell whose change broke it.
    if (group.length > 1 && isConstraint(error)) for (const commit of group) await this.#settle([commit])
    else for (const { writes: [write], reject } of group) reject(explainRefusal(this.database, error, write as Write))
  }

  /** Tries again from a timer as long as another process is writing. */
  async #settle (group: readonly PendingCommit[]): Promise<void> {
    let settlers: (() => void)[] = []
    try {
      settlers = await waitUntilFree(this.settings.busyTimeout, () => this.#commitGroup(group))
    } catch (error) {
      await this.#fail(group, error)
    }
    for (const settle of settlers) settle()
  }

  #takeGroup (): PendingCommit[] {
    let writes = 0
    const end = this.#pending.findIndex(commit => (writes += commit.writes.length) > maxWrites)
    return this.#pending.splice(0, end === -1 ? this.#pending.length : Math.max(1, end))
  }

  /** Returns what answers each commit, to be called once the transaction has ended well. */
  #commitGroup (group: readonly PendingCommit[]): (() => void)[] {
    return this.#commitAll(group) ? group.map(({ resolve }) => resolve) : this.#commitEach(group)
  }

  /** Returns false, with nothing done, where one is refused. Savepoints cost much, and refusals are rare. */
  #commitAll (group: readonly PendingCommit[]): boolean {
    let isRefused = false
    try {
      this.#transact(() => {
        isRefused = true
        for (const { writes } of group) runWrites(writes, this.settings.anchors)
        isRefused = false
      })
      return true
    } catch (error) {
      if (isRefused) return false
      throw error
    }
  }

  /** Each with its own savepoint, so that what is refused of one takes nothing from the others. */
  #commitEach (group: readonly PendingCommit[]): (() => void)[] {
    const settlers: (() => void)[] = []
    this.#transact(() => {
      for (const { writes, resolve, reject } of group) {
        const refusal = this.#runWrites(writes)
        settlers.push(refusal === undefined ? resolve : () => reject(refusal))
      }
    })
    return settlers
  }

  /** Runs all or none, and returns the error where it is none. */
  #runWrites (writes: readonly Write[]): unknown {
    this.database.exec('SAVEPOINT one')
    let running = writes[0] as Write
    try {
      runWrites(writes, this.settings.anchors, write => { running = write })
      this.database.exec('RELEASE one')
      return undefined
    } catch (error) {
      // A trigger may have ended the whole transaction.
      try { this.database.exec('ROLLBACK TO one; RELEASE one') } catch { throw error }
      return explainRefusal(this.database, error, running)
    }
  }
}
