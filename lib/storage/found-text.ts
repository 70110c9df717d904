import type { Found, FoundText, ItemKey, Order, Query, Stored } from '../core/storage/storage.js'

/** What was written of a page. */
interface WrittenPage {
  readonly text: string
  readonly count: number
  readonly more: boolean
  readonly first: Stored | undefined
  readonly last: Stored | undefined
  readonly total: number | undefined
}

/** A page as text, with the keys of its first item and its last as far as they are wanted. */
export function toFoundText (
  { text, count, more, first, last, total }: WrittenPage,
  { order, offset }: Pick<Query, 'order' | 'offset'>
): FoundText {
  const found: { -readonly [K in keyof FoundText]: FoundText[K] } = { text, count, more }
  if (first !== undefined && offset > 0) found.first = pickKey(order, first)
  if (last !== undefined) found.last = pickKey(order, last)
  if (total !== undefined) found.total = total
  return found
}

/** The same from its items, of which there may be one more than the page has. */
export function writePage (
  { items, total }: Found,
  query: Pick<Query, 'order' | 'offset' | 'limit'>,
  write: (items: readonly Stored[]) => string
): FoundText {
  const more = items.length > query.limit
  const shown = more ? items.slice(0, query.limit) : items
  const page = { text: write(shown), count: shown.length, more, first: shown[0], last: shown.at(-1), total }
  return toFoundText(page, query)
}

function pickKey (order: readonly Order[], item: Stored): ItemKey {
  const key: Record<string, unknown> = {}
  for (const { field } of order) if (item[field] !== undefined) key[field] = item[field]
  return key as unknown as ItemKey
}
