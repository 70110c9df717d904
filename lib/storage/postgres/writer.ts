import { isDeepStrictEqual } from 'node:util'
import {
  type Change, ConflictError, ConstraintError, DuplicateError, getId, type Id
} from '../../core/storage/storage.js'
import { listLooked, type Reference, refuseDangling, refuseInUse, type Relations } from '../sql/definitions.js'
import { type Column, type Layout, listWritten } from '../sql/layout.js'
import { canHave, findFlaw } from './types.js'

/** One change as a row of a batch. */
export interface Write {
  readonly type: Change['type']
  readonly layout: Layout
  readonly id: Id
  /** Tells this item from all others. */
  readonly key: string
  /** The revision that must be there; undefined where nothing may be there. */
  readonly expected: number | undefined
  /** The columns as members of a JSON object, without the braces. */
  readonly json: string
  /** The references that are to be checked. */
  readonly checked: readonly Reference[]
  /** The keys of the items that they are to. */
  readonly uses: readonly string[]
  /** Of what is deleted: by what others may refer to it. */
  readonly referrers: readonly Reference[]
  /** Whether others may refer to an item that it makes or deletes. */
  readonly isReferred: boolean
}

/** Encodes the changes of a family. */
export class TableWriter {
  readonly #columns: readonly Column[]

  constructor (readonly layout: Layout) {
    this.#columns = listWritten(layout)
  }

  encodeChange (change: Change, relations: Relations | undefined): Write {
    const { layout } = this
    const item = 'item' in change ? change.item : undefined
    const id = 'item' in change ? change.item.id : change.id
    const record: Record<string, unknown> = {}
    const kept: string[] = []
    for (const column of this.#columns) {
      const { present, field } = column
      const name = column.name as string
      if (isKept(change, column)) {
        kept.push(name)
        continue
      }
      const given = field.name === 'id' ? id : item?.[field.name]
      const value = record[name] = given === undefined && item !== undefined ? field.default : given
      if (present === undefined) continue
      const allowed = findFlaw(present, value)
      const fields = [field.name]
      if (allowed !== undefined) throw new ConstraintError(layout.family, id, 'value', { fields, allowed })
    }
    if (kept.length > 0) record['$k'] = kept
    const { checked, uses, referrers, isReferred } = relations === undefined ? unrelated : relate(change, relations)
    if (checked.length > 0) record['$r'] = checked.map(({ column }) => column.name)
    if (referrers.length > 0) record['$u'] = referrers.map(nameReference)
    return {
      type: change.type,
      layout,
      id,
      key: makeKey(layout, id),
      expected: change.type === 'insert' ? undefined : change.expected,
      json: JSON.stringify(record).slice(1, -1),
      checked,
      uses,
      referrers,
      isReferred
    }
  }
}

type Related = Pick<Write, 'checked' | 'uses' | 'referrers' | 'isReferred'>

const unrelated: Related = { checked: [], uses: [], referrers: [], isReferred: false }

function relate (change: Change, relations: Relations): Related {
  const checked = listLooked(change, relations)
  const id = getId(change)
  for (const { reference, id: referred } of checked) {
    if (!canHave(reference.to.id, referred)) throw refuseDangling(reference, id)
  }
  return {
    checked: checked.map(({ reference }) => reference),
    uses: checked.map(({ reference, id }) => makeKey(reference.to, id)),
    // What a column cannot have, it does not refer to.
    referrers: change.type === 'delete' ? relations.referrers.filter(({ column }) => canHave(column, id)) : [],
    isReferred: (change.type === 'insert' || change.type === 'delete') && relations.referrers.length > 0
  }
}

function makeKey ({ family }: Layout, id: Id): string {
  return `${family}\n${id}`
}

/** Tells a reference from all others to the same family. */
export function nameReference ({ from, column }: Reference): string {
  return `${from.family}.${column.field.name}`
}

/** Whether a column of a mapped table stays as it is: it may hold more than is read of it, such as microseconds. */
function isKept (change: Change, { present, field: { name } }: Column): boolean {
  return present !== undefined && name !== 'id' && change.type === 'replace' && change.current !== undefined &&
    isDeepStrictEqual(change.item[name], change.current[name])
}

/**
 * Why a write is refused.
 *
 * @param broken the field whose reference is to nothing, or the family that refers to what is to be deleted; null where
 *   the item is not as expected
 */
export function makeRefusal (write: Write, broken: string | null): Error {
  const { type, expected, layout: { family }, id, checked, referrers } = write
  if (broken === null) return expected === undefined ? new DuplicateError(family, id) : new ConflictError(family, id)
  return type === 'delete'
    ? refuseInUse(referrers.find(({ from }) => from.family === broken) as Reference, id)
    : refuseDangling(checked.find(({ column }) => column.field.name === broken) as Reference, id)
}
