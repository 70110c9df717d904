import {
  type Activity, type FamilyMount, type Id, type LoadedFeed, loadFeed, type LogRecord, makePageUrl, type Reading
} from '../exports.js'
import type { LogEntry, PageAffordances, TakeBack } from './affordances.js'
import { listLogFilters } from './filter-fields.js'
import { labelsOf } from './labels.js'
import { linkList, trailToItem } from './links.js'
import { listEvents, makeLogEntry, makeRestoreForm } from './log-entries.js'
import { makeRowAffordances } from './page-affordances.js'
import { type PageRequest, readTitles } from './page-reads.js'
import { linkPage, nameInLog } from './references.js'
import { parseSent } from './sent.js'
import { titleOf } from './titles.js'
import type { Here } from './urls.js'
import { sendView } from './views.js'

/**
 * The entries with the titles of their items: for each family one read of these, and one of those they refer to.
 *
 * @param restorable the ids of the entries whose items the caller may restore, if that is known
 */
export async function showEntries (
  { request, reads }: Pick<PageRequest, 'request' | 'reads'>,
  { entries, readings }: Activity,
  isShared: boolean,
  restorable?: ReadonlySet<string>
): Promise<LogEntry[]> {
  const shown = new Map<LogRecord, LogEntry>()
  await Promise.all(readings.map(async reading => {
    const { mount, mount: { model: { name }, readId } } = reading
    const own = entries.filter(({ family }) => family === name)
    const ids = [...new Set(own.map(({ target }) => target))].filter(id => readId(String(id)) !== undefined)
    const here = { mount, request, reads }
    const [titles, named] = await Promise.all([
      readTitles(reading, ids),
      nameInLog(here, own.map(entry => makeLogEntry(here, entry)))
    ])
    const restores = await findRestores(here, reading, own.filter(({ id, target }) =>
      !titles.has(String(target)) && restorable?.has(id) !== false))
    for (const [index, entry] of own.entries()) {
      const id = String(entry.target)
      const title = titles.get(id)
      const url = linkPage(mount, request, entry.target)
      const href = title === undefined && url !== undefined ? `${url}/commands` : url
      const called = title ?? findRemovedTitle(mount, entry)
      const item = { id, title: called, href, restore: restores.get(entry), labels: labelsOf(mount), isShared }
      shown.set(entry, { ...named[index] as LogEntry, item })
    }
  }))
  return entries.map(entry => shown.get(entry) as LogEntry)
}

/** The entry of a deletion has the item. */
function findRemovedTitle (mount: FamilyMount, { target, changes = {} }: LogRecord): string | undefined {
  const { title } = mount.model
  const { from, to } = changes[title] ?? {}
  if (title === 'id' || from === undefined || to !== undefined) return undefined
  return titleOf(mount, { id: target, [title]: from })
}

/** By the last deletions of items that are gone. */
async function findRestores (
  here: Here, reading: Reading, entries: readonly LogRecord[]
): Promise<ReadonlyMap<LogRecord, TakeBack>> {
  const deletion = here.mount.model.actions.find(({ kind }) => kind === 'remove')?.action
  const last = new Map<Id, LogRecord>()
  for (const entry of entries) {
    const { target, action, outcome, revision } = entry
    const isDeletion = action === deletion && outcome === 'done'
    if (isDeletion && revision > (last.get(target)?.revision ?? 0)) last.set(target, entry)
  }
  const restores = await Promise.all(Array.from(last.values(), async entry =>
    [entry, await makeRestoreForm(here, reading, entry)] as const))
  return new Map(restores.flatMap(([entry, restore]) => restore === undefined ? [] : [[entry, restore]]))
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
