import type { Condition, Field, FieldCondition } from '../storage/storage.js'
import { didYouMean } from '../values/words.js'
import type { Operator } from './filters.js'
import { listOperators } from './filters.js'
import type { PatternSizes } from './values.js'
import { isNullField, isSearch, readSearch, readValue } from './values.js'

// What a host writes itself is not bounded.
const unlimited: PatternSizes = { maxPatternLength: Infinity, maxPatternSize: Infinity }

/** Names what is wrong with conditions that a program made; undefined where nothing is. */
export function findFlawInConditions (
  fields: readonly Field[],
  conditions: readonly (Partial<Condition> | null | undefined)[],
  limits = unlimited
): string | undefined {
  // Array.from makes undefined of holes, which others would pass over.
  for (const condition of Array.from(conditions)) {
    const alternatives: unknown = condition?.op === 'any' ? condition.of : [[condition]]
    if (!Array.isArray(alternatives)) return 'alternatives whose "of" is no list'
    for (const all of Array.from<unknown>(alternatives)) {
      // An alternative without conditions would hold for all, and alternatives hold no others.
      if (!Array.isArray(all) || all.length === 0) return 'an alternative that is no list of conditions'
      for (const each of Array.from<Partial<FieldCondition> | undefined>(all)) {
        const flaw = findFlaw(fields, each ?? {}, limits)
        if (flaw !== undefined) return flaw
      }
    }
  }
  return undefined
}

/** The member of a condition that says what is compared with; of the first four operators it is a list. */
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
    return `conditions on "${name}", which is no field that can be filtered.${hint}`
  }
  const operators = listOperators(field)
  const op = condition.op as Operator
  if (!operators.includes(op)) return `the operator "${String(op)}" on "${name}"; there are ${operators.join(', ')}`
  const member = members[op] ?? 'value'
  const given: unknown = (condition as Readonly<Record<string, unknown>>)[member]
  const values = member === 'is' || member === 'value' ? [given] : given
  if (!Array.isArray(values)) return `a condition on "${name}" whose "${member}" is no list`
  for (const value of Array.from<unknown>(values)) {
    if (isSearch(op)) {
      const read = typeof value === 'string' ? readSearch(op, value, limits) : { expected: 'must be a string' }
      const what = op === 'regex' ? 'pattern' : 'text'
      if ('expected' in read) return `a condition on "${name}" with a ${what} that ${read.expected}`
    } else {
      // A value is right where its text would be read as just this value.
      const read = readValue(op === 'null' ? isNullField : field, String(value))
      if (!('value' in read) || read.value !== value) {
        return `a condition on "${name}" whose "${member}" does not fit the field`
      }
    }
  }
  return undefined
}
