import { BusyError } from '../../core/storage/storage.js'
import { CommitCounts } from '../sql/commit-counts.js'
import type { PendingCommit, Revisions } from './batch.js'
import { BatchRunner, isLockTimeout } from './batch.js'
import { isAboutOne } from './driver.js'
import { LoneCommits, makeTimeout } from './lone-commits.js'
import { References } from './references.js'
import type { StatementRunner } from './runner.js'
import type { Write } from './writer.js'
import { makeRefusal } from './writer.js'

const maxRows = 1000
// Milliseconds that a batch waits for a lock: longer than other processes need one, and too short to be noticed.
const patience = 150

export interface QueueLimits {
  /** Commits that may wait. */
  readonly maxWaiting: number
  /** Milliseconds after which a commit that waits is refused. */
  readonly timeout: number
}

/**
 * Group commit: the commits of one turn of the event loop, and all that come while a batch is under way, go to the
 * server in one statement. Each is answered for itself. A batch has one commit per item; others on the same item wait
 * for the next.
 *
 * Where a lock does not come soon, the commits that need it go alone from then on, and their neighbours without them.
 * Where a whole table is locked, one goes alone, and the others to that table wait until it is through.
 */
export class CommitQueue {
  readonly #batches: BatchRunner
  readonly alone: LoneCommits
  #pending: PendingCommit[] = []
  /** The items of commits that are under way. */
  readonly #underWay = new Set<string>()
  #running = 0
  #scheduled = false
  #idleWaiters: (() => void)[] = []
  readonly #counts = new CommitCounts()

  constructor (readonly runner: StatementRunner, readonly limits: QueueLimits) {
    this.#batches = new BatchRunner(runner)
    this.alone = new LoneCommits(this.#batches, runner.lanes.alone, (commit, observed) => {
      if (observed !== undefined) this.#end([commit], observed)
      this.#schedule()
      this.#tellIdle()
    })
  }

  metrics (): Readonly<Record<string, number>> {
    return { ...this.#counts.metrics(this.#waiting), commits_alone_total: this.alone.total }
  }

  get #waiting (): number {
    return this.#pending.length + this.alone.size
  }

  async add (writes: readonly Write[]): Promise<void> {
    if (!this.#hasRoom(writes)) {
      this.#counts.addRefusal()
      throw new BusyError('Too many changes wait to be made; nothing was done')
    }
    await new Promise<void>((resolve, reject) => {
      this.#pending.push({ writes, deadline: performance.now() + this.limits.timeout, resolve, reject })
      this.#schedule()
    })
  }

  /** Fulfilled when nothing is pending any more. */
  async idle (): Promise<void> {
    if (this.#isIdle()) return
    await new Promise<void>(resolve => { this.#idleWaiters.push(resolve) })
  }

  #isIdle (): boolean {
    return this.#running === 0 && this.#waiting === 0
  }

  /** Those that a lock holds up may fill half of the queue, so that there is room for others. */
  #hasRoom (writes: readonly Write[]): boolean {
    const { maxWaiting } = this.limits
    if (this.#waiting >= maxWaiting) return false
    if (this.#waiting < maxWaiting / 2 || !this.#isHeldUp(writes)) return true
    const heldUp = this.#pending.filter(commit => this.#isHeldUp(commit.writes)).length
    return heldUp + this.alone.size < maxWaiting / 2
  }

  #isHeldUp (writes: readonly Write[]): boolean {
    if (this.alone.size === 0) return false
    return writes.some(({ key, layout }) => this.alone.locked.has(layout.family) || this.#underWay.has(key))
  }

  #tellIdle (): void {
    if (this.#isIdle()) for (const resolve of this.#idleWaiters.splice(0)) resolve()
  }

  #schedule (): void {
    const { batches } = this.runner.lanes
    if (this.#scheduled || this.#running >= batches.size || this.#pending.length === 0) return
    this.#scheduled = true
    setImmediate(() => {
      this.#scheduled = false
      this.#running++
      // What is in it is settled when it begins, so that it takes all that have come by then.
      batches.run(undefined, async () => {
        const batch = this.#takeBatch()
        if (batch.length > 0) await this.#run(batch)
        return batch.length > 0
      }).catch(() => true).then(ran => {
        this.#running--
        // Where there was nothing to take, whatever is in the way calls again.
        if (ran) this.#schedule()
        this.#tellIdle()
      }, () => {})
    })
  }

  #takeBatch (): PendingCommit[] {
    const batch: PendingCommit[] = []
    const left: PendingCommit[] = []
    // A commit does not overtake one that came before it and has an item in common.
    const taken = new Set(this.#underWay)
    const references = new References()
    const now = performance.now()
    let rows = 0
    for (const commit of this.#pending) {
      if (commit.deadline < now) {
        this.#counts.addRefusal()
        commit.reject(makeTimeout())
        continue
      }
      const free = references.add(commit.writes) &&
        commit.writes.every(({ key, layout }) => !taken.has(key) && !this.alone.locked.has(layout.family))
      for (const { key } of commit.writes) taken.add(key)
      if (free && (rows === 0 || rows + commit.writes.length <= maxRows)) {
        rows += commit.writes.length
        batch.push(commit)
      } else left.push(commit)
    }
    this.#pending = left
    return batch
  }

  async #run (batch: readonly PendingCommit[]): Promise<void> {
    for (const { writes } of batch) for (const { key } of writes) this.#underWay.add(key)
    this.#counts.addBatch(batch.length)
    const observed: Revisions = new Map()
    try {
      await this.#batches.run(batch, observed, { lock: patience, waits: true })
    } catch (error) {
      if (isLockTimeout(error)) await this.#part(batch, observed)
      // Where it was the data of one commit that the server refused, the others must not suffer for it.
      else if (batch.length > 1 && isAboutOne(error)) this.alone.add(batch)
      else for (const { reject } of batch) reject(error)
    }
    this.#end(batch.filter(commit => !this.alone.has(commit)), observed)
  }

  /** After a lock that did not come: makes the commits that need no such lock, and lets the others go alone. */
  async #part (batch: readonly PendingCommit[], observed: Revisions): Promise<void> {
    const locked = await this.#batches.findLocked(batch)
    const isHeld = ({ writes }: PendingCommit): boolean => writes.some(({ layout }) => locked.has(layout.family))
    const [held, rest] = [batch.filter(isHeld), batch.filter(commit => !isHeld(commit))]
    this.alone.addScouts(held, locked)
    this.#pending.unshift(...held.filter(commit => !this.alone.has(commit)))
    // Of what others may refer to, a row that is passed over now could be had a moment later, but too late to look.
    const locking = rest.filter(({ writes }) => writes.some(({ referrers }) => referrers.length > 0))
    this.alone.add(locking)
    const others = rest.filter(commit => !locking.includes(commit))
    if (others.length === 0) return
    try {
      this.alone.add(await this.#batches.run(others, observed, { lock: patience, waits: false }))
    } catch (error) {
      // The lock of an id that somebody else is inserting, or data: which of them it was, each finds out alone.
      if (isLockTimeout(error) || isAboutOne(error)) this.alone.add(others)
      else for (const { reject } of others) reject(error)
    }
  }

  #end (commits: readonly PendingCommit[], observed: Revisions): void {
    for (const { writes } of commits) for (const { key } of writes) this.#underWay.delete(key)
    this.#refuseStale(observed)
  }

  /** Refuses at once those that wait for an item which is now known to be at another revision than they expect. */
  #refuseStale (observed: Revisions): void {
    this.#pending = this.#pending.filter(({ writes, reject }) => {
      const unfit = writes.find(({ key, expected }) => observed.has(key) && observed.get(key) !== expected)
      if (unfit !== undefined) {
        reject(makeRefusal(unfit))
        return false
      }
      // It may change these items, so those behind it have to wait for it.
      for (const { key } of writes) observed.delete(key)
      return true
    })
  }
}
