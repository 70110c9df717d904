import type { Condition, FieldCondition } from '../storage/storage.js'
import { toAlternatives } from './alternatives.js'
import type { Filter } from './names.js'
import type { PatternLimits } from './patterns.js'
import { describeTooMany, isSearch, readSearch } from './patterns.js'
import type { Parameter } from './query-string.js'
import type { Operand } from './values.js'
import { isNullField, readOperand } from './values.js'

/** Bounds of what filters may ask. */
export interface FilterLimits extends PatternLimits {
  /** How often one name may be repeated. */
  readonly maxValues: number
}

/** A filter as one parameter uses it. */
interface FilterUse {
  readonly filter: Filter
  /** Values under the same key are alternatives; different keys must all hold. */
  readonly key: string
  readonly text: string
  /** Of a group, one key must hold. */
  readonly group?: string | undefined
}

/** The filters of one query, as far as they were read. */
export interface GivenFilters {
  /** With their operands, by their keys. */
  readonly byKey: Map<string, GivenFilter>
  /** How many searches there were, wrong ones too. */
  patterns: number
}

interface GivenFilter {
  readonly filter: Filter
  readonly operands: Operand[]
  readonly group: string | undefined
}

/** Splits the name of a parameter in a group, as `or.age` and `or2.age`. */
export function splitGroup (name: string): { group: string, name: string } | undefined {
  const parts = /^(or(?:[1-9]\d*)?)\.(.*)$/s.exec(name)
  return parts === null ? undefined : { group: parts[1] as string, name: parts[2] as string }
}

/** Finds the filter that a parameter stands for, by its name or by a comparison sign in it. */
export function findFilter (filters: ReadonlyMap<string, Filter>, parameter: Parameter): FilterUse | undefined {
  const split = splitGroup(parameter.name)
  if (split === undefined) return findPlain(filters, parameter)
  const { group, name } = split
  const use = findPlain(filters, { ...parameter, name })
  return use && { ...use, key: `${group}.${use.key}`, group }
}

function findPlain (filters: ReadonlyMap<string, Filter>, parameter: Parameter): FilterUse | undefined {
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

/** Adds an operand to the filters of a query, or returns what is wrong with it. */
export function addFilter (given: GivenFilters, use: FilterUse, limits: FilterLimits): string | undefined {
  const { filter, key, text, group } = use
  const operands = given.byKey.get(key)?.operands
  if (operands !== undefined && operands.length >= limits.maxValues) {
    return `may be given at most ${limits.maxValues} times`
  }
  if (isSearch(filter.op) && ++given.patterns > limits.maxPatterns) return describeTooMany(limits)
  const read = isSearch(filter.op)
    ? readSearch(filter.op, text, limits)
    : readOperand(filter.op === 'null' ? isNullField : filter.field, text)
  if ('expected' in read) return read.expected
  if (operands === undefined) given.byKey.set(key, { filter, operands: [read.value], group })
  else operands.push(read.value)
  return undefined
}

/** Turns the filters of a query into conditions, all of which must hold. */
export function toConditions (given: GivenFilters): Condition[] {
  const conditions: Condition[] = []
  const groups = new Map<string, FieldCondition[][]>()
  for (const { filter, operands, group } of given.byKey.values()) {
    const alternatives = toAlternatives(filter, operands)
    if (group === undefined) conditions.push(...oneOf(alternatives))
    else groups.set(group, [...groups.get(group) ?? [], ...alternatives])
  }
  for (const alternatives of groups.values()) conditions.push(...oneOf(alternatives))
  return conditions
}

/** One of the alternatives, as conditions that must all hold. */
function oneOf (alternatives: readonly FieldCondition[][]): readonly Condition[] {
  const [only] = alternatives
  return only !== undefined && alternatives.length === 1 ? only : [{ op: 'any', of: alternatives }]
}
