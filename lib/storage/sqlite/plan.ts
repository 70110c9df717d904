import { setImmediate as turn } from 'node:timers/promises'
import { indexInOrder } from '../sql/indexes.js'
import { isRangeOfId } from '../sql/search.js'
import type { Condition, Id, Query } from '../storage.js'
import type { Reading, TableReader } from './reader.js'

// Rows that a first look along the key may cost: most pages are full long before.
const firstLook = 2000
// Up to so many entries of an index, gathering and sorting them is cheaper than going on along the key.
const fewEntries = 4000
// Rows between two turns of the event loop: about five milliseconds.
const sliceRows = 20_000

/**
 * Reads a page. A file that was never ANALYZEd tells SQLite nothing about its values, so for pages in the order of the id
 * the way is chosen here: a bounded look along the key first; if that does not fill the page, the index with few entries
 * if there is one; else on along the key, in slices.
 */
export async function page<T> (table: TableReader, query: Query, read: (reading: Reading) => T[]): Promise<T[]> {
  const { order, limit, offset } = query
  if (limit === 0) return []
  const range = query.where.filter(isRangeOfId)
  const rest = query.where.filter(condition => !isRangeOfId(condition))
  const direct = { where: query.where, order, limit, offset }
  if (order[0]?.field !== 'id' || rest.length === 0 || rest.some(({ field, op }) => field === 'id' && op === 'eq')) return read(direct)

  const inOrder = table.layout.mapped ? undefined : indexInOrder(table.indexes, rest)
  if (inOrder !== undefined && inOrder.left.length === 0) return read({ ...direct, index: inOrder.name })
  if (offset === 0) {
    const looked = read(inOrder === undefined
      ? { where: rest, order, limit, offset, window: { where: range, rows: firstLook } }
      : { where: inOrder.left, order, limit, offset, index: inOrder.name, window: { where: [...range, ...inOrder.used], rows: firstLook } })
    if (looked.length === limit) return looked
  }
  const index = selectiveIndex(table, rest)
  if (index !== undefined) return read({ ...direct, index })
  return await walk(table, query, read)
}

/** Along the key, slice by slice: passes over whole slices while the offset lasts, then takes what is wanted. */
async function walk<T> (table: TableReader, query: Query, read: (reading: Reading) => T[]): Promise<T[]> {
  const { order, limit } = query
  const items: T[] = []
  let offset = query.offset
  for await (const slice of slices(table, query.where, order[0]?.descending === true)) {
    const where = [...query.where, ...slice]
    if (offset > 0) {
      const matching = table.count(where, { byKey: true })
      if (matching <= offset) {
        offset -= matching
        continue
      }
    }
    items.push(...read({ where, order, limit, offset, byKey: true }))
    offset = 0
    if (items.length >= limit) break
  }
  return items.slice(0, limit)
}

/** The key cut into ranges of so many rows, as conditions; between them other requests get their turn. */
export async function * slices (table: TableReader, where: readonly Condition[], descending: boolean, rows = sliceRows): AsyncGenerator<Condition[]> {
  const [beyond, upTo] = descending ? ['lt', 'gte'] as const : ['gt', 'lte'] as const
  const range = where.filter(isRangeOfId)
  const order = [{ field: 'id', descending }]
  let from: Condition[] = []
  for (;;) {
    const [last] = table.rows({ where: [...range, ...from], order, limit: 1, offset: rows - 1 }, [table.layout.id])
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

/** The index whose first column leaves the fewest rows, if they are few. Counting ends where they are no longer. */
export function selectiveIndex (table: TableReader, where: readonly Condition[]): string | undefined {
  let best: { name: string, entries: number } | undefined
  for (const index of table.indexes) {
    const usable = where.filter(({ field, op }) => op !== 'ne' && field === index.fields[0])
    if (usable.length === 0) continue
    const entries = table.count(usable, { atMost: fewEntries + 1, index: index.name })
    if (entries <= fewEntries && entries < (best?.entries ?? Infinity)) best = { name: index.name, entries }
  }
  return best?.name
}
