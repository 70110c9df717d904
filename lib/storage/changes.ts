import { errorCodes } from '../errors.js'
import { DuplicateError } from './storage.js'
import type { Change, Id } from './storage.js'

export function getId (change: Change): Id {
  return change.type === 'delete' ? change.id : change.item.id
}

/**
 * Throws where a commit has more than one change of one item: a storage calls it before anything else, so that all
 * refuse alike. Of two inserts with one id the second finds it taken (`DuplicateError`), as it would in a commit of its
 * own.
 *
 * @example
 * async commit (changes) {
 *   checkChanges(changes)
 *   // …
 * }
 */
export function checkChanges (changes: readonly Change[]): void {
  if (changes.length < 2) return
  const changed = new Map<string, Map<Id, Change['type']>>()
  for (const change of changes) {
    const { type, family } = change
    const id = getId(change)
    const types = changed.get(family) ?? new Map<Id, Change['type']>()
    const earlier = types.get(id)
    if (earlier === 'insert' && type === 'insert') throw new DuplicateError(family, id)
    if (earlier !== undefined) throw new errorCodes.FST_DEALBOOK_REPEATED_CHANGE(family, id)
    changed.set(family, types.set(id, type))
  }
}
