import {
  checkRevision, type Id, loadCommand, type LoadedCommand, loadEntry, loadLog, openReading
} from '../exports.js'
import { listLogFilters } from './filter-fields.js'
import { parseSingle } from './item.js'
import { makeEntryAffordances } from './item-affordances.js'
import { labelsOf } from './labels.js'
import { trailToItem } from './links.js'
import { makeLogEntry } from './log-entries.js'
import { makeRowAffordances } from './page-affordances.js'
import { type PageRequest, seenBy } from './page-reads.js'
import { nameInLog } from './references.js'
import { parseSent } from './sent.js'
import { commandUrl } from './urls.js'
import { sendView, type ShownOne } from './views.js'

/** The page of the log of an item or, with the noun of an operation, of a part of it. */
export async function sendLogPage (
  whole: PageRequest,
  id: Id,
  noun: string | undefined,
  search: string
): Promise<boolean> {
  const { request } = whole
  const reading = await openReading(whole.mount, request, { action: 'read', id })
  const responding = seenBy(whole, reading)
  const { mount } = responding
  // The newest first, as on the page of the item.
  const parsed = parseSent(mount, search, 'log', '-revision,-createdAt')
  const item = await reading.checkLog(id)
  const { view, items: entries, links } = await loadLog(responding, reading, parsed, id, noun)
  const affordances = async () => await makeRowAffordances(responding, parsed, {
    listed: 'log',
    columns: view.members,
    title: 'id',
    isCountable: true,
    links,
    labels: labelsOf(mount),
    trail: trailToItem(responding, id, item),
    filters: noun === undefined ? listLogFilters([mount], parsed) : [],
    timeline: await nameInLog(responding, entries.map(entry => makeLogEntry(responding, entry, noun))),
    address: index => commandUrl(mount, request, id, entries[index]?.id as string, noun),
    identify: index => ({ id: entries[index]?.id as string, revision: 0 })
  })
  return await sendView(responding, { ...view, affordances })
}

/** The page of a command in the log of an item. */
export async function sendEntryPage (
  whole: PageRequest,
  id: Id,
  command: string,
  noun: string | undefined,
  search: string
): Promise<boolean> {
  const reading = await openReading(whole.mount, whole.request, { action: 'read', id })
  const responding = seenBy(whole, reading)
  const query = parseSingle(responding.mount, search, 'log')
  return await sendLoadedEntry(responding, await loadEntry(responding, reading, query, { id, command, noun }))
}

/** The same by the id of the command alone. */
export async function sendCommandPage (
  whole: PageRequest,
  command: string,
  search: string
): Promise<boolean> {
  const reading = await openReading(whole.mount, whole.request, { action: 'read', params: { command } })
  const responding = seenBy(whole, reading)
  const query = parseSingle(responding.mount, search, 'log')
  return await sendLoadedEntry(responding, await loadCommand(responding, reading, query, command))
}

async function sendLoadedEntry (responding: PageRequest, loaded: LoadedCommand | undefined): Promise<boolean> {
  if (loaded === undefined) return false
  const view: ShownOne = {
    ...loaded.view,
    affordances: async () => await makeEntryAffordances(responding, loaded)
  }
  const { entry: { revision, createdAt: updatedAt } } = loaded
  checkRevision(responding, { revision, updatedAt }, view, responding.mount.isGuarded ? view.document : undefined)
  return await sendView(responding, view)
}
