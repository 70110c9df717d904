import type { FastifyRequest } from 'fastify'
import { findRestoring } from '../../core/book/offers.js'
import { Feed } from '../../core/feed/feed.js'
import type { PageLinks, ParsedQuery } from '../../core/query/grammar.js'
import { findBounded } from '../../core/service/bounded.js'
import { intendToRead } from '../../core/service/caller.js'
import type { FeedEntry } from '../../core/service/log-reads.js'
import { writePosition } from '../../core/service/log-reads.js'
import { type CommandRecord, nameRecord } from '../../core/service/record.js'
import type { Field, Id } from '../../core/storage/storage.js'
import type { PageView } from '../../representations/representation.js'
import type { FamilyMount } from '../../representations/target.js'
import { listDeleted } from '../feed/deleted.js'
import {
  explainPruned, findSeen, listFeed, listLogged, openSources, type Scope, shareFeed, type Source
} from '../feed/feed.js'
import { mountOf } from '../mount.js'
import { loadView } from '../reads/page.js'
import { toProblem } from '../reply.js'
import { asParsed, type ListQuery } from './queries.js'
import { type LogRecord, readBy, readerOf, type Reading, showRecord } from './reading.js'
import { type Responding, toExchange } from './responding.js'
import { type LoadedPage, loadListing, makeLoading } from './views.js'

/** Commands of several families, in the order in which they became visible. */
export interface Activity {
  readonly entries: readonly LogRecord[]
  /** The families whose commands the caller may see. */
  readonly readings: readonly Reading[]
}

/** A page of a feed, as every representation gets it. */
export interface LoadedFeed extends Activity {
  readonly view: PageView
  readonly query: ListQuery
  readonly links: PageLinks
  /** All families of the feed, also those that the caller may not read. */
  readonly mounts: readonly FamilyMount[]
  /** The members of its entries with their kinds, without who sent the commands if a family hides that. */
  readonly entryFields: readonly Field[]
  /** The place to follow it from: everything before it is on this page, or on one after it. */
  readonly cursor: string
}

/** The deletions of items that have not come back. */
export interface LoadedDeletions extends LoadedPage<LogRecord> {
  /** The ids of the entries whose items the caller may restore. */
  readonly restorable: ReadonlySet<string>
}

function showActivity (sources: readonly Source[], entries: readonly FeedEntry[]): Activity {
  const families = new Map(sources.map(source => [source.family.name, source]))
  return {
    readings: sources.map(({ mount, reader }) => readBy(mount.shown, reader)),
    entries: entries.map(entry => {
      const { family, reader } = families.get(entry.family) as Source
      return showRecord(family, entry, reader.grant.principal)
    })
  }
}

/**
 * A page of the feed of all families at a prefix, of one, or of one item.
 *
 * @param read called once the caller may read it, with the mount as the caller sees it
 */
export async function loadFeed (
  responding: Responding,
  { isShared, id }: { readonly isShared: boolean, readonly id?: Id | undefined },
  read: (mount: FamilyMount) => ListQuery
): Promise<LoadedFeed> {
  const exchange = toExchange(responding)
  const { mount } = exchange
  const scope: Scope = isShared ? shareFeed(mount) : { mount, mounts: [mount], ...id !== undefined && { id } }
  return await explainPruned(mount, exchange.request, async () => {
    const { listing, feed, parsed } = await listFeed(exchange, scope, seen => asParsed(read(seen.shown)))
    const { view, page: { items, follow }, links } = await loadView(exchange, listing)
    return {
      ...showActivity(feed.families, items as readonly FeedEntry[]),
      view,
      query: parsed,
      links,
      mounts: scope.mounts.map(whole =>
        (feed.families.find(({ mount }) => mount.urls === whole.urls)?.mount ?? whole).shown),
      entryFields: findSeen(feed).shown.model.entryFields,
      cursor: writePosition(follow?.item.position as number)
    }
  })
}

/** The newest commands of all families at a prefix that the caller may read: those of each storage. */
export async function findNewestCommands (
  shown: FamilyMount, request: FastifyRequest, most: number
): Promise<readonly Activity[]> {
  const mount = mountOf(shown)
  const sources = await openSources(listLogged(mount), request).catch((error: unknown): Source[] => {
    if (toProblem(error).statusCode >= 500) throw error
    return []
  }) as Awaited<ReturnType<typeof openSources>>
  const parsed = mount.feedGrammar.parse(`sort=-position&maxpagesize=${most}`) as ParsedQuery
  const storages = [...new Set(sources.map(({ storage }) => storage))]
  return await Promise.all(storages.map(async storage => {
    const here = sources.filter(source => source.storage === storage)
    const feed = new Feed(storage, here, here[0]?.signal)
    // Fewer, if they are long.
    const { items } = await findBounded(parsed => feed.findPage(parsed), parsed, true, 1)
    return showActivity(here, items as readonly FeedEntry[])
  }))
}

/** What is deleted now, by the deletions. */
export async function loadDeleted (
  responding: Responding, reading: Reading, query: ListQuery
): Promise<LoadedDeletions> {
  const exchange = toExchange(responding)
  const { mount: { family } } = exchange
  const reader = readerOf(reading)
  const loading = makeLoading(exchange, reading, asParsed(query), intendToRead(family, undefined))
  const { listing, deletions } = listDeleted(loading, asParsed(query))
  const { items, ...page } = await loadListing(exchange, listing)
  const mayRestore = await findRestoring(reader)
  const restorable = items.filter(entry => {
    const last = deletions.findLast(entry)
    return last !== undefined && mayRestore(last)
  })
  return {
    ...page,
    items: (items as readonly CommandRecord[]).map(entry => showRecord(family, entry, reading.principal)),
    restorable: new Set(restorable.map(entry => nameRecord(entry as CommandRecord, reading.principal)))
  }
}
