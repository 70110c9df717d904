import { mapConditions, withValues } from '../storage/conditions.js'
import type { Condition, Field, FieldCondition, Scalar } from '../storage/storage.js'
import { toOperand } from '../values/decimals.js'
import { didYouMean } from '../values/words.js'
import { type OperatorName, operatorNames, operators, primitiveNames, primitives } from './operators.js'
import type { Parameter } from './query-string.js'
import type { PatternSizes, QueryLimits } from './values.js'

/** Parameters of every family. No field may have one of these names, nor `expand`. */
export const reservedNames =
  ['page', 'maxpagesize', 'gt', 'lt', 'min', 'max', 'sort', 'fields', 'count', 'format', 'after', 'before'] as const

export function isReserved (name: string): boolean {
  return (reservedNames as readonly string[]).includes(name) || /^(or\d*|expand)$/.test(name)
}

export interface Filter {
  readonly field: Field
  readonly op: OperatorName
}

export function listFilters (fields: readonly Field[]): Map<string, Filter> {
  const filters = new Map<string, Filter>()
  for (const field of fields) {
    const { name } = field
    const suited = operatorNames.filter(op => operators[op].suits(field))
    const add = (filter: string | undefined, op: OperatorName): void => {
      if (filter !== undefined) filters.set(filter, { field, op })
    }
    if (name === 'id') {
      for (const word of reservedNames) for (const op of suited) if (operators[op].ofId === word) add(word, op)
    }
    for (const op of suited) add(operators[op].shorten?.(name), op)
    for (const op of suited) add(`${name}.${op}`, op)
  }
  return filters
}

const bySign = new Map(operatorNames.map(op => [operators[op].sign as string | undefined, op]))

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
  readonly byKey: Map<string, { readonly use: FilterUse, readonly operands: unknown[] }>
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
  const comparison = isSplitAtEquals ? `${sign}=` : sign + equals
  const filter = filters.get(`${field}.${bySign.get(comparison)}`)
  if (filter === undefined) return undefined
  const text = isSplitAtEquals ? value : assigned ? `${rest}=${value}` : rest
  return { filter, key: `${group ?? ''}.${field}${comparison}`, text, group }
}

export function addFilter (given: GivenFilters, use: FilterUse, limits: QueryLimits): string | undefined {
  const { filter: { field, op }, key, text } = use
  const { maxValues, maxPatterns } = limits
  const operands = given.byKey.get(key)?.operands
  if (operands !== undefined && operands.length >= maxValues) return `may be given at most ${maxValues} times`
  const { operand } = operators[op]
  if (operand.kind === 'search' && ++given.patterns > maxPatterns) {
    return `is one pattern too many: a query may have at most ${maxPatterns}`
  }
  const read = operand.read(field, text, { limits, timeZone: given.timeZone })
  if ('expected' in read) return read.expected
  if (operands === undefined) given.byKey.set(key, { use, operands: [read.value] })
  else operands.push(read.value)
  return undefined
}

export function toConditions ({ byKey }: GivenFilters): Condition[] {
  const conditions: Condition[] = []
  const groups = new Map<string, FieldCondition[][]>()
  for (const { use: { filter: { field, op }, group }, operands } of byKey.values()) {
    const alternatives = operators[op].lower(field, operands)
    if (group === undefined) conditions.push(...anyOf(alternatives))
    else groups.set(group, [...groups.get(group) ?? [], ...alternatives])
  }
  for (const alternatives of groups.values()) conditions.push(...anyOf(alternatives))
  return conditions
}

export function anyOf (alternatives: readonly FieldCondition[][]): readonly Condition[] {
  return alternatives.length === 1 ? alternatives[0] as FieldCondition[] : [{ op: 'any', of: alternatives }]
}

// The host's own conditions are not bounded.
const unlimitedPatterns: PatternSizes = { maxPatternLength: Infinity, maxPatternSize: Infinity }

export function findFlawInConditions (
  fields: readonly Field[],
  conditions: readonly (Partial<Condition> | null | undefined)[],
  limits = unlimitedPatterns
): string | undefined {
  for (const condition of conditions) {
    const alternatives: unknown = condition?.op === 'any' ? condition.of : [[condition]]
    if (!Array.isArray(alternatives)) return 'alternatives whose "of" is not a list'
    for (const all of alternatives) {
      // An empty alternative would hold for every item.
      if (!Array.isArray(all) || all.length === 0) return 'an alternative that is not a list of conditions'
      for (const each of all) {
        const flaw = findFlawInCondition(fields, each ?? {}, limits)
        if (flaw !== undefined) return flaw
      }
    }
  }
  return undefined
}

function findFlawInCondition (
  fields: readonly Field[],
  condition: Partial<FieldCondition>,
  limits: PatternSizes
): string | undefined {
  const name = typeof condition.field === 'string' ? condition.field : ''
  const field = fields.find(field => field.name === name)
  const suited = primitiveNames.filter(op => field !== undefined && primitives[op].suits(field))
  if (field === undefined || suited.length === 0) {
    const hint = didYouMean(name, fields.map(({ name }) => name))
    return `conditions on "${name}", which is not a field that can be filtered.${hint}`
  }
  const op = condition.op as FieldCondition['op']
  if (!suited.includes(op)) return `the operator "${String(op)}" on "${name}"; there are ${suited.join(', ')}`
  const { member, isList, findFlaw } = primitives[op].condition
  const given: unknown = (condition as Readonly<Record<string, unknown>>)[member]
  const operands = isList ? given : [given]
  if (!Array.isArray(operands)) return `a condition on "${name}" whose "${member}" is not a list`
  for (const operand of operands as unknown[]) {
    const flaw = findFlaw(field, operand, limits)
    if (flaw !== undefined) return `a condition on "${name}" ${flaw}`
  }
  return undefined
}

/** Converts the conditions of a host, in which a decimal may be a text, to those of a query. */
export function numberDecimals (fields: readonly Field[], conditions: readonly Condition[]): readonly Condition[] {
  return mapConditions(conditions, condition => {
    const { scale } = fields.find(({ name }) => name === condition.field) as Field
    return scale === undefined ? condition : withValues(condition, value => toOperand(value, scale) as Scalar)
  })
}
