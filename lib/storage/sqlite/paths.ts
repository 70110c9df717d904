import { compareScalars } from '../../core/storage/conditions.js'
import type { Change, Condition, FieldCondition, Id, Order, Query, Scalar } from '../../core/storage/storage.js'
import type { Column, Layout } from '../sql/layout.js'
import type { ReadStatement, SqliteDatabase } from './driver.js'
import { prepareRead } from './driver.js'

/** An index over these fields. */
export interface Index {
  readonly name: string
  readonly fields: readonly string[]
  /** Whether entries with equal values are known to be in the order of the id. */
  readonly sortedById: boolean
  /** The fields of which it has the first `indexedLength` characters only. */
  readonly cut?: readonly string[]
}

/** Every index ends with the id, whether that is said or not; here it is not. */
export function makeIndex (name: string, fields: readonly string[], sortedById: boolean): Index {
  return fields.length > 1 && fields.at(-1) === 'id'
    ? { name, fields: fields.slice(0, -1), sortedById: true }
    : { name, fields, sortedById }
}

/** How many rows a statement may visit that holds the event loop. */
export interface PathLimits {
  /** Along the key. */
  readonly keyRows: number
  /** Along an index, where each entry may lead to a row elsewhere. */
  readonly indexRows: number
  /** Along the key where only entries are counted, from one anchor to the next. */
  readonly skipRows: number
}

export const pathLimits: PathLimits = { keyRows: 2000, indexRows: 500, skipRows: 60_000 }

/** A part of the key, or of an index, all rows of which meet the bounds: what it visits is what it finds. */
export interface Path {
  /** The name of the index; the key where there is none. */
  readonly index: string | undefined
  /** Values of its first fields, and at most one bound on each side of the next. */
  readonly bounds: readonly Condition[]
  /** The conditions that are left. */
  readonly rest: readonly Condition[]
  readonly maxRows: number
  /** The order of the query, without fields that have one value in all rows. */
  readonly order: readonly Order[]
  /** Whether the rows along the path are in that order. */
  readonly isOrdered: boolean
  /** Whether they are in the order of its first field, upwards or downwards. */
  readonly isByFirst: boolean
}

/** The items of a page as JSON. */
export interface PageText {
  readonly text: string
  /** How many they are. */
  readonly length: number
  /** Begins, with one character that stands before it, every item but the first, and stands nowhere else. */
  readonly mark: string
  readonly total?: number
}

/** A page, and what is read of its items. */
export type Section = Pick<Query, 'limit' | 'offset'> & { readonly members: readonly Column[] }

/** What reads along paths. */
interface PathReader {
  readonly layout: Layout
  /** What the row at this position has in a field; undefined where the path has fewer rows. */
  readAt (path: Path, field: string, offset: number): Scalar | null | undefined
  readAlong (path: Path, section: Section): PageText
}

/** The paths that may lead to a page, the best first. They are made when they are asked for: most pages need one. */
export function * listPaths (query: Query, indexes: readonly Index[], limits: PathLimits): Generator<Path> {
  const key = makePath(query, [], true, undefined, limits.keyRows)
  // No index has the order of the key but after values that are given.
  const isKeyFirst = key.isOrdered && !query.where.some(isEquality)
  if (isKeyFirst) yield key
  const paths = indexes.map(index => makePath(query, index.fields, index.sortedById, index.name, limits.indexRows))
  const usable = paths.filter(({ bounds, isByFirst }) => bounds.length > 0 || isByFirst)
  const all = isKeyFirst ? usable : [...usable, key]
  yield * all.toSorted((a, b) => rank(b) - rank(a) || b.bounds.length - a.bounds.length)
}

function rank ({ isOrdered, isByFirst }: Path): number {
  return isOrdered ? 2 : isByFirst ? 1 : 0
}

function makePath (
  { where, order: asked }: Query,
  fields: readonly string[],
  sortedById: boolean,
  index: string | undefined,
  maxRows: number
): Path {
  const equal: Condition[] = []
  for (const field of fields) {
    const value = where.find(condition => condition.field === field && isEquality(condition))
    if (value === undefined) break
    equal.push(value)
  }
  const next = [...fields.slice(equal.length), ...sortedById ? ['id'] : []]
  const isRange = (condition: Condition): condition is Bound => isBound(condition) && condition.field === next[0]
  const bounds = [...equal, ...listTightest(where.filter(isRange))]
  const given = where.filter(isOneValue)
  const order = asked.filter(({ field }) => !given.some(condition => condition.field === field))
  // Of several values each has rows of its own, one after the other.
  const isByFirst = equal.every(isOneValue) && order[0] !== undefined && order[0].field === next[0]
  const isOrdered = isByFirst && order.every(({ field, descending }, at) =>
    field === next[at] && descending === order[0]?.descending)
  const rest = where.filter(condition => !equal.includes(condition) && !isRange(condition))
  return { index, bounds, rest, maxRows, order, isOrdered, isByFirst }
}

/**
 * The tightest bound of each side. SQLite goes along an index by one of them, whichever, and would visit all that the
 * others exclude.
 */
function listTightest (bounds: readonly Bound[]): Bound[] {
  return [...chooseTightest(bounds.filter(isLower), 1), ...chooseTightest(bounds.filter(each => !isLower(each)), -1)]
}

type Bound = Extract<FieldCondition, { readonly value: unknown }>

/** @param sign 1 where the greatest is the tightest, -1 where the least is */
function chooseTightest (bounds: readonly Bound[], sign: 1 | -1): Bound[] {
  let best: Bound | undefined
  for (const bound of bounds) {
    const order = best === undefined ? 1 : compareScalars(bound.value, best.value) * sign
    // Of two with one value, the one that excludes it.
    if (order > 0 || (order === 0 && !bound.op.endsWith('e'))) best = bound
  }
  return best === undefined ? [] : [best]
}

function isBound (condition: Condition): condition is Bound {
  return 'value' in condition
}

export function isLower ({ op }: Condition): boolean {
  return op === 'gt' || op === 'gte'
}

/** Whether it leaves some values of a field, each of which an index finds. */
export function isEquality (condition: Condition): boolean {
  return condition.op === 'eq' || (condition.op === 'null' && condition.is)
}

function isOneValue (condition: Condition): boolean {
  return isEquality(condition) && (condition.op !== 'eq' || condition.values.length === 1)
}

/** The ids that stand at regular distances along a part of the key. */
interface Anchored {
  readonly ids: Id[]
  readonly descending: boolean
  /** What the database was at when they were found. */
  readonly state: string
}

/** How far apart anchors are. */
export interface AnchorLimits {
  readonly anchorRows: number
}

export const anchorLimits: AnchorLimits = { anchorRows: 100 }

// Parts of one table whose anchors are kept; longer queries nobody repeats.
const maxParts = 20
const maxKeyLength = 500

/**
 * Finds pages by their numbers without passing over all rows before them: keeps ids at regular distances along the key.
 * What is written here to a table of ours moves the anchors beyond it, and no others; after any other write they are
 * found anew.
 */
export class Anchors {
  /** By table, and by query. */
  readonly #tables = new Map<string, Map<string, Anchored>>()
  readonly #readState: ReadStatement
  /** Rows of our tables that were written here, which the database counts too. */
  #written = 0
  /** What was read last, and within which transaction: it stays as it is to the end of that. */
  #read: { readonly within: number | undefined, readonly state: readonly [number, number] } | undefined

  /** @param reads which transaction reads are in, if any */
  constructor (
    database: SqliteDatabase,
    readonly reads: { readonly transaction: number | undefined },
    readonly limits: AnchorLimits
  ) {
    // The first changes when others commit, the second with everything that is written over this connection.
    this.#readState = prepareRead(database, 'SELECT data_version, total_changes() FROM pragma_data_version')
  }

  /** Reads a page along the key, beginning at the nearest anchor before it. */
  readPage (statements: PathReader, path: Path, section: Section): PageText {
    const { members, limit, offset } = section
    const { anchorRows } = this.limits
    const { layout } = statements
    const parts = this.#getParts(layout)
    const descending = path.order[0]?.descending === true
    const key = JSON.stringify([layout.family, descending, path.bounds])
    const kept = parts.get(key) ?? { ids: [], descending, state: this.#getState(layout) }
    const { ids } = kept
    const wanted = Math.floor(offset / anchorRows)
    while (ids.length < wanted) {
      const id = statements.readAt(moveOn(path, ids.at(-1)), 'id', anchorRows - 1) as Id | undefined
      if (id === undefined) break
      ids.push(id)
    }
    const passed = Math.min(wanted, ids.length)
    const from = moveOn(path, ids[passed - 1])
    const page = statements.readAlong(from, { members, limit, offset: offset - passed * anchorRows })
    // Read last: others may have written meanwhile.
    if (kept.state === this.#getState(layout)) {
      keep(parts, key, kept)
      return page
    }
    parts.delete(key)
    return statements.readAlong(path, section)
  }

  /** To be called for every row that was written here. */
  noteWrite ({ tableName, mapped }: Layout, type: Change['type'], id: Id): void {
    // What else a mapped table may be part of, such as a view, only the database knows.
    if (mapped) return
    this.#written++
    const parts = type === 'replace' ? undefined : this.#tables.get(tableName)
    if (parts === undefined) return
    for (const { ids, descending } of parts.values()) {
      const sign = descending ? -1 : 1
      while (ids.length > 0 && compareScalars(ids.at(-1) as Id, id) * sign >= 0) ids.pop()
    }
  }

  #getState ({ mapped }: Layout): string {
    const within = this.reads.transaction
    if (within === undefined || within !== this.#read?.within) {
      this.#read = { within, state: this.#readState.get([]) as [number, number] }
    }
    const [version, written] = this.#read.state
    return `${version} ${mapped ? written : written - this.#written}`
  }

  #getParts ({ tableName }: Layout): Map<string, Anchored> {
    let parts = this.#tables.get(tableName)
    if (parts === undefined) this.#tables.set(tableName, parts = new Map<string, Anchored>())
    return parts
  }
}

/** The path from this id on. */
function moveOn (path: Path, id: Id | undefined): Path {
  if (id === undefined) return path
  const beyond: Condition = { field: 'id', op: path.order[0]?.descending === true ? 'lt' : 'gt', value: id }
  // It takes the place of the bound on the same side, which it is tighter than.
  const other = path.bounds.filter(({ op }) => op.startsWith('g') !== (beyond.op === 'gt'))
  return { ...path, bounds: [...other, beyond] }
}

function keep (parts: Map<string, Anchored>, key: string, kept: Anchored): void {
  if (key.length > maxKeyLength || parts.has(key)) return
  if (parts.size >= maxParts) parts.delete(parts.keys().next().value as string)
  parts.set(key, kept)
}
