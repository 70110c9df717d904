import { BoundedCache } from '../../core/cache.js'
import { BusyError } from '../../core/storage/storage.js'
import { CommitCounts } from '../sql/options.js'
import { describeBatch, lockReferred, makeTableBatches, writeBatchText } from './batch-statement.js'
import type { Connections, Statement } from './connections.js'
import { explainConstraintError } from './constraints.js'
import { describeDirect, groupDirect, isDirect, listParameters, writeDirectText } from './direct-statement.js'
import { getCode, isAboutOne, isUndone, lockTimedOut, statementTimedOut } from './driver.js'
import { type EncodedWrite, makeCommitError } from './writer.js'

const maxRowsPerBatch = 1000

interface PendingCommit {
  readonly writes: readonly EncodedWrite[]
  readonly families: CommitGroup
  readonly deadline: number
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
  isAlone: boolean
}

/** Commits to the same set of families, or those that run alone. */
interface CommitGroup {
  readonly name: string
  pending: PendingCommit[]
  /** Batches that are running, and their maximum. */
  running: number
  readonly most: number
  /** Commits of a set of families that run alone. */
  alone: number
}

/**
 * Group commit: commits that arrive while a batch is running share one statement, and each gets its own result. Each
 * set of families has its own batches, so that a locked table delays no others. A batch has one commit per item. If a
 * lock is not granted soon, the commits of the batch run alone, in turns.
 */
export class CommitQueue {
  readonly #texts = new BoundedCache<{ readonly text: string, readonly name: string | undefined }>(100)
  readonly #groups = new Map<string, CommitGroup>()
  readonly #alone: CommitGroup
  /** The items of running commits and of those that run alone. */
  readonly #taken = new Set<string>()
  #running = 0
  #waiting = 0
  #aloneTotal = 0
  readonly #counts = new CommitCounts()

  /** @param committed called after commits to a family with a sequence */
  constructor (
    readonly connections: Connections,
    readonly maxHeld: number,
    readonly maxWaiting: number,
    readonly committed: () => void
  ) {
    this.#alone = this.#getGroup('', Math.max(1, Math.floor(maxHeld / 2)))
    connections.onInterval(now => this.#refuseLate(now))
  }

  get isIdle (): boolean {
    return this.#waiting + this.#running === 0
  }

  metrics (): Readonly<Record<string, number>> {
    return { ...this.#counts.metrics(this.#waiting), commits_alone_total: this.#aloneTotal }
  }

  add (writes: readonly EncodedWrite[]): Promise<void> {
    return new Promise((resolve, reject) => {
      const names = new Set(writes.map(({ layout }) => layout.family))
      const families = this.#getGroup([...names].sort().join('\n'), 1)
      // Commits that wait for a lock may fill half of the queue, to leave space for others.
      const isHalf = families.alone > 0 && families.pending.length + families.alone >= this.maxWaiting / 2
      if (isHalf || this.#waiting >= this.maxWaiting) {
        this.#counts.refused++
        return reject(new BusyError('Too many changes are waiting; nothing was done'))
      }
      const deadline = performance.now() + this.connections.settings.statementTimeout
      families.pending.push({ writes, families, deadline, resolve, reject, isAlone: false })
      this.#waiting++
      this.connections.watch()
      process.nextTick(this.#call, families)
    })
  }

  #getGroup (name: string, most: number): CommitGroup {
    let group = this.#groups.get(name)
    if (group === undefined) {
      group = { name, pending: [], running: 0, most, alone: 0 }
      this.#groups.set(name, group)
    }
    return group
  }

  readonly #call = (group: CommitGroup): void => {
    while (group.pending.length > 0 && group.running < group.most && this.#running < this.maxHeld) {
      const batch = group === this.#alone ? group.pending.splice(0, 1) : this.#takeBatch(group)
      // If all wait for items of other commits, they continue when those are done.
      if (batch.length === 0) return
      this.#waiting -= batch.length
      group.running++
      this.#running++
      this.#run(group, batch)
    }
  }

  #takeBatch (group: CommitGroup): PendingCommit[] {
    const batch: PendingCommit[] = []
    const left: PendingCommit[] = []
    // A commit must not overtake an earlier one with an item in common.
    const changed = new Set<string>()
    // A statement sees the data as at its start: no commit may refer to what another one in it inserts or deletes.
    const used = new Set<string>()
    const referred = new Set<string>()
    let rows = 0
    for (const commit of group.pending) {
      const { writes } = commit
      const isFree = writes.every(({ key, uses, isReferred }) =>
        !changed.has(key) && !this.#taken.has(key) && !(isReferred && used.has(key)) &&
        !uses.some(each => referred.has(each)))
      for (const { key, uses, isReferred } of writes) {
        changed.add(key)
        for (const each of uses) used.add(each)
        if (isReferred) referred.add(key)
      }
      if (isFree && (rows === 0 || rows + writes.length <= maxRowsPerBatch)) {
        rows += writes.length
        batch.push(commit)
      } else left.push(commit)
    }
    group.pending = left
    for (const { writes } of batch) for (const { key } of writes) this.#taken.add(key)
    return batch
  }

  async #run (group: CommitGroup, batch: readonly PendingCommit[]): Promise<void> {
    if (group !== this.#alone) {
      this.#counts.batches++
      this.#counts.commits += batch.length
    }
    try {
      const refusals = await this.#commit(batch)
      for (const [c, commit] of batch.entries()) this.#settle(commit, refusals.get(c))
      if (batch.some(({ writes }) => writes.some(({ layout }) => layout.sequence !== undefined))) this.committed()
    } catch (error) {
      const now = performance.now()
      const isLocked = getCode(error) === lockTimedOut
      // If the server refused the data of one commit, the others are tried without it.
      const isParted = isLocked || (batch.length > 1 && isAboutOne(error))
      const failure = isLocked || getCode(error) === statementTimedOut ? makeTimeout() : error
      for (const commit of batch) {
        if (isParted && commit.deadline > now) this.#runAlone(commit)
        else this.#settle(commit, failure)
      }
    }
    group.running--
    this.#running--
    // Moves to the end, so that groups take turns if there are few connections.
    this.#groups.delete(group.name)
    this.#groups.set(group.name, group)
    this.#callAll()
  }

  #callAll (): void {
    for (const group of this.#groups.values()) this.#call(group)
  }

  #runAlone (commit: PendingCommit): void {
    this.#alone.pending.push(commit)
    this.#waiting++
    if (commit.isAlone) return
    commit.isAlone = true
    commit.families.alone++
    this.#aloneTotal++
  }

  /** Ends a commit that has reserved its items: one that is running, or waits to run alone. */
  #settle ({ writes, families, isAlone, resolve, reject }: PendingCommit, error: unknown): void {
    for (const { key } of writes) this.#taken.delete(key)
    if (isAlone) families.alone--
    if (error === undefined) resolve()
    else reject(error)
  }

  /** Makes commits in one transaction. Returns the errors of refused ones by their index. */
  async #commit (batch: readonly PendingCommit[]): Promise<ReadonlyMap<number, Error>> {
    const all = batch.flatMap(({ writes }) => writes)
    const deadline = Math.min(...batch.map(({ deadline }) => deadline))
    let isExpected = batch.length === 1 && isDirect(all)
    // Nothing refers to what a direct one changes.
    const locks = isExpected ? [] : lockReferred(all)
    try {
      const refused = await this.connections.retry(() => {
        const statement = isExpected ? this.#writeDirect(all) : this.#writeBatch(batch)
        isExpected = false
        return this.connections.write(locks, statement)
      }, deadline)
      // The last row is about the batch itself; a direct statement has none.
      return refused.length <= 1 ? noRefusals : listRefusals(batch, refused as unknown as Refused[])
    } catch (error) {
      // With several commits, it is unknown which of them caused it.
      if (batch.length > 1 || isUndone(error)) throw error
      throw await explainConstraintError(error, batch[0]?.writes ?? [], this.connections.run)
    }
  }

  #writeDirect (all: readonly EncodedWrite[]): Statement {
    const groups = groupDirect(all)
    const kept = this.#keep(describeDirect(groups), () => writeDirectText(groups))
    return { ...kept, values: listParameters(groups) }
  }

  #writeBatch (batch: readonly PendingCommit[]): Statement {
    const tables = makeTableBatches(batch.map(({ writes }) => writes))
    const kept = this.#keep(describeBatch(tables), () => writeBatchText(tables))
    return { ...kept, values: tables.map(({ json }) => json) }
  }

  #keep (key: string, write: () => string): Pick<Statement, 'text' | 'name'> {
    return this.#texts.get(key, () => {
      const text = write()
      return { text, name: this.connections.nameStatement(text) }
    })
  }

  #refuseLate (now: number): boolean {
    for (const group of this.#groups.values()) {
      const late = group.pending.filter(({ deadline }) => deadline < now)
      if (late.length === 0) continue
      group.pending = group.pending.filter(({ deadline }) => deadline >= now)
      this.#waiting -= late.length
      for (const commit of late) {
        this.#counts.refused++
        if (commit.isAlone) this.#settle(commit, makeTimeout())
        else commit.reject(makeTimeout())
      }
    }
    this.#callAll()
    return !this.isIdle
  }
}

const noRefusals: ReadonlyMap<number, Error> = new Map()

type Refused = readonly [n: string, broken: string | null]

function listRefusals (batch: readonly PendingCommit[], refused: readonly Refused[]): Map<number, Error> {
  const rows = batch.flatMap(({ writes }, c) => writes.map(write => ({ c, write })))
  const errors = new Map<number, Error>()
  // Stale data is reported before a broken rule: the decision may be different then.
  const rank = ([n, broken]: Refused): number => Number(n) + (broken === null ? 0 : rows.length)
  for (const [n, broken] of refused.toSorted((a, b) => rank(a) - rank(b))) {
    const row = rows[Number(n)]
    if (row === undefined || errors.has(row.c)) continue
    const all = refused.filter(each => each[0] === n).map(each => each[1])
    errors.set(row.c, makeCommitError(row.write, broken, all))
  }
  return errors
}

function makeTimeout (): BusyError {
  return new BusyError('The data to change was locked for too long; nothing was done')
}
