import { invalidQuery } from '../problems.js'
import { findPositionsAround, listParts, type OrderedList, type Position, type Start } from '../query/cursor.js'
import type { ParsedQuery } from '../query/grammar.js'
import { askOneMore } from '../storage/pages.js'
import type { Condition, Found, Query, Stored } from '../storage/storage.js'

export type Find = (query: Query) => Promise<Found>

export interface FoundPage {
  readonly items: readonly Stored[]
  readonly total: number | undefined
  readonly next: Position | undefined
  readonly prev: Position | undefined
}

export async function findPage (find: Find, { query, list, start, page }: ParsedQuery): Promise<FoundPage> {
  const asked = askOneMore(query)
  const found = start === undefined ? await find(asked) : await findFrom(find, list, asked, start)
  const more = found.items.length > query.limit
  const shown = more ? found.items.slice(0, query.limit) : found.items
  const items = start?.backwards === true ? shown.toReversed() : shown
  const { next, prev } = findPositionsAround({ start, page }, { more, first: items[0], last: items.at(-1) })
  return { items, total: found.total, next, prev }
}

export async function findFrom (find: Find, list: OrderedList, query: Query, start: Start): Promise<Found> {
  const position = await completePosition(find, start)
  const { parts, order } = listParts(list.fields, query.order, { ...start, position })
  const items: Stored[] = []
  for (const part of parts) {
    const wanted = query.limit - items.length
    if (wanted === 0) break
    const where: Condition[] = [...query.where, ...part]
    // The same limit for every part, so that a storage can reuse its statements.
    const found = await find({ where, order, offset: 0, limit: query.limit, count: false })
    items.push(...found.items.slice(0, wanted))
  }
  return query.count ? { ...await find({ ...query, offset: 0, limit: 0 }), items } : { items }
}

/** If the values were too long for a URL, they are read from the item. */
async function completePosition (find: Find, { position, backwards }: Start): Promise<Position> {
  if (position.isShort !== true) return position
  const { id } = position.item
  const where: Condition[] = [{ field: 'id', op: 'eq', values: [id] }]
  const byId = [{ field: 'id', descending: false }]
  const { items: [item] } = await find({ where, order: byId, offset: 0, limit: 1, count: false })
  if (item !== undefined) return { ...position, item }
  const parameter = backwards ? 'before' : 'after'
  const detail = `${parameter} refers to a deleted item; start at the first page`
  throw invalidQuery([{ parameter, detail }])
}
