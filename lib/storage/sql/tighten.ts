import { compareScalars } from '../compare.js'
import type { Condition, Query, Scalar } from '../storage.js'

type Bound = Extract<Condition, { readonly value: unknown }>

/**
 * Conditions that mean the same, with at most one lower and one upper bound for a field, and no bounds where values are
 * given. A database goes along an index by one bound of each side, whichever, and looks at all that the others exclude.
 */
export function tighten (where: readonly Condition[]): readonly Condition[] {
  if (!where.some((condition, at) => isLoose(where, condition, at))) return where
  const byField = new Map<string, Condition[]>()
  for (const condition of where) {
    const others = byField.get(condition.field)
    if (others === undefined) byField.set(condition.field, [condition])
    else others.push(condition)
  }
  return [...byField.values()].flatMap(tightenField)
}

/** Whether another before it is on the same side of the same field; most queries have no such. */
function isLoose (where: readonly Condition[], { field, op }: Condition, at: number): boolean {
  for (let before = 0; before < at; before++) {
    const other = where[before] as Condition
    if (other.field !== field) continue
    if (sides[op] === undefined || sides[other.op] === undefined || sides[op] === sides[other.op]) return true
  }
  return false
}

const sides: { readonly [op in Condition['op']]?: 'lower' | 'upper' } = {
  gt: 'lower', gte: 'lower', lt: 'upper', lte: 'upper'
}

export function tightenQuery (query: Query): Query {
  const where = tighten(query.where)
  return where === query.where ? query : { ...query, where }
}

function tightenField (conditions: readonly Condition[]): readonly Condition[] {
  if (conditions.length === 1) return conditions
  const given = conditions.find(({ op }) => op === 'eq') as Extract<Condition, { readonly op: 'eq' | 'ne' }> | undefined
  if (given !== undefined) {
    const values = given.values.filter(value => conditions.every(condition => admits(condition, value)))
    return [{ ...given, values }, ...conditions.filter(({ op }) => op === 'regex')]
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

function admits (condition: Condition, value: Scalar): boolean {
  switch (condition.op) {
    case 'eq': return condition.values.includes(value)
    case 'ne': return !condition.values.includes(value)
    case 'gt': return compareScalars(value, condition.value) > 0
    case 'gte': return compareScalars(value, condition.value) >= 0
    case 'lt': return compareScalars(value, condition.value) < 0
    case 'lte': return compareScalars(value, condition.value) <= 0
    case 'null': return !condition.is
    case 'regex': return true
  }
}
