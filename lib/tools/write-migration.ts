import { errorCodes } from '../core/errors.js'
import type { AnyFamily } from '../core/family/compiled.js'
import { getFamily } from '../core/family/compiled.js'
import { listShapes } from '../core/family/keys.js'
import type { Storage } from '../core/storage/storage.js'

/**
 * The SQL that makes what these families lack in the database of a storage, for a migration tool of the host: tables,
 * columns, indexes, in the order in which they are to be made. Empty where nothing is missing. Changes nothing.
 *
 * @example
 * const sql = await writeMigration(storage, [customers, deals])
 */
export async function writeMigration (storage: Storage, families: readonly AnyFamily[]): Promise<string> {
  if (storage.writeMigration === undefined) throw new errorCodes.FST_DEALBOOK_NO_MIGRATIONS()
  return await storage.writeMigration(families.flatMap(family => listShapes(getFamily(family))))
}
