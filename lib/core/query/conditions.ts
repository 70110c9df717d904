import type { AnyCondition, Condition, Field, FieldCondition, Scalar } from '../storage/storage.js'
import { didYouMean } from '../values/words.js'
import type { Operator } from './filters.js'
import { listOperators } from './filters.js'
import type { PatternSizes } from './values.js'
import { isNullField, isSearch, readSearch, readValue } from './values.js'

// What a host writes itself is not bounded.
const unlimited: PatternSizes = { maxPatternLength: Infinity, maxPatternSize: Infinity }

/** What may or may not be a condition. */
type Given = Partial<Condition> | null | undefined

/** Names what is wrong with conditions that a program made; undefined where nothing is. */
export function findFlawInConditions (
  fields: readonly Field[],
  conditions: readonly Given[],
  limits: PatternSizes = unlimited
): string | undefined {
  // With its holes, which others would pass over.
  for (const condition of Array.from(conditions)) {
    const flaw = condition?.op === 'any'
      ? findFlawInAlternatives(fields, condition, limits)
      : findFlaw(fields, (condition ?? {}) as Partial<FieldCondition>, limits)
    if (flaw !== undefined) return flaw
  }
  return undefined
}

// An alternative without conditions would hold for all, and alternatives hold no others.
function findFlawInAlternatives (
  fields: readonly Field[],
  { of: alternatives }: Partial<AnyCondition>,
  limits: PatternSizes
): string | undefined {
  if (!Array.isArray(alternatives)) return 'alternatives whose "of" is no list'
  for (const all of Array.from<unknown>(alternatives)) {
    if (!Array.isArray(all) || all.length === 0) return 'an alternative that is no list of conditions'
    const flaw = Array.from(all as Partial<FieldCondition>[])
      .map(condition => findFlaw(fields, condition ?? {}, limits)).find(flaw => flaw !== undefined)
    if (flaw !== undefined) return flaw
  }
  return undefined
}

function findFlaw (
  fields: readonly Field[],
  condition: Partial<FieldCondition>,
  limits: PatternSizes
): string | undefined {
  const name = typeof condition.field === 'string' ? condition.field : ''
  const field = fields.find(field => field.name === name && listOperators(field).length > 0)
  if (field === undefined) {
    const hint = didYouMean(name, fields.map(({ name }) => name))
    return `conditions on "${name}", which is no field that can be filtered.${hint}`
  }
  const operators = listOperators(field)
  if (!operators.includes(condition.op as Operator)) {
    return `the operator "${String(condition.op)}" on "${name}"; there are ${operators.join(', ')}`
  }
  const { member, values } = operandsOf(condition as FieldCondition)
  if (!Array.isArray(values)) return `a condition on "${name}" whose "${member}" is no list`
  // With its holes, which `every` would pass over.
  const all = Array.from<unknown>(values)
  const { op } = condition
  if (op !== undefined && isSearch(op)) {
    const flaw = all.map(value => findSearchFlaw(op, value, limits)).find(flaw => flaw !== undefined)
    const what = op === 'regex' ? 'pattern' : 'text'
    return flaw === undefined ? undefined : `a condition on "${name}" with a ${what} that ${flaw}`
  }
  const compared = condition.op === 'null' ? isNullField : field
  if (all.every(value => isValueOf(compared, value))) return undefined
  return `a condition on "${name}" whose "${member}" does not fit the field`
}

function operandsOf (condition: FieldCondition): { member: string, values: unknown } {
  switch (condition.op) {
    case 'eq':
    case 'ne': return { member: 'values', values: condition.values }
    case 'regex': return { member: 'patterns', values: condition.patterns }
    case 'has': return { member: 'texts', values: condition.texts }
    case 'null': return { member: 'is', values: [condition.is] }
    default: return { member: 'value', values: [condition.value] }
  }
}

function findSearchFlaw (op: 'regex' | 'has', value: unknown, limits: PatternSizes): string | undefined {
  if (typeof value !== 'string') return 'must be a string'
  const read = readSearch(op, value, limits)
  return 'expected' in read ? read.expected : undefined
}

// A value is right where its text would be read as just this value.
function isValueOf (field: Field, value: unknown): value is Scalar {
  const read = readValue(field, String(value))
  return 'value' in read && read.value === value
}
