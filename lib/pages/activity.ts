import {
  type Activity, type FamilyMount, type Id, type LoadedFeed, loadFeed, type LogRecord, makePageUrl
} from '../exports.js'
import type { LogEntry, PageAffordances } from './affordances.js'
import { listLogFilters } from './filter-fields.js'
import { labelsOf } from './labels.js'
import { linkList, trailToItem } from './links.js'
import { listEvents, showEntry } from './log-entries.js'
import { makeRowAffordances } from './page-affordances.js'
import { type PageRequest, readTitles } from './page-reads.js'
import { linkPage, nameInLog } from './references.js'
import { parseSent } from './sent.js'
import { sendView } from './views.js'

/** The entries with the titles of their items: for each family one read of these, and one of those they refer to. */
export async function showEntries (
  { request, reads }: Pick<PageRequest, 'request' | 'reads'>,
  { entries, readings }: Activity,
  isShared: boolean
): Promise<LogEntry[]> {
  const shown = new Map<LogRecord, LogEntry>()
  await Promise.all(readings.map(async reading => {
    const { mount, mount: { model: { name }, readId } } = reading
    const own = entries.filter(({ family }) => family === name)
    const ids = [...new Set(own.map(({ target }) => target))].filter(id => readId(String(id)) !== undefined)
    const here = { mount, request, reads }
    const [titles, named] = await Promise.all([
      readTitles(reading, ids),
      nameInLog(here, own.map(entry => showEntry(here, entry)))
    ])
    for (const [index, entry] of own.entries()) {
      const id = String(entry.target)
      const title = titles.get(id)
      const url = linkPage(mount, request, entry.target)
      const href = title === undefined && url !== undefined ? `${url}/commands` : url
      shown.set(entry, { ...named[index] as LogEntry, item: { id, title, href, labels: labelsOf(mount), isShared } })
    }
  }))
  return entries.map(entry => shown.get(entry) as LogEntry)
}

/** The page of a feed: who did what, of all families at the prefix, of one, or to one item. */
export async function sendActivityPage (
  responding: PageRequest,
  isShared: boolean,
  id: Id | undefined,
  search: string
): Promise<true> {
  const read = (mount: FamilyMount) => parseSent(mount, search, 'feed', '-position')
  const feed = await loadFeed(responding, { isShared, id }, read)
  const affordances = async () => await makeFeedAffordances(responding, feed, isShared, id)
  return await sendView(responding, { ...feed.view, affordances })
}

async function makeFeedAffordances (
  responding: PageRequest,
  feed: LoadedFeed,
  isShared: boolean,
  id: Id | undefined
): Promise<PageAffordances> {
  const { request, suffix = '' } = responding
  const { mounts, view, entries, query, links, cursor, entryFields } = feed
  const [mount = responding.mount] = mounts
  const isActivity = id === undefined
  const shown = await showEntries(responding, feed, isShared)
  const rows = await makeRowAffordances(responding, query, {
    listed: 'feed',
    columns: view.members,
    title: 'id',
    isCountable: false,
    links,
    labels: isShared ? undefined : labelsOf(mount),
    filters: listLogFilters([mount, ...mounts.slice(1)], query, isShared, entryFields),
    recent: 'createdAt',
    timeline: isActivity ? shown : shown.map(({ item, ...entry }) => entry),
    isActivity,
    trail: isActivity ? isShared ? [] : [linkList(mount, request)] : trailToItem(responding, id, undefined),
    address: index => shown[index]?.href ?? '',
    identify: index => ({ id: String(entries[index]?.id), revision: 0 }),
    page: undefined
  })
  if (!isActivity) return rows
  // The events are those of the plain URL.
  const self = mount.selfUrl(request).slice(0, suffix === '' ? undefined : -suffix.length - 1)
  const { site } = rows
  const families = site.families.map(family => ({ ...family, isCurrent: !isShared && family.isCurrent }))
  return {
    ...rows,
    site: { ...site, families },
    exported: rows.others.find(({ title }) => title === 'csv')?.href,
    live: {
      href: makePageUrl(self, query, notFollowed, `after=${cursor}`),
      actions: listEvents(mount),
      show: rows.url({})
    }
  }
}

const notFollowed = ['after', 'before', 'sort', 'format', 'fields', 'maxpagesize']
