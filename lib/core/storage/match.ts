import { compareScalars, isAbsent } from './compare.js'
import { maxWorkAtOnce } from './pattern.js'
import type { Condition, Scalar, Stored } from './storage.js'
import type { PlainCondition, SlowTest, TextCondition } from './text-tests.js'
import { allHold, isPlain, makeAnyTest, makeTextTest } from './text-tests.js'
import type { Turn } from './turn.js'

type Predicate = (item: Stored) => boolean

/**
 * The conditions of a query as one function in plain JavaScript, for storages that have no engine of their own.
 * Patterns come last, in their order: none is matched with an item that another condition, or a pattern before it,
 * excludes.
 */
export function matcher (where: readonly Condition[]): Predicate {
  const holdsButTexts = allOf(makePredicates(where))
  const tests = makeSlowTests(where)
  if (tests.length === 0) return holdsButTexts
  return item => holdsButTexts(item) && tests.every(test => test.holds(item))
}

/** The same for a search over many items: where matching one takes long, it pauses, and the answer comes later. */
export function makeSearch (where: readonly Condition[]): (item: Stored, turn: Turn) => boolean | Promise<boolean> {
  const holdsButTexts = allOf(makePredicates(where))
  const tests = makeSlowTests(where)
  if (tests.length === 0) return holdsButTexts
  return (item, turn) => {
    if (!holdsButTexts(item)) return false
    const work = tests.reduce((sum, test) => sum + test.estimateWork(item), 0)
    return work <= maxWorkAtOnce ? tests.every(test => test.holds(item)) : allHold(tests, item, turn)
  }
}

function makeSlowTests (where: readonly Condition[]): SlowTest[] {
  return where.flatMap(condition => {
    if (isPlain(condition)) return []
    if (condition.op !== 'any') return makeTextTest(condition as TextCondition)
    return makeAnyTest(condition.of.map(all => ({
      isPossible: allOf(makePredicates(all)),
      tests: makeSlowTests(all)
    })))
  })
}

function allOf (predicates: readonly Predicate[]): Predicate {
  return item => {
    for (const holds of predicates) if (!holds(item)) return false
    return true
  }
}

function makePredicates (where: readonly Condition[]): Predicate[] {
  return (where.filter(isPlain) as PlainCondition[]).map(makePredicate)
}

function makePredicate (condition: PlainCondition): Predicate {
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
    case 'any': {
      const alternatives = condition.of.map(all => allOf(makePredicates(all)))
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
