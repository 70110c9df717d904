import { findIds, listFieldConditions, mapConditions } from '../../core/storage/conditions.js'
import type { Condition, Order, Query } from '../../core/storage/storage.js'
import { nameNulls } from './definitions.js'
import type { Dialect } from './dialect.js'
import { type Column, type Layout, mayLack, nameFilled } from './layout.js'

/** A query by columns as they are, as long as no row lacks a default that it compares. */
export interface PlannedQuery extends Query {
  /** SQL: whether a row lacks such a default. */
  readonly lacking?: string
  /** For when there is such a row: with the defaults, and without their indexes. */
  readonly filled?: Query
}

/** The indexes that a table really has. */
export interface PresentIndexes {
  /** Those that hold every row. */
  readonly fields: readonly (readonly string[])[]
  readonly names: readonly string[]
}

/**
 * Processes of an earlier version may write NULL where this one has a default, and indexes have the NULL. So the query
 * compares the columns as they are if an index also finds rows that lack the default, and otherwise the defaults too.
 */
export class DefaultFilling {
  /** SQL by field: whether a row lacks the default; undefined if no index finds such rows. */
  readonly #probes: ReadonlyMap<string, string | undefined>

  constructor (layout: Layout, present: PresentIndexes, dialect: Dialect) {
    const fillable = layout.columns.filter(mayLack)
    this.#probes = new Map(fillable.map(column => [column.field.name, writeProbe(layout, column, present, dialect)]))
  }

  plan (query: Query): PlannedQuery {
    if (this.#probes.size === 0) return query
    const { where, order } = query
    const names = new Set([...listFieldConditions(where), ...order].map(({ field }) => field))
    const used = [...names].filter(field => this.#probes.has(field))
    if (used.length === 0) return query
    if (findIds(where) !== undefined) return renameFilled(query, used)
    const probes = used.flatMap(field => this.#probes.get(field) ?? [])
    const planned = renameFilled(query, used.filter(field => this.#probes.get(field) === undefined))
    if (probes.length === 0) return planned
    return { ...planned, lacking: probes.join(' OR '), filled: renameFilled(query, used) }
  }
}

/** Ordered, so that PostgreSQL uses the index even if its statistics are from when many rows lacked the default. */
function writeProbe (
  layout: Layout, column: Column, { fields, names }: PresentIndexes, { beginning }: Dialect
): string | undefined {
  const { equated, isPrefixIndexed, field } = column
  const hasOwn = names.includes(nameNulls(layout, column))
  if (!hasOwn && !fields.some(([first]) => first === field.name)) return undefined
  const term = !hasOwn && isPrefixIndexed && beginning !== undefined ? beginning(equated) : equated
  return `(SELECT 1 FROM ${layout.table} WHERE ${term} IS NULL ORDER BY ${term} NULLS FIRST LIMIT 1) IS NOT NULL`
}

function renameFilled (query: Query, fields: readonly string[]): Query {
  if (fields.length === 0) return query
  const change = <Part extends Condition | Order>(part: Part): Part =>
    part.field !== undefined && fields.includes(part.field) ? { ...part, field: nameFilled(part.field) } : part
  return { ...query, where: mapConditions(query.where, change), order: query.order.map(change) }
}
