import type { FastifyReply } from 'fastify'
import type { Choice } from '../http/negotiate.js'
import { Problem } from '../http/problems.js'
import type { Reading } from '../query/grammar.js'
import type { PageView } from '../representations/representation.js'
import type { Found, Stored } from '../storage/storage.js'
import { send } from './answer.js'

/** How one kind of page is shown. */
export interface PageStyle {
  readonly name: string
  readonly singular: string
  /** The path of the page, from which its links are made. */
  readonly path: string
  readonly emptyList: 'page' | 'not-found'
  show (item: Stored): Readonly<Record<string, unknown>>
}

export interface PageLinks {
  readonly self: string
  readonly first: string
  readonly next?: string
  readonly prev?: string
}

/** Answers with a page. What was found has one item more than the page, where there is a next one. */
export function sendPage (reply: FastifyReply, choice: Choice, reading: Reading, found: Found, style: PageStyle): FastifyReply {
  const { query: { limit }, page } = reading
  const stored = found.items.slice(0, limit)
  if (stored.length === 0 && style.emptyList === 'not-found') throw new Problem('empty-list', `No ${style.name} are found`)
  const links = pageLinks(style.path, reading, stored, found.items.length > limit)
  const items = stored.map(style.show)
  const total = found.total === undefined ? {} : { total: found.total }
  const view: PageView = {
    kind: 'page',
    name: style.name,
    singular: style.singular,
    items,
    document: { items, page, pageSize: limit, ...total, links }
  }
  return send(reply.header('link', linkHeader(links)), choice, view)
}

/** One item more than the page has, to know whether there is a next one without counting. */
export function withOneMore ({ query }: Reading): Reading['query'] {
  return { ...query, limit: query.limit + 1 }
}

function pageLinks (path: string, { parameters, query, page }: Reading, items: readonly Stored[], more: boolean): PageLinks {
  const at = (without: readonly string[], ...added: string[]) => {
    const kept = parameters.filter(({ name }) => !without.includes(name)).map(({ raw }) => raw)
    const search = [...kept, ...added].join('&')
    return search === '' ? path : `${path}?${search}`
  }
  const [first] = query.order
  const last = items.at(-1)
  // By key wherever the order is by id, so that no page costs more than the first; by number in every other order.
  const key = first?.descending === true ? 'lt' : 'gt'
  const next = first?.field === 'id' && last !== undefined
    ? at(['page', key], `${key}=${encodeURIComponent(last.id)}`)
    : at(['page'], `page=${page + 1}`)

  return {
    self: at([]),
    first: at(['page']),
    ...(more ? { next } : {}),
    ...(page > 1 ? { prev: at(['page'], `page=${page - 1}`) } : {})
  }
}

function linkHeader (links: PageLinks): string {
  // Not all that a query may hold unencoded may stand between the angle brackets.
  const encode = (url: string) => url.replace(/[<>"\s\\^`{|}]|[^\x21-\x7e]/g, character => encodeURIComponent(character))
  return Object.entries(links).map(([rel, url]: [string, string]) => `<${encode(url)}>; rel="${rel}"`).join(', ')
}

/** The members of an item that clients see, or those of them that they asked for. */
export function pick (members: readonly string[]): (item: Stored) => Record<string, unknown> {
  return item => {
    const picked: Record<string, unknown> = {}
    for (const member of members) {
      const value = item[member]
      if (value !== undefined) picked[member] = value
    }
    return picked
  }
}
