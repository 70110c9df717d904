import type { FastifyReply, FastifyRequest } from 'fastify'
import Negotiator from 'negotiator'
import { Feed, type FeedFamily } from '../../core/feed/feed.js'
import { followFeed } from '../../core/feed/follow.js'
import { invalidQuery, notFound, Problem } from '../../core/problems.js'
import type { ParsedQuery } from '../../core/query/grammar.js'
import { readTextParameter, splitQuery } from '../../core/query/query-string.js'
import { clearTimeout, setTimeout } from '../../core/runtime.js'
import type { FollowedPage } from '../../core/service/bounded.js'
import { intendToRead } from '../../core/service/caller.js'
import type { FeedEntry } from '../../core/service/log-reads.js'
import { findPosition } from '../../core/service/log-reads.js'
import { isPruned } from '../../core/service/log-reads.js'
import { authorizeReader } from '../../core/service/reader.js'
import { nameRecord, showEntry } from '../../core/service/record.js'
import type { Condition, Id } from '../../core/storage/storage.js'
import { makePicker, type Members } from '../../core/values/json.js'
import { readSearch } from '../body.js'
import type { Exchange, FeedPart, Mount } from '../mount.js'
import { hidesPrincipal, listMembers } from '../reads/log.js'
import { findDownload, type Listing, loadPage } from '../reads/page.js'
import { makeReadEndpoints, parseQuery } from '../reads/read.js'
import { toProblem, tryEach } from '../reply.js'
import { readRequestedFormat } from '../request.js'
import type { Documented, Endpoint } from '../routes.js'
import { deletedEndpoints } from './deleted.js'
import { eventStream, sendEvents, type Streaming, watchEnd } from './events.js'

/** `GET …/commands`: what happened to all items of a family. */
function familyEndpoints (mount: Mount): Endpoint[] {
  return feedEndpoints(`${mount.home}/commands`, () => ({ mount, mounts: [mount] }), { kind: 'feed' })
}

/** `GET /rest/commands`: what happened to the items of all families at the prefix. The first mount declares it. */
function sharedEndpoints (mount: Mount): Endpoint[] {
  const { neighbours: { mounts } } = mount
  // The first declares it.
  if (mounts.find(({ family }) => family.writable) !== mount) return []
  // Versions of a family have the same entries.
  const listFirst = () => mounts.filter((each, index) => each.family.writable &&
    mounts.findIndex(({ family }) => family.name === each.family.name) === index)
  const endpoints = feedEndpoints('/rest/commands', () => shareFeed(mount), {
    kind: 'feed', isShared: true, targets: () => listFirst().map(({ shown }) => ({ mount: shown }))
  })
  return endpoints.map(endpoint => ({ ...endpoint, sharedBy: 'families' }))
}

/** One mount of each family that has a log: that without a version in its paths, or the first. */
export function listLogged ({ neighbours }: Mount): Mount[] {
  const byFamily = new Map<string, Mount>()
  for (const mount of neighbours.list().filter(({ family }) => family.writable)) {
    if (!byFamily.has(mount.family.name) || mount.unversioned === true) byFamily.set(mount.family.name, mount)
  }
  return [...byFamily.values()]
}

function feedEndpoints (path: string, scope: () => Scope, documented: Documented): Endpoint[] {
  const handler: Endpoint['handler'] = (request, reply) => answerFeed(scope(), request, reply)
  return makeReadEndpoints(path, documented, handler, true, true)
}

function wantsEvents ({ headers: { accept = '' } }: FastifyRequest): boolean {
  if (!accept.includes(eventStream)) return false
  return new Negotiator({ headers: { accept } }).mediaType(['application/json', eventStream]) === eventStream
}

/** Whether the log of an item is asked for as a feed. */
function isAsked (request: FastifyRequest): boolean {
  const search = readSearch(request)
  const cursor = readTextParameter(search, 'after') ?? readTextParameter(search, 'before')
  return wantsEvents(request) || (cursor !== undefined && findPosition(cursor) !== undefined)
}

/** A family of the feed, and the mount that shows its entries. */
export interface Source extends FeedFamily {
  readonly mount: Mount
}

/** What a feed is of: all families at a prefix, one of them, or one item. */
export interface Scope {
  readonly mount: Mount
  readonly mounts: readonly Mount[]
  /** Whether entries say of which family they are. */
  readonly isShared?: boolean
  readonly id?: Id
}

/** Of all families at the prefix of a mount. */
export function shareFeed (mount: Mount): Scope {
  const mounts = listLogged(mount)
  return { mount: mounts[0] ?? mount, mounts, isShared: true }
}

/** Negotiate, authorize, parse, load, represent: as other reads, but for several families. */
async function answerFeed (scope: Scope, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { mount, isShared = false, id } = scope
  const search = readSearch(request)
  const { extension: suffix } = request.params as { extension?: string }
  const requested = readRequestedFormat(request.headers, search, suffix)
  const isLive = suffix === undefined && requested.format === undefined && wantsEvents(request)
  const parse = (seen: Mount): ParsedQuery => parseQuery(seen.feedGrammar, search)
  if (isLive) {
    return await explainPruned(mount, request, async () => {
      const feed = await openFeed(scope, request)
      return await answerEvents({ mount, request, reply }, scope, feed, parse(findSeen(feed)).query.where)
    })
  }
  const choice = mount.chooser.choose('page', requested)
  const { representation, representation: { respond } } = choice
  const target = { kind: 'feed', isShared, id, mount: mount.shown, ...choice, search, suffix } as const
  if (await respond?.(target, request, reply) === true) return reply
  const exchange: Exchange = { mount, request, reply, choice, suffix }
  return await explainPruned(mount, request, async () => {
    const { listing } = await listFeed(exchange, scope, parse)
    return await (await loadPage(listing, representation))(exchange)
  })
}

interface ListedFeed {
  readonly listing: Listing
  readonly feed: Feed<Source>
  readonly parsed: ParsedQuery
}

/** @param parse called once the caller may read it, with the mount whose grammar it is */
export async function listFeed (
  exchange: Exchange, scope: Scope, parse: (seen: Mount) => ParsedQuery
): Promise<ListedFeed> {
  const { mount, request, choice: { representation } } = exchange
  const feed = await openFeed(scope, request)
  const seen = findSeen(feed)
  const parsed = parse(seen)
  await checkItem(scope, feed)
  const members = parsed.fields ?? listMembers(scope.mounts, scope.isShared, hidesPrincipal(seen))
  const pick = makePicker(members)
  const listing: Listing = {
    mount,
    parsed,
    name: 'commands',
    singular: 'command',
    members,
    isBare: false,
    download: findDownload(request, representation),
    hasLongItems: true,
    reader: (feed.families[0] as Source).reader,
    find: feed.makeFind(parsed),
    findPage: parsed => waitForPage(exchange, scope, feed, parsed),
    show: entry => pick(show(scope, feed, entry as FeedEntry))
  }
  return { listing, feed, parsed }
}

/** A cursor whose entries are gone leads to the first page. */
export async function explainPruned<T> (mount: Mount, request: FastifyRequest, read: () => Promise<T>): Promise<T> {
  const { raw } = request
  try {
    return await read()
  } catch (error) {
    if (!isPruned(error) || raw.destroyed) throw error
    throw new Problem('pruned', (error as Problem).message, { members: { links: { first: mount.urls.self(request) } } })
  }
}

async function openFeed (scope: Scope, request: FastifyRequest): Promise<Feed<Source>> {
  const { mount, id } = scope
  const sources = await openSources(listWanted(scope, request), request, id)
  const storages = new Set(sources.map(({ storage }) => storage))
  const [first] = sources
  if (first === undefined) throw notFound('feed', mount.prefix)
  if (storages.size > 1) {
    const detail = `must name families of one storage, of ${sources.map(({ family }) => family.name).join(', ')}`
    throw invalidQuery([{ parameter: 'family', detail }])
  }
  return new Feed(first.storage, sources, first.signal, id)
}

/** Of several families, one that hides who sent the commands, if any does: then none shows it. */
export function findSeen ({ families }: Feed<Source>): Mount {
  const all = families.map(({ mount }) => mount)
  return all.find(hidesPrincipal) ?? all[0] as Mount
}

function listWanted ({ mounts }: Scope, request: FastifyRequest): readonly Mount[] {
  const named = splitQuery(readSearch(request)).flatMap(part => part.name === 'family' ? [part.value] : [])
  const wanted = mounts.filter(({ family: { name } }) => named.includes(name))
  return wanted.length === 0 ? mounts : wanted
}

/** Asks again what the client may see, with new deadlines. */
async function renewFeed (scope: Scope, request: FastifyRequest, feed: Feed<Source>): Promise<void> {
  const sources = await openSources(listWanted(scope, request), request, scope.id)
  // The client's cursor is one of this storage.
  const here = sources.filter(({ storage }) => storage === feed.storage)
  if (here.length === 0) throw notFound('feed', scope.mount.prefix)
  feed.replace(here, here[0]?.signal)
  await checkItem(scope, feed)
}

async function checkItem ({ id }: Scope, feed: Feed<Source>): Promise<void> {
  if (id !== undefined) await feed.families[0]?.reader.checkLog(id)
}

/** Families that the caller may not read are left out; with none left, the refusal is thrown. */
export async function openSources (mounts: readonly Mount[], request: FastifyRequest, id?: Id) {
  return await tryEach(mounts, async mount => {
    const caller = mount.caller(request)
    const reader = await authorizeReader(mount.family, caller, intendToRead(mount.family, id))
    const { family } = reader
    return { family, reader, mount: mount.as(family), storage: await caller.storage(), signal: caller.signal }
  })
}

function show (scope: Scope, feed: Feed<Source>, entry: FeedEntry): Members {
  const { family, reader } = feed.get(entry)
  const shown = showEntry(family, entry, nameRecord(entry, reader.grant.principal))
  if (!scope.isShared) return shown
  const { id, ...rest } = omitWho(feed, shown)
  return { id, family: family.name, ...rest }
}

function omitWho (feed: Feed<Source>, shown: Members): Members {
  if (!hidesPrincipal(findSeen(feed))) return shown
  const { principal, chosenId, ...others } = shown
  return others
}

/** `Prefer: wait=…` (RFC 7240) holds a page that would be empty. */
async function waitForPage (
  { mount, request, reply }: Streaming, scope: Scope, feed: Feed<Source>, parsed: ParsedQuery
): Promise<FollowedPage> {
  const page = await feed.findPage(parsed)
  const seconds = readWait(request)
  const isAtEnd = page.items.length === 0 && page.next === undefined && parsed.start?.backwards !== true
  if (seconds === undefined || !isAtEnd) return page
  reply.header('preference-applied', `wait=${seconds}`)
  const ended = watchEnd(mount, reply)
  const timer = setTimeout(ended.end, seconds * 1000)
  const position = page.follow.item.position as number
  try {
    for await (const { entries } of followFeed(feed, position, { where: parsed.query.where, signal: ended.signal })) {
      if (entries.length > 0) break
    }
  } finally {
    clearTimeout(timer)
    ended.end()
  }
  // The client may see something else than before.
  await renewFeed(scope, request, feed)
  return await feed.findPage({ ...parsed, start: { position: page.follow, backwards: false } })
}

const maxWait = 60

/** In seconds; undefined where the client does not wait. */
function readWait ({ headers: { prefer } }: FastifyRequest): number | undefined {
  const seconds = /(?:^|,)\s*wait\s*=\s*"?(\d{1,6})"?\s*(?:;|,|$)/i.exec(String(prefer ?? ''))?.[1]
  return seconds === undefined || Number(seconds) === 0 ? undefined : Math.min(maxWait, Number(seconds))
}

/**
 * A browser opens a stream again by itself, but never after an error. If the storage does not answer, the stream of a
 * client with a cursor begins, and shows nothing until everything was checked.
 */
async function answerEvents (
  exchange: Streaming, scope: Scope, feed: Feed<Source>, where: readonly Condition[]
): Promise<FastifyReply> {
  const { request } = exchange
  const last = String(request.headers['last-event-id'] ?? '')
  const cursor = readTextParameter(readSearch(request), 'after') ?? (last === '' ? undefined : last)
  const check = async (): Promise<number> => {
    await checkItem(scope, feed)
    return await feed.findStart(cursor)
  }
  const known = cursor === undefined ? undefined : findPosition(cursor)
  const found = await check().catch((error: unknown) => {
    if (known === undefined || toProblem(error).statusCode < 500) throw error
  })
  let isDue = found === undefined
  return sendEvents(exchange, feed, {
    start: found ?? known as number,
    where,
    isDue,
    show: entry => show(scope, feed, entry),
    async renew () {
      await renewFeed(scope, request, feed)
      if (isDue) await feed.findStart(cursor)
      isDue = false
    }
  })
}

/** What mounts have of it. */
export const feedPart: FeedPart = {
  familyEndpoints, sharedEndpoints, deletedEndpoints, isAsked, answer: answerFeed
}
