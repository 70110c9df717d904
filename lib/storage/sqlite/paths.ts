import { compareScalars } from '../../core/storage/compare.js'
import type { Condition, FieldCondition, Order, Query } from '../../core/storage/storage.js'
import type { Index } from '../sql/steps.js'

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
