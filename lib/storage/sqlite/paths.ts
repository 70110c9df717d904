import { type Bound, compareScalars, isBound, isLower } from '../../core/storage/conditions.js'
import type { Change, Condition, Id, Order, Query, Scalar } from '../../core/storage/storage.js'
import type { PlannedQuery } from '../sql/filling.js'
import type { Column, Layout } from '../sql/layout.js'
import { prepareRead, type ReadStatement, type SqliteDatabase } from './driver.js'

export interface Index {
  readonly name: string
  readonly fields: readonly string[]
  /** Those whose entries are not in the order of their values: booleans that are kept as others. */
  readonly unsorted?: readonly string[]
  /** Entries with equal values are in the order of the id. */
  readonly sortedById: boolean
}

/** Rows that a statement in the main thread may visit. */
export interface PathLimits {
  readonly keyRows: number
  /** Lower than `keyRows`: each entry may lead to a row elsewhere. */
  readonly indexRows: number
  /** Along the key, if entries are only counted. */
  readonly skipRows: number
  readonly anchorRows: number
}

export const pathLimits: PathLimits = { keyRows: 2000, indexRows: 500, skipRows: 60_000, anchorRows: 100 }

/** A range of the key or of an index in which every row meets the bounds. */
export interface Path {
  /** Undefined for the key. */
  readonly index: string | undefined
  /** Values of the first fields, and at most one bound on each side of the next. */
  readonly bounds: readonly Condition[]
  readonly rest: readonly Condition[]
  readonly maxRows: number
  /** The order of the query, without fields that have the same value in all rows. */
  readonly order: readonly Order[]
  readonly isOrdered: boolean
  /** Whether rows are sorted by the first field of the order, in either direction. */
  readonly isByFirst: boolean
}

export interface PageText {
  readonly text: string
  readonly length: number
  /** Each item but the first begins with it, after one character. It occurs nowhere else. */
  readonly mark: string
  readonly total?: number
  readonly isPartial?: boolean
  /** A row lacks a default, so that the page may be wrong. */
  readonly isLacking?: boolean
}

export type Section = Pick<PlannedQuery, 'limit' | 'offset' | 'maxLength' | 'lacking'>

/** The best paths first, lazily: most pages need one. */
export function * listAccessPaths (query: Query, indexes: readonly Index[], limits: PathLimits): Generator<Path> {
  const key = makePath(query, { name: undefined, fields: [], sortedById: true }, limits.keyRows)
  // An index has the order of the key only where its fields have one value.
  const isKeyFirst = key.isOrdered && !query.where.some(isEquality)
  if (isKeyFirst) yield key
  const paths = indexes.map(index => makePath(query, index, limits.indexRows))
  const usable = paths.filter(({ bounds, isByFirst }) => bounds.length > 0 || isByFirst)
  const all = isKeyFirst ? usable : [...usable, key]
  yield * all.toSorted((a, b) => rank(b) - rank(a) || b.bounds.length - a.bounds.length)
}

function rank ({ isOrdered, isByFirst }: Path): number {
  return isOrdered ? 2 : isByFirst ? 1 : 0
}

function makePath (
  { where, order: asked }: Query,
  { name, fields, unsorted = [], sortedById }: Omit<Index, 'name'> & { readonly name: string | undefined },
  maxRows: number
): Path {
  const equal: Condition[] = []
  for (const field of fields) {
    const value = where.find(condition => condition.field === field && isEquality(condition))
    if (value === undefined) break
    equal.push(value)
  }
  const others = fields.slice(equal.length).map(field => unsorted.includes(field) ? '' : field)
  const next = [...others, ...sortedById ? ['id'] : []]
  const isRange = (condition: Condition): condition is Bound => isBound(condition) && condition.field === next[0]
  const bounds = [...equal, ...listTightest(where.filter(isRange))]
  const given = where.filter(isOneValue)
  const order = asked.filter(({ field }) => !given.some(condition => condition.field === field))
  // With several values, the rows come one value after the other.
  const isByFirst = equal.every(isOneValue) && order[0] !== undefined && order[0].field === next[0]
  const isOrdered = isByFirst && order.every(({ field, descending }, at) =>
    field === next[at] && descending === order[0]?.descending)
  const rest = where.filter(condition => !equal.includes(condition) && !isRange(condition))
  return { index: name, bounds, rest, maxRows, order, isOrdered, isByFirst }
}

// Of two bounds with the same value, the one that excludes it is tighter.
const excluded = { gt: 1, gte: 0, lt: -1, lte: 0 }

/** SQLite uses any one bound of a side, and would visit all rows that the others exclude. */
function listTightest (bounds: readonly Bound[]): Bound[] {
  const sorted = bounds.toSorted((a, b) => compareScalars(a.value, b.value) || excluded[a.op] - excluded[b.op])
  const tightest = [sorted.findLast(isLower), sorted.find(bound => !isLower(bound))]
  return tightest.filter(bound => bound !== undefined)
}

export function isEquality (condition: Condition): boolean {
  return condition.op === 'eq' || (condition.op === 'null' && condition.is)
}

function isOneValue (condition: Condition): boolean {
  return isEquality(condition) && (condition.op !== 'eq' || condition.values.length === 1)
}

/** Ids at regular distances along a range of the key. */
interface Anchored {
  readonly ids: Id[]
  readonly descending: boolean
  readonly state: string
}

interface PathReader {
  readonly layout: Layout
  readAt (path: Path, field: string, offset: number): Scalar | null | undefined
  readAlong (path: Path, section: Section, members: readonly Column[]): PageText
}

// Ranges per table whose anchors are kept; longer queries are hardly repeated.
const maxParts = 20
const maxKeyLength = 500

/**
 * Reads pages with a high offset without visiting all rows before: keeps ids at regular distances along the key. A
 * write of this process drops the anchors after it. Any other write, or one to a mapped table, drops all.
 */
export class Anchors {
  readonly #tables = new Map<string, Map<string, Anchored>>()
  readonly #readState: ReadStatement
  /** Rows written to our tables here, which total_changes() counts too. */
  #written = 0

  constructor (database: SqliteDatabase, readonly anchorRows: number) {
    // data_version changes when other connections commit, total_changes() with each write on this one.
    this.#readState = prepareRead(database, 'SELECT data_version, total_changes() FROM pragma_data_version')
  }

  readPage (statements: PathReader, path: Path, section: Section, members: readonly Column[]): PageText {
    const { limit, offset } = section
    const { anchorRows } = this
    const { layout } = statements
    const parts = this.#tables.get(layout.tableName) ?? new Map<string, Anchored>()
    this.#tables.set(layout.tableName, parts)
    const descending = path.order[0]?.descending === true
    const key = JSON.stringify([layout.family, descending, path.bounds])
    const kept = parts.get(key) ?? { ids: [], descending, state: this.#getState(layout) }
    const { ids } = kept
    const wanted = Math.floor(offset / anchorRows)
    while (ids.length < wanted) {
      const id = statements.readAt(beginAfter(path, ids.at(-1)), 'id', anchorRows - 1) as Id | undefined
      if (id === undefined) break
      ids.push(id)
    }
    const passed = Math.min(wanted, ids.length)
    const from = beginAfter(path, ids[passed - 1])
    const page = statements.readAlong(from, { limit, offset: offset - passed * anchorRows }, members)
    // Checked last, since others may have written meanwhile.
    if (kept.state !== this.#getState(layout)) {
      parts.delete(key)
      return statements.readAlong(path, section, members)
    }
    if (key.length <= maxKeyLength && !parts.has(key)) {
      if (parts.size >= maxParts) parts.delete(parts.keys().next().value as string)
      parts.set(key, kept)
    }
    return page
  }

  noteWrite ({ tableName, mapped }: Layout, type: Change['type'], id: Id): void {
    // A different mapped table may be a view of this one, which only the database knows.
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
    const [version, written] = this.#readState.get([]) as [number, number]
    return `${version} ${mapped ? written : written - this.#written}`
  }
}

/** Replaces the bound on the same side, which is less tight. */
function beginAfter (path: Path, id: Id | undefined): Path {
  if (id === undefined) return path
  const beyond: Condition = { field: 'id', op: path.order[0]?.descending === true ? 'lt' : 'gt', value: id }
  return { ...path, bounds: [...path.bounds.filter(bound => isLower(bound) !== isLower(beyond)), beyond] }
}
