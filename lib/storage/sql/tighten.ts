import { compareScalars } from '../../core/storage/conditions.js'
import type { Condition, FieldCondition, Query, Scalar } from '../../core/storage/storage.js'

type Bound = Extract<FieldCondition, { readonly value: unknown }>
type Equation = Extract<FieldCondition, { readonly values: unknown }>

/** What can be judged with others on the same field. */
type Comparison = Exclude<FieldCondition, { readonly op: 'regex' | 'has' }>

/**
 * Conditions that mean the same, with at most one lower and one upper bound for a field, and no bounds where values are
 * given. A database goes along an index by one bound of each side, whichever, and looks at all that the others exclude.
 * Those that search texts keep their order.
 */
export function tighten (where: readonly Condition[]): readonly Condition[] {
  if (!where.some((condition, at) => isLoose(where, condition, at))) return where
  const byField = new Map<string, Comparison[]>()
  for (const condition of where) {
    if (!isComparison(condition)) continue
    const others = byField.get(condition.field)
    if (others === undefined) byField.set(condition.field, [condition])
    else others.push(condition)
  }
  return [...[...byField.values()].flatMap(tightenField), ...where.filter(condition => !isComparison(condition))]
}

function isComparison (condition: Condition): condition is Comparison {
  return condition.op !== 'any' && condition.op !== 'regex' && condition.op !== 'has'
}

/** Whether another before it is on the same side of the same field; most queries have no such. */
function isLoose (where: readonly Condition[], condition: Condition, at: number): boolean {
  if (!isComparison(condition)) return false
  const { field, op } = condition
  for (let before = 0; before < at; before++) {
    const other = where[before] as Condition
    if (other.field !== field || !isComparison(other)) continue
    if (sides[op] === undefined || sides[other.op] === undefined || sides[op] === sides[other.op]) return true
  }
  return false
}

const sides: { readonly [op in Comparison['op']]?: 'lower' | 'upper' } = {
  gt: 'lower', gte: 'lower', lt: 'upper', lte: 'upper'
}

export function tightenQuery (query: Query): Query {
  const where = tighten(query.where)
  return where === query.where ? query : { ...query, where }
}

function tightenField (conditions: readonly Comparison[]): readonly Comparison[] {
  if (conditions.length === 1) return conditions
  const given = conditions.find(({ op }) => op === 'eq') as Equation | undefined
  if (given !== undefined) {
    const values = given.values.filter(value => conditions.every(condition => admits(condition, value)))
    return [{ ...given, values }]
  }
  const bounds = conditions.filter((condition): condition is Bound => 'value' in condition)
  const lower = bounds.filter(({ op }) => op === 'gt' || op === 'gte')
  const upper = bounds.filter(({ op }) => op === 'lt' || op === 'lte')
  return [
    ...chooseTightest(lower, 1),
    ...chooseTightest(upper, -1),
    ...conditions.filter(condition => !('value' in condition))
  ]
}

/** @param sign 1 for lower bounds, of which the greatest counts; -1 for upper ones */
function chooseTightest (bounds: readonly Bound[], sign: 1 | -1): Bound[] {
  let best: Bound | undefined
  for (const bound of bounds) {
    const order = best === undefined ? 1 : compareScalars(bound.value, best.value) * sign
    // Of two with one value, the one that excludes it.
    if (order > 0 || (order === 0 && !bound.op.endsWith('e'))) best = bound
  }
  return best === undefined ? [] : [best]
}

function admits (condition: Comparison, value: Scalar): boolean {
  switch (condition.op) {
    case 'eq': return condition.values.includes(value)
    case 'ne': return !condition.values.includes(value)
    case 'gt': return compareScalars(value, condition.value) > 0
    case 'gte': return compareScalars(value, condition.value) >= 0
    case 'lt': return compareScalars(value, condition.value) < 0
    case 'lte': return compareScalars(value, condition.value) <= 0
    case 'null': return !condition.is
  }
}
