import { BoundedCache } from '../../core/cache.js'
import type { Id } from '../../core/storage/storage.js'
import type { Layout } from '../sql/layout.js'
import type { BatchRow, TableBatch } from './batch-statement.js'
import { makeTableBatch, overtaken, writeBatch } from './batch-statement.js'
import { explainRefusal } from './constraints.js'
import { getCode } from './driver.js'
import { lockReferred, nameReference } from './looks.js'
import type { Run, StatementRunner } from './runner.js'
import type { Write } from './writer.js'
import { makeBroken, makeRefusal } from './writer.js'

/** A commit that is to be answered. */
export interface PendingCommit {
  readonly writes: readonly Write[]
  /** The time after which it is no longer to be done. */
  readonly deadline: number
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/** The revisions that items are known to be at, by their keys; undefined where an item is not there. */
export type Revisions = Map<string, number | undefined>

/** How a batch is run. */
export interface BatchMode {
  /** Milliseconds to wait for a lock. */
  readonly lock: number
  /** Whether it waits for rows that somebody else has locked; else it leaves out the commits to them. */
  readonly waits: boolean
}

/** Runs commits together, in one statement and one transaction, and answers each for itself. */
export class BatchRunner {
  readonly #texts = new BoundedCache<string>(100)

  constructor (readonly runner: StatementRunner) {}

  /** Returns those that were left out, which are not answered. */
  async run (
    batch: readonly PendingCommit[],
    observed: Revisions,
    { lock, waits }: BatchMode
  ): Promise<PendingCommit[]> {
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
    const key = tables.map(describeTable).join('\n')
    const text = this.#texts.get(`${waits} ${key}`, () => writeBatch(tables, waits))
    const first = tables.some(({ referrers }) => referrers.length > 0) ? lockReferred(listReferred(rows)) : []
    const limits = { lock, first, deadline: Math.min(...batch.map(({ deadline }) => deadline)) }
    const statement = { text, values: tables.map(({ json }) => json) }
    const answers = await this.runner.write(statement, limits, overtaken)
      .catch(async error => { throw await this.#explain(error, batch) })

    const stale = new Map<number, Error>()
    const broken = new Map<number, Error>()
    const locked = new Set<number>()
    for (const [n, revision, isLocked, rule] of answers as [string, string | null, string, string | null][]) {
      const row = rows[Number(n)]
      // The line that counts is not about a row.
      if (row === undefined) continue
      if (isLocked === 't') locked.add(row.c)
      else if (rule !== null) broken.set(row.n, makeBroken(row.write, rule))
      else {
        stale.set(row.n, makeRefusal(row.write))
        observed.set(row.write.key, revision === null ? undefined : Number(revision))
      }
    }
    const reasons = new Map<number, Error>()
    // What was decided on other data than there is, is to be decided anew before it breaks a rule.
    for (const refused of [stale, broken]) {
      for (const { n, c } of rows) {
        const reason = refused.get(n)
        if (reason !== undefined && !reasons.has(c)) reasons.set(c, reason)
      }
    }
    return batch.filter(({ writes, resolve, reject }, c) => {
      const reason = reasons.get(c)
      if (reason !== undefined) reject(reason)
      else if (locked.has(c)) return true
      else {
        for (const { key, revision } of writes) observed.set(key, revision)
        resolve()
      }
      return false
    })
  }

  /** Of several commits nobody knows whose data it was. */
  async #explain (error: unknown, [commit, ...others]: readonly PendingCommit[]): Promise<unknown> {
    if (commit === undefined || others.length > 0 || getCode(error) === overtaken) return error
    const run: Run = (text, values = []) => this.runner.read('pg_catalog', { text, values })
    return await explainRefusal(error, commit.writes, run)
  }

  /** The families among these whose tables somebody has locked, or is waiting to lock. */
  async findLocked (commits: readonly PendingCommit[]): Promise<Set<string>> {
    const locked = new Set<string>()
    const layouts = new Map(commits.flatMap(({ writes }) => writes.map(({ layout }) => [layout.family, layout])))
    for (const { family, table } of layouts.values()) {
      // What else may be wrong shows when the commits are run.
      const text = `LOCK TABLE ${table} IN ROW EXCLUSIVE MODE NOWAIT`
      await this.runner.write({ text, values: [] }, { lock: 1, deadline: 0 })
        .catch(error => { if (isLockTimeout(error)) locked.add(family) })
    }
    return locked
  }
}

/** All that the text of a statement depends on. */
function describeTable ({ layout, types, looked, referrers }: TableBatch): string {
  const names = [...looked, ...referrers].map(reference => `${nameReference(reference)} ${reference.to.serial}`).sort()
  return [layout.serial, [...types].sort(), ...names].join(' ')
}

/** The ids of what is to be deleted and may be referred to, by table; in one order of families. */
function listReferred (rows: readonly BatchRow[]): Map<Layout, Id[]> {
  const deleted = rows.map(({ write }) => write).filter(({ referrers }) => referrers.length > 0)
  const ids = new Map<Layout, Id[]>()
  for (const { layout, id } of deleted) ids.set(layout, [...ids.get(layout) ?? [], id])
  return new Map([...ids].sort(([a], [b]) => a.family < b.family ? -1 : 1))
}

/** Whether a lock did not come in time: nothing was done. */
export function isLockTimeout (error: unknown): boolean {
  return getCode(error) === '55P03'
}
