import { compareScalars } from '../storage/conditions.js'
import type { Condition, Field, FieldCondition, Scalar } from '../storage/storage.js'
import type { Day } from '../values/formats.js'
import type { Parameter } from './query-string.js'
import type { Operand, PatternLimits } from './values.js'
import { describeTooMany, isNullField, isSearch, readOperand, readSearch } from './values.js'

export type Operator = FieldCondition['op']

/** What a parameter name stands for: an operator on a field. */
export interface Filter {
  readonly field: Field
  readonly op: Operator
  readonly description: string
}

/** Parameters with a meaning of their own in every family; no field may be named like one, nor `expand`. */
export const reservedNames =
  ['page', 'maxpagesize', 'gt', 'lt', 'min', 'max', 'sort', 'fields', 'count', 'format', 'after', 'before'] as const

/** Whether a field of this name could not be told from something else in a query. */
export function isReserved (name: string): boolean {
  return (reservedNames as readonly string[]).includes(name) || /^(or\d*|expand)$/.test(name)
}

const descriptions: Record<Operator, string> = {
  eq: 'equals this',
  ne: 'does not equal this',
  gt: 'is greater than this',
  gte: 'is this or greater',
  lt: 'is less than this',
  lte: 'is this or less',
  regex: 'matches this pattern (RE2 syntax)',
  has: 'contains this, whatever the case',
  null: 'is absent or null (true), or has a value (false)'
}

/** Lists every name that filters, in all its spellings. */
export function listFilters (fields: readonly Field[]): Map<string, Filter> {
  const filters = new Map<string, Filter>()
  for (const field of fields) {
    const add = (name: string, op: Operator) => {
      filters.set(name, { field, op, description: `${field.name} ${descriptions[op]}` })
    }
    if (field.name === 'id') {
      add('gt', 'gt')
      add('lt', 'lt')
      add('min', 'gte')
      add('max', 'lte')
    }
    if (field.kind !== 'json') add(field.name, 'eq')
    if (isOrdered(field)) {
      add(`min-${field.name}`, 'gte')
      add(`max-${field.name}`, 'lte')
    }
    for (const op of listOperators(field)) add(`${field.name}.${op}`, op)
  }
  return filters
}

/** Whether greater and less mean something for the field. */
export function isOrdered (field: Field): boolean {
  return field.kind !== 'boolean' && field.kind !== 'json' && field.values === undefined
}

/** What a field can be compared by. */
export function listOperators (field: Field): readonly Operator[] {
  const compared: readonly Operator[] = field.kind === 'json'
    ? []
    : isOrdered(field) ? ['eq', 'ne', 'gt', 'gte', 'lt', 'lte', 'regex', 'has'] : ['eq', 'ne', 'regex', 'has']
  return field.optional || field.nullable === true ? [...compared, 'null'] : compared
}

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
  readonly group: string | undefined
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

/** Splits the name of a parameter in a group, such as `or.age` and `or2.age`. */
export function splitGroup (name: string): { group: string, name: string } | undefined {
  const parts = /^(or(?:[1-9]\d*)?)\.(.*)$/s.exec(name)
  return parts === null ? undefined : { group: parts[1] as string, name: parts[2] as string }
}

/** Finds the filter that a parameter stands for, by its name or by a comparison sign in it. */
export function findFilter (filters: ReadonlyMap<string, Filter>, parameter: Parameter): FilterUse | undefined {
  const { name, value } = parameter
  const filter = filters.get(name)
  if (filter !== undefined) return { filter, key: name, text: value, group: undefined }
  const split = splitGroup(name)
  if (split === undefined) return findComparison(filters, name, parameter)
  const { group } = split
  const grouped = filters.get(split.name)
  if (grouped !== undefined) return { filter: grouped, key: name, text: value, group }
  const use = findComparison(filters, split.name, parameter)
  return use && { ...use, key: `${group}.${use.key}`, group }
}

// age>=18 arrives as the name "age>" with a value, age>18 as the name "age>18" without one; percent-encoded, both
// arrive as one name.
function findComparison (
  filters: ReadonlyMap<string, Filter>,
  name: string,
  { value, assigned }: Parameter
): FilterUse | undefined {
  const parts = /^([^<>]+)([<>])(=?)(.*)$/s.exec(name)
  if (parts === null) return undefined
  const [, field, sign, equals, rest] = parts as unknown as [string, string, '<' | '>', string, string]
  const isSplitAtEquals = rest === '' && equals === '' && assigned
  const isInclusive = isSplitAtEquals || equals === '='
  const filter = filters.get(`${field}.${sign === '>' ? 'gt' : 'lt'}${isInclusive ? 'e' : ''}`)
  if (filter === undefined) return undefined
  const text = isSplitAtEquals ? value : assigned ? `${rest}=${value}` : rest
  return { filter, key: `${field}${sign}${isInclusive ? '=' : ''}`, text, group: undefined }
}

/** Adds an operand to the filters of a query, or returns what is wrong with it. */
export function addFilter (given: GivenFilters, use: FilterUse, limits: FilterLimits): string | undefined {
  const { filter, key, text, group } = use
  const { field, op } = filter
  const operands = given.byKey.get(key)?.operands
  if (operands !== undefined && operands.length >= limits.maxValues) {
    return `may be given at most ${limits.maxValues} times`
  }
  if (isSearch(op) && ++given.patterns > limits.maxPatterns) return describeTooMany(limits)
  const read = isSearch(op) ? readSearch(op, text, limits) : readOperand(op === 'null' ? isNullField : field, text)
  if ('expected' in read) return read.expected
  if (operands === undefined) given.byKey.set(key, { filter, operands: [read.value], group })
  else operands.push(read.value)
  return undefined
}

/** Turns the filters of a query into conditions, all of which must hold. */
export function toConditions ({ byKey }: GivenFilters): Condition[] {
  const conditions: Condition[] = []
  const groups = new Map<string, FieldCondition[][]>()
  for (const { filter, operands, group } of byKey.values()) {
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

/** The meaning of a filter with these operands: all conditions of one of the lists must hold. */
function toAlternatives ({ field, op }: Filter, operands: readonly Operand[]): FieldCondition[][] {
  const { name } = field
  switch (op) {
    case 'eq': return listEqual(name, operands)
    case 'ne': return listUnequal(field, operands)
    case 'regex': return [[{ field: name, op, patterns: operands as string[] }]]
    case 'has': return [[{ field: name, op, texts: operands as string[] }]]
    case 'null': {
      const [is, ...others] = operands as [boolean, ...boolean[]]
      // Absent or not: that holds for all.
      return [[others.every(other => other === is) ? { field: name, op, is } : { field: name, op: 'ne', values: [] }]]
    }
    default: return [[operands.map(operand => toBound(name, op, operand)).reduce(chooseWider)]]
  }
}

/** One of the values, or within one of the days. Of one operand it is one list. */
export function listEqual (field: string, operands: readonly Operand[]): FieldCondition[][] {
  const { values, days } = splitOperands(operands)
  const within = days.map(({ from, before }): FieldCondition[] =>
    [{ field, op: 'gte', value: from }, { field, op: 'lt', value: before }])
  return values.length === 0 ? within : [[{ field, op: 'eq', values }], ...within]
}

/** The gaps between days, before and after them. */
function listUnequal ({ name: field, optional, nullable }: Field, operands: readonly Operand[]): FieldCondition[][] {
  const { values, days } = splitOperands(operands)
  const others: FieldCondition[] = values.length === 0 ? [] : [{ field, op: 'ne', values }]
  if (days.length === 0) return [others]
  const gaps: FieldCondition[][] = optional || nullable === true ? [[{ field, op: 'null', is: true }]] : []
  let lower: FieldCondition[] = []
  for (const { from, before } of days.sort((a, b) => compareScalars(a.from, b.from))) {
    gaps.push([...lower, { field, op: 'lt', value: from }, ...others])
    lower = [{ field, op: 'gte', value: before }]
  }
  return [...gaps, [...lower, ...others]]
}

/** Single values, and whole days without repetitions. */
function splitOperands (operands: readonly Operand[]): { values: Scalar[], days: Day[] } {
  const values: Scalar[] = []
  const days: Day[] = []
  for (const operand of operands) {
    if (typeof operand !== 'object') values.push(operand)
    else if (!days.some(({ from }) => from === operand.from)) days.push(operand)
  }
  return { values, days }
}

type Bound = Extract<FieldCondition, { readonly value: unknown }>

function toBound (field: string, op: Bound['op'], operand: Operand): Bound {
  if (typeof operand !== 'object') return { field, op, value: operand }
  const { from, before } = operand
  // After a day is from the next on; up to a day, before the next.
  if (op === 'gt') return { field, op: 'gte', value: before }
  return op === 'lte' ? { field, op: 'lt', value: before } : { field, op, value: from }
}

// Above any of the values is above the least of them; below any, below the greatest.
function chooseWider (a: Bound, b: Bound): Bound {
  const sign = a.op === 'gt' || a.op === 'gte' ? 1 : -1
  const order = compareScalars(a.value, b.value) * sign
  if (order === 0) return a.op.endsWith('e') ? a : b
  return order < 0 ? a : b
}
