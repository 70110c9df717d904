import { invalidQuery } from '../../core/problems.js'
import type { Place } from '../../core/query/cursor.js'
import type { ParsedQuery } from '../../core/query/grammar.js'
import type { FoundPage } from '../../core/service/find-page.js'
import type { FoundText } from '../../core/storage/storage.js'
import { measureAll } from '../../core/values/json.js'

/** How many items are read at once where each may be long, at most. */
export const partSize = 50

// The first that is not too long: few sizes, so that a storage meets the same queries again and again.
const partSizes = [partSize, 10, 1]

// Characters that one part should not be longer than.
const partLength = 1_000_000

// Characters after which a page of such items ends: a slow client makes us keep them.
const maxLength = 2_000_000

// How many items to read at once, if they are as long as those before.
function choosePart (average: number): number {
  return partSizes.find(size => size * average <= partLength) ?? 1
}

/** What matters of a part, whatever it is made of. */
interface Part {
  readonly count: number
  readonly length: number
  /** Where the next one begins; none after the last. */
  readonly rest: Place | undefined
}

/** The page, as far as it is not too long: nobody knows before how long its items are. */
export async function findInParts (
  find: (parsed: ParsedQuery) => Promise<FoundPage>,
  parsed: ParsedQuery
): Promise<FoundPage> {
  const backwards = parsed.start?.backwards === true
  const parts = await readParts(parsed, find, ({ items, next, prev }) =>
    ({ count: items.length, length: measureAll(items), rest: backwards ? prev : next }))
  const inOrder = backwards ? parts.toReversed() : parts
  return {
    items: inOrder.flatMap(({ items }) => items),
    total: parts[0]?.total,
    next: inOrder.at(-1)?.next,
    prev: inOrder[0]?.prev
  }
}

/** The same of a page as text; of more than one part, in the order of the id. */
export async function findTextInParts (
  findText: (parsed: ParsedQuery) => Promise<FoundText>,
  parsed: ParsedQuery
): Promise<FoundText> {
  const parts = await readParts(parsed, findText, ({ count, text, more, last }) =>
    ({ count, length: text.length, rest: more ? last && { isAfter: true, item: last } : undefined }))
  if (parts.length === 1) return parts[0] as FoundText
  const { last, more } = parts.at(-1) as FoundText
  return {
    ...parts[0],
    text: parts.map(({ text }) => text).join(','),
    count: parts.reduce((count, part) => count + part.count, 0),
    ...last && { last },
    more
  }
}

async function readParts<T> (
  parsed: ParsedQuery,
  read: (parsed: ParsedQuery) => Promise<T>,
  look: (part: T) => Part
): Promise<T[]> {
  const parts: T[] = []
  let { query, start } = parsed
  let left = query.limit
  let length = 0
  for (let size = partSize; ;) {
    const part = await read({ ...parsed, start, query: { ...query, limit: Math.min(left, size) } })
    const looked = look(part)
    // What was left has been deleted meanwhile.
    if (looked.count === 0 && parts.length > 0) return parts
    parts.push(part)
    left -= looked.count
    length += looked.length
    if (looked.rest === undefined || left === 0) return parts
    if (length > maxLength) {
      refuseNumbered(parsed, query.limit - left)
      return parts
    }
    size = Math.min(growBy * size, choosePart(looked.length / looked.count))
    start = { place: looked.rest, backwards: parsed.start?.backwards === true }
    query = { ...query, offset: 0, count: false }
  }
}

// Short ones may be followed by long ones.
const growBy = 10

// The page of the next number would begin after items that nobody was shown.
function refuseNumbered ({ parameters }: ParsedQuery, fitting: number): void {
  if (!parameters.some(({ name }) => name === 'page')) return
  const detail = `The items are so long that ${fitting} of them fill this page: ask for fewer by maxpagesize, ` +
    'or leave out page and follow links.next'
  throw invalidQuery([{ parameter: 'maxpagesize', detail }])
}
