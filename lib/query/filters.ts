import { compareScalars } from '../storage/compare.js'
import { compilePattern } from '../storage/pattern.js'
import type { Condition, Scalar } from '../storage/storage.js'
import type { Filter } from './names.js'
import type { Parameter } from './query-string.js'
import { readText, readValue } from './values.js'
import type { Read } from './values.js'

/** Bounds of what filters may ask. */
export interface FilterLimits {
  /** How often one name may be repeated. */
  readonly maxValues: number
  readonly maxPatternLength: number
}

/** A filter as one parameter uses it. */
export interface FilterUse {
  readonly filter: Filter
  /** Values under the same key are alternatives; different keys must all hold. */
  readonly key: string
  readonly text: string
}

/** The filters of one query with the values given so far, by their keys. */
export type GivenFilters = Map<string, { readonly filter: Filter, readonly values: Scalar[] }>

/** Finds the filter that a parameter stands for, by its name or by a comparison sign in it. */
export function findFilter (filters: ReadonlyMap<string, Filter>, parameter: Parameter): FilterUse | undefined {
  const filter = filters.get(parameter.name)
  if (filter === undefined) return findComparison(filters, parameter)
  return { filter, key: parameter.name, text: parameter.value }
}

// age>=18 arrives as the name "age>" with a value, age>18 as the name "age>18" without one; percent-encoded, both
// arrive as one name.
function findComparison (
  filters: ReadonlyMap<string, Filter>,
  { name, value, assigned }: Parameter
): FilterUse | undefined {
  const parts = /^([^<>]+)([<>])(=?)(.*)$/s.exec(name)
  if (parts === null) return undefined
  const [, field, sign, equals, rest] = parts as unknown as [string, string, '<' | '>', string, string]
  const isSplitAtEquals = rest === '' && equals === '' && assigned
  const isInclusive = isSplitAtEquals || equals === '='
  const filter = filters.get(`${field}.${sign === '>' ? 'gt' : 'lt'}${isInclusive ? 'e' : ''}`)
  if (filter === undefined) return undefined
  const text = isSplitAtEquals ? value : assigned ? `${rest}=${value}` : rest
  return { filter, key: `${field}${sign}${isInclusive ? '=' : ''}`, text }
}

/** Adds a value to the filters of a query, or returns what is wrong with it. */
export function addFilter (given: GivenFilters, use: FilterUse, limits: FilterLimits): string | undefined {
  const { filter, key, text } = use
  const values = given.get(key)?.values
  if (values !== undefined && values.length >= limits.maxValues) return `may be given at most ${limits.maxValues} times`
  const read = filter.op === 'regex' ? readPattern(text, limits.maxPatternLength) : readValue(filter.field, text)
  if ('expected' in read) return read.expected
  if (values === undefined) given.set(key, { filter, values: [read.value] })
  else values.push(read.value)
  return undefined
}

function readPattern (text: string, maxLength: number): Read {
  if (text.length > maxLength) return { expected: `must have at most ${maxLength} characters` }
  const read = readText(text)
  if ('expected' in read) return read
  try {
    // Compiled patterns are cached, so that the storage need not compile it again.
    compilePattern(text)
    return read
  } catch (error) {
    return { expected: `must be a pattern in RE2 syntax: ${(error as Error).message}` }
  }
}

/** Turns the filters of a query into conditions, all of which must hold. */
export function toConditions (given: GivenFilters): Condition[] {
  const conditions: Condition[] = []
  for (const { filter, values } of given.values()) conditions.push(toCondition(filter, values))
  return conditions
}

function toCondition ({ field: { name: field }, op }: Filter, values: readonly Scalar[]): Condition {
  if (op === 'eq' || op === 'ne') return { field, op, values }
  if (op === 'regex') return { field, op, patterns: values as string[] }
  // Above any of the values is above the least of them; below any, below the greatest.
  const sign = op === 'gt' || op === 'gte' ? 1 : -1
  return { field, op, value: values.reduce((best, value) => compareScalars(value, best) * sign < 0 ? value : best) }
}
