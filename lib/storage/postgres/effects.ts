import { ConflictError, DuplicateError } from '../storage.js'
import type { Change, Id, Stored } from '../storage.js'
import type { Layout } from '../sql/layout.js'

export type Action = 'insert' | 'replace' | 'delete' | 'check'

/** What a commit does to one item in the end, and what must be there for it: a revision, or nothing. */
export interface Effect {
  readonly family: string
  readonly id: Id
  /** Tells this item from all others. */
  readonly key: string
  readonly expected: number | undefined
  /** The revision that it leaves; undefined where it leaves nothing. */
  readonly revision: number | undefined
  readonly action: Action
  /** The columns as members of a JSON object: values are taken now, whatever the caller does to the item afterwards. */
  readonly json: string
}

interface Draft {
  readonly family: string
  readonly id: Id
  readonly expected: number | undefined
  item: Stored | undefined
}

/**
 * The changes of a commit as one effect per item, in the order in which the items first come. Changes that do not fit those
 * before them in the same commit are refused here.
 */
export function effectsOf (changes: readonly Change[], layoutOf: (family: string) => Layout): Effect[] {
  const drafts = new Map<string, Draft>()
  for (const change of changes) {
    const { family } = change
    const id = change.type === 'delete' ? change.id : change.item.id
    const key = `${family}\n${typeof id}\n${id}`
    const item = change.type === 'delete' ? undefined : change.item
    const before = drafts.get(key)
    if (before === undefined) {
      drafts.set(key, { family, id, expected: change.type === 'insert' ? undefined : change.expected, item })
      continue
    }
    if (change.type === 'insert' && before.item !== undefined) throw new DuplicateError(family, id)
    if (change.type !== 'insert' && before.item?.revision !== change.expected) throw new ConflictError(family, id)
    before.item = item
  }
  return Array.from(drafts, ([key, { family, id, expected, item }]) =>
    ({ family, id, key, expected, revision: item?.revision, action: actionOf(expected, item), json: jsonOf(layoutOf(family), id, item) }))
}

function actionOf (expected: number | undefined, item: Stored | undefined): Action {
  if (expected === undefined) return item === undefined ? 'check' : 'insert'
  return item === undefined ? 'delete' : 'replace'
}

function jsonOf ({ columns }: Layout, id: Id, item: Stored | undefined): string {
  const record: Record<string, unknown> = {}
  for (const { name, field } of columns) {
    if (name !== undefined) record[name] = field.name === 'id' ? id : item?.[field.name]
  }
  return JSON.stringify(record).slice(1, -1)
}

/** Why an effect is impossible. */
export function refusal ({ expected, family, id }: Effect): Error {
  return expected === undefined ? new DuplicateError(family, id) : new ConflictError(family, id)
}
