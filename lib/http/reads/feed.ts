import { Type } from '@sinclair/typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import Negotiator from 'negotiator'
import { CommandMembers } from '../../core/family/fields.js'
import { invalidQuery, notFound, Problem } from '../../core/problems.js'
import type { ParsedQuery } from '../../core/query/grammar.js'
import { readTextParameter, splitQuery } from '../../core/query/query-string.js'
import { intendToRead } from '../../core/service/caller.js'
import { Feed, type FeedEntry, findPosition, writePosition } from '../../core/service/feed.js'
import { authorizeReader } from '../../core/service/reader.js'
import { nameRecord, showCommand } from '../../core/service/record.js'
import { toOwnRecord } from '../../core/service/renamed.js'
import type { Condition, Id } from '../../core/storage/storage.js'
import { endLongTurn } from '../../core/storage/turns.js'
import { makePicker, type Members } from '../../core/values/json.js'
import type { Home } from '../../representations/affordances.js'
import type { Representation } from '../../representations/representation.js'
import { readSearch } from '../body.js'
import type { Exchange, Mount } from '../mount.js'
import {
  describePage, describeQuerystring, describeRoute, describeSharedRoute, describeShortly
} from '../openapi/routes.js'
import { describeEntry, nameItem } from '../openapi/schemas.js'
import { makeFeedAffordances, type Scope, showEntries, type Source } from '../pages/activity.js'
import { hideOthers, nameParams } from '../pages/log-entries.js'
import { toProblem, tryEach } from '../reply.js'
import { readRequestedFormat } from '../request.js'
import type { Endpoint } from '../routes.js'
import { findBounded, findDownload, type FollowedPage, loadPage, sendStream } from './page.js'
import { makeReadEndpoints, parsePageQuery } from './read.js'

/** `GET …/commands`: what happened to all items of a family. */
export function familyFeedEndpoints (mount: Mount): Endpoint[] {
  const { family } = mount
  const page = 'A page of commands, in the order in which they became visible'
  return feedEndpoints(`${mount.home}/commands`, () => ({ mount, mounts: [mount] }), describeShortly(mount,
    describeRoute(mount, 'log', `follow-${family.name}-commands`, {
      summary: `Read what happened to all ${family.name}`,
      description: feedRule,
      querystring: describeQuerystring(mount, 'feed'),
      response: { 200: describePage(mount, `${nameItem(mount)}EntryPage`, page, describeEntry(mount)) }
    })))
}

const feedRule = 'In the order in which the commands became visible. Continue from links.follow later: nothing in ' +
  'between is missed. With Accept: text/event-stream the response continues as commands are made; Prefer: wait=20 ' +
  'holds an empty page.'

/** `GET /rest/commands`: what happened to the items of all families at the prefix. The first mount declares it. */
export function sharedFeedEndpoints (mount: Mount): Endpoint[] {
  const { family: { name }, neighbours: { schemas: { entries }, mounts } } = mount
  // Later families add theirs; versions of one have the same.
  if (mounts.find(({ family }) => family.name === name) !== mount) return []
  entries.push(describeEntry(mount))
  if (entries.length > 1) return []
  const page = 'A page of commands of all families, in the order in which they became visible'
  const endpoints = feedEndpoints('/rest/commands', () => {
    const mounts = listLogged(mount)
    return { mount: mounts[0] ?? mount, mounts, isShared: true }
  }, describeShortly(mount, describeSharedRoute(mount, 'all commands', 'follow-commands', {
    summary: 'Read what happened to the items of all families',
    description: feedRule,
    querystring: describeQuerystring(mount, 'feed'),
    response: { 200: describePage(mount, undefined, page, Type.Unsafe({ anyOf: entries })) }
  })))
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

function feedEndpoints (path: string, scope: () => Scope, schema: Endpoint['schema']): Endpoint[] {
  const handler: Endpoint['handler'] = (request, reply) => answerFeed(scope(), request, reply)
  return makeReadEndpoints(path, schema, handler, true, true)
}

const eventStream = 'text/event-stream'

function wantsEvents ({ headers: { accept = '' } }: FastifyRequest): boolean {
  if (!accept.includes(eventStream)) return false
  return new Negotiator({ headers: { accept } }).mediaType(['application/json', eventStream]) === eventStream
}

/** Whether the log of an item is asked for as a feed. */
export function isFeedRequest (request: FastifyRequest): boolean {
  const search = readSearch(request)
  const cursor = readTextParameter(search, 'after') ?? readTextParameter(search, 'before')
  return wantsEvents(request) || (cursor !== undefined && findPosition(cursor) !== undefined)
}

/** Negotiate, authorize, parse, load, represent: as other reads, but for several families. */
export async function answerFeed (scope: Scope, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { mount, mounts, isShared } = scope
  const search = readSearch(request)
  const { extension } = request.params as { extension?: string }
  const requested = readRequestedFormat(request.headers, search, extension)
  const isLive = extension === undefined && requested.format === undefined && wantsEvents(request)
  const choice = isLive ? undefined : mount.chooser.choose('page', requested)
  const representation = choice?.representation ?? mount.representations[0] as Representation
  const feed = await openFeed(scope, request)
  const parsed = parsePageQuery(mount.feedGrammar, search, representation, '-position')
  const { raw } = request
  try {
    if (choice === undefined) {
      const last = String(request.headers['last-event-id'] ?? '')
      const start = await feed.findStart(readTextParameter(search, 'after') ?? (last === '' ? undefined : last))
      return sendEvents({ mount, request, reply }, scope, feed, start, parsed.query.where)
    }
    const members = parsed.fields ?? listMembers(mounts, isShared)
    const pick = makePicker(members)
    const answer = await loadPage({
      mount,
      parsed,
      name: 'commands',
      singular: 'command',
      members,
      isBare: false,
      download: findDownload(request, representation),
      hasLongItems: true,
      reader: (feed.families[0] as Source).reader,
      find: query => feed.find(query),
      findPage: parsed => waitForPage(feed, parsed, request, reply),
      show: entry => pick(show(scope, feed, entry as FeedEntry)),
      afford: async (exchange, { items, follow }, links) => await makeFeedAffordances(exchange, scope, feed, parsed, {
        members, entries: items as readonly FeedEntry[], links, position: follow?.item.position as number
      })
    }, representation)
    return await answer({ mount, request, reply, choice, suffix: extension })
  } catch (error) {
    if (!(error instanceof Problem) || error.code !== 'pruned' || raw.destroyed) throw error
    throw new Problem('pruned', error.message, { members: { links: { first: mount.urls.self(request) } } })
  }
}

async function openFeed (scope: Scope, request: FastifyRequest): Promise<Feed<Source>> {
  const { mount, mounts, id } = scope
  const named = splitQuery(readSearch(request)).flatMap(part => part.name === 'family' ? [part.value] : [])
  const wanted = mounts.filter(({ family: { name } }) => named.includes(name))
  const sources = await openSources(wanted.length === 0 ? mounts : wanted, request, id)
  const storages = new Set(sources.map(({ storage }) => storage))
  const [first] = sources
  if (first === undefined) throw notFound('feed', mount.prefix)
  if (storages.size > 1) {
    const detail = `must name families of one storage, of ${sources.map(({ family }) => family.name).join(', ')}`
    throw invalidQuery([{ parameter: 'family', detail }])
  }
  return new Feed(first.storage, sources, first.signal, id, (...shown) => hideOthers({ mount, request }, ...shown))
}

/** Families that the caller may not read are left out; with none left, the refusal is thrown. */
async function openSources (mounts: readonly Mount[], request: FastifyRequest, id?: Id) {
  return await tryEach(mounts, async mount => {
    const { family } = mount
    const caller = mount.caller(request)
    const reader = await authorizeReader(family, caller, intendToRead(family, id))
    if (id !== undefined) await reader.checkLog(id)
    return { family, reader, mount, storage: await caller.storage(), signal: caller.signal }
  })
}

const shownAtHome = 10

/** The newest entries of all families that the caller may read; undefined where there are none of these. */
export async function findRecent (mount: Mount, request: FastifyRequest): Promise<Home['activity']> {
  const sources = await openSources(listLogged(mount), request).catch((error: unknown) => {
    if (toProblem(error).statusCode >= 500) throw error
    return []
  })
  if (sources.length === 0) return undefined
  const storages = [...new Set(sources.map(({ storage }) => storage))]
  const parsed = mount.feedGrammar.parse(`sort=-position&maxpagesize=${shownAtHome}`) as ParsedQuery
  const found = await Promise.all(storages.map(async storage => {
    const here = sources.filter(source => source.storage === storage)
    const feed = new Feed(storage, here, here[0]?.signal, undefined, (...shown) =>
      hideOthers({ mount, request }, ...shown))
    // Fewer, if they are long.
    const { items } = await findBounded(parsed => feed.findPage(parsed), parsed, true, 1)
    return await showEntries({ request }, feed, items as readonly FeedEntry[], sources.length > 1)
  }))
  // One page shows the commands of one storage.
  if (found.length === 1) return { href: `${mount.urls.home(request)}rest/commands`, entries: found.flat() }
  const newest = found.flat().sort((a, b) => b.at.localeCompare(a.at))
  return { entries: newest.slice(0, shownAtHome) }
}

// The member that names the item comes after the id.
const [first, ...others] = Object.keys(CommandMembers.properties) as [string, ...string[]]

export function listMembers (mounts: readonly Mount[], isShared = false): string[] {
  return [first, ...isShared ? ['family'] : [], ...mounts.map(({ family: { singular } }) => singular), ...others]
}

function show (scope: Scope, feed: Feed<Source>, entry: FeedEntry): Members {
  const { family, reader, mount } = feed.get(entry)
  const record = nameParams(mount, toOwnRecord(family, entry))
  const shown = showCommand(family, record, nameRecord(entry, reader.grant.principal))
  if (!scope.isShared) return shown
  const { id, ...rest } = shown
  return { id, family: family.name, ...rest }
}

/** `Prefer: wait=…` (RFC 7240) holds a page that would be empty. */
async function waitForPage (
  feed: Feed<Source>, parsed: ParsedQuery, request: FastifyRequest, reply: FastifyReply
): Promise<FollowedPage> {
  const page = await feed.findPage(parsed)
  const seconds = readWait(request)
  const isAtEnd = page.items.length === 0 && page.next === undefined && parsed.start?.backwards !== true
  if (seconds === undefined || !isAtEnd) return page
  reply.header('preference-applied', `wait=${seconds}`)
  const ended = new AbortController()
  const end = (): void => { ended.abort() }
  const timer = setTimeout(end, seconds * 1000)
  reply.raw.once('close', end)
  const position = page.follow.item.position as number
  try {
    for await (const { entries } of feed.follow(position, { where: parsed.query.where, signal: ended.signal })) {
      if (entries.length > 0) break
    }
    feed.renewTime()
    const start = { position: page.follow, backwards: false }
    return await feed.findPage({ ...parsed, start })
  } finally {
    clearTimeout(timer)
    reply.raw.off('close', end)
  }
}

const maxWait = 60

/** In seconds; undefined where the client does not wait. */
function readWait ({ headers: { prefer } }: FastifyRequest): number | undefined {
  const seconds = /(?:^|,)\s*wait\s*=\s*"?(\d{1,6})"?\s*(?:;|,|$)/i.exec(String(prefer ?? ''))?.[1]
  return seconds === undefined || Number(seconds) === 0 ? undefined : Math.min(maxWait, Number(seconds))
}

// Milliseconds. A comment keeps proxies from closing the connection.
const interval = 15_000
const reconnectAfter = 1000
// Characters to write at once, so that no more wait for a slow client.
const pieceLength = 64 * 1024

/** Server-sent events, until the client or the application closes. A slow client is disconnected, and can resume. */
function sendEvents (
  { mount, request, reply }: Pick<Exchange, 'mount' | 'request' | 'reply'>,
  scope: Scope,
  feed: Feed<Source>,
  start: number,
  where: readonly Condition[]
): FastifyReply {
  const ended = new AbortController()
  const end = (): void => { ended.abort() }
  mount.streams.add(end)
  reply.raw.once('close', () => {
    end()
    mount.streams.delete(end)
  })
  reply.header('content-type', `${eventStream}; charset=utf-8`)
    // Proxies must neither keep nor buffer it.
    .header('cache-control', 'no-store, no-transform')
    .header('x-accel-buffering', 'no')
    .header('x-content-type-options', 'nosniff')
    .header('vary', 'Accept')
  if (request.method === 'HEAD') {
    end()
    return reply.send()
  }
  return sendStream(reply, writeEvents(), mount.exportTimeout)

  async function * writeEvents (): AsyncGenerator<string> {
    // An id without data is kept by the client, who then resumes here even if nothing happens.
    yield `retry: ${reconnectAfter}\nid: ${writePosition(start)}\n\n`
    // Asks again what the client may see.
    const renew = async () => { feed.replace((await openFeed(scope, request)).families) }
    for await (const { entries, position } of feed.follow(start, { where, signal: ended.signal, interval, renew })) {
      // Many streams may have the same entries to write.
      await endLongTurn()
      let text = entries.length === 0 ? ': \n' : ''
      for (const entry of entries) {
        text += `id: ${writePosition(entry.position)}\nevent: ${entry.action}\n` +
          `data: ${JSON.stringify(show(scope, feed, entry))}\n\n`
        if (text.length < pieceLength) continue
        yield text
        text = ''
      }
      // Entries that the client may not see may follow.
      if (entries.at(-1)?.position !== position) text += `id: ${writePosition(position)}\n\n`
      if (text !== '') yield text
    }
  }
}
