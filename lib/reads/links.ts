import { formatLink } from '../http/url.js'
import type { ParsedQuery } from '../query/grammar.js'
import { makePageUrl } from '../query/page-url.js'
import type { Id } from '../storage/storage.js'

export interface PageLinks {
  readonly self: string
  readonly first: string
  readonly next?: string
  readonly prev?: string
}

/** Whether the order is by id, so that a page can be found by its key. */
export function isByKey ({ query: { order } }: ParsedQuery): boolean {
  return order[0]?.field === 'id'
}

/** @param last the id of the last item; undefined where there is none */
export function makePageLinks (path: string, parsed: ParsedQuery, last: Id | undefined, hasNext: boolean): PageLinks {
  const { query, page } = parsed
  // By key wherever the order is by id, so that no page costs more than the first; by number in every other order.
  const key = query.order[0]?.descending === true ? 'lt' : 'gt'
  const next = isByKey(parsed) && last !== undefined
    ? makePageUrl(path, parsed, ['page', key], [`${key}=${encodeURIComponent(last)}`])
    : makePageUrl(path, parsed, ['page'], [`page=${page + 1}`])

  return {
    self: makePageUrl(path, parsed),
    first: makePageUrl(path, parsed, ['page']),
    ...(hasNext ? { next } : {}),
    ...(page > 1 ? { prev: makePageUrl(path, parsed, ['page'], [`page=${page - 1}`]) } : {})
  }
}

/** The links as a header (RFC 8288). */
export function formatLinks (links: PageLinks): string {
  return Object.entries(links).map(([rel, url]: [string, string]) => formatLink(url, rel)).join(', ')
}
