import type { Condition, Order, Query } from '../storage.js'

/** An index over these fields. */
export interface Index {
  readonly name: string
  readonly fields: readonly string[]
  /** Whether entries with equal values are known to be in the order of the id. */
  readonly sortedById: boolean
}

/** Every index ends with the id, whether that is said or not; here it is not. */
export function makeIndex (name: string, fields: readonly string[], sortedById: boolean): Index {
  return fields.length > 1 && fields.at(-1) === 'id'
    ? { name, fields: fields.slice(0, -1), sortedById: true }
    : { name, fields, sortedById }
}

/** Bounds of what a step may cost. */
export interface PlanLimits {
  /** Rows that a first look may pass: most pages are full long before. */
  readonly lookRows: number
  /** Up to so many rows, gathering and sorting them is cheaper than going on along the key. */
  readonly fewEntries: number
  /** Rows that may be passed over along an index, or the key, in one go. */
  readonly skipRows: number
}

export const planLimits: PlanLimits = { lookRows: 2000, fewEntries: 4000, skipRows: 60_000 }

/**
 * One step of reading a page. Steps are tried in turn until one settles the page; the last always does. What a step
 * costs is bounded, whatever is in the table, but for `heavy`.
 */
export type Step =
  /** Reads the page as the database likes. */
  | { readonly type: 'read' }
  /** Reads the page along an index in which its rows are in the wanted order. */
  | { readonly type: 'read-index', readonly index: Index } & Bounds
  /** Looks at so many rows along such an index, or along the key, filtered by what is left; settles a page it fills. */
  | { readonly type: 'look', readonly index: Index | undefined, readonly filters: readonly Condition[] } & Bounds &
    { readonly rows: number }
  /**
   * Looks at the first rows along an index that has the order of the first field only: so many, and those that equal
   * the last of them, if they are few. Settles a page that they fill.
   */
  | { readonly type: 'window', readonly index: Index, readonly range: readonly Condition[], readonly rows: number } &
    { readonly maxEntries: number }
  /** Reads by the index that has fewest entries for its conditions, if they are few. */
  | { readonly type: 'fewest', readonly choices: readonly IndexChoice[], readonly maxEntries: number }
  /** Reads all rows within these bounds of the id, if they are few. */
  | { readonly type: 'few', readonly range: readonly Condition[], readonly maxEntries: number }
  /** Reads whatever there is: along the key, however far. */
  | { readonly type: 'heavy' }

/** The conditions that bound a part of an index, or of the key where `equal` is empty. */
export interface Bounds {
  /** One value for each field of the index. */
  readonly equal: readonly Equality[]
  /** Bounds of what comes next in it: the id, or a field of the order. */
  readonly range: readonly Condition[]
}

export type Equality = Extract<Condition, { readonly values: unknown }>

/** An index, and the conditions on its first fields. */
export interface IndexChoice {
  readonly index: Index
  readonly where: readonly Condition[]
}

/**
 * How to read a page. Databases know too little of the values to choose well: SQLite nothing without ANALYZE,
 * PostgreSQL takes them to be spread evenly over the ids, and a statement that is kept is planned without values. So
 * the way is chosen here: a bounded look first; if that does not fill the page, the index with few entries if there is
 * one; else along the key. Steps are worked out when they are asked for: most pages need the first alone.
 */
export function * planPage (query: Query, indexes: readonly Index[], limits: PlanLimits): Generator<Step, void> {
  const { where, order, offset, limit } = query
  const isDeep = offset + limit > limits.skipRows
  const range = where.filter(isRangeOfId)
  const filters = range.length === 0 ? where : where.filter(condition => !isRangeOfId(condition))
  if (filters.some(({ field, op }) => field === 'id' && op === 'eq')) return yield { type: 'read' }
  if (order[0]?.field === 'id') {
    if (filters.length === 0) return yield { type: isDeep ? 'heavy' : 'read' }
    const { index, equal } = chooseSortedIndex(indexes, filters)
    const left = index === undefined ? filters : filters.filter(condition => !equal.includes(condition as Equality))
    if (index !== undefined && left.length === 0) {
      return yield isDeep ? { type: 'heavy' } : { type: 'read-index', index, equal, range }
    }
    // With an offset nobody knows how far to look.
    if (offset === 0) yield { type: 'look', index, equal, range, filters: left, rows: limits.lookRows }
  } else if (!isDeep) {
    const isSettled = yield * planOrder(query, indexes, limits)
    if (isSettled) return
  }
  const choices = listChoices(indexes, filters)
  if (choices.length > 0) yield { type: 'fewest', choices, maxEntries: limits.fewEntries }
  yield { type: 'few', range, maxEntries: limits.fewEntries }
  yield { type: 'heavy' }
}

/** Along an index in the order of the page. Returns whether its last step settles the page for sure. */
function * planOrder (query: Query, indexes: readonly Index[], limits: PlanLimits): Generator<Step, boolean> {
  const { where, order, offset, limit } = query
  const followed = followIndex(indexes, query)
  if (followed?.filters.length === 0) {
    const { filters: none, ...along } = followed
    yield { type: 'read-index', ...along }
    return true
  }
  if (followed !== undefined) {
    if (offset === 0) yield { type: 'look', ...followed, rows: limits.lookRows }
    return false
  }
  const { field: first } = order[0] as Order
  const index = indexes.find(({ fields }) => fields[0] === first)
  const range = where.filter(({ field, op }) => field === first && isRange(op))
  if (index !== undefined && (offset === 0 || range.length === where.length)) {
    const rows = Math.max(limits.lookRows, offset + limit)
    yield { type: 'window', index, range, rows, maxEntries: rows + limits.fewEntries }
  }
  return false
}

/**
 * The index that has the order of a page after fields with one given value, as it is with a log, and what is left to
 * check along it.
 */
function followIndex (
  indexes: readonly Index[],
  { where, order }: Query
): { readonly index: Index, readonly filters: readonly Condition[] } & Bounds | undefined {
  for (const index of indexes) {
    if (!index.sortedById) continue
    const given = index.fields.map(field => where.find(condition => condition.field === field && isOneValue(condition)))
    const depth = given.findIndex(condition => condition === undefined)
    const equal = given.slice(0, depth === -1 ? given.length : depth) as Equality[]
    const wanted = order.filter(({ field }) => !equal.some(each => each.field === field))
    const rest = [...index.fields.slice(equal.length), 'id']
    const isInOrder = wanted.length === rest.length &&
      wanted.every(({ field, descending }, at) => field === rest[at] && descending === wanted[0]?.descending)
    if (!isInOrder) continue
    const range = where.filter(({ field, op }) => field === rest[0] && isRange(op))
    const filters = where.filter(condition => !range.includes(condition) && !equal.includes(condition as Equality))
    return { index, equal, range, filters }
  }
  return undefined
}

function isOneValue (condition: Condition): boolean {
  return condition.op === 'eq' && condition.values.length === 1
}

/** The longest index all of whose fields have one given value: in it the rows are in the order of the id. */
function chooseSortedIndex (
  indexes: readonly Index[],
  filters: readonly Condition[]
): { index: Index | undefined, equal: readonly Equality[] } {
  let best: { index: Index | undefined, equal: readonly Equality[] } = { index: undefined, equal: [] }
  const given = filters.filter(condition => condition.op === 'eq' && condition.values.length === 1) as Equality[]
  if (given.length === 0) return best
  for (const index of indexes) {
    if (!index.sortedById || index.fields.length <= best.equal.length) continue
    const equal = index.fields.flatMap(field => given.find(condition => condition.field === field) ?? [])
    if (equal.length === index.fields.length) best = { index, equal }
  }
  return best
}

/** The indexes that conditions can be read by: of those with one first field, the one that has most of them. */
export function listChoices (indexes: readonly Index[], where: readonly Condition[]): IndexChoice[] {
  const choices = new Map<string, IndexChoice>()
  for (const index of indexes) {
    const usable = listUsable(index, where)
    const field = index.fields[0] as string
    if (usable.length > (choices.get(field)?.where.length ?? 0)) choices.set(field, { index, where: usable })
  }
  return [...choices.values()]
}

/** Values of its first fields, and what is said of the next: together a part of the index, or a few. */
function listUsable ({ fields }: Index, where: readonly Condition[]): Condition[] {
  const usable: Condition[] = []
  for (const field of fields) {
    const here = where.filter(condition => condition.field === field && condition.op !== 'ne')
    usable.push(...here)
    if (!here.some(({ op }) => op === 'eq')) break
  }
  return usable
}

export function isRangeOfId ({ field, op }: Condition): boolean {
  return field === 'id' && isRange(op)
}

function isRange (op: Condition['op']): boolean {
  return op !== 'eq' && op !== 'ne' && op !== 'regex'
}

export function hasPatterns ({ where }: Pick<Query, 'where'>): boolean {
  return where.some(({ op }) => op === 'regex')
}
