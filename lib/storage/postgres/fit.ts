import type { Condition, FieldCondition, Query } from '../../core/storage/storage.js'
import type { Column, Layout } from '../sql/layout.js'
import { getColumn } from '../sql/layout.js'
import { findFlaw } from './values.js'

/** A query that means the same, and asks no column for a value that its type has not: that would be an error. */
export function fitQuery (layout: Layout, query: Query): Query {
  return layout.mapped ? { ...query, where: query.where.map(condition => fitCondition(layout, condition)) } : query
}

/** Whether a column can have this value. */
export function canHave ({ present }: Column, value: unknown): boolean {
  return present === undefined || findFlaw(present, value) === undefined
}

function fitCondition (layout: Layout, condition: Condition): Condition {
  if (condition.op !== 'any') return fitField(layout, condition)
  return { ...condition, of: condition.of.map(all => all.map(each => fitField(layout, each))) }
}

function fitField (layout: Layout, condition: FieldCondition): FieldCondition {
  const column = getColumn(layout, condition.field)
  if ('values' in condition) return { ...condition, values: condition.values.filter(value => canHave(column, value)) }
  return 'value' in condition && column.comparedAs === 'uuid' ? fitBound(condition) : condition
}

type Bound = Extract<FieldCondition, { readonly value: unknown }>

/** With the UUID that is next in the order of text, where it is none itself. */
function fitBound (condition: Bound): FieldCondition {
  const { field, op } = condition
  const text = String(condition.value)
  const value = findNextUuid(text)
  if (value === text) return condition
  const isLower = op === 'gt' || op === 'gte'
  // Beyond all of them.
  if (value === undefined) return isLower ? { field, op: 'eq', values: [] } : { field, op: 'null', is: false }
  return { field, op: isLower ? 'gte' : 'lt', value }
}

const digits = '0123456789abcdef'
const least = '00000000-0000-0000-0000-000000000000'

/** The least UUID, in lower case, that is not less than a text. */
function findNextUuid (text: string): string | undefined {
  for (let at = 0; at < least.length; at++) {
    const character = text[at]
    if (character === undefined) return text + least.slice(at)
    const allowed = least[at] === '-' ? '-' : digits
    if (allowed.includes(character)) continue
    const next = [...allowed].find(each => each > character)
    return next === undefined ? increase(text, at) : text.slice(0, at) + next + least.slice(at + 1)
  }
  return text.length > least.length ? increase(text, least.length) : text
}

/** The least UUID that begins with more than the first characters of a text, which are those of one. */
function increase (text: string, length: number): string | undefined {
  for (let at = length - 1; at >= 0; at--) {
    const next = least[at] === '-' ? undefined : digits[digits.indexOf(text[at] as string) + 1]
    if (next !== undefined) return text.slice(0, at) + next + least.slice(at + 1)
  }
  return undefined
}
