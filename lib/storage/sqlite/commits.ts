import { runInPhase } from '../../core/phases.js'
import { BusyError } from '../../core/storage/storage.js'
import { CommitCounts } from '../sql/commit-counts.js'
import type { Anchors } from './anchors.js'
import { explainRefusal, isConstraint } from './constraints.js'
import type { SqliteDatabase } from './driver.js'
import { runInTransaction, waitUntilFree } from './driver.js'
import type { Write } from './writer.js'
import { runWrites } from './writer.js'

interface PendingCommit {
  readonly writes: readonly Write[]
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

// A transaction ends after so many writes, so that a flood of commits does not hold the event loop.
const maxWrites = 2000

export interface CommitSettings {
  /** What is told of every row that is written. */
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
  #running: Promise<void> | undefined
  readonly #counts = new CommitCounts()

  constructor (readonly database: SqliteDatabase, readonly settings: CommitSettings) {}

  metrics (): Readonly<Record<string, number>> {
    return this.#counts.metrics(this.#pending.length)
  }

  async add (writes: readonly Write[]): Promise<void> {
    if (this.#pending.length >= this.settings.maxWaitingCommits) {
      this.#counts.addRefusal()
      throw new BusyError('Too many changes wait to be made; nothing was done')
    }
    await new Promise<void>((resolve, reject) => {
      this.#pending.push({ writes, resolve, reject })
      this.#running ??= this.#run()
    })
  }

  /** Fulfilled when nothing is pending any more. */
  async idle (): Promise<void> {
    await this.#running
  }

  async #run (): Promise<void> {
    do {
      await new Promise<void>(resolve => { runInPhase('write', resolve) })
      const group = this.#takeGroup()
      this.#counts.addBatch(group.length)
      await this.#settle(group)
    } while (this.#pending.length > 0)
    this.#running = undefined
  }

  async #settle (group: readonly PendingCommit[]): Promise<void> {
    try {
      const settlers = await waitUntilFree(this.settings.busyTimeout, () => this.#commitGroup(group))
      for (const settle of settlers) settle()
    } catch (error) {
      // A rule that is looked at when a transaction ends, or that ends it, does not say whose change broke it.
      if (group.length > 1 && isConstraint(error)) for (const commit of group) await this.#settle([commit])
      else for (const { writes: [write], reject } of group) reject(this.#explain(error, write as Write))
    }
  }

  #explain (error: unknown, write: Write): unknown {
    return explainRefusal(this.database, error, write)
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
      runInTransaction(this.database, () => {
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

  /** Each with a savepoint of its own, so that what is refused of one takes nothing from the others. */
  #commitEach (group: readonly PendingCommit[]): (() => void)[] {
    const settlers: (() => void)[] = []
    runInTransaction(this.database, () => {
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
      return this.#explain(error, running)
    }
  }
}
