import { invalidQuery } from '../problems.js'
import type { OrderedList, Place, Start } from '../query/cursor.js'
import { listParts, placeAround } from '../query/cursor.js'
import type { ParsedQuery } from '../query/grammar.js'
import { askOneMore } from '../storage/pages.js'
import type { Condition, Found, Query, Stored } from '../storage/storage.js'

export type Find = (query: Query) => Promise<Found>

/** A page of a list, and the places where those around it begin and end; none where there is no such page. */
export interface FoundPage {
  readonly items: readonly Stored[]
  readonly total: number | undefined
  readonly next: Place | undefined
  readonly prev: Place | undefined
}

/** Finds the page that a query asks for. */
export async function findPage (find: Find, { query, list, start, page }: ParsedQuery): Promise<FoundPage> {
  const asked = askOneMore(query)
  const found = start === undefined ? await find(asked) : await findFrom(find, list, asked, start)
  const more = found.items.length > query.limit
  const shown = more ? found.items.slice(0, query.limit) : found.items
  const items = start?.backwards === true ? shown.toReversed() : shown
  const { next, prev } = placeAround({ start, page }, { more, first: items[0], last: items.at(-1) })
  return { items, total: found.total, next, prev }
}

/** Finds what comes after an item, or before it, at the same cost wherever that is. */
export async function findFrom (find: Find, list: OrderedList, query: Query, start: Start): Promise<Found> {
  const { parts, order } = listParts(list.fields, query.order, { ...start, place: await complete(find, list, start) })
  const items: Stored[] = []
  for (const part of parts) {
    const wanted = query.limit - items.length
    if (wanted === 0) break
    const where: Condition[] = [...query.where, ...part]
    // As many for every part, so that a storage meets the same queries again and again.
    const found = await find({ where, order, offset: 0, limit: query.limit, count: false })
    items.push(...found.items.slice(0, wanted))
  }
  return query.count ? { ...await find({ ...query, offset: 0, limit: 0 }), items } : { items }
}

/** The place with all fields of the order: where they were too long for a URL, as the item has them now. */
async function complete (find: Find, { order }: OrderedList, { place, backwards }: Start): Promise<Place> {
  const { id } = place.item
  if (order.length === 1 || Object.keys(place.item).length > 1) return place
  const where: Condition[] = [{ field: 'id', op: 'eq', values: [id] }]
  const byId = [{ field: 'id', descending: false }]
  const { items: [item] } = await find({ where, order: byId, offset: 0, limit: 1, count: false })
  if (item !== undefined) return { ...place, item }
  const parameter = backwards ? 'before' : 'after'
  const detail = `${parameter} leads on from an item that is gone; begin at the first page`
  throw invalidQuery([{ parameter, detail }])
}
