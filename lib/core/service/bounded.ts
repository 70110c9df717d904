import { invalidQuery } from '../problems.js'
import type { Position } from '../query/cursor.js'
import type { ParsedQuery } from '../query/grammar.js'
import { choosePartSize, firstPartSize, maxPageLength } from '../storage/pages.js'
import { measureAll } from '../values/json.js'
import type { FoundPage } from './find-page.js'

/** A page, and where the feed is followed from after it. */
export type FollowedPage = FoundPage & { readonly follow?: Position | undefined }

export type FindPage = (parsed: ParsedQuery) => Promise<FollowedPage>

/** In parts, if the items may be so long that few fit on a page. */
export async function findBounded (
  find: FindPage, parsed: ParsedQuery, hasLongItems: boolean, firstSize = firstPartSize
): Promise<FollowedPage> {
  return await (hasLongItems && parsed.query.limit > firstSize ? findInParts(find, parsed, firstSize) : find(parsed))
}

/** Ends the page when it gets too long: the length of items is only known when they are read. */
async function findInParts (find: FindPage, parsed: ParsedQuery, firstSize: number): Promise<FollowedPage> {
  const backwards = parsed.start?.backwards === true
  const isForward = !backwards && parsed.query.order[0]?.descending !== true
  const parts: FollowedPage[] = []
  let { query, start } = parsed
  let left = query.limit
  let length = 0
  let size = firstSize
  for (;;) {
    const part = await find({ ...parsed, start, query: { ...query, limit: Math.min(left, size) } })
    const count = part.items.length
    // The rest was deleted meanwhile.
    if (count === 0 && parts.length > 0) break
    parts.push(part)
    left -= count
    const partLength = measureAll(part.items)
    length += partLength
    const rest = backwards ? part.prev : part.next
    if (rest === undefined || left === 0) break
    if (length > maxPageLength) {
      refuseNumbered(parsed, query.limit - left)
      break
    }
    size = choosePartSize(size, { length: partLength, count })
    query = { ...query, offset: 0, count: false }
    start = { position: rest, backwards }
  }
  return joinParts(parts, backwards, isForward)
}

/** The page with the next number would begin after items that were not shown. */
function refuseNumbered ({ parameters }: ParsedQuery, count: number): void {
  if (!parameters.some(({ name }) => name === 'page')) return
  const detail = `The items are so long that ${count} of them fill this page: use a smaller ` +
    'maxpagesize, or omit page and follow links.next'
  throw invalidQuery([{ parameter: 'maxpagesize', detail }])
}

function joinParts (parts: readonly FollowedPage[], backwards: boolean, isForward: boolean): FollowedPage {
  const inOrder = backwards ? parts.toReversed() : parts
  return {
    items: inOrder.flatMap(({ items }) => items),
    total: parts[0]?.total,
    next: inOrder.at(-1)?.next,
    prev: inOrder[0]?.prev,
    // Only forwards does a later part end later; else the entries since the first part are on none.
    follow: (isForward ? parts.at(-1) : parts[0])?.follow
  }
}
