import type { Field, FieldCondition } from '../storage/storage.js'

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
