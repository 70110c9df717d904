import type { FastifyRequest } from 'fastify'
import type { Family } from '../core/family/family.js'
import { makePageUrl, type PageLinks, type ParsedQuery } from '../core/query/grammar.js'
import { findBounded } from '../core/service/bounded.js'
import { Feed, writePosition } from '../core/service/feed.js'
import type { FeedEntry } from '../core/service/log-part.js'
import { readTarget } from '../core/service/record.js'
import { selectById } from '../core/storage/pages.js'
import type { Id } from '../exports.js'
import type { Exchange, Mount } from '../http/mount.js'
import {
  explainPruned, listFeed, listLogged, openSources, type Scope, shareFeed, type Source
} from '../http/reads/feed.js'
import { loadView } from '../http/reads/page.js'
import { toProblem } from '../http/reply.js'
import type { Home, LogEntry, PageAffordances } from './affordances.js'
import { listLogFilters } from './form-fields.js'
import { linkList, trailToItem } from './links.js'
import { listEvents, showEntry } from './log-entries.js'
import { makeRowAffordances } from './page-affordances.js'
import { linkPage, nameInLog, titleOf } from './references.js'
import { parseSent } from './sent.js'
import { sendView } from './views.js'

/** The entries with the titles of their items: for each family one read of these, and one of those they refer to. */
export async function showEntries (
  exchange: Pick<Exchange, 'request'>,
  feed: Feed<Source>,
  entries: readonly FeedEntry[],
  isShared: boolean
): Promise<LogEntry[]> {
  const { request } = exchange
  const shown = new Map<FeedEntry, LogEntry>()
  await Promise.all(feed.families.map(async ({ family, reader, mount }) => {
    const own = entries.filter(entry => entry.family === family.name)
    const here = { request, mount }
    const [titles, named] = await Promise.all([
      findTitles(family, reader, own),
      nameInLog(here, own.map(entry => showEntry(here, entry, reader.grant.principal)))
    ])
    for (const [index, entry] of own.entries()) {
      const title = titles.get(entry.target)
      const url = linkPage(mount, request, readTarget(family, entry))
      const { labels } = family.presentation
      const href = title === undefined && url !== undefined ? `${url}/commands` : url
      const item = { id: entry.target, title, href, labels, isShared }
      shown.set(entry, { ...named[index] as LogEntry, item })
    }
  }))
  return entries.map(entry => shown.get(entry) as LogEntry)
}

/** By the ids of the items that are still there. */
async function findTitles (
  family: Family,
  reader: Source['reader'],
  entries: readonly FeedEntry[]
): Promise<ReadonlyMap<string, string>> {
  const ids = [...new Set(entries.map(({ target }) => target))].map(target => family.readId(target))
    .filter(id => id !== undefined)
  if (ids.length === 0) return new Map()
  const { title } = family.presentation
  const query = selectById([{ field: 'id', op: 'eq', values: ids }], ids.length)
  const items = await reader.findMembers(query, [...new Set(['id', title])])
  return new Map(items.map(item => [String(item.id), titleOf(family, item)]))
}

interface Shown {
  readonly members: readonly string[]
  readonly entries: readonly FeedEntry[]
  readonly links: PageLinks
  /** Everything up to this position is on the page, or on one after it. */
  readonly position: number
}

/** The page of a feed: who did what, of all families at the prefix, of one, or to one item. */
export async function sendActivityPage (
  exchange: Exchange,
  isShared: boolean,
  id: Id | undefined,
  search: string
): Promise<true> {
  const { mount } = exchange
  const scope: Scope = isShared ? shareFeed(mount) : { mount, mounts: [mount], ...id !== undefined && { id } }
  const parse = (): ParsedQuery => parseSent(mount.feedGrammar, search, '-position')
  return await explainPruned(mount, exchange.request, async () => {
    const { listing, feed, parsed } = await listFeed(exchange, scope, parse)
    const { view, page, links } = await loadView(exchange, listing)
    const entries = page.items as readonly FeedEntry[]
    const shown: Shown = { members: listing.members, entries, links, position: page.follow?.item.position as number }
    const affordances = async () => await makeFeedAffordances(exchange, scope, feed, parsed, shown)
    return await sendView(exchange, { ...view, affordances })
  })
}

async function makeFeedAffordances (
  exchange: Exchange,
  { mount, mounts, id, isShared = false }: Scope,
  feed: Feed<Source>,
  parsed: ParsedQuery,
  { members, entries, links, position }: Shown
): Promise<PageAffordances> {
  const { request, suffix = '' } = exchange
  const isActivity = id === undefined
  const shown = await showEntries(exchange, feed, entries, isShared)
  const rows = await makeRowAffordances(exchange, parsed, {
    grammar: mount.feedGrammar,
    columns: members,
    title: 'id',
    isCountable: false,
    links,
    labels: isShared ? undefined : mount.family.presentation.labels,
    filters: listLogFilters(mounts.map(({ family }) => family), parsed, isShared),
    recent: 'createdAt',
    timeline: isActivity ? shown : shown.map(({ item, ...entry }) => entry),
    isActivity,
    trail: isActivity ? isShared ? [] : [linkList(mount, request)] : trailToItem(exchange, id, undefined),
    address: index => shown[index]?.href ?? '',
    identify: index => ({ id: String(entries[index]?.id), revision: 0 }),
    page: undefined
  })
  if (!isActivity) return rows
  // The events are those of the plain URL.
  const self = mount.urls.self(request).slice(0, suffix === '' ? undefined : -suffix.length - 1)
  const { site } = rows
  const families = site.families.map(family => ({ ...family, isCurrent: !isShared && family.isCurrent }))
  return {
    ...rows,
    site: { ...site, families },
    exported: rows.others.find(({ title }) => title === 'csv')?.href,
    live: {
      href: makePageUrl(self, parsed, notFollowed, `after=${writePosition(position)}`),
      actions: listEvents(mount),
      show: rows.url({})
    }
  }
}

const notFollowed = ['after', 'before', 'sort', 'format', 'fields', 'maxpagesize']

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
    const feed = new Feed(storage, here, here[0]?.signal)
    // Fewer, if they are long.
    const { items } = await findBounded(parsed => feed.findPage(parsed), parsed, true, 1)
    return await showEntries({ request }, feed, items as readonly FeedEntry[], sources.length > 1)
  }))
  // One page shows the commands of one storage.
  if (found.length === 1) return { href: `${mount.urls.home(request)}rest/commands`, entries: found.flat() }
  const newest = found.flat().sort((a, b) => b.at.localeCompare(a.at))
  return { entries: newest.slice(0, shownAtHome) }
}
