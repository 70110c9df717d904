import { errorCodes } from '../errors.js'
import type { FamilyShape, Storage } from '../storage/storage.js'
import { didYouMean } from '../values/nearest.js'

// The families that each storage is to keep.
const kept = new WeakMap<Storage, Set<string>>()

/** Notes what a storage is to keep. */
export function noteShapes (storage: Storage, shapes: readonly FamilyShape[]): void {
  let names = kept.get(storage)
  if (names === undefined) kept.set(storage, names = new Set())
  for (const { name } of shapes) names.add(name)
}

/** Refuses a table for an unknown family: its name is misspelt, and the family would get a different table. */
export function checkMappedFamilies (storage: Storage): void {
  const names = [...kept.get(storage) ?? []]
  const unknown = storage.mappedFamilies?.find(name => !names.includes(name))
  if (unknown === undefined) return
  throw new errorCodes.FST_DEALBOOK_UNKNOWN_MAPPED_FAMILY(unknown, names.join(', '), didYouMean(unknown, names))
}
