import { makeComparator } from '../core/storage/compare.js'
import { FirstMatches } from '../core/storage/page.js'
import type { Found, Query, Stored } from '../core/storage/storage.js'

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
