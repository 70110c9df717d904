import { type AnyFamily, getFamily, listShapes } from '../family/family.js'
import { checkMappedFamilies, noteShapes } from '../service/storage-access.js'
import type { FamilyShape, Storage } from '../storage/storage.js'

/**
 * All that a storage keeps for a family: its items, those that it refers to, its other tables, and the log.
 *
 * @example
 * for (const shape of tablesOf(deals)) await storage.prepare(shape)
 */
export function tablesOf (family: AnyFamily): readonly FamilyShape[] {
  return listShapes(getFamily(family))
}

/**
 * Throws if the settings of a storage name a family that is not among these, nor mounted on it: then the name is
 * misspelt, and the family would get a table that it does not have. For programs that mount nothing.
 *
 * @example
 * checkMappings(storage, [customers, deals])
 */
export function checkMappings (storage: Storage, families: readonly AnyFamily[]): void {
  noteShapes(storage, families.flatMap(tablesOf))
  checkMappedFamilies(storage)
}
