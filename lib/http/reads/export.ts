import { constants } from 'node:http2'
import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { invalidQuery } from '../../core/problems.js'
import type { ParsedQuery } from '../../core/query/grammar.js'
import type { Find } from '../../core/service/find-page.js'
import { findFrom } from '../../core/service/find-page.js'
import type { Query, Stored } from '../../core/storage/storage.js'
import { endLongTurn } from '../../core/storage/turn.js'
import { measureAll } from '../../core/values/json.js'
import type { Rows } from '../../representations/representation.js'
import { changeHold, isCrowded } from '../large-answers.js'
import type { Exchange } from '../mount.js'
import { setCaching, setRepresentation } from '../reply.js'
import { endWhenStalled } from '../stalled.js'
import { getStream } from '../streams.js'
import type { Listing } from './listing.js'
import { refuseEmpty } from './listing.js'
import { choosePart, partSize } from './page-parts.js'

// What is read at once, in characters of its text: what a client that reads slowly makes us keep is a few times that.
const batchLength = 200_000
// The same where much is kept already, as of many exports at once.
const shortBatch = 20_000
// What waits for the client is one batch, and what is read ahead of it another; the items of each are there as long.
const keptTimes = 4
// Nobody knows how wide the rows are before the first.
const firstRows = 4
const maxRows = 500

/** What an export begins with, and how many were asked for. */
export interface FirstBatch {
  readonly items: readonly Stored[]
  readonly limit: number
}

/** The first batch, loaded before the status is sent, so that what fails at once is answered as a problem. */
export async function loadExport (
  listing: Listing,
  parsed: ParsedQuery,
  hold: (length: number) => void
): Promise<FirstBatch> {
  const { query: { order }, parameters, list, start } = parsed
  if (order.length > 1 && parameters.some(({ name }) => name === 'sort')) {
    const detail = 'sort needs maxpagesize here: everything at once comes in the order of the id'
    throw invalidQuery([{ parameter: 'sort', detail }])
  }
  if (start?.backwards === true) {
    throw invalidQuery([{ parameter: 'before', detail: 'before needs maxpagesize here: everything has no last page' }])
  }
  const limit = Math.min(firstRows, choosePart(listing.lengths?.average ?? 0))
  const query = makeBatchQuery(parsed, limit)
  const find: Find = query => listing.find(query)
  const { items } = start === undefined ? await find(query) : await findFrom(find, list, query, start)
  refuseEmpty(listing, items.length)
  const length = measureAll(items)
  listing.lengths?.add(items.length, length)
  hold(keptTimes * length)
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
  endWhenStalled(reply, exportTimeout)
  const keep = (length: number): void => { changeHold(reply, length) }
  const batches = writeBatches(choice.representation.rows as Rows, listing, parsed, first, keep)
  return reply.send(Readable.from(breakWhereFailed(batches, request)))
}

/** Lets nobody take a part for the whole; over HTTP/1, the connection ends before the answer does. */
async function * breakWhereFailed (batches: AsyncIterable<string>, request: FastifyRequest): AsyncGenerator<string> {
  try {
    yield * batches
  } catch (error) {
    getStream(request)?.close(constants.NGHTTP2_INTERNAL_ERROR)
    throw error
  }
}

// Each goes on after the last, so that no batch costs more than the first and what is added meanwhile moves nothing.
async function * writeBatches (
  rows: Rows,
  listing: Listing,
  parsed: ParsedQuery,
  first: FirstBatch,
  keep: (length: number) => void
): AsyncGenerator<string> {
  const { members, show, expand } = listing
  const head = rows.head(members)
  if (head !== '') yield head
  const find: Find = query => listing.find(query)
  let { items, limit } = first
  while (items.length > 0) {
    const shown = await expand?.(items) ?? items
    const text = shown.map(item => rows.row(show(item), members)).join('')
    keep(keptTimes * text.length)
    yield text
    if (items.length < limit) return
    const most = listing.lengths === undefined ? maxRows : partSize
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
  const length = isCrowded() ? shortBatch : batchLength
  return Math.max(1, Math.min(5 * before, Math.floor(length / lengthOfRow)))
}

function makeBatchQuery ({ query }: ParsedQuery, limit: number): Query {
  return { ...query, limit, count: false }
}
