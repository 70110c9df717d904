import type { FastifyReply, FastifyRequest } from 'fastify'
import { addLink } from '../../http/links.js'
import type { Choice } from '../../http/negotiate.js'
import type { ParsedQuery } from '../../query/grammar.js'
import type { PageView, Representation } from '../../representations/representation.js'
import type { FoundText, Stored } from '../../storage/storage.js'
import type { Members } from '../model/params.js'
import { exportRows } from './export.js'
import { linkHeader, pageLinks } from './links.js'
import type { PageLinks } from './links.js'
import { refuseEmpty } from './page-style.js'
import type { PageStyle } from './page-style.js'
import { send, sendAs } from './send.js'

/** Answers with a page, or with everything, where the representation goes line by line and the client names no size. */
export async function sendPage (request: FastifyRequest, reply: FastifyReply, choice: Choice, reading: ParsedQuery, style: PageStyle): Promise<FastifyReply> {
  const { representation: { rows, pageOfText } } = choice
  if (rows !== undefined && !reading.sized && !reading.parameters.some(({ name }) => name === 'page')) return await exportRows(request, reply, choice, rows, reading, style)
  if (pageOfText !== undefined && style.findText !== undefined) return await sendText(reply, choice, reading, style, pageOfText, await style.findText(reading.query))
  const { limit } = reading.query
  // One item more than the page has, to know whether there is a next one without counting.
  const found = await style.find({ ...reading.query, limit: limit + 1 })
  const stored = found.items.length > limit ? found.items.slice(0, limit) : found.items
  // To a person, an empty list is still the place to make the first item.
  if (choice.representation.interactive !== true) refuseEmpty(stored.length, style)
  else if (stored.length === 0 && style.emptyList === 'not-found' && reply.statusCode === 200) reply.code(404)
  const hasNext = found.items.length > limit
  const links = pageLinks(style.path, reading, stored.at(-1)?.id, hasNext)
  const items = stored.map(style.show)
  addLink(reply, linkHeader(links))
  const view: PageView = {
    kind: 'page',
    name: style.name,
    singular: style.singular,
    items,
    members: style.members,
    document: style.bare === true ? items : { items, ...membersOf(reading, found.total, links) },
    ...(style.offer === undefined ? {} : { affordances: style.offer.bind(style, stored, hasNext) })
  }
  if (rows === undefined) return await send(reply, choice, view)
  const text = rows.head(style.members) + items.map(item => rows.row(item, style.members)).join('')
  return sendAs(reply, choice, text)
}

// What the storage wrote as JSON is sent as it is.
async function sendText (reply: FastifyReply, choice: Choice, reading: ParsedQuery, style: PageStyle, write: NonNullable<Representation['pageOfText']>, found: FoundText): Promise<FastifyReply> {
  refuseEmpty(found.count, style)
  const links = pageLinks(style.path, reading, found.last, found.more)
  addLink(reply, linkHeader(links))
  return sendAs(reply, choice, write(found.text, style.bare === true ? undefined : membersOf(reading, found.total, links)))
}

function membersOf ({ page, query: { limit } }: ParsedQuery, total: number | undefined, links: PageLinks): Members {
  return { page, pageSize: limit, ...(total === undefined ? {} : { total }), links }
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
