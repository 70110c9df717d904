import { compareScalars, isAbsent } from './compare.js'
import { ContainedText } from './contained-text.js'
import { compilePattern } from './pattern.js'
import type { Condition, Scalar, Stored } from './storage.js'
import { isPlain } from './text-tests.js'

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
    case 'regex': return makeSearch(condition.field, condition.patterns.map(text => compilePattern(text)))
    case 'has': return makeSearch(condition.field, condition.texts.map(text => new ContainedText(text)))
    case 'any': {
      // No text is searched where an alternative holds without.
      const searchesText = (all: readonly Condition[]): number => Number(!all.every(isPlain))
      const alternatives = [...condition.of].sort((a, b) => searchesText(a) - searchesText(b)).map(matcher)
      return item => alternatives.some(holds => holds(item))
    }
  }
}

// In JavaScript, so that it means the same on every storage.
function makeSearch (field: string, searches: readonly { test (text: string): boolean }[]): Predicate {
  return item => {
    const value = item[field]
    return !isAbsent(value) && searches.some(search => search.test(String(value)))
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
