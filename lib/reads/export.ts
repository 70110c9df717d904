import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import { caching, setRepresentation } from '../http/reply.js'
import type { Exchange } from '../mount/mount.js'
import { invalidQuery } from '../problems.js'
import type { ParsedQuery } from '../query/grammar.js'
import type { Rows } from '../representations/representation.js'
import type { Found, Query, Stored } from '../storage/storage.js'
import type { Listing } from './listing.js'
import { isByKey, refuseEmpty } from './listing.js'

const batchSize = 500

/** The first batch, loaded before the status is sent, so that what fails at once is answered as a problem. */
export async function loadExport (listing: Listing, parsed: ParsedQuery): Promise<Found> {
  if (!isByKey(parsed) && parsed.parameters.some(({ name }) => name === 'sort')) {
    const detail = 'sort needs maxpagesize here: everything at once comes in the order of the id'
    throw invalidQuery([{ parameter: 'sort', detail }])
  }
  const first = await listing.find(makeBatchQuery(parsed))
  refuseEmpty(listing, first.items.length)
  return first
}

/** Sends everything that matches, as it is read and no faster than the client takes it. */
export function exportRows (
  { request, reply, choice }: Exchange,
  parsed: ParsedQuery,
  { listing, first }: { readonly listing: Listing, readonly first: Found }
): FastifyReply {
  setRepresentation(reply, choice).header('cache-control', caching)
  if (request.method === 'HEAD') return reply.send()
  const rows = choice.representation.rows as Rows
  return reply.send(Readable.from(writeLines(rows, listing, readBatches(listing, parsed, first))))
}

async function * writeLines (
  rows: Rows,
  { members, show }: Listing,
  batches: AsyncIterable<readonly Stored[]>
): AsyncGenerator<string> {
  const head = rows.head(members)
  if (head !== '') yield head
  for await (const items of batches) yield items.map(item => rows.row(show(item), members)).join('')
}

// By key, so that no batch costs more than the first and what is added meanwhile moves nothing; logs, which have
// another order and are short, by number.
async function * readBatches (listing: Listing, parsed: ParsedQuery, first: Found): AsyncGenerator<readonly Stored[]> {
  const query = makeBatchQuery(parsed)
  const op = query.order[0]?.descending === true ? 'lt' : 'gt'
  let { items } = first
  let { offset } = query
  while (items.length > 0) {
    yield items
    if (items.length < batchSize) return
    offset += batchSize
    const last = items.at(-1) as Stored
    const next = isByKey(parsed)
      ? { ...query, offset: 0, where: [...query.where, { field: 'id', op, value: last.id } as const] }
      : { ...query, offset }
    items = (await listing.find(next)).items
  }
}

function makeBatchQuery ({ query }: ParsedQuery): Query {
  return { ...query, limit: batchSize, count: false }
}
