import { ConflictError, DuplicateError } from '../storage.js'
import type { Change, Id, Stored } from '../storage.js'

/** What a commit does to one item in the end, and what must be there for it: a revision, or nothing. */
export interface Effect {
  readonly family: string
  readonly id: Id
  /** Tells this item from all others. */
  readonly key: string
  readonly expected: number | undefined
  item: Stored | undefined
}

/**
 * The changes of a commit as one effect per item, in the order in which the items first come. Changes that do not fit those
 * before them in the same commit are refused here.
 */
export function effectsOf (changes: readonly Change[]): Effect[] {
  const effects = new Map<string, Effect>()
  for (const change of changes) {
    const id = change.type === 'delete' ? change.id : change.item.id
    const key = `${change.family}\n${typeof id}\n${id}`
    const item = change.type === 'delete' ? undefined : change.item
    const before = effects.get(key)
    if (before === undefined) {
      effects.set(key, { family: change.family, id, key, expected: change.type === 'insert' ? undefined : change.expected, item })
      continue
    }
    if (change.type === 'insert' && before.item !== undefined) throw new DuplicateError(change.family, id)
    if (change.type !== 'insert' && before.item?.revision !== change.expected) throw new ConflictError(change.family, id)
    before.item = item
  }
  return [...effects.values()]
}

/** Why an effect is impossible. */
export function refusal ({ expected, family, id }: Effect): Error {
  return expected === undefined ? new DuplicateError(family, id) : new ConflictError(family, id)
}
