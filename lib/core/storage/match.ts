import { compareScalars, isAbsent } from './compare.js'
import type { Condition, Scalar, Stored } from './storage.js'
import { isPlain, makeTextTest } from './text-tests.js'

type Predicate = (item: Stored) => boolean

/**
 * The conditions of a query as one function in plain JavaScript, for storages without a query engine.
 * Patterns come last, in their order: none is matched with an item that another condition, or a pattern before it,
 * excludes.
 */
export function matcher (where: readonly Condition[]): Predicate {
  const predicates = [...where.filter(isPlain), ...where.filter(condition => !isPlain(condition))].map(makePredicate)
  return item => {
    for (const holds of predicates) if (!holds(item)) return false
    return true
  }
}

function makePredicate (condition: Condition): Predicate {
  switch (condition.op) {
    case 'eq': return makeMembership(condition.field, condition.values, true)
    case 'ne': return makeMembership(condition.field, condition.values, false)
    case 'null': {
      const { field, is } = condition
      return item => isAbsent(item[field]) === is
    }
    case 'gt': return makeComparison(condition.field, condition.value, order => order > 0)
    case 'gte': return makeComparison(condition.field, condition.value, order => order >= 0)
    case 'lt': return makeComparison(condition.field, condition.value, order => order < 0)
    case 'lte': return makeComparison(condition.field, condition.value, order => order <= 0)
    case 'regex':
    case 'has': return makeTextTest(condition).holds
    case 'any': {
      // No text is searched where an alternative holds without.
      const searchesText = (all: readonly Condition[]): number => Number(!all.every(isPlain))
      const alternatives = [...condition.of].sort((a, b) => searchesText(a) - searchesText(b)).map(matcher)
      return item => alternatives.some(holds => holds(item))
    }
  }
}

function makeMembership (field: string, values: readonly Scalar[], isIn: boolean): Predicate {
  const set = new Set<unknown>(values)
  return item => set.has(item[field]) === isIn
}

function makeComparison (field: string, bound: Scalar, holds: (order: number) => boolean): Predicate {
  return item => {
    const value = item[field] as Scalar | null | undefined
    return !isAbsent(value) && holds(compareScalars(value, bound))
  }
}
