import { linkTo } from '../../http/links.js'
import type { ParsedQuery } from '../../query/grammar.js'
import type { Id } from '../../storage/storage.js'

export interface PageLinks {
  readonly self: string
  readonly first: string
  readonly next?: string
  readonly prev?: string
}

/** The page at this path with some parameters taken out and others put in. */
export function pageAt (path: string, { parameters }: ParsedQuery, without: readonly string[], added: readonly string[]): string {
  const kept = parameters.filter(({ name }) => !without.includes(name)).map(({ raw }) => raw)
  const search = [...kept, ...added].join('&')
  return search === '' ? path : `${path}?${search}`
}

/** The path in which Accept chooses the representation. */
export function withoutSuffix (path: string, suffix: string | undefined): string {
  const plain = path.replace(/\/$/, '')
  return suffix === undefined ? plain : plain.slice(0, -suffix.length - 1)
}

/** Whether the order is by id, so that a page can be found by its key. */
export function isByKey ({ query: { order } }: ParsedQuery): boolean {
  return order[0]?.field === 'id'
}

export function pageLinks (path: string, reading: ParsedQuery, last: Id | undefined, more: boolean): PageLinks {
  const { query, page } = reading
  // By key wherever the order is by id, so that no page costs more than the first; by number in every other order.
  const key = query.order[0]?.descending === true ? 'lt' : 'gt'
  const next = isByKey(reading) && last !== undefined
    ? pageAt(path, reading, ['page', key], [`${key}=${encodeURIComponent(last)}`])
    : pageAt(path, reading, ['page'], [`page=${page + 1}`])

  return {
    self: pageAt(path, reading, [], []),
    first: pageAt(path, reading, ['page'], []),
    ...(more ? { next } : {}),
    ...(page > 1 ? { prev: pageAt(path, reading, ['page'], [`page=${page - 1}`]) } : {})
  }
}

/** The links as a header (RFC 8288). */
export function linkHeader (links: PageLinks): string {
  return Object.entries(links).map(([rel, url]: [string, string]) => linkTo(url, rel)).join(', ')
}
