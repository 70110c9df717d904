import { errorCodes } from '../errors.js'
import type { Change, Id } from './storage.js'

export function getId (change: Change): Id {
  return change.type === 'delete' ? change.id : change.item.id
}

/**
 * Throws where a commit has more than one change of one item: a storage calls it before anything else, so that all
 * refuse alike.
 *
 * @example
 * async commit (changes) {
 *   checkChanges(changes)
 *   // …
 * }
 */
export function checkChanges (changes: readonly Change[]): void {
  if (changes.length < 2) return
  const changed = new Map<string, Set<Id>>()
  for (const change of changes) {
    const id = getId(change)
    const ids = changed.get(change.family)
    if (ids === undefined) changed.set(change.family, new Set([id]))
    else if (ids.has(id)) throw new errorCodes.FST_DEALBOOK_REPEATED_CHANGE(change.family, id)
    else ids.add(id)
  }
}
