import { errorCodes } from '../core/errors.js'
import type { AnyFamily } from '../core/family/compiled.js'
import { getFamily } from '../core/family/compiled.js'
import { listShapes } from '../core/family/keys.js'
import type { Storage } from '../core/storage/storage.js'

/**
 * The SQL that creates what these families lack in the database of a storage, for your migration tool: tables, columns
 * and indexes, in the order in which to create them. Empty where nothing is missing. Changes nothing.
 *
 * @example
 * const sql = await writeMigration(storage, [customers, deals])
 */
export async function writeMigration (storage: Storage, families: readonly AnyFamily[]): Promise<string> {
  if (storage.writeMigration === undefined) throw new errorCodes.FST_DEALBOOK_NO_MIGRATIONS()
  return await storage.writeMigration(families.flatMap(family => listShapes(getFamily(family))))
}
