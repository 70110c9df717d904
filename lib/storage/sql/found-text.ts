import type { Found, FoundText, ItemKey, Order, Query, Stored } from '../storage.js'

/** A page as text from its items, of which there may be one more than the page has. */
export function writeItems ({ items, total }: Found, members: readonly string[], query: Query): FoundText {
  const shown = items.slice(0, query.limit)
  const texts = shown.map(item => JSON.stringify(Object.fromEntries(members.map(name => [name, item[name]]))))
  return {
    text: texts.join(','),
    count: texts.length,
    more: items.length > query.limit,
    ...keysOf(query, shown[0], shown.at(-1)),
    ...total === undefined ? {} : { total }
  }
}

/** The keys of the first item and the last, as far as they are wanted. */
export function keysOf (
  { order, offset }: Pick<Query, 'order' | 'offset'>,
  first: Stored | undefined,
  last: Stored | undefined
): Pick<FoundText, 'first' | 'last'> {
  return {
    ...first === undefined || offset === 0 ? {} : { first: pickKey(order, first) },
    ...last === undefined ? {} : { last: pickKey(order, last) }
  }
}

function pickKey (order: readonly Order[], item: Stored): ItemKey {
  const key: Record<string, unknown> = {}
  for (const { field } of order) if (item[field] !== undefined) key[field] = item[field]
  return key as unknown as ItemKey
}
