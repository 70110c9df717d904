import type { OrderedList, PlacesAround } from './cursor.js'
import { writeCursor } from './cursor.js'

/** One parameter of a query string: decoded, and as it was sent. */
export interface Parameter {
  readonly name: string
  readonly value: string
  /** Whether an equals sign stood between name and value. */
  readonly assigned: boolean
  readonly raw: string
}

/** How many parameters a query may have. */
export const maxParameters = 100

/**
 * Splits a query string; a part that is not valid percent-encoding has no name. Of a query that has too many, it is one
 * more than there may be: to decode what is wrong takes time.
 */
export function splitQuery (search: string): (Parameter | { readonly raw: string, readonly name: undefined })[] {
  if (search === '') return []
  const parameters = []
  for (const raw of search.split('&')) {
    if (raw === '') continue
    if (parameters.length > maxParameters) break
    const equals = raw.indexOf('=')
    const name = decodeText(equals === -1 ? raw : raw.slice(0, equals))
    const value = equals === -1 ? '' : decodeText(raw.slice(equals + 1))
    parameters.push(name === undefined || value === undefined
      ? { raw, name: undefined }
      : { name, value, assigned: equals !== -1, raw })
  }
  return parameters
}

/** How many parameters a query has, whether they are well-formed or not. */
export function countParameters (search: string): number {
  return search.split('&').filter(raw => raw !== '').length
}

/** A name or a value of a query, or of a form; undefined where it is not valid percent-encoding. */
export function decodeText (text: string): string | undefined {
  if (!text.includes('%') && !text.includes('+')) return text
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return undefined
  }
}

/** Reads one parameter only, where the others do not matter. */
export function readTextParameter (search: string, name: string): string | undefined {
  for (const parameter of splitQuery(search)) if (parameter.name === name) return parameter.value
  return undefined
}

/** The page at this path with some parameters taken out and another put in. */
export function makePageUrl (
  path: string,
  { parameters }: { readonly parameters: readonly Parameter[] },
  without: readonly string[] = [],
  added?: string
): string {
  let url = path
  let separator = '?'
  for (const { name, raw } of parameters) {
    if (without.includes(name)) continue
    url += separator + raw
    separator = '&'
  }
  return added === undefined ? url : url + separator + added
}

/** The links of a page of a list. */
export interface PageLinks {
  readonly self: string
  readonly first: string
  next?: string
  prev?: string
}

/** The members of a page besides its items. */
export type PageMembers = {
  readonly page: number
  readonly pageSize: number
  readonly total?: number
  readonly links: PageLinks
}

/** What a page needs to know of its query. */
interface PageQuery {
  readonly parameters: readonly Parameter[]
  readonly page: number
  readonly query: { readonly limit: number }
  readonly list: OrderedList
}

// The parameters that say where a page is.
const places = ['page', 'after', 'before']

/** The members of a page at this path, with the addresses of those around it. */
export function makePageMembers (
  path: string,
  parsed: PageQuery,
  { next, prev }: PlacesAround,
  total: number | undefined
): PageMembers {
  const { page, query: { limit: pageSize }, list } = parsed
  const links: PageLinks = { self: makePageUrl(path, parsed), first: makePageUrl(path, parsed, places) }
  if (next !== undefined) links.next = makePageUrl(path, parsed, places, `after=${writeCursor(list, next)}`)
  if (prev !== undefined) links.prev = makePageUrl(path, parsed, places, `before=${writeCursor(list, prev)}`)
  // Beyond the last page there is no item to go back from.
  else if (page > 1) links.prev = makePageUrl(path, parsed, places, `page=${page - 1}`)
  return total === undefined ? { page, pageSize, links } : { page, pageSize, total, links }
}
