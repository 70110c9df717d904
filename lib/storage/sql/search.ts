import { setImmediate as turn } from 'node:timers/promises'
import { matcher } from '../match.js'
import { Matches } from '../matches.js'
import type { Condition, Found, Id, Order, Query, Stored } from '../storage.js'
import type { Dialect } from './dialect.js'
import { columnOf, rowReader } from './layout.js'
import type { Column, Layout } from './layout.js'

// How long matching holds the event loop before other requests get their turn.
const sliceMs = 5

/** What a search asks of the database: conditions without patterns, in the order of the id. */
export interface Candidates {
  readonly where: readonly Condition[]
  readonly order: readonly Order[]
  readonly columns: readonly Column[]
}

/**
 * Matches patterns in JavaScript, where one engine gives them one meaning on every database. The database hands over what
 * the other conditions leave, part by part, and only the columns that matter; then the items of the page.
 */
export async function search (
  layout: Layout,
  dialect: Dialect,
  query: Query,
  candidates: (asked: Candidates) => AsyncIterable<readonly unknown[][]>,
  fetch: (ids: readonly Id[]) => readonly Stored[] | Promise<readonly Stored[]>
): Promise<Found> {
  const patterns = query.where.filter(({ op }) => op === 'regex')
  const where = query.where.filter(({ op }) => op !== 'regex')
  const byId = query.order[0]?.field === 'id'
  const order = byId ? query.order.slice(0, 1) : [{ field: 'id', descending: false }]
  const fields = new Set(['id', ...patterns.map(({ field }) => field), ...byId ? [] : query.order.map(({ field }) => field)])
  const columns = [...fields].map(field => columnOf(layout, field))
  const read = rowReader(columns, dialect)
  const holds = matcher(patterns)
  const matches = new Matches(byId ? [] : query.order, query.offset + query.limit)

  for await (const rows of candidates({ where, order, columns })) {
    if (await fill(rows)) break
  }
  const items = await fetch(matches.first().slice(query.offset).map(({ id }) => id))
  return query.count ? { items, total: matches.total } : { items }

  async function fill (rows: readonly unknown[][]): Promise<boolean> {
    let began = performance.now()
    for (const row of rows) {
      const item = read(row)
      if (holds(item) && matches.add(item) && !query.count) return true
      if (performance.now() - began > sliceMs) {
        await turn()
        began = performance.now()
      }
    }
    return false
  }
}

export function isRangeOfId ({ field, op }: Condition): boolean {
  return field === 'id' && op !== 'eq' && op !== 'ne' && op !== 'regex'
}
