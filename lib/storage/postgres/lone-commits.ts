import { BusyError } from '../../core/storage/storage.js'
import type { BatchRunner, PendingCommit, Revisions } from './batch.js'
import { isLockTimeout } from './batch.js'
import type { Lane } from './lanes.js'

// Milliseconds that a commit waits for its locks before others have their turn.
const turn = 1000

/** Commits that did not get their locks soon. Each waits on a connection of its own, of which there are few. */
export class LoneCommits {
  readonly #all = new Set<PendingCommit>()
  #line: PendingCommit[] = []
  #running = 0
  /** The families whose tables are known to be locked. */
  readonly locked = new Set<string>()
  /** How many there have been. */
  total = 0

  /** @param tried called after each turn; `observed` only once the commit is answered */
  constructor (
    readonly batches: BatchRunner,
    readonly lane: Lane,
    readonly tried: (commit: PendingCommit, observed: Revisions | undefined) => void
  ) {}

  get size (): number {
    return this.#all.size
  }

  has (commit: PendingCommit): boolean {
    return this.#all.has(commit)
  }

  add (commits: readonly PendingCommit[]): void {
    for (const commit of commits) this.#all.add(commit)
    this.#line.push(...commits)
    this.total += commits.length
    this.#start()
  }

  /** Of the commits to tables that are locked, lets one for each go alone; it tells when the lock is gone. */
  addScouts (commits: readonly PendingCommit[], locked: ReadonlySet<string>): void {
    for (const family of locked) {
      this.locked.add(family)
      if ([...this.#all].some(commit => isTo(commit, family))) continue
      const scout = commits.find(commit => isTo(commit, family))
      if (scout !== undefined) this.add([scout])
    }
  }

  #start (): void {
    while (this.#running < this.lane.size && this.#line.length > 0) {
      const commit = this.#line.shift() as PendingCommit
      this.#running++
      this.lane.run(undefined, () => this.#try(commit)).catch(() => {}).finally(() => {
        this.#running--
        this.#start()
      })
    }
  }

  async #try (commit: PendingCommit): Promise<void> {
    const observed: Revisions = new Map()
    const left = commit.deadline - performance.now()
    let failure: unknown
    try {
      if (left > 0) await this.batches.run([commit], observed, { lock: Math.min(left, turn), waits: true })
    } catch (error) {
      failure = error
    }
    const locked = isLockTimeout(failure) ? await this.batches.findLocked([commit]) : new Set<string>()
    for (const { layout: { family } } of commit.writes) if (!locked.has(family)) this.locked.delete(family)
    if (isLockTimeout(failure) && commit.deadline > performance.now()) {
      this.#line.push(commit)
      this.tried(commit, undefined)
      return
    }
    if (left <= 0 || isLockTimeout(failure)) commit.reject(makeTimeout())
    else if (failure !== undefined) commit.reject(failure)
    this.#all.delete(commit)
    // With nobody left to look after it, the next commit finds out.
    for (const family of this.locked) if (![...this.#all].some(other => isTo(other, family))) this.locked.delete(family)
    this.tried(commit, observed)
  }
}

function isTo ({ writes }: PendingCommit, family: string): boolean {
  return writes.some(({ layout }) => layout.family === family)
}

/** Why a commit that has waited for too long is refused. */
export function makeTimeout (): BusyError {
  return new BusyError('What is to change was locked for too long; nothing was done')
}
