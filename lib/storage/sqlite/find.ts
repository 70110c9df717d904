import { setImmediate as turn } from 'node:timers/promises'
import { columnOf } from '../sql/layout.js'
import { isRangeOfId, search } from '../sql/search.js'
import type { Candidates } from '../sql/search.js'
import type { Condition, Found, Id, Query, Stored } from '../storage.js'
import { sqliteDialect as dialect } from './dialect.js'
import type { TableReader } from './reader.js'

// Rows that a first look along the key may cost: most pages are full long before.
const firstLook = 2000
// Up to so many entries of an index, gathering and sorting them is cheaper than going on along the key.
const fewEntries = 4000
// Rows between two turns of the event loop: about five milliseconds.
const sliceRows = 20_000

/**
 * Finds a page. A file that was never ANALYZEd tells SQLite nothing about its values, so for pages in the order of the id
 * the way is chosen here: a bounded look along the key first; if that does not fill the page, the index with few entries
 * if there is one; else on along the key, in slices.
 */
export async function find (table: TableReader, query: Query): Promise<Found> {
  if (query.where.some(({ op }) => op === 'regex')) {
    // An item that is gone since it was matched is no longer part of the page.
    return await search(table.layout, dialect, query, asked => candidates(table, asked), ids => ids.flatMap(id => table.get(id) ?? []))
  }
  const items = query.limit === 0 ? [] : await page(table, query)
  return query.count ? { items, total: table.count(query.where) } : { items }
}

async function page (table: TableReader, query: Query): Promise<Stored[]> {
  const { order, limit, offset } = query
  const range = query.where.filter(isRangeOfId)
  const rest = query.where.filter(condition => !isRangeOfId(condition))
  const direct = { where: query.where, order, limit, offset }
  if (order[0]?.field !== 'id' || rest.length === 0 || rest.some(({ field, op }) => field === 'id' && op === 'eq')) return table.items(direct)

  const inOrder = indexInOrder(table, rest)
  if (inOrder !== undefined && inOrder.left.length === 0) return table.items({ ...direct, index: inOrder.name })
  if (offset === 0) {
    const looked = table.items(inOrder === undefined
      ? { where: rest, order, limit, offset, window: { where: range, rows: firstLook } }
      : { where: inOrder.left, order, limit, offset, index: inOrder.name, window: { where: [...range, ...inOrder.used], rows: firstLook } })
    if (looked.length === limit) return looked
  }
  const index = selectiveIndex(table, rest)
  if (index !== undefined) return table.items({ ...direct, index })
  return await walk(table, query)
}

/** Along the key, slice by slice: passes over whole slices while the offset lasts, then takes what is wanted. */
async function walk (table: TableReader, query: Query): Promise<Stored[]> {
  const { order, limit } = query
  const items: Stored[] = []
  let offset = query.offset
  for await (const slice of slices(table, query, sliceRows)) {
    const where = [...query.where, ...slice]
    if (offset > 0) {
      const matching = table.count(where, { byKey: true })
      if (matching <= offset) {
        offset -= matching
        continue
      }
    }
    const taken = table.items({ where, order, limit: limit - items.length, offset, byKey: true })
    offset = 0
    items.push(...taken)
    if (items.length >= limit) break
  }
  return items
}

async function * candidates (table: TableReader, { where, order, columns }: Candidates): AsyncGenerator<unknown[][]> {
  const index = selectiveIndex(table, where.filter(condition => !isRangeOfId(condition)))
  if (index !== undefined) return yield table.rows({ where, order, limit: -1, offset: 0, index }, columns)
  for await (const slice of slices(table, { where, order }, 1000)) {
    yield table.rows({ where: [...where, ...slice], order, limit: -1, offset: 0, byKey: true }, columns)
  }
}

/** The key cut into ranges of so many rows, as conditions; between them other requests get their turn. */
async function * slices (table: TableReader, { where, order }: Pick<Query, 'where' | 'order'>, rows: number): AsyncGenerator<Condition[]> {
  const descending = order[0]?.descending === true
  const [beyond, upTo] = descending ? ['lt', 'gte'] as const : ['gt', 'lte'] as const
  const range = where.filter(isRangeOfId)
  let from: Condition[] = []
  for (;;) {
    const [last] = table.rows({ where: [...range, ...from], order: order.slice(0, 1), limit: 1, offset: rows - 1 }, [table.layout.id])
    if (last === undefined) {
      yield from
      return
    }
    const id = last[0] as Id
    yield [...from, { field: 'id', op: upTo, value: id }]
    from = [{ field: 'id', op: beyond, value: id }]
    await turn()
  }
}

/** An index all of whose columns have one given value: in it, as in all of ours, the rows are in the order of the id. */
function indexInOrder (table: TableReader, where: readonly Condition[]): { name: string, used: Condition[], left: Condition[] } | undefined {
  if (table.layout.mapped) return undefined
  const given = where.filter(condition => condition.op === 'eq' && condition.values.length === 1)
  const name = (condition: Condition): string | undefined => columnOf(table.layout, condition.field).name
  let best: { name: string, used: Condition[], left: Condition[] } | undefined
  for (const index of table.indexes) {
    const used = index.columns.map(column => given.find(condition => name(condition) === column))
    if (used.includes(undefined) || used.length <= (best?.used.length ?? 0)) continue
    best = { name: index.name, used: used as Condition[], left: where.filter(condition => !used.includes(condition)) }
  }
  return best
}

/** The index whose first column leaves the fewest rows, if they are few. Counting ends where they are no longer. */
function selectiveIndex (table: TableReader, where: readonly Condition[]): string | undefined {
  let best: { name: string, entries: number } | undefined
  for (const index of table.indexes) {
    const usable = where.filter(({ field, op }) => op !== 'ne' && columnOf(table.layout, field).name === index.columns[0])
    if (usable.length === 0) continue
    const entries = table.count(usable, { atMost: fewEntries + 1, index: index.name })
    if (entries <= fewEntries && entries < (best?.entries ?? Infinity)) best = { name: index.name, entries }
  }
  return best?.name
}
