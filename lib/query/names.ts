import type { Field } from '../storage/storage.js'

export type Operator = 'eq' | 'ne' | 'gt' | 'gte' | 'lt' | 'lte' | 'regex'

/** What a parameter name stands for: an operator on a field. */
export interface Filter {
  readonly field: Field
  readonly op: Operator
  readonly description: string
}

/** Parameters with a meaning of their own; no field may be named like one. */
export const reservedNames =
  ['page', 'maxpagesize', 'gt', 'lt', 'min', 'max', 'sort', 'fields', 'count', 'format'] as const

const descriptions: Record<Operator, string> = {
  eq: 'equal to',
  ne: 'not equal to',
  gt: 'greater than',
  gte: 'greater than or equal to',
  lt: 'less than',
  lte: 'less than or equal to',
  regex: 'in which this pattern (RE2 syntax) is found:'
}

/** Lists every name that filters, in all its spellings. */
export function listFilters (fields: readonly Field[]): Map<string, Filter> {
  const filters = new Map<string, Filter>()
  for (const field of fields) {
    if (field.kind === 'json') continue
    const add = (name: string, op: Operator) => {
      filters.set(name, { field, op, description: `Only items whose ${field.name} is ${descriptions[op]} this value` })
    }
    if (field.name === 'id') {
      add('gt', 'gt')
      add('lt', 'lt')
      add('min', 'gte')
      add('max', 'lte')
    }
    add(field.name, 'eq')
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
  return isOrdered(field) ? ['eq', 'ne', 'gt', 'gte', 'lt', 'lte', 'regex'] : ['eq', 'ne', 'regex']
}
