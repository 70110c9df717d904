import { BoundedCache } from '../../core/cache.js'
import { BusyError } from '../../core/storage/storage.js'
import { CommitCounts } from '../sql/commit-counts.js'
import type { BatchRow } from './batch-statement.js'
import { describeBatch, lockReferred, makeTableBatch, writeBatch } from './batch-statement.js'
import type { Connections } from './connections.js'
import { explainRefusal } from './constraints.js'
import { getCode, isAboutOne, isLockTimeout, isUndone, statementTimedOut } from './driver.js'
import type { ConnectionShare, Taker } from './share.js'
import type { Write } from './writer.js'
import { makeRefusal } from './writer.js'

const maxRows = 1000
// Milliseconds that commits wait for a lock: longer than other processes need one, and too short to be noticed.
const lockTimeout = 100

/** A commit that is to be answered. */
interface PendingCommit {
  readonly writes: readonly Write[]
  readonly families: FamilyCommits
  /** The time after which it is no longer to be done. */
  readonly deadline: number
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/** The commits to one set of families. */
class FamilyCommits implements Taker {
  pending: PendingCommit[] = []
  /** Connections that it has: one batch is under way at a time. */
  held = 0
  isCalled = false
  /** How many are not answered yet, and how many of these go alone. */
  size = 0
  alone = 0
  readonly call: () => void

  constructor (call: (families: FamilyCommits) => void) {
    this.call = () => { call(this) }
  }
}

interface QueueLimits {
  /** Commits that may wait. */
  readonly maxWaiting: number
  /** Milliseconds after which a commit that waits is refused. */
  readonly timeout: number
}

/**
 * Group commit: the commits of one burst, and all that come while a batch is under way, go to the server in one
 * statement. Each is answered for itself. Those to different sets of families go in different batches, so that a locked
 * table holds up no others. A batch has one commit per item; others on the same item wait for the next.
 *
 * Where a lock is not granted soon, each commit of the batch goes alone, in turns.
 */
export class CommitQueue {
  readonly #texts = new BoundedCache<{ readonly text: string, readonly name: string | undefined }>(100)
  readonly #families = new Map<string, FamilyCommits>()
  /** The items of commits that are under way, or go alone. */
  readonly #underWay = new Set<string>()
  #alone: PendingCommit[] = []
  readonly #aloneTaker: Taker = { held: 0, call: () => { this.#callAlone() } }
  #aloneTotal = 0
  #pending = 0
  #size = 0
  readonly #counts = new CommitCounts()

  constructor (readonly connections: Connections, readonly share: ConnectionShare, readonly limits: QueueLimits) {
    connections.onInterval(now => this.#refuseLate(now))
  }

  get isIdle (): boolean {
    return this.#size === 0
  }

  metrics (): Readonly<Record<string, number>> {
    return { ...this.#counts.metrics(this.#waiting), commits_alone_total: this.#aloneTotal }
  }

  get #waiting (): number {
    return this.#pending + this.#alone.length + this.#aloneTaker.held
  }

  add (writes: readonly Write[]): Promise<void> {
    return new Promise((resolve, reject) => {
      const families = this.#getFamilies(writes)
      if (!this.#hasRoom(families)) {
        this.#counts.addRefusal()
        return reject(new BusyError('Too many changes wait to be made; nothing was done'))
      }
      families.pending.push({ writes, families, deadline: performance.now() + this.limits.timeout, resolve, reject })
      families.size++
      this.#pending++
      this.#size++
      this.connections.watch()
      if (families.isCalled) return
      families.isCalled = true
      process.nextTick(families.call)
    })
  }

  #getFamilies (writes: readonly Write[]): FamilyCommits {
    const names = new Set<string>()
    for (const { layout } of writes) names.add(layout.family)
    const key = names.size === 1 ? (writes[0] as Write).layout.family : [...names].sort().join('\n')
    let families = this.#families.get(key)
    if (families === undefined) {
      families = new FamilyCommits(families => { this.#call(families) })
      this.#families.set(key, families)
    }
    return families
  }

  /** Those that a lock holds up may fill half of the queue, so that there is room for others. */
  #hasRoom ({ alone, size }: FamilyCommits): boolean {
    const { maxWaiting } = this.limits
    return this.#waiting < maxWaiting && (alone === 0 || size < maxWaiting / 2)
  }

  #call (families: FamilyCommits): void {
    families.isCalled = false
    if (families.pending.length === 0 || families.held > 0 || !this.share.takeForCommit(families)) return
    const batch = this.#takeBatch(families)
    // Where all wait for items of others, those call it when they are done.
    if (batch.length === 0) this.share.giveBackCommit(families)
    else void this.#run(families, batch)
  }

  #takeBatch (families: FamilyCommits): PendingCommit[] {
    const batch: PendingCommit[] = []
    const left: PendingCommit[] = []
    // A commit does not overtake one that came before it and has an item in common.
    const taken = new Set<string>()
    // All parts of a statement see the data as it was when it began, so no commit may refer to what another one in it
    // makes or deletes.
    const used = new Set<string>()
    const referred = new Set<string>()
    let rows = 0
    for (const commit of families.pending) {
      const { writes } = commit
      const isFree = writes.every(({ key, uses, isReferred }) =>
        !taken.has(key) && !this.#underWay.has(key) && !(isReferred && used.has(key)) &&
        !uses.some(each => referred.has(each)))
      for (const { key, uses, isReferred } of writes) {
        taken.add(key)
        for (const each of uses) used.add(each)
        if (isReferred) referred.add(key)
      }
      if (isFree && (rows === 0 || rows + writes.length <= maxRows)) {
        rows += writes.length
        batch.push(commit)
      } else left.push(commit)
    }
    families.pending = left
    this.#pending -= batch.length
    for (const { writes } of batch) for (const { key } of writes) this.#underWay.add(key)
    return batch
  }

  async #run (families: FamilyCommits, batch: readonly PendingCommit[]): Promise<void> {
    this.#counts.addBatch(batch.length)
    let isParted = false
    try {
      await this.#commit(batch, lockTimeout)
    } catch (error) {
      // Where the server refused the data of one commit, the others must not suffer for it.
      isParted = isLockTimeout(error) || (batch.length > 1 && isAboutOne(error))
      if (!isParted) for (const { reject } of batch) reject(toFailure(error))
    }
    this.share.giveBackCommit(families)
    if (isParted) {
      this.#alone.push(...batch)
      this.#aloneTotal += batch.length
      families.alone += batch.length
      this.#callAlone()
      this.#call(families)
    } else this.#end(batch)
  }

  #callAlone (): void {
    const taker = this.#aloneTaker
    while (this.#alone.length > 0 && taker.held < this.share.maxAlone && this.share.takeForCommit(taker)) {
      void this.#tryAlone(this.#alone.shift() as PendingCommit)
    }
  }

  async #tryAlone (commit: PendingCommit): Promise<void> {
    let failure: unknown
    try {
      await this.#commit([commit], Math.max(1, Math.min(lockTimeout, commit.deadline - performance.now())))
    } catch (error) {
      failure = error
    }
    this.share.giveBackCommit(this.#aloneTaker)
    if (isLockTimeout(failure) && commit.deadline > performance.now()) this.#alone.push(commit)
    else {
      if (failure !== undefined) commit.reject(toFailure(failure))
      commit.families.alone--
      this.#end([commit])
    }
    this.#callAlone()
  }

  /** Makes commits together, in one statement and one transaction, and answers each for itself. */
  async #commit (batch: readonly PendingCommit[], lockTimeout: number): Promise<void> {
    const rows: BatchRow[] = []
    const byFamily = new Map<string, BatchRow[]>()
    for (const [c, { writes }] of batch.entries()) {
      for (const write of writes) {
        const row = { n: rows.length, c, write }
        rows.push(row)
        const others = byFamily.get(write.layout.family)
        if (others === undefined) byFamily.set(write.layout.family, [row])
        else others.push(row)
      }
    }
    // Always in one order of families, so that no two processes wait for each other.
    const tables = [...byFamily.keys()].sort().map(family => makeTableBatch(byFamily.get(family) as BatchRow[]))
    const { text, name } = this.#texts.get(describeBatch(tables), () => {
      const text = writeBatch(tables)
      return { text, name: this.connections.names.make(text) }
    })
    const statements = [...lockReferred(rows), { text, name, values: tables.map(({ json }) => json) }]
    const deadline = Math.min(...batch.map(({ deadline }) => deadline))
    let refused: unknown[][]
    try {
      refused = await this.connections.retry(deadline, () => this.connections.write(statements, lockTimeout))
    } catch (error) {
      const [only, ...others] = batch as [PendingCommit, ...PendingCommit[]]
      // Of several commits it is not known whose data it was.
      throw others.length > 0 || isUndone(error)
        ? error
        : await explainRefusal(error, only.writes, this.connections.run)
    }
    answer(batch, rows, refused as [string, string | null][])
  }

  #end (commits: readonly PendingCommit[]): void {
    for (const { writes } of commits) for (const { key } of writes) this.#underWay.delete(key)
    this.#forget(commits)
    for (const families of this.#families.values()) this.#call(families)
  }

  #forget (commits: readonly PendingCommit[]): void {
    for (const { families } of commits) families.size--
    this.#size -= commits.length
  }

  /** Refuses what has waited for too long. */
  #refuseLate (now: number): boolean {
    const isLate = ({ deadline }: PendingCommit): boolean => deadline < now
    for (const families of this.#families.values()) {
      const late = families.pending.filter(isLate)
      if (late.length === 0) continue
      families.pending = families.pending.filter(commit => !isLate(commit))
      this.#pending -= late.length
      this.#refuse(late)
      this.#forget(late)
    }
    const late = this.#alone.filter(isLate)
    if (late.length > 0) {
      this.#alone = this.#alone.filter(commit => !isLate(commit))
      for (const { families } of late) families.alone--
      this.#refuse(late)
      this.#end(late)
    }
    return this.#size > 0
  }

  #refuse (commits: readonly PendingCommit[]): void {
    for (const { reject } of commits) {
      this.#counts.addRefusal()
      reject(makeTimeout())
    }
  }
}

/** @param refused the number of each write that was refused, and the reference that is broken */
function answer (
  batch: readonly PendingCommit[],
  rows: readonly BatchRow[],
  refused: readonly (readonly [string, string | null])[]
): void {
  const reasons = new Map<number, { readonly rank: number, readonly error: Error }>()
  for (const [n, broken] of refused) {
    const row = rows[Number(n)]
    // One row is about the batch itself.
    if (row === undefined) continue
    // What was decided on other data than there is, is to be decided anew before it breaks a rule.
    const rank = row.n + (broken === null ? 0 : rows.length)
    if (rank < (reasons.get(row.c)?.rank ?? Infinity)) reasons.set(row.c, { rank, error: makeRefusal(row.write, broken) })
  }
  for (const [c, { resolve, reject }] of batch.entries()) {
    const reason = reasons.get(c)
    if (reason === undefined) resolve()
    else reject(reason.error)
  }
}

/** What a commit that failed is answered with. */
function toFailure (error: unknown): unknown {
  return isLockTimeout(error) || getCode(error) === statementTimedOut ? makeTimeout() : error
}

function makeTimeout (): BusyError {
  return new BusyError('What is to change was locked for too long; nothing was done')
}
