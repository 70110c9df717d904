import { RE2JS } from 're2js'
import { BoundedCache } from '../cache.js'
import { compareScalars } from './compare.js'
import type { Condition, Scalar, Stored } from './storage.js'

type Predicate = (item: Stored) => boolean

/** The conditions of a query as one function in plain JavaScript, for storages that have no engine of their own. */
export function matcher (where: readonly Condition[]): Predicate {
  const predicates = where.map(makePredicate)
  return item => {
    for (const holds of predicates) if (!holds(item)) return false
    return true
  }
}

function makePredicate (condition: Condition): Predicate {
  const { field } = condition
  switch (condition.op) {
    case 'eq': {
      const values = new Set<unknown>(condition.values)
      return item => values.has(item[field])
    }
    case 'ne': {
      const values = new Set<unknown>(condition.values)
      return item => !values.has(item[field])
    }
    case 'gt': return makeComparison(field, condition.value, order => order > 0)
    case 'gte': return makeComparison(field, condition.value, order => order >= 0)
    case 'lt': return makeComparison(field, condition.value, order => order < 0)
    case 'lte': return makeComparison(field, condition.value, order => order <= 0)
    case 'regex': {
      const patterns = condition.patterns.map(compilePattern)
      return item => {
        const value = item[field]
        return value !== undefined && patterns.some(pattern => pattern.test(String(value)))
      }
    }
  }
}

function makeComparison (field: string, bound: Scalar, holds: (order: number) => boolean): Predicate {
  return item => {
    const value = item[field] as Scalar | undefined
    return value !== undefined && holds(compareScalars(value, bound))
  }
}

// Compiling takes far longer than matching, and clients repeat their patterns page after page.
const compiled = new BoundedCache<RE2JS>(200)

/** A client's pattern in an engine that needs linear time, whatever the pattern. Throws where the syntax is wrong. */
export function compilePattern (pattern: string): RE2JS {
  return compiled.get(pattern, text => RE2JS.compile(text))
}
