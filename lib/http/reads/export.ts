import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import { invalidQuery } from '../../core/problems.js'
import type { ParsedQuery } from '../../core/query/grammar.js'
import type { Find } from '../../core/service/reader.js'
import { findFrom } from '../../core/service/reader.js'
import type { Query, Stored } from '../../core/storage/storage.js'
import { endLongTurn } from '../../core/storage/turns.js'
import { makePicker } from '../../core/values/json.js'
import type { Rows } from '../../representations/representation.js'
import type { Exchange } from '../mount.js'
import { endStalled, setCaching, setRepresentation } from '../reply.js'
import type { Listing } from './listing.js'
import { partSize, refuseEmpty } from './listing.js'

// What is read at once, in characters of its text: what a client that reads slowly makes us keep is a few times that.
const batchLength = 200_000
// How wide the rows are is not known before the first.
const firstRows = 4
const maxRows = 500

/** What an export begins with, and how many were asked for. */
export interface FirstBatch {
  readonly items: readonly Stored[]
  readonly limit: number
}

/** The first batch, loaded before the status is sent, so that what fails at once is answered as a problem. */
export async function loadExport (listing: Listing, parsed: ParsedQuery): Promise<FirstBatch> {
  const { query: { order }, parameters, list, start } = parsed
  if (order.length > 1 && parameters.some(({ name }) => name === 'sort')) {
    const detail = 'sort needs maxpagesize here: everything at once comes in the order of the id'
    throw invalidQuery([{ parameter: 'sort', detail }])
  }
  if (start?.backwards === true) {
    throw invalidQuery([{ parameter: 'before', detail: 'before needs maxpagesize here: everything has no last page' }])
  }
  const limit = listing.hasLongItems ? 1 : firstRows
  const query = makeBatchQuery(parsed, limit)
  const find: Find = query => listing.find(query)
  const { items } = start === undefined ? await find(query) : await findFrom(find, list, query, start)
  if (items.length === 0) refuseEmpty(listing)
  return { items, limit }
}

/** Sends everything that matches, as it is read and no faster than the client takes it. */
export function exportRows (
  { mount: { exportTimeout }, request, reply, choice }: Exchange,
  parsed: ParsedQuery,
  { listing, first }: { readonly listing: Listing, readonly first: FirstBatch }
): FastifyReply {
  setCaching(setRepresentation(reply, choice))
  if (request.method === 'HEAD') return reply.send()
  const batches = writeBatches(choice.representation.rows as Rows, listing, parsed, first)
  return reply.send(Readable.from(watch(batches, reply, exportTimeout)))
}

/** Ends the response where the client takes nothing, or where reading fails: a part must not look like the whole. */
async function * watch (batches: AsyncIterable<string>, reply: FastifyReply, timeout: number): AsyncGenerator<string> {
  const { raw } = reply
  let timer: NodeJS.Timeout | undefined
  const start = (): void => { timer = setTimeout(endStalled, timeout, reply) }
  raw.once('close', () => { clearTimeout(timer) })
  try {
    for await (const batch of batches) {
      start()
      yield batch
      clearTimeout(timer)
    }
    // The last of it is still to be taken.
    start()
  } catch (error) {
    // Fastify would end a stream of HTTP/2 as if it were complete.
    if (reply.request.raw.httpVersionMajor === 2) raw.destroy(error as Error)
    throw error
  }
}

// Each goes on after the last, so that no batch costs more than the first and what is added meanwhile moves nothing.
async function * writeBatches (
  rows: Rows,
  listing: Listing,
  parsed: ParsedQuery,
  first: FirstBatch
): AsyncGenerator<string> {
  const { members, show = makePicker(members), expand } = listing
  const head = rows.head(members)
  if (head !== '') yield head
  const find: Find = query => listing.find(query)
  let { items, limit } = first
  while (items.length > 0) {
    const shown = await expand?.(items) ?? items
    const text = shown.map(item => rows.row(show(item), members)).join('')
    yield text
    if (items.length < limit) return
    const most = listing.hasLongItems ? partSize : maxRows
    limit = Math.min(most, chooseRows(limit, text.length / items.length))
    // A client may take everything as fast as it is read, and a storage may have everything there.
    await endLongTurn()
    listing.renewTime()
    const start = { place: { isAfter: true, item: items.at(-1) as Stored }, backwards: false }
    items = (await findFrom(find, parsed.list, makeBatchQuery(parsed, limit), start)).items
  }
}

/** As many as make a batch, if they are like those before, but not many more than were read so far. */
function chooseRows (before: number, lengthOfRow: number): number {
  return Math.max(1, Math.min(5 * before, Math.floor(batchLength / lengthOfRow)))
}

function makeBatchQuery ({ query }: ParsedQuery, limit: number): Query {
  return { ...query, limit, count: false }
}
