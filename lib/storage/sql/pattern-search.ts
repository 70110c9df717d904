import { isPlain, listFieldConditions, makeComparator } from '../../core/storage/conditions.js'
import { collectMatches, FirstMatches } from '../../core/storage/pages.js'
import type { Condition, Found, Id, Order, Query, Stored } from '../../core/storage/storage.js'
import type { Turn } from '../../core/storage/turns.js'
import { makePicker } from '../../core/values/json.js'
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

// Some 60 MB at most, however long the texts are by which is sorted.
const maxLength = 32_000_000

/** What one pass over the matches asks for. */
export interface Pass {
  /** Whether an item matters: those of earlier passes do not. */
  isWanted (item: Stored): boolean
  add (item: Stored): boolean
}

/**
 * The page of all matches in their order. Only what stands before its end is kept; where that is too much for the
 * memory, since it is sorted by long texts, in several passes, each of which goes on after the last.
 *
 * @param scan goes through all matches
 */
export async function sortMatches (
  query: Omit<Query, 'where'>,
  scan: (pass: Pass) => Promise<unknown>,
  bound = maxLength
): Promise<Found> {
  const compare = makeComparator(query.order)
  const found: Stored[] = []
  let toSkip = query.offset
  let after: Stored | undefined
  let total: number | undefined
  for (;;) {
    const matches = new FirstMatches({ ...query, offset: toSkip, limit: query.limit - found.length }, bound)
    const isWanted = after === undefined ? () => true : makeFilter(compare, after)
    await scan({ isWanted, add: item => matches.add(item) })
    const { count, last, isCut } = matches.kept
    const { items, ...counted } = matches.toPage()
    total ??= counted.total
    found.push(...items)
    if (!isCut || found.length === query.limit) return total === undefined ? { items: found } : { items: found, total }
    toSkip = Math.max(0, toSkip - count)
    after = last
  }
}

function makeFilter (compare: (a: Stored, b: Stored) => number, after: Stored): (item: Stored) => boolean {
  return item => compare(item, after) > 0
}
