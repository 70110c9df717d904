import { checkObject, checkSize } from '../../core/values/checks.js'
import { queueChecks } from '../check-options.js'
import type { IndexedFields } from './choose-indexes.js'
import type { TableMappings } from './layout.js'
import type { Migrate } from './migrate.js'

/** What storages in SQL have in common. */
export interface SqlOptions {
  /** Families that are kept in tables which are there already. */
  readonly tables?: TableMappings
  /** The fields that have an index, for each family; of a family that is not named, all that can be filtered. */
  readonly indexes?: IndexedFields
  /** Whether what is missing is made at the start, or only told, or not looked for; `auto` unless given. */
  readonly migrate?: Migrate
  /** Reads that take long, as a sort without an index, at once; 2 unless given. */
  readonly maxHeavyReads?: number
  /** How many of them may wait; 50 unless given. Beyond that they are refused (`BusyError`). */
  readonly maxWaitingReads?: number
  /** Commits that may wait; 1000 unless given. Beyond, `BusyError`. */
  readonly maxWaitingCommits?: number
}

/** Some of it is looked at more closely where it is read. */
export const sqlChecks = {
  ...queueChecks,
  tables: checkObject,
  indexes: checkObject,
  migrate: () => undefined,
  maxWaitingCommits: checkSize
}
