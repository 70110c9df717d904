import { isPlain } from '../../core/storage/conditions.js'
import type { Condition, Order, Query } from '../../core/storage/storage.js'
import type { Bounds, Equality, Index, IndexChoice, PlanLimits, Step } from './steps.js'

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
  if (namesIds(filters)) return yield { type: 'read' }
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

/** Whether all that it holds for have the same in the field. */
function isOneValue (condition: Condition): condition is Equality {
  return condition.op === 'null' ? condition.is : condition.op === 'eq' && condition.values.length === 1
}

/** The longest index all of whose fields have one given value: in it the rows are in the order of the id. */
function chooseSortedIndex (
  indexes: readonly Index[],
  filters: readonly Condition[]
): { index: Index | undefined, equal: readonly Equality[] } {
  let best: { index: Index | undefined, equal: readonly Equality[] } = { index: undefined, equal: [] }
  const given = filters.filter(isOneValue)
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

/** Whether the items are named by their ids: then they are few. */
export function namesIds (where: readonly Condition[]): boolean {
  return where.some(({ field, op }) => field === 'id' && op === 'eq')
}

function isRange (op: Condition['op']): boolean {
  return op === 'gt' || op === 'gte' || op === 'lt' || op === 'lte'
}

export function hasPatterns ({ where }: Pick<Query, 'where'>): boolean {
  return !where.every(isPlain)
}
