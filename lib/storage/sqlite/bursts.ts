import { isAlone, runInPhase } from '../../core/phases.js'
import { BusyError, Watchers } from '../../core/storage/storage.js'
import { CommitCounts } from '../sql/options.js'
import {
  isBusy, prepareRead, prepareTransaction, prepareWrite, type SqliteDatabase, waitUntilFree, type WriteStatement
} from './driver.js'
import type { FileGuard } from './file-guard.js'
import type { Anchors } from './paths.js'
import { explainWriteError, isConstraint, runWrites, type TableWrite } from './writer.js'

/** Runs the small reads of one turn of the event loop back to back; a single read runs at once. */
export class ReadBurst {
  #reads: (() => void)[] = []
  readonly #transaction: { readonly begin: WriteStatement, readonly end: WriteStatement } | undefined

  /** Reads hold the event loop for `maxMs` at most. `isOurs`: nothing else uses the connection. */
  constructor (readonly database: SqliteDatabase, isOurs: boolean, readonly busyTimeout: number, readonly maxMs = 10) {
    if (isOurs) this.#transaction = { begin: prepareWrite(database, 'BEGIN'), end: prepareWrite(database, 'COMMIT') }
  }

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

  async idle (): Promise<void> {
    while (this.#reads.length > 0) await new Promise<void>(resolve => { runInPhase('write', resolve) })
  }

  /** Another process locks out even readers while it recovers the log of a crashed one. */
  #readLater<T> (run: () => T): Promise<T> {
    return waitUntilFree(this.busyTimeout, run)
  }

  #plan (): void {
    runInPhase('read', () => {
      const until = performance.now() + this.maxMs
      // If the transaction cannot begin, each read fails by itself.
      const transaction = this.#reads.length > 1 && succeeds(this.#transaction?.begin) ? this.#transaction : undefined
      let count = 0
      for (const read of this.#reads) {
        read()
        count++
        if (performance.now() > until) break
      }
      // If COMMIT fails, the reads are still valid, but the transaction must not stay open.
      if (transaction !== undefined && !succeeds(transaction.end)) succeeds(() => this.database.exec('ROLLBACK'))
      this.#reads = this.#reads.slice(count)
      if (this.#reads.length > 0) this.#plan()
    })
  }
}

function succeeds (run: ((parameters: readonly unknown[]) => unknown) | undefined): boolean {
  try {
    run?.([])
    return true
  } catch {
    return false
  }
}

interface WaitingCommit {
  readonly writes: readonly TableWrite[]
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

// Taken early, so that fake timers in a host's tests do not delay commits.
const { nextTick } = process

// Limits a transaction, so that a flood of commits does not hold the event loop.
const maxWrites = 2000

interface CommitSettings {
  readonly changes: ChangeNotifier
  readonly guard: FileGuard | undefined
  readonly anchors: Anchors
  readonly busyTimeout: number
  readonly maxWaitingCommits: number
}

/** Group commit: the commits of one turn share a transaction and one disk sync. A single commit runs at once. */
export class CommitBurst {
  #pending: WaitingCommit[] = []
  #isRunning = false
  #onIdle: (() => void)[] = []
  readonly #counts = new CommitCounts()
  readonly #transact: (run: () => void) => void

  constructor (readonly database: SqliteDatabase, readonly settings: CommitSettings) {
    const transact = prepareTransaction(database)
    this.#transact = run => {
      settings.guard?.check()
      transact(run)
      settings.guard?.confirmCommit()
    }
  }

  metrics (): Readonly<Record<string, number>> {
    return this.#counts.metrics(this.#pending.length)
  }

  add (writes: readonly TableWrite[]): Promise<void> | undefined {
    if (!this.#isRunning && isAlone()) {
      this.#isRunning = true
      nextTick(this.#continue)
      try {
        this.#transact(() => { this.#run(writes) })
        this.#notify(1)
        return undefined
      } catch (error) {
        if (!isBusy(error)) throw explainWriteError(this.database, error, writes[0] as TableWrite)
      }
    }
    return new Promise<void>((resolve, reject) => {
      if (this.#pending.length >= this.settings.maxWaitingCommits) {
        this.#counts.refused++
        return reject(new BusyError('Too many changes are waiting; nothing was done'))
      }
      this.#pending.push({ writes, resolve, reject })
      if (this.#isRunning) return
      this.#isRunning = true
      this.#plan()
    })
  }

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

  #takeGroup (): WaitingCommit[] {
    let writes = 0
    const end = this.#pending.findIndex(commit => (writes += commit.writes.length) > maxWrites)
    return this.#pending.splice(0, end === -1 ? this.#pending.length : Math.max(1, end))
  }

  async #settle (group: readonly WaitingCommit[]): Promise<void> {
    try {
      await waitUntilFree(this.settings.busyTimeout, () => { this.#commitGroup(group) })
    } catch (error) {
      await this.#fail(group, error)
    }
  }

  async #fail (group: readonly WaitingCommit[], error: unknown): Promise<void> {
    // A rule that is checked at COMMIT, or that ends the transaction, does not show which commit broke it.
    const isDivided = group.length > 1 && isConstraint(error)
    for (const commit of group) {
      if (isDivided) await this.#settle([commit])
      else commit.reject(explainWriteError(this.database, error, commit.writes[0] as TableWrite))
    }
  }

  /** Settles every commit of the group; throws if the transaction itself fails. */
  #commitGroup (group: readonly WaitingCommit[]): void {
    let isRefused = false
    try {
      this.#transact(() => {
        isRefused = true
        for (const { writes } of group) this.#run(writes)
        isRefused = false
      })
      for (const { resolve } of group) resolve()
      this.#notify(group.length)
    } catch (error) {
      if (!isRefused) throw error
      if (group.length === 1) group[0]?.reject(error)
      else this.#commitEach(group)
    }
  }

  /** Uses a savepoint for each, so that a refused commit does not undo the others. Savepoints are slow. */
  #commitEach (group: readonly WaitingCommit[]): void {
    const refusals = new Map<WaitingCommit, unknown>()
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
    for (const commit of group) refusals.has(commit) ? commit.reject(refusals.get(commit)) : commit.resolve()
    this.#notify(group.length - refusals.size)
  }

  #notify (commits: number): void {
    this.#counts.batches++
    this.#counts.commits += commits
    this.settings.changes.notify()
  }

  #run (writes: readonly TableWrite[]): void {
    runWrites(this.database, writes, this.settings.anchors)
  }
}

// Milliseconds between two looks at the counter, which costs a few microseconds.
const pollChangesEvery = 100

/** Notices commits of this process at once, and of others by the change counter of the file. */
export class ChangeNotifier {
  readonly #watchers = new Watchers()
  #timer: NodeJS.Timeout | undefined

  constructor (readonly database: SqliteDatabase) {}

  watch (wake: () => void): () => void {
    const stop = this.#watchers.add(wake)
    this.#timer ??= this.#start()
    return () => {
      stop()
      if (this.#watchers.isEmpty) this.stop()
    }
  }

  notify (): void {
    this.#watchers.notify()
  }

  stop (): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  #start (): NodeJS.Timeout {
    const counter = prepareRead(this.database, 'PRAGMA data_version')
    let last = counter.get([])?.[0]
    return setInterval(() => {
      const now = counter.get([])?.[0]
      if (now === last) return
      last = now
      this.notify()
    }, pollChangesEvery).unref()
  }
}
