import { membersOf, namedOf, oneOf, rules } from '../../core/values/rules.js'
import { storageRules } from '../check-options.js'
import type { TableMappings } from './layout.js'

/** Options that all SQL storages have. */
export interface SqlOptions {
  /** Families that are kept in existing tables. */
  readonly tables?: TableMappings
  /** How to handle missing tables, columns and indexes. Default: `auto`. */
  readonly migrate?: Migrate
  /** Heavy reads, such as a sort without an index, that run at once. Default: 2. */
  readonly maxHeavyReads?: number
  /** Heavy reads that may wait; those of one request count as one. Further ones fail with `BusyError`. Default: 50. */
  readonly maxWaitingReads?: number
  /** Commits that may wait. Further ones fail with `BusyError`. Default: 1000. */
  readonly maxWaitingCommits?: number
  /** The characters of a value, as JSON, that the log keeps of a change; longer ones are left out. Default: all. */
  readonly maxLogged?: number
  /**
   * Whether each entry of the log has a hash over itself and the entry before it, for `verifyLog`. Default: none has,
   * and a database whose log has them is refused; `false` accepts it, and new entries have none.
   */
  readonly chain?: boolean
}

const mapping = membersOf({ table: rules.text, schema: rules.text, columns: rules.object }, ['table'])

export const sqlRules = {
  ...storageRules,
  tables: namedOf(mapping, 'the option "tables": the family'),
  migrate: oneOf('auto', 'check', 'off'),
  maxWaitingCommits: rules.size
}

/** Missing tables are created at boot (`auto`), fail it with the SQL to run (`check`), or are not checked (`off`). */
export type Migrate = 'auto' | 'check' | 'off'

export function joinStatements (statements: readonly string[]): string {
  return [...new Set(statements)].map(statement => `${statement};\n`).join('')
}

export class CommitCounts {
  /** Transactions, the commits in them, and commits that failed with `BusyError`. */
  batches = 0
  commits = 0
  refused = 0

  metrics (waiting: number): Readonly<Record<string, number>> {
    const { batches, commits, refused } = this
    return {
      batches_total: batches, commits_total: commits, commits_refused_total: refused, commits_waiting: waiting
    }
  }
}
