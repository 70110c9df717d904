import { oneOf, rules } from '../../core/values/rules.js'
import { queueRules } from '../check-options.js'
import type { TableMappings } from './layout.js'

/** What storages in SQL have in common. */
export interface SqlOptions {
  /** Families that are kept in existing tables. */
  readonly tables?: TableMappings
  /** Whether what is missing is made at the start, reported as an error, or not checked; `auto` unless given. */
  readonly migrate?: Migrate
  /** Reads at once that take long, such as a sort without an index; 2 unless given. */
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
 * with the SQL that makes them (`check`), or nothing is checked (`off`).
 */
export type Migrate = 'auto' | 'check' | 'off'

/** Statements as one text that can be run, without duplicates. */
export function joinStatements (statements: readonly string[]): string {
  return [...new Set(statements)].map(statement => `${statement};\n`).join('')
}

/** Metrics of the commits of a queue. */
export class CommitCounts {
  /** Transactions, the commits in them, and commits for which there was no room, or no time. */
  batches = 0
  commits = 0
  refused = 0

  addBatch (commits: number): void {
    this.batches++
    this.commits += commits
  }

  /** @param waiting how many commits wait now */
  metrics (waiting: number): Readonly<Record<string, number>> {
    const { batches, commits, refused } = this
    return {
      batches_total: batches, commits_total: commits, commits_refused_total: refused, commits_waiting: waiting
    }
  }
}
