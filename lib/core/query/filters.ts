import { type Bound, compareScalars, mapConditions, withValues } from '../storage/conditions.js'
import type { Condition, Field, FieldCondition, Scalar } from '../storage/storage.js'
import { readDecimal, toOperand } from '../values/decimals.js'
import type { Day } from '../values/formats.js'
import { didYouMean } from '../values/words.js'
import type { Parameter } from './query-string.js'
import {
  isNullField, isSearch, type Operand, type PatternSizes, type QueryLimits, readOperand, readSearch, readValue
} from './values.js'

type Operator = FieldCondition['op']

export interface Filter {
  readonly field: Field
  readonly op: Operator
  readonly description: string
}

/** Parameters of every family. No field may have one of these names, nor `expand`. */
export const reservedNames =
  ['page', 'maxpagesize', 'gt', 'lt', 'min', 'max', 'sort', 'fields', 'count', 'format', 'after', 'before'] as const

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
  has: 'contains this, in upper or lower case',
  null: 'is absent or null (true), or has a value (false)'
}

export function listFilters (fields: readonly Field[]): Map<string, Filter> {
  const filters = new Map<string, Filter>()
  for (const field of fields) {
    const { name, kind } = field
    const names: [string, Operator][] = []
    if (name === 'id') names.push(['gt', 'gt'], ['lt', 'lt'], ['min', 'gte'], ['max', 'lte'])
    if (kind !== 'json') names.push([name, 'eq'])
    if (isOrdered(field)) names.push([`min-${name}`, 'gte'], [`max-${name}`, 'lte'])
    for (const op of listOperators(field)) names.push([`${name}.${op}`, op])
    for (const [each, op] of names) filters.set(each, { field, op, description: `${name} ${descriptions[op]}` })
  }
  return filters
}

export function isOrdered (field: Field): boolean {
  return field.kind !== 'boolean' && field.kind !== 'json' && field.values === undefined
}

function listOperators (field: Field): readonly Operator[] {
  const bounds: readonly Operator[] = isOrdered(field) ? ['gt', 'gte', 'lt', 'lte'] : []
  const compared: readonly Operator[] = field.kind === 'json' ? [] : ['eq', 'ne', ...bounds, 'regex', 'has']
  return field.optional || field.nullable === true ? [...compared, 'null'] : compared
}

interface FilterUse {
  readonly filter: Filter
  /** Values of one key are alternatives; all keys must hold. */
  readonly key: string
  readonly text: string
  /** Of a group, one key must hold. */
  readonly group: string | undefined
}

export interface GivenFilters {
  /** Of days. */
  readonly timeZone?: string | undefined
  readonly byKey: Map<string, { readonly use: FilterUse, readonly operands: Operand[] }>
  /** Including invalid ones. */
  patterns: number
}

/** Splits names such as `or.age` and `or2.age`. */
export function splitGroup (name: string): { readonly group?: string, readonly name: string } {
  const parts = name.startsWith('or') ? /^(or(?:[1-9]\d*)?)\.(.*)$/s.exec(name) : null
  return parts === null ? { name } : { group: parts[1] as string, name: parts[2] as string }
}

export function findFilter (filters: ReadonlyMap<string, Filter>, parameter: Parameter): FilterUse | undefined {
  const { value, assigned } = parameter
  const { group, name } = splitGroup(parameter.name)
  const named = filters.get(name)
  if (named !== undefined) return { filter: named, key: parameter.name, text: value, group }
  // age>=18 arrives as the name "age>" with a value, age>18 as the name "age>18" without one; percent-encoded, both
  // arrive as one name.
  const parts = /^([^<>]+)([<>])(=?)(.*)$/s.exec(name)
  if (parts === null) return undefined
  const [, field, sign, equals, rest] = parts as unknown as [string, string, '<' | '>', string, string]
  const isSplitAtEquals = rest === '' && equals === '' && assigned
  const isInclusive = isSplitAtEquals || equals === '='
  const filter = filters.get(`${field}.${sign === '>' ? 'gt' : 'lt'}${isInclusive ? 'e' : ''}`)
  if (filter === undefined) return undefined
  const text = isSplitAtEquals ? value : assigned ? `${rest}=${value}` : rest
  return { filter, key: `${group ?? ''}.${field}${sign}${isInclusive ? '=' : ''}`, text, group }
}

export function addFilter (given: GivenFilters, use: FilterUse, limits: QueryLimits): string | undefined {
  const { filter: { field, op }, key, text } = use
  const { maxValues, maxPatterns } = limits
  const operands = given.byKey.get(key)?.operands
  if (operands !== undefined && operands.length >= maxValues) return `may be given at most ${maxValues} times`
  if (isSearch(op) && ++given.patterns > maxPatterns) {
    return `is one pattern too many: a query may have at most ${maxPatterns}`
  }
  const read = isSearch(op)
    ? readSearch(op, text, limits)
    : readOperand(op === 'null' ? isNullField : field, text, given.timeZone)
  if ('expected' in read) return read.expected
  if (operands === undefined) given.byKey.set(key, { use, operands: [read.value] })
  else operands.push(read.value)
  return undefined
}

export function toConditions ({ byKey }: GivenFilters): Condition[] {
  const conditions: Condition[] = []
  const groups = new Map<string, FieldCondition[][]>()
  for (const { use: { filter, group }, operands } of byKey.values()) {
    const alternatives = toAlternatives(filter, operands)
    if (group === undefined) conditions.push(...oneOf(alternatives))
    else groups.set(group, [...groups.get(group) ?? [], ...alternatives])
  }
  for (const alternatives of groups.values()) conditions.push(...oneOf(alternatives))
  return conditions
}

export function oneOf (alternatives: readonly FieldCondition[][]): readonly Condition[] {
  return alternatives.length === 1 ? alternatives[0] as FieldCondition[] : [{ op: 'any', of: alternatives }]
}

/** One of the lists must hold, with all its conditions. */
function toAlternatives ({ field, op }: Filter, operands: readonly Operand[]): FieldCondition[][] {
  const { name } = field
  switch (op) {
    case 'eq': return listEqual(name, operands)
    case 'ne': return listUnequal(field, operands)
    case 'regex': return [[{ field: name, op, patterns: operands as string[] }]]
    case 'has': return [[{ field: name, op, texts: operands as string[] }]]
    case 'null': return [...new Set(operands as boolean[])].map(is => [{ field: name, op, is }])
    default: return [[operands.map(operand => toBound(name, op, operand)).reduce(chooseWider)]]
  }
}

export function listEqual (field: string, operands: readonly Operand[]): FieldCondition[][] {
  const { values, days } = splitOperands(operands)
  const within = days.map(({ from, before }): FieldCondition[] =>
    [{ field, op: 'gte', value: from }, { field, op: 'lt', value: before }])
  return values.length === 0 ? within : [[{ field, op: 'eq', values }], ...within]
}

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

function splitOperands (operands: readonly Operand[]): { values: Scalar[], days: Day[] } {
  const values: Scalar[] = []
  const days: Day[] = []
  for (const operand of operands) {
    if (typeof operand !== 'object') values.push(operand)
    // A day that a time zone skipped has no length, and begins with the next.
    else if (!days.some(({ from, before }) => from === operand.from && before === operand.before)) days.push(operand)
  }
  return { values, days }
}

function toBound (field: string, op: Bound['op'], operand: Operand): Bound {
  if (typeof operand !== 'object') return { field, op, value: operand }
  const { from, before } = operand
  // After a day means from the next day; up to a day means before the next.
  if (op === 'gt') return { field, op: 'gte', value: before }
  return op === 'lte' ? { field, op: 'lt', value: before } : { field, op, value: from }
}

// Of alternatives, the least lower bound, or the greatest upper one, decides: one bound can use an index.
function chooseWider (a: Bound, b: Bound): Bound {
  const order = compareScalars(a.value, b.value)
  if (order === 0) return a.op.endsWith('e') ? a : b
  return (order < 0) === a.op.startsWith('g') ? a : b
}

// The host's own conditions are not bounded.
const unlimited: PatternSizes = { maxPatternLength: Infinity, maxPatternSize: Infinity }

export function findFlawInConditions (
  fields: readonly Field[],
  conditions: readonly (Partial<Condition> | null | undefined)[],
  limits = unlimited
): string | undefined {
  for (const condition of conditions) {
    const alternatives: unknown = condition?.op === 'any' ? condition.of : [[condition]]
    if (!Array.isArray(alternatives)) return 'alternatives whose "of" is not a list'
    for (const all of alternatives) {
      // An empty alternative would hold for every item.
      if (!Array.isArray(all) || all.length === 0) return 'an alternative that is not a list of conditions'
      for (const each of all) {
        const flaw = findFlaw(fields, each ?? {}, limits)
        if (flaw !== undefined) return flaw
      }
    }
  }
  return undefined
}

/** The member of a condition with its operands, if it is not `value`. */
const members: Readonly<Record<string, string>> =
  { eq: 'values', ne: 'values', regex: 'patterns', has: 'texts', null: 'is' }

function findFlaw (
  fields: readonly Field[],
  condition: Partial<FieldCondition>,
  limits: PatternSizes
): string | undefined {
  const name = typeof condition.field === 'string' ? condition.field : ''
  const field = fields.find(field => field.name === name && listOperators(field).length > 0)
  if (field === undefined) {
    const hint = didYouMean(name, fields.map(({ name }) => name))
    return `conditions on "${name}", which is not a field that can be filtered.${hint}`
  }
  const operators = listOperators(field)
  const op = condition.op as Operator
  if (!operators.includes(op)) return `the operator "${String(op)}" on "${name}"; there are ${operators.join(', ')}`
  const member = members[op] ?? 'value'
  const given: unknown = (condition as Readonly<Record<string, unknown>>)[member]
  const values = member === 'is' || member === 'value' ? [given] : given
  if (!Array.isArray(values)) return `a condition on "${name}" whose "${member}" is not a list`
  for (const value of values as unknown[]) {
    if (isSearch(op)) {
      const read = typeof value === 'string' ? readSearch(op, value, limits) : { expected: 'must be a string' }
      const what = op === 'regex' ? 'pattern' : 'text'
      if ('expected' in read) return `a condition on "${name}" with a ${what} that ${read.expected}`
    } else if (!fits(op === 'null' ? isNullField : field, value)) {
      return `a condition on "${name}" whose "${member}" does not fit the field`
    }
  }
  return undefined
}

/** Whether its text is read as the same value; a decimal may be a text or a number. */
function fits (field: Field, value: unknown): boolean {
  if (field.kind === 'decimal') return readDecimal(value, field.scale as number) !== undefined
  const read = readValue(field, String(value))
  return 'value' in read && read.value === value
}

/** Converts the conditions of a host, in which a decimal may be a text, to those of a query. */
export function numberDecimals (fields: readonly Field[], conditions: readonly Condition[]): readonly Condition[] {
  return mapConditions(conditions, condition => {
    const { scale } = fields.find(({ name }) => name === condition.field) as Field
    return scale === undefined ? condition : withValues(condition, value => toOperand(value, scale) as Scalar)
  })
}
