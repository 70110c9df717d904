import { errorCodes } from '../errors.js'
import type { Change, Id } from './storage.js'
import { DuplicateError } from './storage.js'

/** The id of the item that a change is about. */
export function getId (change: Change): Id {
  return 'item' in change ? change.item.id : change.id
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
  const [first, second] = changes
  // An item and its entry in the log, as most commits are.
  if (changes.length < 2 || (changes.length === 2 && first?.family !== second?.family)) return
  const types = new Map<string, Change['type']>()
  for (const change of changes) {
    const { type, family } = change
    const id = getId(change)
    const key = `${family} ${id}`
    const earlier = types.get(key)
    if (earlier === 'insert' && type === 'insert') throw new DuplicateError(family, id)
    if (earlier !== undefined) throw new errorCodes.FST_DEALBOOK_REPEATED_CHANGE(family, id)
    types.set(key, type)
  }
}
