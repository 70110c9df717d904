import { BoundedCache } from '../../core/cache.js'
import { BusyError } from '../../core/storage/storage.js'
import { CommitCounts } from '../sql/options.js'
import type { BatchRow } from './batch-statement.js'
import { describeBatch, lockReferred, makeTableBatch, writeBatch } from './batch-statement.js'
import type { Connections } from './connections.js'
import { explainRefusal } from './constraints.js'
import { getCode, isAboutOne, isLockTimeout, isUndone, statementTimedOut } from './driver.js'
import type { Write } from './writer.js'
import { makeRefusal } from './writer.js'

const maxRows = 1000

/** A commit that is to be answered. */
interface PendingCommit {
  readonly writes: readonly Write[]
  readonly families: CommitLine
  /** The time after which it is no longer to be done. */
  readonly deadline: number
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/** Commits to one set of families, or those that go alone. */
interface CommitLine {
  readonly name: string
  pending: PendingCommit[]
  /** How many batches are under way, and how many may be. */
  running: number
  readonly most: number
  isCalled: boolean
  /** Of a set of families: how many are not answered yet, and how many of these go alone. */
  size: number
  alone: number
}

export interface QueueLimits {
  /** Commits that may wait. */
  readonly maxWaiting: number
  /** Milliseconds after which a commit that waits is refused. */
  readonly timeout: number
  /** Connections that commits have at most. */
  readonly connections: number
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
  readonly #lines = new Map<string, CommitLine>()
  readonly #alone: CommitLine
  /** The items of commits that are under way, or go alone. */
  readonly #underWay = new Set<string>()
  #running = 0
  #waiting = 0
  #size = 0
  #aloneTotal = 0
  readonly #counts = new CommitCounts()

  constructor (readonly connections: Connections, readonly limits: QueueLimits) {
    this.#alone = this.#getLine('', Math.max(1, Math.floor(limits.connections / 2)))
    connections.onInterval(now => this.#refuseLate(now))
  }

  get isIdle (): boolean {
    return this.#size === 0
  }

  metrics (): Readonly<Record<string, number>> {
    return { ...this.#counts.metrics(this.#waiting), commits_alone_total: this.#aloneTotal }
  }

  add (writes: readonly Write[]): Promise<void> {
    return new Promise((resolve, reject) => {
      const line = this.#getLine(nameFamilies(writes))
      const { maxWaiting, timeout } = this.limits
      // Those that a lock holds up may fill half of the queue, so that there is room for others.
      if (this.#waiting >= maxWaiting || (line.alone > 0 && line.size >= maxWaiting / 2)) {
        this.#counts.addRefusal()
        return reject(new BusyError('Too many changes wait to be made; nothing was done'))
      }
      line.pending.push({ writes, families: line, deadline: performance.now() + timeout, resolve, reject })
      line.size++
      this.#waiting++
      this.#size++
      this.connections.watch()
      if (line.isCalled) return
      line.isCalled = true
      process.nextTick(() => { this.#call(line) })
    })
  }

  #getLine (name: string, most = 1): CommitLine {
    let line = this.#lines.get(name)
    if (line === undefined) {
      this.#lines.set(name, line = { name, pending: [], running: 0, most, isCalled: false, size: 0, alone: 0 })
    }
    return line
  }

  #call (line: CommitLine): void {
    line.isCalled = false
    while (line.pending.length > 0 && line.running < line.most && this.#running < this.limits.connections) {
      const batch = line === this.#alone ? line.pending.splice(0, 1) : this.#takeBatch(line)
      // Where all wait for items of others, they are called when those are done.
      if (batch.length === 0) return
      this.#waiting -= batch.length
      line.running++
      this.#running++
      this.#run(line, batch)
    }
  }

  #callAll (): void {
    for (const line of this.#lines.values()) if (line.pending.length > 0) this.#call(line)
  }

  #takeBatch (line: CommitLine): PendingCommit[] {
    const batch: PendingCommit[] = []
    const left: PendingCommit[] = []
    // A commit does not overtake one that came before it and has an item in common.
    const taken = new Set<string>()
    // All parts of a statement see the data as it was when it began, so no commit may refer to what another one in it
    // makes or deletes.
    const used = new Set<string>()
    const referred = new Set<string>()
    let rows = 0
    for (const commit of line.pending) {
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
    line.pending = left
    for (const { writes } of batch) for (const { key } of writes) this.#underWay.add(key)
    return batch
  }

  async #run (line: CommitLine, batch: readonly PendingCommit[]): Promise<void> {
    const isAlone = line === this.#alone
    if (!isAlone) this.#counts.addBatch(batch.length)
    let parted: readonly PendingCommit[] = []
    try {
      await this.#commit(batch)
    } catch (error) {
      const now = performance.now()
      // Where the server refused the data of one commit, the others must not suffer for it.
      const isParted = isLockTimeout(error) || (batch.length > 1 && isAboutOne(error))
      if (isParted) parted = batch.filter(({ deadline }) => deadline > now)
      const failure = isLockTimeout(error) || getCode(error) === statementTimedOut ? makeTimeout() : error
      for (const commit of batch) if (!parted.includes(commit)) commit.reject(failure)
    }
    line.running--
    this.#running--
    // Behind the others, so that they take turns where there are few connections.
    this.#lines.delete(line.name)
    this.#lines.set(line.name, line)
    this.#part(parted, isAlone)
    this.#end(parted.length === 0 ? batch : batch.filter(commit => !parted.includes(commit)), isAlone)
  }

  /** Lets commits go alone, after those that do already. */
  #part (commits: readonly PendingCommit[], areAlone: boolean): void {
    this.#alone.pending.push(...commits)
    this.#waiting += commits.length
    if (areAlone) return
    this.#aloneTotal += commits.length
    for (const { families } of commits) families.alone++
  }

  /** Makes commits together, in one statement and one transaction, and answers each for itself. */
  async #commit (batch: readonly PendingCommit[]): Promise<void> {
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
    const locks = lockReferred(rows)
    const statement = { text, name, values: tables.map(({ json }) => json) }
    const deadline = Math.min(...batch.map(({ deadline }) => deadline))
    let refused: unknown[][]
    try {
      refused = await this.connections.retry(deadline, () => this.connections.write(locks, statement))
    } catch (error) {
      const [only, ...others] = batch as [PendingCommit, ...PendingCommit[]]
      // Of several commits it is not known whose data it was.
      throw others.length > 0 || isUndone(error)
        ? error
        : await explainRefusal(error, only.writes, this.connections.run)
    }
    answer(batch, rows, refused as [string, string | null][])
  }

  #end (commits: readonly PendingCommit[], wereAlone: boolean): void {
    for (const { writes, families } of commits) {
      for (const { key } of writes) this.#underWay.delete(key)
      families.size--
      if (wereAlone) families.alone--
    }
    this.#size -= commits.length
    this.#callAll()
  }

  /** Refuses what has waited for too long. */
  #refuseLate (now: number): boolean {
    for (const line of this.#lines.values()) {
      const late = line.pending.filter(({ deadline }) => deadline < now)
      if (late.length === 0) continue
      line.pending = line.pending.filter(({ deadline }) => deadline >= now)
      this.#waiting -= late.length
      for (const { reject } of late) {
        this.#counts.addRefusal()
        reject(makeTimeout())
      }
      // Of those that were not under way, others may have the items.
      this.#end(line === this.#alone ? late : late.map(commit => ({ ...commit, writes: [] })), line === this.#alone)
    }
    return this.#size > 0
  }
}

/** The same for all commits to the same families. */
function nameFamilies (writes: readonly Write[]): string {
  const names = new Set<string>()
  for (const { layout } of writes) names.add(layout.family)
  return [...names].sort().join('\n')
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
    const isFirst = rank < (reasons.get(row.c)?.rank ?? Infinity)
    if (isFirst) reasons.set(row.c, { rank, error: makeRefusal(row.write, broken) })
  }
  for (const [c, { resolve, reject }] of batch.entries()) {
    const reason = reasons.get(c)
    if (reason === undefined) resolve()
    else reject(reason.error)
  }
}

function makeTimeout (): BusyError {
  return new BusyError('What is to change was locked for too long; nothing was done')
}
