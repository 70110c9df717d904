import { oneOf, rules } from '../../core/values/rules.js'
import { queueRules } from '../check-options.js'
import type { TableMappings } from './layout.js'
import type { Migrate } from './migrate.js'

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
