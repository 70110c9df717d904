import { setTimeout as delay } from 'node:timers/promises'
import { BoundedCache } from '../../cache.js'
import type { StatementRunner } from './driver.js'
import type { BatchRow, Write } from './writer.js'
import { makeRefusal, makeTableBatch, overtaken, writeBatch } from './writer.js'

interface PendingCommit {
  readonly writes: readonly Write[]
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

// More than one batch at a time, so that a row which somebody keeps locked does not hold up commits to others.
const maxBatches = 2
const maxRows = 1000
const maxAttempts = 10

/** The revisions that items are known to be at, by their keys; undefined where an item is not there. */
type Revisions = Map<string, number | undefined>

/**
 * Group commit: the commits of one turn of the event loop, and all that come while a batch is under way, go to the
 * server in one statement. Each is answered for itself. A batch has one commit per item; others on the same item wait
 * for the next.
 */
export class CommitQueue {
  #pending: PendingCommit[] = []
  readonly #underWay = new Set<string>()
  readonly #texts = new BoundedCache<string>(100)
  #batches = 0
  #scheduled = false
  #idleWaiters: (() => void)[] = []

  constructor (readonly runner: StatementRunner) {}

  async add (writes: readonly Write[]): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#pending.push({ writes, resolve, reject })
      this.#schedule()
    })
  }

  /** Fulfilled when nothing is pending any more. */
  async idle (): Promise<void> {
    if (this.#batches === 0 && this.#pending.length === 0) return
    await new Promise<void>(resolve => { this.#idleWaiters.push(resolve) })
  }

  #schedule (): void {
    if (this.#scheduled || this.#batches >= maxBatches || this.#pending.length === 0) return
    this.#scheduled = true
    setImmediate(() => {
      this.#scheduled = false
      const batch = this.#takeBatch()
      if (batch.length > 0) this.#run(batch).catch(() => {})
    })
  }

  #takeBatch (): PendingCommit[] {
    const batch: PendingCommit[] = []
    const left: PendingCommit[] = []
    // A commit does not overtake one that came before it and has an item in common.
    const taken = new Set(this.#underWay)
    let rows = 0
    for (const commit of this.#pending) {
      const free = commit.writes.every(({ key }) => !taken.has(key))
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
    const keys = batch.flatMap(({ writes }) => writes.map(({ key }) => key))
    this.#batches++
    for (const key of keys) this.#underWay.add(key)
    const observed: Revisions = new Map()
    try {
      await this.#commitBatch(batch, observed)
    } catch (error) {
      // Where it was the data of one commit that the server refused, the others must not suffer for it.
      if (batch.length > 1 && isAboutData(error)) {
        for (const one of batch) await this.#commitBatch([one], observed).catch(one.reject)
      } else for (const { reject } of batch) reject(error)
    }
    for (const key of keys) this.#underWay.delete(key)
    this.#batches--
    this.#refuseStale(observed)
    this.#schedule()
    if (this.#batches === 0 && this.#pending.length === 0) for (const resolve of this.#idleWaiters.splice(0)) resolve()
  }

  async #commitBatch (batch: readonly PendingCommit[], observed: Revisions): Promise<void> {
    const rows = batch.flatMap(({ writes }, c) => writes.map(write => ({ c, write }))).map((row, n) => ({ ...row, n }))
    const byFamily = new Map<string, BatchRow[]>()
    for (const row of rows) {
      const { family } = row.write.layout
      const others = byFamily.get(family)
      if (others === undefined) byFamily.set(family, [row])
      else others.push(row)
    }
    // Always in one order of families, so that no two processes wait for each other.
    const tables = [...byFamily.keys()].sort().map(family => makeTableBatch(byFamily.get(family) as BatchRow[]))
    const key = tables.map(({ layout, types }) => `${layout.serial} ${[...types].sort().join()}`).join('\n')
    const text = this.#texts.get(key, () => writeBatch(tables))

    const refused = new Set<number>()
    const answers = await this.#runRetrying(text, tables.map(({ json }) => json)) as [string, string | null][]
    for (const [n, revision] of answers) {
      if (n === '-1') continue
      refused.add(Number(n))
      observed.set((rows[Number(n)] as BatchRow).write.key, revision === null ? undefined : Number(revision))
    }
    const reasons = new Map<number, Write>()
    for (const { n, c, write } of rows) if (refused.has(n) && !reasons.has(c)) reasons.set(c, write)
    batch.forEach(({ writes, resolve, reject }, c) => {
      const reason = reasons.get(c)
      if (reason !== undefined) return reject(makeRefusal(reason))
      for (const { key, revision } of writes) observed.set(key, revision)
      resolve()
    })
  }

  async #runRetrying (text: string, values: string[]): Promise<unknown[][]> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.runner.run(text, values)
      } catch (error) {
        // Overtaken, not serializable, deadlock: nothing of it was done.
        if (attempt === maxAttempts || ![overtaken, '40001', '40P01'].includes(getCode(error))) throw error
      }
      await delay(Math.random() * 5 * attempt)
    }
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

function getCode (error: unknown): string {
  return (error as { code?: string }).code ?? ''
}

// SQLSTATE: data exceptions and broken constraints; whatever else has to do with the server or the way to it.
function isAboutData (error: unknown): boolean {
  return /^2[23]...$/.test(getCode(error))
}
