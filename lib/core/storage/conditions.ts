import { compilePattern, ContainedText } from './patterns.js'
import type { Condition, FieldCondition, Kind, Order, Scalar, Stored } from './storage.js'

/**
 * Text is compared by code point, as in databases with a binary collation. A text that is compared with a number is a
 * decimal.
 */
export function compareScalars (a: Scalar, b: Scalar): number {
  if (typeof a === 'string' && typeof b === 'string') return compareText(a, b)
  if (a === b || (typeof a !== typeof b && Number(a) === Number(b))) return 0
  return a < b ? -1 : 1
}

function compareText (a: string, b: string): number {
  if (a === b) return 0
  const shared = Math.min(a.length, b.length)
  for (let i = 0; i < shared; i++) {
    const left = a.charCodeAt(i)
    const right = b.charCodeAt(i)
    if (left !== right) return rankUnit(left) - rankUnit(right)
  }
  return a.length - b.length
}

// Surrogates encode code points above U+FFFF, so they come after U+E000 to U+FFFF.
function rankUnit (unit: number): number {
  if (unit < 0xd800) return unit
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800
}

export function makeComparator (order: readonly Order[]): (a: Stored, b: Stored) => number {
  return (a, b) => {
    for (const { field, descending, numeric } of order) {
      const result = numeric === true
        ? compareOptional(toNumber(a[field]), toNumber(b[field]))
        : compareOptional(a[field] as Optional, b[field] as Optional)
      if (result !== 0) return descending ? -result : result
    }
    return 0
  }
}

type Optional = Scalar | null | undefined

function toNumber (text: unknown): number | undefined {
  return isAbsent(text) ? undefined : Number(text)
}

function compareOptional (a: Optional, b: Optional): number {
  if (isAbsent(a)) return isAbsent(b) ? 0 : -1
  return isAbsent(b) ? 1 : compareScalars(a, b)
}

/** The least of each kind. Databases read an index along a bound, but not always along "is not null". */
export const leastValues: Readonly<Record<Kind, Scalar>> = {
  integer: -(2 ** 63),
  number: -Number.MAX_VALUE,
  decimal: -Number.MAX_VALUE,
  boolean: false,
  string: '',
  date: '0001-01-01',
  'date-time': '0001-01-01T00:00:00.000Z',
  json: ''
}

export function isAbsent (value: unknown): value is null | undefined {
  return value === undefined || value === null
}

const searchesText: Readonly<Record<FieldCondition['op'], boolean>> = {
  eq: false, ne: false, gt: false, gte: false, lt: false, lte: false, null: false, regex: true, has: true
}

/** Whether it searches no text: then it is cheap, and every database can check it. */
export function isPlain (condition: Condition): boolean {
  if (condition.op === 'any') return condition.of.every(all => all.every(isPlain))
  return !searchesText[condition.op]
}

type Having<C, Op> = C extends { readonly op: infer Own } ? Op extends Own ? C : never : never

/** The condition with an operator. */
export type ConditionOf<Op extends FieldCondition['op']> = Having<FieldCondition, Op>

/** A condition on one side of a value. */
export type Bound = Extract<FieldCondition, { readonly op: 'gt' | 'gte' | 'lt' | 'lte' }>

export function isBound (condition: Condition): condition is Bound {
  return isLower(condition) || condition.op === 'lt' || condition.op === 'lte'
}

export function isLower ({ op }: Condition): boolean {
  return op === 'gt' || op === 'gte'
}

/** The values that are compared with the field. */
export function listValues (condition: FieldCondition): readonly Scalar[] {
  switch (condition.op) {
    case 'eq':
    case 'ne': return condition.values
    case 'gt':
    case 'gte':
    case 'lt':
    case 'lte': return [condition.value]
    case 'null':
    case 'regex':
    case 'has': return []
  }
}

/** With other values to compare, in the same order. */
export function withValues (condition: FieldCondition, change: (value: Scalar) => Scalar): FieldCondition {
  switch (condition.op) {
    case 'eq':
    case 'ne': return { ...condition, values: condition.values.map(change) }
    case 'gt':
    case 'gte':
    case 'lt':
    case 'lte': return { ...condition, value: change(condition.value) }
    case 'null':
    case 'regex':
    case 'has': return condition
  }
}

export function listFieldConditions (where: readonly Condition[]): FieldCondition[] {
  return where.flatMap(condition => condition.op === 'any' ? condition.of.flat() : condition)
}

/** Changes the conditions on fields, also in alternatives. */
export function mapConditions (
  where: readonly Condition[],
  change: (condition: FieldCondition) => FieldCondition
): Condition[] {
  return where.map(condition => condition.op === 'any'
    ? { ...condition, of: condition.of.map(all => all.map(change)) }
    : change(condition))
}

/** The only ids that can match; undefined if no condition lists them. */
export function findIds (where: readonly Condition[]): readonly Scalar[] | undefined {
  for (const condition of where) if (condition.op === 'eq' && condition.field === 'id') return condition.values
  return undefined
}

type Predicate = (item: Stored) => boolean

/**
 * The conditions of a query as one function, for storages without a query engine. Text is searched last, in the given
 * order: never in an item that another condition, or a search before it, excludes.
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
      // Alternatives that search no text are tried first.
      const rank = (all: readonly Condition[]): number => Number(!all.every(isPlain))
      const alternatives = [...condition.of].sort((a, b) => rank(a) - rank(b)).map(matcher)
      return item => alternatives.some(holds => holds(item))
    }
  }
}

// In JavaScript, so that it is the same on every storage.
function makeSearch (field: string, searches: readonly { test (text: string): boolean }[]): Predicate {
  return item => {
    const value = item[field]
    return !isAbsent(value) && searches.some(search => search.test(String(value)))
  }
}

function makeMembership (field: string, values: readonly Scalar[], isIn: boolean): Predicate {
  const set = new Set<unknown>(values)
  if (typeof values[0] !== 'number') return item => set.has(item[field]) === isIn
  return item => {
    const value = item[field]
    return set.has(typeof value === 'string' ? Number(value) : value) === isIn
  }
}

function makeComparison (field: string, bound: Scalar, holds: (order: number) => boolean): Predicate {
  return item => {
    const value = item[field] as Scalar | null | undefined
    return !isAbsent(value) && holds(compareScalars(value, bound))
  }
}
