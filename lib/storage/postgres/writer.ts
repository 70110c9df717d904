import { isDeepStrictEqual } from 'node:util'
import { getValue } from '../../core/storage/shapes.js'
import type { Change, Id } from '../../core/storage/storage.js'
import { ConflictError, ConstraintError, DuplicateError, getId } from '../../core/storage/storage.js'
import type { Column, Layout } from '../sql/layout.js'
import { listWritten } from '../sql/layout.js'
import type { Reference, Relations } from '../sql/relations.js'
import { listLooked, refuseDangling, refuseInUse } from '../sql/relations.js'
import { canHave } from './fit.js'
import { nameReference } from './looks.js'
import { findFlaw } from './values.js'

/** One change as a row of a batch. */
export interface Write {
  readonly type: Change['type']
  readonly layout: Layout
  readonly id: Id
  /** Tells this item from all others. */
  readonly key: string
  /** The revision that must be there; undefined where nothing may be there. */
  readonly expected: number | undefined
  /** The revision that it leaves; undefined where it leaves nothing. */
  readonly revision: number | undefined
  /** The columns as members of a JSON object, without the braces. */
  readonly json: string
  /** The references that are to be looked at. */
  readonly looked: readonly Reference[]
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
    const id = getId(change)
    const item = 'item' in change ? change.item : undefined
    const record: Record<string, unknown> = {}
    const kept: string[] = []
    for (const column of this.#columns) {
      const { present, field } = column
      const name = column.name as string
      if (isKept(change, column)) {
        kept.push(name)
        continue
      }
      const value = record[name] = field.name === 'id' ? id : item && getValue(item, field)
      if (present === undefined) continue
      const allowed = findFlaw(present, value)
      const fields = [field.name]
      if (allowed !== undefined) throw new ConstraintError(layout.family, id, 'value', { fields, allowed })
    }
    if (kept.length > 0) record['$k'] = kept
    const { looked, uses, referrers, isReferred } = relations === undefined ? noLooks : listLooks(change, relations)
    if (looked.length > 0) record['$r'] = looked.map(({ column }) => column.name)
    if (referrers.length > 0) record['$u'] = referrers.map(nameReference)
    return {
      type: change.type,
      layout,
      id,
      key: makeKey(layout, id),
      expected: change.type === 'insert' ? undefined : change.expected,
      revision: change.type === 'require' ? change.expected : item?.revision,
      json: JSON.stringify(record).slice(1, -1),
      looked,
      uses,
      referrers,
      isReferred
    }
  }
}

type Looks = Pick<Write, 'looked' | 'uses' | 'referrers' | 'isReferred'>

const noLooks: Looks = { looked: [], uses: [], referrers: [], isReferred: false }

function listLooks (change: Change, relations: Relations): Looks {
  const looked = listLooked(change, relations)
  const id = getId(change)
  for (const { reference, id: referred } of looked) {
    if (!canHave(reference.to.id, referred)) throw refuseDangling(reference, id)
  }
  return {
    looked: looked.map(({ reference }) => reference),
    uses: looked.map(({ reference, id }) => makeKey(reference.to, id)),
    // What a column cannot have, it does not refer to.
    referrers: change.type === 'delete' ? relations.referrers.filter(({ column }) => canHave(column, id)) : [],
    isReferred: (change.type === 'insert' || change.type === 'delete') && relations.referrers.length > 0
  }
}

function makeKey ({ family }: Layout, id: Id): string {
  return `${family}\n${id}`
}

/** Whether a column of somebody else's stays as it is: it may hold more than we read of it, as microseconds. */
function isKept (change: Change, { present, field: { name } }: Column): boolean {
  return present !== undefined && name !== 'id' && change.type === 'replace' && change.current !== undefined &&
    isDeepStrictEqual(change.item[name], change.current[name])
}

/** Why a write is refused. */
export function makeRefusal ({ expected, layout: { family }, id }: Write): Error {
  return expected === undefined ? new DuplicateError(family, id) : new ConflictError(family, id)
}

/** Why a write is refused for the sake of a reference. @param broken the field, or what refers to it */
export function makeBroken ({ type, id, looked, referrers }: Write, broken: string): Error {
  return type === 'delete'
    ? refuseInUse(referrers.find(({ from }) => from.family === broken) as Reference, id)
    : refuseDangling(looked.find(({ column }) => column.field.name === broken) as Reference, id)
}
