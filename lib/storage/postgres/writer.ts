import { isDeepStrictEqual } from 'node:util'
import {
  type Change, ConflictError, ConstraintError, DuplicateError, getId, type Id, type Stored
} from '../../core/storage/storage.js'
import { listSetReferences, type Reference, refuseDangling, refuseInUse, type Relations } from '../sql/definitions.js'
import { type Column, type Layout, listWritten } from '../sql/layout.js'
import { canHave, findFlawInColumn } from './types.js'

export interface EncodedWrite {
  readonly type: Change['type']
  readonly layout: Layout
  readonly id: Id
  readonly key: string
  /** Undefined if the item must not exist. */
  readonly expected: number | undefined
  /** Everything that the text of its statement depends on, besides the layout. */
  readonly shape: string
  /** Members of a JSON object, without the braces. */
  readonly json: string
  readonly checked: readonly Reference[]
  /** Keys of the items that `checked` refers to. */
  readonly uses: readonly string[]
  /** References by which others may refer to a deleted item. */
  readonly referrers: readonly Reference[]
  /** Whether others may refer to the item that it inserts or deletes. */
  readonly isReferred: boolean
}

export class PostgresTableWriter {
  readonly #columns: readonly Column[]

  constructor (readonly layout: Layout) {
    this.#columns = listWritten(layout)
  }

  encodeChange (change: Change, relations: Relations | undefined): EncodedWrite {
    const { layout } = this
    const item = 'item' in change ? change.item : undefined
    const id = 'item' in change ? change.item.id : change.id
    const record: Record<string, unknown> = {}
    const kept: string[] = []
    for (const column of this.#columns) {
      const name = column.name as string
      if (isKept(change, column)) kept.push(name)
      else record[name] = this.#encodeValue(column, item, id)
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
      shape: [change.type, ...checked.map(describeReference), ...referrers.map(describeReference)].join(),
      json: JSON.stringify(record).slice(1, -1),
      checked,
      uses,
      referrers,
      isReferred
    }
  }

  #encodeValue ({ present, field, kind }: Column, item: Stored | undefined, id: Id): unknown {
    const given = field.name === 'id' ? id : item?.[field.name]
    const value = given === undefined && item !== undefined ? field.default : given
    if (present === undefined) return value
    const isDecimal = kind === 'decimal' && typeof value === 'string'
    const allowed = findFlawInColumn(present, isDecimal ? Number(value) : value)
    if (allowed !== undefined) {
      throw new ConstraintError(this.layout.family, id, 'value', { fields: [field.name], allowed })
    }
    // A column of integers accepts no decimal point.
    return isDecimal ? value.replace(/\.0+$/, '') : value
  }
}

type Related = Pick<EncodedWrite, 'checked' | 'uses' | 'referrers' | 'isReferred'>

const unrelated: Related = { checked: [], uses: [], referrers: [], isReferred: false }

function relate (change: Change, relations: Relations): Related {
  const checked = listSetReferences(change, relations)
  const id = getId(change)
  for (const { reference, id: referred } of checked) {
    if (!canHave(reference.to.id, referred)) throw refuseDangling(reference, id)
  }
  return {
    checked: checked.map(({ reference }) => reference),
    uses: checked.map(({ reference, id }) => makeKey(reference.to, id)),
    // A column cannot refer to a value that it cannot have.
    referrers: change.type === 'delete' ? relations.referrers.filter(({ column }) => canHave(column, id)) : [],
    isReferred: (change.type === 'insert' || change.type === 'delete') && relations.referrers.length > 0
  }
}

function makeKey ({ family }: Layout, id: Id): string {
  return `${family}\n${id}`
}

export function nameReference ({ from, column }: Reference): string {
  return `${from.family}.${column.field.name}`
}

function describeReference (reference: Reference): string {
  return `${nameReference(reference)}:${reference.to.serial}`
}

/** A mapped column may hold more than is read, such as microseconds, so unchanged ones are not written. */
function isKept (change: Change, { present, field: { name } }: Column): boolean {
  return present !== undefined && name !== 'id' && change.type === 'replace' && change.current !== undefined &&
    isDeepStrictEqual(change.item[name], change.current[name])
}

/** `broken`: the field of a broken reference, or the family that refers to a deleted item; null for a stale item. */
export function makeRefusal (write: EncodedWrite, broken: string | null): Error {
  const { type, expected, layout: { family }, id, checked, referrers } = write
  if (broken === null) return expected === undefined ? new DuplicateError(family, id) : new ConflictError(family, id)
  return type === 'delete'
    ? refuseInUse(referrers.find(({ from }) => from.family === broken) as Reference, id)
    : refuseDangling(checked.find(({ column }) => column.field.name === broken) as Reference, id)
}
