import { isAlone, runInPhase } from '../../core/phases.js'
import { BusyError } from '../../core/storage/storage.js'
import { CommitCounts } from '../sql/options.js'
import {
  isBusy, prepareTransaction, prepareWrite, type SqliteDatabase, waitUntilFree, type WriteStatement
} from './driver.js'
import type { Anchors } from './paths.js'
import { explainRefusal, runWrites, type Write } from './writer.js'

/** Runs the small reads of one turn of the event loop back to back; a single read runs at once. */
export class ReadBurst {
  #reads: (() => void)[] = []
  readonly #transaction: { readonly begin: WriteStatement, readonly end: WriteStatement } | undefined

  /** Reads hold the event loop for `maxMs` at most. `isOurs`: nothing else uses the connection. */
  constructor (readonly database: SqliteDatabase, isOurs: boolean, readonly busyTimeout: number, readonly maxMs = 10) {
    if (isOurs) this.#transaction = { begin: prepareWrite(database, 'BEGIN'), end: prepareWrite(database, 'COMMIT') }
  }

  read<T> (run: () => T): T | Promise<T> {
    if (isAlone()) return this.#attempt(run)
    return new Promise((resolve, reject) => {
      this.#reads.push(() => {
        try { resolve(this.#attempt(run)) } catch (error) { reject(error) }
      })
      if (this.#reads.length === 1) this.#plan()
    })
  }

  async idle (): Promise<void> {
    while (this.#reads.length > 0) await new Promise<void>(resolve => { runInPhase('write', resolve) })
  }

  #attempt<T> (run: () => T): T | Promise<T> {
    try {
      return run()
    } catch (error) {
      // Another process locks out even readers while it recovers the log of a crashed one.
      if (isBusy(error)) return waitUntilFree(this.busyTimeout, run)
      throw error
    }
  }

  #plan (): void {
    runInPhase('read', () => {
      const until = performance.now() + this.maxMs
      // If the transaction cannot begin, each read fails by itself.
      const transaction = this.#reads.length > 1 && attempt(this.#transaction?.begin) ? this.#transaction : undefined
      let count = 0
      for (const read of this.#reads) {
        read()
        count++
        if (performance.now() > until) break
      }
      // If COMMIT fails, the reads are still valid, but the transaction must not stay open.
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

// Taken early, so that fake timers in a host's tests do not delay commits.
const { nextTick } = process

// Limits a transaction, so that a flood of commits does not hold the event loop.
const maxWrites = 2000

/** Group commit: the commits of one turn share a transaction and one disk sync. A single commit runs at once. */
export class CommitQueue {
  #pending: PendingCommit[] = []
  #isRunning = false
  #onIdle: (() => void)[] = []
  readonly #counts = new CommitCounts()
  readonly #transact: (run: () => void) => void

  /** @param notify called after each transaction */
  constructor (
    readonly database: SqliteDatabase, readonly anchors: Anchors, readonly notify: () => void,
    readonly busyTimeout: number, readonly maxWaiting: number
  ) {
    this.#transact = prepareTransaction(database)
  }

  metrics (): Readonly<Record<string, number>> {
    return this.#counts.metrics(this.#pending.length)
  }

  add (writes: readonly Write[]): Promise<void> | undefined {
    if (!this.#isRunning && isAlone()) {
      this.#isRunning = true
      nextTick(this.#continue)
      try {
        this.#run([{ writes }])
        return undefined
      } catch (error) {
        if (!isBusy(error)) throw explainRefusal(this.database, error, writes[0] as Write)
      }
    }
    return new Promise<void>((resolve, reject) => {
      if (this.#pending.length >= this.maxWaiting) {
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
      let writes = 0
      const end = this.#pending.findIndex(commit => (writes += commit.writes.length) > maxWrites)
      const group = this.#pending.splice(0, end === -1 ? this.#pending.length : Math.max(1, end))
      this.#commit(group).then(this.#continue)
    })
  }

  /** Settles every commit of the group. If one is refused, the group is halved until it is alone. */
  async #commit (group: readonly PendingCommit[]): Promise<void> {
    try {
      await waitUntilFree(this.busyTimeout, () => { this.#run(group) })
      for (const { resolve } of group) resolve()
    } catch (error) {
      if (group.length === 1 || isBusy(error)) {
        for (const { writes: [write], reject } of group) reject(explainRefusal(this.database, error, write as Write))
        return
      }
      const half = group.length >> 1
      await this.#commit(group.slice(0, half))
      await this.#commit(group.slice(half))
    }
  }

  #run (group: readonly Pick<PendingCommit, 'writes'>[]): void {
    this.#transact(() => {
      for (const { writes } of group) runWrites(this.database, writes, this.anchors)
    })
    this.#counts.addBatch(group.length)
    this.notify()
  }
}
