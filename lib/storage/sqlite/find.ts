import { columnOf } from '../sql/layout.js'
import { isRangeOfId, search } from '../sql/search.js'
import type { Candidates } from '../sql/search.js'
import type { Found, FoundText, Id, Query, Stored } from '../storage.js'
import { sqliteDialect as dialect } from './dialect.js'
import { page, selectiveIndex, slices } from './plan.js'
import type { TableReader } from './reader.js'

// Rows of one part of a search with patterns: each costs far more than reading it.
const searchedRows = 1000

export async function find (table: TableReader, query: Query): Promise<Found> {
  if (hasPatterns(query)) {
    // An item that is gone since it was matched is no longer part of the page.
    return await search(table.layout, dialect, query, asked => candidates(table, asked), ids => ids.flatMap(id => table.get(id) ?? []))
  }
  const items = await page(table, query, reading => table.items(reading))
  return query.count ? { items, total: await count(table, query) } : { items }
}

/** The page as JSON, and whether there is more after it: one item further is looked for. */
export async function findText (table: TableReader, query: Query, members: readonly string[]): Promise<FoundText> {
  const { limit } = query
  const further = { ...query, limit: limit + 1 }
  // Without the id, and where JavaScript has the items anyway, they are written from the items.
  if (!members.includes('id') || hasPatterns(query) || !table.writesJson) {
    const { items, total } = await find(table, further)
    const shown = items.slice(0, limit)
    return result(shown.map(item => textOf(item, members)), shown.at(-1)?.id, items.length > limit, total)
  }
  const columns = members.map(member => columnOf(table.layout, member))
  const texts = await page(table, further, reading => table.texts(reading, columns))
  const more = texts.length > limit
  if (more) texts.length = limit
  const last = texts.at(-1)
  const id = last === undefined ? undefined : (JSON.parse(last) as Stored).id
  return result(texts, id, more, query.count ? await count(table, query) : undefined)
}

function result (texts: readonly string[], last: Id | undefined, more: boolean, total: number | undefined): FoundText {
  return { text: texts.join(','), count: texts.length, more, ...last === undefined ? {} : { last }, ...total === undefined ? {} : { total } }
}

function textOf (item: Stored, members: readonly string[]): string {
  return JSON.stringify(Object.fromEntries(members.map(member => [member, item[member]])))
}

function hasPatterns ({ where }: Query): boolean {
  return where.some(({ op }) => op === 'regex')
}

/** Counts in one go where an index does it, else in slices. */
async function count (table: TableReader, { where }: Query): Promise<number> {
  const rest = where.filter(condition => !isRangeOfId(condition))
  const index = selectiveIndex(table, rest)
  if (index !== undefined) return table.count(where, { index })
  if (new Set(where.map(({ field }) => field)).size < 2) return table.count(where)
  let total = 0
  for await (const slice of slices(table, where, false)) total += table.count([...where, ...slice], { byKey: true })
  return total
}

async function * candidates (table: TableReader, { where, order, columns }: Candidates): AsyncGenerator<unknown[][]> {
  const index = selectiveIndex(table, where.filter(condition => !isRangeOfId(condition)))
  if (index !== undefined) return yield table.rows({ where, order, limit: -1, offset: 0, index }, columns)
  for await (const slice of slices(table, where, order[0]?.descending === true, searchedRows)) {
    yield table.rows({ where: [...where, ...slice], order, limit: -1, offset: 0, byKey: true }, columns)
  }
}
