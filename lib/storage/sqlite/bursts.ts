import { isAlone, runInPhase } from '../../core/phases.js'
import { BusyError } from '../../core/storage/storage.js'
import { CommitCounts } from '../sql/options.js'
import {
  isBusy, prepareTransaction, prepareWrite, type SqliteDatabase, waitUntilFree, type WriteStatement
} from './driver.js'
import type { Anchors } from './paths.js'
import { explainRefusal, isConstraint, runWrites, type Write } from './writer.js'

/** The small reads of a connection: those of one turn of the event loop back to back, one that is alone at once. */
export class ReadBurst {
  #reads: (() => void)[] = []
  readonly #transaction: { readonly begin: WriteStatement, readonly end: WriteStatement } | undefined

  /**
   * @param isOurs whether nothing else uses the connection, so that it is in no transaction between two turns
   * @param maxMs how long reads may hold the event loop; the rest waits for the next turn
   */
  constructor (
    readonly database: SqliteDatabase, isOurs: boolean, readonly busyTimeout: number, readonly maxMs = 10
  ) {
    if (isOurs) this.#transaction = { begin: prepareWrite(database, 'BEGIN'), end: prepareWrite(database, 'COMMIT') }
  }

  /** Reads at once, or together with others at the end of this turn. */
  read<T> (run: () => T): T | Promise<T> {
    if (isAlone()) {
      try {
        return run()
      } catch (error) {
        if (isBusy(error)) return this.#readLater(run)
        throw error
      }
    }
    return new Promise((resolve, reject) => {
      this.#reads.push(() => {
        try {
          resolve(run())
        } catch (error) {
          isBusy(error) ? resolve(this.#readLater(run)) : reject(error)
        }
      })
      if (this.#reads.length === 1) this.#plan()
    })
  }

  /** Fulfilled when nothing waits to be read any more. */
  async idle (): Promise<void> {
    while (this.#reads.length > 0) await new Promise<void>(resolve => { runInPhase('write', resolve) })
  }

  /** Another process locks out even readers, as it does while it recovers the log of one that crashed. */
  #readLater<T> (run: () => T): Promise<T> {
    return waitUntilFree(this.busyTimeout, run)
  }

  #plan (): void {
    runInPhase('read', () => {
      const until = performance.now() + this.maxMs
      // Where no transaction can be begun, each read fails by itself.
      const transaction = this.#reads.length > 1 && attempt(this.#transaction?.begin) ? this.#transaction : undefined
      let count = 0
      for (const read of this.#reads) {
        read()
        count++
        if (performance.now() > until) break
      }
      // An error in ending it does not matter to what was read, but it must not stay open.
      if (transaction !== undefined && !attempt(transaction.end)) attempt(() => this.database.exec('ROLLBACK'))
      this.#reads = this.#reads.slice(count)
      if (this.#reads.length > 0) this.#plan()
    })
  }
}

function attempt (run: ((parameters: readonly unknown[]) => unknown) | undefined): boolean {
  try {
    run?.([])
    return true
  } catch {
    return false
  }
}

interface PendingCommit {
  readonly writes: readonly Write[]
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

// Fake timers of a host's tests, which replace it later, do not hold up commits.
const { nextTick } = process

// A transaction ends after so many writes, so that a flood of commits does not hold the event loop.
const maxWrites = 2000

export interface CommitSettings {
  /** Notified of every row that is written. */
  readonly anchors: Anchors
  readonly busyTimeout: number
  readonly maxWaitingCommits: number
}

/**
 * Group commit: the commits of one turn of the event loop share one transaction, and so one wait for the disk. One that
 * is alone is made at once.
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

  add (writes: readonly Write[]): Promise<void> | undefined {
    if (!this.#isRunning && isAlone()) {
      this.#isRunning = true
      // Commits that follow at once are made together.
      nextTick(this.#continue)
      try {
        this.#transact(() => { this.#run(writes) })
        this.#counts.addBatch(1)
        return undefined
      } catch (error) {
        if (!isBusy(error)) throw explainRefusal(this.database, error, writes[0] as Write)
      }
    }
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

  readonly #continue = (): void => {
    if (this.#pending.length > 0) return this.#plan()
    this.#isRunning = false
    for (const resolve of this.#onIdle.splice(0)) resolve()
  }

  #plan (): void {
    runInPhase('write', () => {
      const group = this.#takeGroup()
      try {
        this.#commitGroup(group)
        this.#continue()
      } catch (error) {
        const settling = isBusy(error) ? this.#settle(group) : this.#fail(group, error)
        settling.then(this.#continue)
      }
    })
  }

  #takeGroup (): PendingCommit[] {
    let writes = 0
    const end = this.#pending.findIndex(commit => (writes += commit.writes.length) > maxWrites)
    return this.#pending.splice(0, end === -1 ? this.#pending.length : Math.max(1, end))
  }

  /** Tries again from a timer as long as another process is writing. */
  async #settle (group: readonly PendingCommit[]): Promise<void> {
    try {
      await waitUntilFree(this.settings.busyTimeout, () => { this.#commitGroup(group) })
    } catch (error) {
      await this.#fail(group, error)
    }
  }

  async #fail (group: readonly PendingCommit[], error: unknown): Promise<void> {
    // A rule that is tested when a transaction ends, or that ends it, does not show whose change broke it.
    if (group.length > 1 && isConstraint(error)) for (const commit of group) await this.#settle([commit])
    else for (const { writes: [write], reject } of group) reject(explainRefusal(this.database, error, write as Write))
  }

  /** Makes all of them, and answers each; throws where the transaction itself fails. */
  #commitGroup (group: readonly PendingCommit[]): void {
    let isRefused = false
    try {
      this.#transact(() => {
        isRefused = true
        for (const { writes } of group) this.#run(writes)
        isRefused = false
      })
      this.#counts.addBatch(group.length)
      for (const { resolve } of group) resolve()
    } catch (error) {
      if (!isRefused) throw error
      if (group.length === 1) group[0]?.reject(error)
      else this.#commitEach(group)
    }
  }

  /** Each with its own savepoint, so that a refused one takes nothing from the others. They are slow. */
  #commitEach (group: readonly PendingCommit[]): void {
    const refusals = new Map<PendingCommit, unknown>()
    this.#transact(() => {
      for (const commit of group) {
        this.database.exec('SAVEPOINT one')
        try {
          this.#run(commit.writes)
        } catch (error) {
          refusals.set(commit, error)
          // A trigger may have ended the whole transaction.
          try { this.database.exec('ROLLBACK TO one') } catch { throw (error as Error).cause ?? error }
        }
        this.database.exec('RELEASE one')
      }
    })
    this.#counts.addBatch(group.length - refusals.size)
    for (const commit of group) refusals.has(commit) ? commit.reject(refusals.get(commit)) : commit.resolve()
  }

  #run (writes: readonly Write[]): void {
    runWrites(this.database, writes, this.settings.anchors)
  }
}
