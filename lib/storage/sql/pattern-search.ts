import { collectMatches } from '../../core/storage/page.js'
import type { Condition, Found, Id, Order, Query, Stored } from '../../core/storage/storage.js'
import { isPlain, listFieldConditions } from '../../core/storage/text-tests.js'
import type { Turn } from '../../core/storage/turn.js'
import { makePicker } from '../../core/values/json.js'
import type { Pass } from '../sort-matches.js'
import { sortMatches } from '../sort-matches.js'
import type { Dialect } from './dialect.js'
import type { Column, Layout } from './layout.js'
import { getColumn, makeRowDecoder } from './layout.js'

/** What a search asks of the database: conditions without patterns, in the order of the id. */
export interface CandidateQuery {
  readonly where: readonly Condition[]
  readonly order: readonly Order[]
  /** The id first. */
  readonly columns: readonly Column[]
}

/** How a search reads a table. */
interface CandidateSource {
  readonly layout: Layout
  /** The rows, part by part, so that not all have to be in memory. */
  readCandidates (query: CandidateQuery, turn: Turn): AsyncIterable<readonly unknown[][]>
  /** In this order; what is gone by now is left out. */
  getMany (ids: readonly Id[]): Stored[] | Promise<Stored[]>
}

/**
 * Matches patterns in JavaScript, where one engine gives them one meaning on every database. The database hands over
 * what the other conditions leave, and only the columns that matter; then the items of the page.
 */
export async function searchPatterns (
  source: CandidateSource,
  dialect: Dialect,
  query: Query,
  turn: Turn
): Promise<Found> {
  const slow = query.where.filter(condition => !isPlain(condition))
  const where = query.where.filter(isPlain)
  const byId = query.order[0]?.field === 'id'
  const order = byId ? query.order.slice(0, 1) : [{ field: 'id', descending: false }]
  const sortFields = byId ? [] : query.order.map(({ field }) => field)
  const fields = new Set(['id', ...listFieldConditions(slow).map(({ field }) => field), ...sortFields])
  const columns = [...fields].map(field => getColumn(source.layout, field))
  const decode = makeRowDecoder(columns, dialect)
  // The texts are not needed any more, and may be long.
  const pick = makePicker(['id', ...sortFields])

  const scan = async ({ isWanted, add }: Pass): Promise<void> => {
    for await (const rows of source.readCandidates({ where, order, columns }, turn)) {
      const items = decodeRows(rows, decode, isWanted)
      if (await collectMatches(items, slow, turn, item => add(pick(item) as Stored))) break
    }
  }
  const { items, ...total } = await sortMatches(byId ? { ...query, order: [] } : query, scan)
  return { items: await source.getMany(items.map(({ id }) => id)), ...total }
}

// One at a time: most are never looked at, and decoding all of them at once would hold up other requests.
function * decodeRows<Row> (
  rows: Iterable<Row>,
  decode: (row: Row) => Stored,
  isWanted: Pass['isWanted']
): Iterable<Stored> {
  for (const row of rows) {
    const item = decode(row)
    if (isWanted(item)) yield item
  }
}
