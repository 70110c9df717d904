import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Choice } from '../../http/negotiate.js'
import { Problem } from '../../problems.js'
import type { ParsedQuery } from '../../query/grammar.js'
import type { Rows } from '../../representations/representation.js'
import type { Found, Query, Stored } from '../../storage/storage.js'
import { isByKey } from './links.js'
import { refuseEmpty } from './page-style.js'
import type { PageStyle } from './page-style.js'
import { represented } from './send.js'

const batchSize = 500

/** Sends everything that matches, as it is read and no faster than the client takes it. */
export async function exportRows (request: FastifyRequest, reply: FastifyReply, choice: Choice, rows: Rows, reading: ParsedQuery, style: PageStyle): Promise<FastifyReply> {
  if (!isByKey(reading) && reading.parameters.some(({ name }) => name === 'sort')) {
    const detail = 'sort needs maxpagesize here: everything at once comes in the order of the id'
    throw new Problem('invalid-query', detail, { errors: [{ parameter: 'sort', detail }] })
  }
  const query = { ...reading.query, limit: batchSize, count: false }
  // The first batch before the status is sent, so that what fails at once is answered as a problem.
  const first = await style.find(query)
  refuseEmpty(first.items.length, style)
  represented(reply, choice).header('cache-control', 'no-cache')
  if (request.method === 'HEAD') return reply.send()
  return reply.send(Readable.from(lines(rows, style, batches(style, query, first, isByKey(reading)))))
}

async function * lines (rows: Rows, { members, show }: PageStyle, batches: AsyncIterable<readonly Stored[]>): AsyncGenerator<string> {
  const head = rows.head(members)
  if (head !== '') yield head
  for await (const items of batches) yield items.map(item => rows.row(show(item), members)).join('')
}

// By key, so that no batch costs more than the first and what is added meanwhile moves nothing; logs, which have another
// order and are short, by number.
async function * batches (style: PageStyle, query: Query, first: Found, byKey: boolean): AsyncGenerator<readonly Stored[]> {
  const op = query.order[0]?.descending === true ? 'lt' : 'gt'
  let { items } = first
  let offset = query.offset
  while (items.length > 0) {
    yield items
    if (items.length < batchSize) return
    offset += batchSize
    const last = items.at(-1) as Stored
    const next = byKey
      ? { ...query, offset: 0, where: [...query.where, { field: 'id', op, value: last.id } as const] }
      : { ...query, offset }
    items = (await style.find(next)).items
  }
}
