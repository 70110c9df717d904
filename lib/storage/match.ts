import { compareScalars, isAbsent } from './compare.js'
import type { Pattern } from './pattern.js'
import { compilePattern, maxWorkAtOnce } from './pattern.js'
import type { Condition, Scalar, Stored } from './storage.js'
import type { Turn } from './turn.js'

type Predicate = (item: Stored) => boolean

/**
 * The conditions of a query as one function in plain JavaScript, for storages that have no engine of their own.
 * Patterns come last, in their order: none is matched with an item that another condition, or a pattern before it,
 * excludes.
 */
export function matcher (where: readonly Condition[]): Predicate {
  return allOf([...where.filter(isPlain).map(makePredicate), ...compilePatterns(where).map(makePatternPredicate)])
}

/** The same for a search over many items: where matching one takes long, it pauses, and the answer comes later. */
export function makeSearch (where: readonly Condition[]): (item: Stored, turn: Turn) => boolean | Promise<boolean> {
  const holdsButPatterns = allOf(where.filter(isPlain).map(makePredicate))
  const conditions = compilePatterns(where)
  if (conditions.length === 0) return holdsButPatterns
  const holdPatterns = allOf(conditions.map(makePatternPredicate))
  return (item, turn) => {
    if (!holdsButPatterns(item)) return false
    return estimateWork(conditions, item) <= maxWorkAtOnce ? holdPatterns(item) : matchInTurns(conditions, item, turn)
  }
}

function allOf (predicates: readonly Predicate[]): Predicate {
  return item => {
    for (const holds of predicates) if (!holds(item)) return false
    return true
  }
}

type PatternCondition = Extract<Condition, { readonly op: 'regex' }>
type PlainCondition = Exclude<Condition, PatternCondition>

function isPlain (condition: Condition): condition is PlainCondition {
  return condition.op !== 'regex'
}

function makePredicate (condition: PlainCondition): Predicate {
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
    case 'null': {
      const { is } = condition
      return item => isAbsent(item[field]) === is
    }
    case 'gt': return makeComparison(field, condition.value, order => order > 0)
    case 'gte': return makeComparison(field, condition.value, order => order >= 0)
    case 'lt': return makeComparison(field, condition.value, order => order < 0)
    case 'lte': return makeComparison(field, condition.value, order => order <= 0)
  }
}

function makeComparison (field: string, bound: Scalar, holds: (order: number) => boolean): Predicate {
  return item => {
    const value = item[field] as Scalar | null | undefined
    return !isAbsent(value) && holds(compareScalars(value, bound))
  }
}

/** A condition whose patterns are compiled. */
interface CompiledCondition {
  readonly field: string
  readonly patterns: readonly Pattern[]
}

function compilePatterns (where: readonly Condition[]): CompiledCondition[] {
  return where.filter(condition => condition.op === 'regex')
    .map(({ field, patterns }) => ({ field, patterns: patterns.map(text => compilePattern(text)) }))
}

function makePatternPredicate ({ field, patterns }: CompiledCondition): Predicate {
  return item => {
    const value = item[field]
    return !isAbsent(value) && patterns.some(pattern => pattern.test(String(value)))
  }
}

function estimateWork (conditions: readonly CompiledCondition[], item: Stored): number {
  let work = 0
  for (const { field, patterns } of conditions) {
    const value = item[field]
    if (isAbsent(value)) continue
    const { length } = String(value)
    for (const pattern of patterns) work += pattern.estimateWork(length)
  }
  return work
}

async function matchInTurns (
  conditions: readonly CompiledCondition[],
  item: Stored,
  turn: Turn
): Promise<boolean> {
  for (const { field, patterns } of conditions) {
    const value = item[field]
    if (isAbsent(value) || !await isAnyFound(patterns, String(value), turn)) return false
  }
  return true
}

async function isAnyFound (patterns: readonly Pattern[], text: string, turn: Turn): Promise<boolean> {
  for (const pattern of patterns) if (await pattern.testInTurns(text, turn)) return true
  return false
}
