import type { Condition, Field, Scalar } from '../storage/storage.js'
import { didYouMean } from '../values/nearest.js'
import type { Operator } from './names.js'
import { listOperators } from './names.js'
import type { PatternLimits } from './patterns.js'
import { readPattern } from './patterns.js'
import { isNullField, readValue } from './values.js'

type SizeLimits = Omit<PatternLimits, 'maxPatterns'>

// What a host writes itself is not bounded.
const unlimited: SizeLimits = { maxPatternLength: Infinity, maxPatternSize: Infinity }

/** Names what is wrong with conditions that a program made; undefined where nothing is. */
export function findFlawInConditions (
  fields: readonly Field[],
  conditions: readonly (Partial<Condition> | undefined)[],
  limits: SizeLimits = unlimited
): string | undefined {
  for (const condition of conditions) {
    const flaw = findFlaw(fields, condition ?? {}, limits)
    if (flaw !== undefined) return flaw
  }
  return undefined
}

function findFlaw (
  fields: readonly Field[],
  condition: Partial<Condition>,
  limits: SizeLimits
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
  const { member, values } = operandsOf(condition as Condition)
  if (!Array.isArray(values)) return `a condition on "${name}" whose "${member}" is no list`
  // With its holes, which `every` would pass over.
  const all = Array.from<unknown>(values)
  if (condition.op === 'regex') {
    const flaw = all.map(value => findPatternFlaw(value, limits)).find(flaw => flaw !== undefined)
    return flaw === undefined ? undefined : `a condition on "${name}" with a pattern that ${flaw}`
  }
  const compared = condition.op === 'null' ? isNullField : field
  if (all.every(value => isValueOf(compared, value))) return undefined
  return `a condition on "${name}" whose "${member}" does not fit the field`
}

function operandsOf (condition: Condition): { member: string, values: unknown } {
  switch (condition.op) {
    case 'eq':
    case 'ne': return { member: 'values', values: condition.values }
    case 'regex': return { member: 'patterns', values: condition.patterns }
    case 'null': return { member: 'is', values: [condition.is] }
    default: return { member: 'value', values: [condition.value] }
  }
}

function findPatternFlaw (value: unknown, limits: SizeLimits): string | undefined {
  if (typeof value !== 'string') return 'must be a string'
  const read = readPattern(value, limits)
  return 'expected' in read ? read.expected : undefined
}

// A value is right where its text would be read as just this value.
function isValueOf (field: Field, value: unknown): value is Scalar {
  const read = readValue(field, String(value))
  return 'value' in read && read.value === value
}
