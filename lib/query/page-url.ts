import type { ParsedQuery } from './grammar.js'

/** The page at this path with some parameters taken out and others put in. */
export function makePageUrl (
  path: string,
  { parameters }: ParsedQuery,
  without: readonly string[] = [],
  added: readonly string[] = []
): string {
  const kept = parameters.filter(({ name }) => !without.includes(name)).map(({ raw }) => raw)
  const search = [...kept, ...added].join('&')
  return search === '' ? path : `${path}?${search}`
}
