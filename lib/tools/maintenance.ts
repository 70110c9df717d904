import { type AnyFamily, errorCodes, pruneLog, type PruneLogOptions, type Storage, tablesOf } from '../index.js'
import { findHandled } from './consumer-places.js'

/** Options of `prune`. */
export interface PruneOptions extends Omit<PruneLogOptions, 'findHandled'> {
  /** Also deletes commands that a consumer has not handled yet. Default: they are kept. */
  readonly ignoreConsumers?: boolean
}

/**
 * Deletes the commands of all families that are older than a time: their log entries and their results for retries.
 * The items stay, and so do commands that a consumer has not handled yet. It commits in small batches, so that other
 * requests are not blocked. A follower that comes from before what was deleted gets the problem `pruned`.
 *
 * @example
 * await prune(storage, { before: new Date(Date.now() - 90 * 24 * 3600 * 1000) })
 * @returns how many were deleted
 */
export async function prune (
  storage: Storage, { ignoreConsumers = false, ...options }: PruneOptions
): Promise<number> {
  return await pruneLog(storage, {
    ...options, findHandled: async () => ignoreConsumers ? Number.MAX_SAFE_INTEGER : await findHandled(storage)
  })
}

/**
 * Returns the SQL that creates the tables, columns and indexes that these families lack in the storage's database, in
 * the right order, for your migration tool. Empty if nothing is missing. Changes nothing.
 *
 * @example
 * const sql = await writeMigration(storage, [customers, deals])
 */
export async function writeMigration (storage: Storage, families: readonly AnyFamily[]): Promise<string> {
  if (storage.writeMigration === undefined) throw new errorCodes.FST_DEALBOOK_NO_MIGRATIONS()
  return await storage.writeMigration(families.flatMap(tablesOf))
}
