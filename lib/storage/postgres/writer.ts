import { isDeepStrictEqual } from 'node:util'
import {
  type Change, ConflictError, ConstraintError, DuplicateError, getId, type Id, type Kind
} from '../../core/storage/storage.js'
import { listSetReferences, type Reference, refuseDangling, refuseInUse, type Relations } from '../sql/definitions.js'
import type { PresentColumn } from '../sql/dialect.js'
import { encodeFlag } from '../sql/flags.js'
import { type Column, type Layout, listWritten } from '../sql/layout.js'
import { canHave, findFlawInColumn } from './types.js'

/** Ends the path in the name of a broken reference. No path has it. */
export const pathEnd = '\n'

export interface EncodedWrite {
  readonly type: Change['type']
  readonly layout: Layout
  readonly id: Id
  readonly key: string
  /** Undefined if the item must not exist. */
  readonly expected: number | undefined
  /** `updatedAt` of the item that is expected, if it is known. */
  readonly since: string | undefined
  /** Everything that the text of its statement depends on, besides the layout. */
  readonly shape: string
  /** Those of the columns that are written. JSON is text. */
  readonly values: readonly unknown[]
  /** The same as members of a JSON object, without the braces. */
  readonly writeJson: () => string
  readonly checked: readonly Reference[]
  /** The ids to check of references by paths, by these; undefined if there are none. */
  readonly idsByPath: Readonly<Record<string, readonly Id[]>> | undefined
  /** Keys of the items that `checked` refers to. */
  readonly uses: readonly string[]
  /** References by which others may refer to a deleted item. */
  readonly referrers: readonly Reference[]
  /** Whether others may refer to the item that it inserts or deletes. */
  readonly isReferred: boolean
}

export class PostgresTableWriter {
  readonly #columns: readonly Column[]
  /** Of each column in JSON. */
  readonly #beginnings: readonly string[]

  constructor (readonly layout: Layout) {
    this.#columns = listWritten(layout)
    this.#beginnings = this.#columns.map(({ name }) => `,${JSON.stringify(name)}:`)
  }

  encodeChange (change: Change, relations: Relations | undefined): EncodedWrite {
    const { layout } = this
    const item = 'item' in change ? change.item : undefined
    const id = 'item' in change ? change.item.id : change.id
    const kept: string[] = []
    const values: unknown[] = []
    for (const { name: columnName, present, field, field: { name }, kind } of this.#columns) {
      if (present !== undefined && isKept(change, name)) {
        kept.push(columnName as string)
        values.push(undefined)
        continue
      }
      const given = name === 'id' ? id : item?.[name]
      const value = given === undefined && item !== undefined ? field.default : given
      const isJson = kind === 'json' && value !== undefined && value !== null
      const checked = present === undefined ? value : this.#encodeMapped(present, name, kind, value, id)
      values.push(isJson ? JSON.stringify(checked) : checked)
    }
    const { checked, idsByPath, uses, referrers, isReferred } =
      relations === undefined ? unrelated : relate(change, relations)
    return {
      type: change.type,
      layout,
      id,
      key: makeKey(layout, id),
      expected: change.type === 'insert' ? undefined : change.expected,
      since: change.type === 'insert' ? undefined : change.current?.updatedAt,
      shape: [change.type, ...checked.map(describeReference), ...referrers.map(describeReference)].join(),
      values,
      writeJson: () => this.#writeMembers(values) +
        (kept.length === 0 ? '' : `,"$k":${JSON.stringify(kept)}`) +
        (checked.length === 0 ? '' : `,"$r":${JSON.stringify(checked.map(nameChecked))}`) +
        (idsByPath === undefined ? '' : `,"$p":${JSON.stringify(idsByPath)}`) +
        (referrers.length === 0 ? '' : `,"$u":${JSON.stringify(referrers.map(nameReference))}`),
      checked,
      idsByPath,
      uses,
      referrers,
      isReferred
    }
  }

  #encodeMapped (present: PresentColumn, field: string, kind: Kind, value: unknown, id: Id): unknown {
    if (present.flag !== undefined) return encodeFlag(present.flag, value)
    const isDecimal = kind === 'decimal' && typeof value === 'string'
    const allowed = findFlawInColumn(present, isDecimal ? Number(value) : value)
    if (allowed !== undefined) {
      throw new ConstraintError(this.layout.family, id, 'value', { fields: [field], allowed })
    }
    // A column of integers accepts no decimal point.
    return isDecimal ? value.replace(/\.0+$/, '') : value
  }

  // The text at once, instead of an object that is written next.
  #writeMembers (values: readonly unknown[]): string {
    let text = ''
    for (let index = 0; index < values.length; index++) {
      const value = values[index]
      if (value === undefined) continue
      const isText = typeof value === 'string' && this.#columns[index]?.kind !== 'json'
      text += `${this.#beginnings[index] as string}${isText ? JSON.stringify(value) : String(value)}`
    }
    return text.slice(1)
  }
}

type Related = Pick<EncodedWrite, 'checked' | 'idsByPath' | 'uses' | 'referrers' | 'isReferred'>

const unrelated: Related = { checked: [], idsByPath: undefined, uses: [], referrers: [], isReferred: false }

function relate (change: Change, relations: Relations): Related {
  const set = listSetReferences(change, relations)
  const id = getId(change)
  for (const { reference, ids } of set) {
    const missing = ids.filter(referred => !canHave(reference.to.id, referred))
    if (missing.length > 0) throw refuseDangling(reference, id, missing)
  }
  const byPath = set.flatMap(({ reference: { path }, ids }) => path === undefined ? [] : [[path, ids] as const])
  return {
    checked: set.map(({ reference }) => reference),
    idsByPath: byPath.length === 0 ? undefined : Object.fromEntries(byPath),
    uses: set.flatMap(({ reference, ids }) => ids.map(id => makeKey(reference.to, id))),
    // A column cannot refer to a value that it cannot have.
    referrers: change.type === 'delete'
      ? relations.referrers.filter(({ column, path }) => path !== undefined || canHave(column, id))
      : [],
    isReferred: (change.type === 'insert' || change.type === 'delete') && relations.referrers.length > 0
  }
}

function makeKey ({ family }: Layout, id: Id): string {
  return `${family}\n${id}`
}

export function nameReference ({ from, column, path = column.field.name }: Reference): string {
  return `${from.family}.${path}`
}

/** In `$r`: the column or, with its ids in `$p`, the path. */
export function nameChecked ({ column, path = column.name as string }: Reference): string {
  return path
}

function describeReference (reference: Reference): string {
  return `${nameReference(reference)}:${reference.to.serial}`
}

/** A mapped column may hold more than is read, such as microseconds, so unchanged ones are not written. */
function isKept (change: Change, field: string): boolean {
  return field !== 'id' && change.type === 'replace' && change.current !== undefined &&
    isDeepStrictEqual(change.item[field], change.current[field])
}

/**
 * `broken`: the field of a broken reference, or its path and an id; or the family that refers to a deleted item; null
 * for a stale item. `all`: what else is broken of the same item.
 */
export function makeCommitError (write: EncodedWrite, broken: string | null, all: readonly (string | null)[]): Error {
  const { type, expected, layout: { family }, id, checked, idsByPath, referrers } = write
  if (broken === null) return expected === undefined ? new DuplicateError(family, id) : new ConflictError(family, id)
  if (type === 'delete') return refuseInUse(referrers.find(({ from }) => from.family === broken) as Reference, id)
  const end = broken.indexOf(pathEnd)
  const name = end === -1 ? broken : broken.slice(0, end)
  const reference = checked.find(({ column, path = column.field.name }) => path === name) as Reference
  const missing = idsByPath?.[name]?.filter(each => all.includes(name + pathEnd + String(each)))
  return refuseDangling(reference, id, missing ?? [])
}
