import { BoundedCache } from '../../core/cache.js'
import { BusyError } from '../../core/storage/storage.js'
import { CommitCounts } from '../sql/options.js'
import { describeBatch, lockReferred, makeTableBatches, writeBatch } from './batch-statement.js'
import type { Connections } from './connections.js'
import { explainRefusal } from './constraints.js'
import { getCode, isAboutOne, isLockTimeout, isUndone, statementTimedOut } from './driver.js'
import { makeRefusal, type Write } from './writer.js'

const maxRows = 1000

/** A commit that is to be answered. */
interface PendingCommit {
  readonly writes: readonly Write[]
  readonly families: CommitGroup
  /** The time after which it is no longer to be done. */
  readonly deadline: number
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
  /** Whether its items are locked for commits after it: it is under way, or goes alone. */
  isTaken: boolean
  isAlone: boolean
}

/** Commits to one set of families, or those that are sent alone. */
interface CommitGroup {
  readonly name: string
  pending: PendingCommit[]
  /** How many batches are under way, and how many may be. */
  running: number
  readonly most: number
  /** Whether it is called at the end of this turn. */
  isCalled: boolean
  /** Of a set of families: how many are not answered yet, and how many of these go alone. */
  size: number
  alone: number
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
  readonly #groups = new Map<string, CommitGroup>()
  readonly #alone: CommitGroup
  /** The items of commits that are taken. */
  readonly #taken = new Set<string>()
  #running = 0
  #waiting = 0
  #aloneTotal = 0
  readonly #counts = new CommitCounts()

  /**
   * @param maxHeld connections that commits have at most
   * @param maxWaiting commits that may wait
   */
  constructor (readonly connections: Connections, readonly maxHeld: number, readonly maxWaiting: number) {
    this.#alone = this.#getGroup('', Math.max(1, Math.floor(maxHeld / 2)))
    connections.onInterval(now => this.#refuseLate(now))
  }

  get isIdle (): boolean {
    return this.#waiting + this.#running === 0
  }

  metrics (): Readonly<Record<string, number>> {
    return { ...this.#counts.metrics(this.#waiting), commits_alone_total: this.#aloneTotal }
  }

  add (writes: readonly Write[]): Promise<void> {
    return new Promise((resolve, reject) => {
      const families = this.#getGroup(nameFamilies(writes), 1)
      // Those that a lock holds up may fill half of the queue, so that there is room for others.
      if (this.#waiting >= this.maxWaiting || (families.alone > 0 && families.size >= this.maxWaiting / 2)) {
        this.#counts.refused++
        return reject(new BusyError('Too many changes wait to be made; nothing was done'))
      }
      const deadline = performance.now() + this.connections.settings.statementTimeout
      families.pending.push({ writes, families, deadline, resolve, reject, isTaken: false, isAlone: false })
      families.size++
      this.#waiting++
      this.connections.watch()
      if (families.isCalled) return
      families.isCalled = true
      process.nextTick(() => { this.#call(families) })
    })
  }

  #getGroup (name: string, most: number): CommitGroup {
    let group = this.#groups.get(name)
    if (group === undefined) {
      group = { name, pending: [], running: 0, most, isCalled: false, size: 0, alone: 0 }
      this.#groups.set(name, group)
    }
    return group
  }

  #call (group: CommitGroup): void {
    group.isCalled = false
    while (group.pending.length > 0 && group.running < group.most && this.#running < this.maxHeld) {
      const batch = group === this.#alone ? group.pending.splice(0, 1) : this.#takeBatch(group)
      // Where all wait for items of others, they are called when those are done.
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
    // A commit does not overtake one that came before it and has an item in common.
    const changed = new Set<string>()
    // All parts of a statement see the data as it was when it began, so no commit may refer to what another one in it
    // makes or deletes.
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
      if (isFree && (rows === 0 || rows + writes.length <= maxRows)) {
        rows += writes.length
        batch.push(commit)
      } else left.push(commit)
    }
    group.pending = left
    for (const commit of batch) {
      commit.isTaken = true
      for (const { key } of commit.writes) this.#taken.add(key)
    }
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
    } catch (error) {
      const now = performance.now()
      const isLocked = isLockTimeout(error)
      // Where the server refused the data of one commit, the others must not suffer for it.
      const isParted = isLocked || (batch.length > 1 && isAboutOne(error))
      const failure = isLocked || getCode(error) === statementTimedOut ? makeTimeout() : error
      for (const commit of batch) {
        if (isParted && commit.deadline > now) this.#goAlone(commit)
        else this.#settle(commit, failure)
      }
    }
    group.running--
    this.#running--
    // Behind the others, so that they take turns where there are few connections.
    this.#groups.delete(group.name)
    this.#groups.set(group.name, group)
    this.#callAll()
  }

  #callAll (): void {
    for (const group of this.#groups.values()) this.#call(group)
  }

  /** Lets a commit go alone, after those that do already. */
  #goAlone (commit: PendingCommit): void {
    this.#alone.pending.push(commit)
    this.#waiting++
    if (commit.isAlone) return
    commit.isAlone = true
    commit.families.alone++
    this.#aloneTotal++
  }

  #settle ({ writes, families, isTaken, isAlone, resolve, reject }: PendingCommit, error: unknown): void {
    if (isTaken) for (const { key } of writes) this.#taken.delete(key)
    families.size--
    if (isAlone) families.alone--
    if (error === undefined) resolve()
    else reject(error)
  }

  /** Makes commits together, in one statement and one transaction, and returns why some are refused, by their index. */
  async #commit (batch: readonly PendingCommit[]): Promise<ReadonlyMap<number, Error>> {
    const tables = makeTableBatches(batch.map(({ writes }) => writes))
    const { text, name } = this.#texts.get(describeBatch(tables), () => {
      const text = writeBatch(tables)
      return { text, name: this.connections.names.make(text) }
    })
    const locks = lockReferred(batch.flatMap(({ writes }) => writes))
    const statement = { text, name, values: tables.map(({ json }) => json) }
    const deadline = Math.min(...batch.map(({ deadline }) => deadline))
    try {
      const refused = await this.connections.retry(deadline, () => this.connections.write(locks, statement))
      // One row is about the batch itself.
      return refused.length === 1 ? none : listRefusals(batch, refused as unknown as Refused[])
    } catch (error) {
      // Of several commits it is not known whose data it was.
      if (batch.length > 1 || isUndone(error)) throw error
      throw await explainRefusal(error, batch[0]?.writes ?? [], this.connections.run)
    }
  }

  /** Refuses what has waited for too long. */
  #refuseLate (now: number): boolean {
    for (const group of this.#groups.values()) {
      const late = group.pending.filter(({ deadline }) => deadline < now)
      if (late.length === 0) continue
      group.pending = group.pending.filter(({ deadline }) => deadline >= now)
      this.#waiting -= late.length
      for (const commit of late) {
        this.#counts.refused++
        this.#settle(commit, makeTimeout())
      }
      this.#callAll()
    }
    return !this.isIdle
  }
}

const none: ReadonlyMap<number, Error> = new Map()

/** The same for all commits to the same families. */
function nameFamilies (writes: readonly Write[]): string {
  const names = new Set<string>()
  for (const { layout } of writes) names.add(layout.family)
  return [...names].sort().join('\n')
}

/** The number of a write that was refused, and the reference that is broken. */
type Refused = readonly [n: string, broken: string | null]

function listRefusals (batch: readonly PendingCommit[], refused: readonly Refused[]): Map<number, Error> {
  const rows = batch.flatMap(({ writes }, c) => writes.map(write => ({ c, write })))
  const errors = new Map<number, Error>()
  // What was decided on other data than there is, is to be decided anew before it breaks a rule.
  const rank = ([n, broken]: Refused): number => Number(n) + (broken === null ? 0 : rows.length)
  for (const [n, broken] of refused.toSorted((a, b) => rank(a) - rank(b))) {
    const row = rows[Number(n)]
    if (row !== undefined && !errors.has(row.c)) errors.set(row.c, makeRefusal(row.write, broken))
  }
  return errors
}

function makeTimeout (): BusyError {
  return new BusyError('What is to change was locked for too long; nothing was done')
}
