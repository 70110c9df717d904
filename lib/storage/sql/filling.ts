import { listFieldConditions } from '../../core/storage/conditions.js'
import type { Condition, Order, Query } from '../../core/storage/storage.js'
import type { ClauseBuilder } from './clauses.js'
import type { Dialect } from './dialect.js'
import { type Layout, nameFilled } from './layout.js'

/** A query by columns as they are, as long as no row that it may find lacks a default. */
export interface PlannedQuery extends Query {
  /** A row that meets one of these lists lacks a default. */
  readonly lacking?: readonly (readonly Condition[])[]
  /** For when there is such a row: with the defaults, and without their indexes. */
  readonly filled?: Query
}

/**
 * Processes of an earlier version may write NULL where this one has a default, and indexes have the NULL. So the query
 * compares the columns as they are if an index also finds rows that lack the default, and otherwise the defaults too.
 */
export function planQuery (
  { filled: columns }: Layout, indexes: readonly (readonly string[])[], { skipsColumns }: Dialect, query: Query
): PlannedQuery {
  if (columns.length === 0) return query
  const { where, order } = query
  const names = new Set([...listFieldConditions(where), ...order].map(({ field }) => field))
  const used = [...names].filter(field => columns.some(column => column.field.name === nameFilled(field)))
  if (used.length === 0) return query
  const isById = where.some(({ field, op }) => field === 'id' && op === 'eq')
  const lacking = isById ? [] : used.flatMap(field => findLacking(field, where, indexes, skipsColumns) ?? [])
  const found = lacking.map(conditions => conditions.at(-1)?.field)
  const planned = rename(query, used.filter(field => !found.includes(field)))
  return lacking.length === 0 ? planned : { ...planned, lacking, filled: rename(query, used) }
}

/** Undefined if no index finds the rows. */
function findLacking (
  field: string, where: readonly Condition[], indexes: readonly (readonly string[])[], skipsColumns: boolean
): [Condition[]] | undefined {
  const found = indexes.filter(row => row.includes(field)).map(row => {
    const before = row.slice(0, row.indexOf(field))
    const given = before.flatMap(name => where.find(each => each.field === name && each.op === 'eq') ?? [])
    return { given, skipped: before.length - given.length }
  })
  const best = found.sort((a, b) => a.skipped - b.skipped)[0]
  if (best === undefined || (best.skipped > 0 && !skipsColumns)) return undefined
  return [[...best.given, { field, op: 'null', is: true }]]
}

function rename (query: Query, fields: readonly string[]): Query {
  if (fields.length === 0) return query
  const change = <Part extends Condition | Order>(part: Part): Part =>
    part.field !== undefined && fields.includes(part.field) ? { ...part, field: nameFilled(part.field) } : part
  const where = query.where.map(condition => condition.op === 'any'
    ? { ...condition, of: condition.of.map(all => all.map(change)) }
    : change(condition))
  return { ...query, where, order: query.order.map(change) }
}

/** Ordered, so that PostgreSQL uses the index even if its statistics are from when many rows lacked the default. */
export function writeLacking (clauses: ClauseBuilder, lacking: PlannedQuery['lacking'] = []): string {
  const { table } = clauses.layout
  return lacking.map(conditions => {
    const order = clauses.orderBy([{ field: conditions.at(-1)?.field as string, descending: false }])
    return `(SELECT 1 FROM ${table}${clauses.where(conditions)}${order} LIMIT 1) IS NOT NULL`
  }).join(' OR ')
}
