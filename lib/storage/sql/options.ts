import { oneOf, rules } from '../../core/values/rules.js'
import { queueRules } from '../check-options.js'
import type { TableMappings } from './layout.js'

/** What storages in SQL have in common. */
export interface SqlOptions {
  /** Families that are kept in tables which are there already. */
  readonly tables?: TableMappings
  /** Whether what is missing is made at the start, or only told, or not looked for; `auto` unless given. */
  readonly migrate?: Migrate
  /** Reads that take long, as a sort without an index, at once; 2 unless given. */
  readonly maxHeavyReads?: number
  /** How many of them may wait; 50 unless given. Beyond that they are refused (`BusyError`). */
  readonly maxWaitingReads?: number
  /** Commits that may wait; 1000 unless given. Beyond, `BusyError`. */
  readonly maxWaitingCommits?: number
}

/** Tables are checked further where they are read. */
export const sqlRules = {
  ...queueRules,
  tables: rules.object,
  migrate: oneOf('auto', 'check', 'off'),
  maxWaitingCommits: rules.size
}

/**
 * What is done at the start about tables, columns and indexes that are missing: they are made (`auto`), the boot fails
 * with the SQL that makes them (`check`), or nobody looks (`off`).
 */
export type Migrate = 'auto' | 'check' | 'off'

/** Statements as one text that can be run as it stands, without those that come twice. */
export function joinStatements (statements: readonly string[]): string {
  return [...new Set(statements)].map(statement => `${statement};\n`).join('')
}

/** What became of the commits of a queue, for whoever watches it. */
export class CommitCounts {
  #batches = 0
  #commits = 0
  #refused = 0

  /** So many commits go in one transaction. */
  addBatch (commits: number): void {
    this.#batches++
    this.#commits += commits
  }

  /** There was no room for a commit, or no time. */
  addRefusal (): void {
    this.#refused++
  }

  /** @param waiting how many commits wait now */
  metrics (waiting: number): Readonly<Record<string, number>> {
    return {
      batches_total: this.#batches,
      commits_total: this.#commits,
      commits_refused_total: this.#refused,
      commits_waiting: waiting
    }
  }
}
