import { listTargets } from '../../core/book/offers.js'
import { type Family } from '../../core/family/family.js'
import type { PageLinks } from '../../core/query/grammar.js'
import { intendToList, intendToRead, type Intent } from '../../core/service/caller.js'
import type { CommandRecord } from '../../core/service/record.js'
import type { Id, Stored } from '../../core/storage/storage.js'
import type { OneView, PageView } from '../../representations/representation.js'
import { findCommand } from '../forms/rest-commands.js'
import { type Exchange, mountOf } from '../mount.js'
import { listItems, narrow, refuseCount } from '../reads/collection.js'
import { type CountedHome, loadHome } from '../reads/home.js'
import { findAddress, showOperations } from '../reads/item.js'
import { listLog, viewEntry } from '../reads/log.js'
import { type Listing, loadView } from '../reads/page.js'
import type { Loading } from '../reads/read.js'
import { refuseParameters } from '../request.js'
import { retire } from '../routes.js'
import { asParsed, type ListQuery } from './queries.js'
import { type LogRecord, readBy, readerOf, type Reading, showRecord } from './reading.js'
import { type Responding, toExchange } from './responding.js'

/** A page of a list, as every representation gets it, with what it was made of. */
export interface LoadedPage<Item = Stored> {
  readonly view: PageView
  readonly items: readonly Item[]
  /** Set if the client asked for it. */
  readonly total: number | undefined
  readonly links: PageLinks
}

/** A command, as every representation gets it. */
export interface LoadedCommand {
  readonly view: OneView
  readonly entry: LogRecord
  /** The URL of the command. */
  readonly self: string
  /** The item, if it is still there. */
  readonly item?: Stored | undefined
}

/** A home, with what the caller may see of each of its families. */
export interface LoadedHome extends Omit<CountedHome, 'readers'> {
  readonly readings: readonly Reading[]
}

export function makeLoading<Q> (
  { request, choice: { representation } }: Exchange, reading: Reading, query: Q, intent: Intent, name = ''
): Loading<Q> {
  const reader = readerOf(reading)
  const { caller } = reader.called
  return { mount: mountOf(reading.mount), request, caller, reader, intent, name, query, representation }
}

export async function loadListing (exchange: Exchange, listing: Listing): Promise<LoadedPage> {
  const { view, page: { items, total }, links } = await loadView(exchange, listing)
  return { view, items, total, links }
}

/** The items of a list. Sets the headers of its response, such as `Link`. */
export async function loadList (responding: Responding, reading: Reading, query: ListQuery): Promise<LoadedPage> {
  const exchange = toExchange(responding)
  const { mount: { family } } = exchange
  const parsed = asParsed(query)
  const loading = makeLoading(exchange, reading, parsed, intendToList(family))
  return await loadListing(exchange, await listItems(loading, parsed))
}

/** The items whose field has the value, of a list under `/query/`; undefined if there are none. */
export async function loadQueryList (
  responding: Responding, reading: Reading, query: ListQuery, field: string, value: string
): Promise<LoadedPage | undefined> {
  const exchange = toExchange(responding)
  const { mount: { family } } = exchange
  const loading = makeLoading(exchange, reading, refuseCount(asParsed(query)), intendToList(family), value)
  const known = family.fields.find(({ name }) => name === field)
  const narrowed = known && await narrow(loading, known)
  return narrowed && await loadListing(exchange, await listItems(loading, narrowed, true))
}

function findOperation (family: Family, noun: string | undefined) {
  return listTargets(family).find(({ operation }) => operation.noun === noun)?.operation
}

/** The log of an item, which must have one. @param noun for the part of it that an operation has */
export async function loadLog (
  responding: Responding, reading: Reading, query: ListQuery, id: Id, noun?: string
): Promise<LoadedPage<LogRecord>> {
  const exchange = toExchange(responding)
  const { mount: { family } } = exchange
  const loading = makeLoading(exchange, reading, asParsed(query), intendToRead(family, id))
  const operation = findOperation(family, noun)
  const { items, ...page } = await loadListing(exchange, listLog(loading, asParsed(query), { operation }))
  const entries = (items as readonly CommandRecord[]).map(entry => showRecord(family, entry, reading.principal))
  return { ...page, items: entries }
}

/** A command in the log of an item; undefined if it is not there. @param noun as of `loadLog` */
export async function loadEntry (
  responding: Responding, reading: Reading, query: Pick<ListQuery, 'fields'>,
  { id, command, noun }: { readonly id: Id, readonly command: string, readonly noun?: string | undefined }
): Promise<LoadedCommand | undefined> {
  const exchange = toExchange(responding)
  const { family } = exchange.mount
  const item = await reading.checkLog(id)
  const record = await readerOf(reading).getFromLog(id, command, findOperation(family, noun))
  return record && showLoaded(exchange, reading, query, record, { noun, item })
}

/** A command by its id alone: of the caller, on an item that it may read. Undefined if there is none. */
export async function loadCommand (
  responding: Responding, reading: Reading, query: Pick<ListQuery, 'fields'>, command: string
): Promise<LoadedCommand | undefined> {
  const exchange = toExchange(responding)
  const { mount, reply } = exchange
  const intent = intendToRead(mount.family, undefined, { command })
  const found = await findCommand(makeLoading(exchange, reading, query, intent, command))
  if (found === undefined) return undefined
  retire(reply, mount.retirement)
  return showLoaded(exchange, reading, query, found.record, {})
}

function showLoaded (
  exchange: Exchange, reading: Reading, query: Pick<ListQuery, 'fields'>, record: CommandRecord,
  { noun, item }: { readonly noun?: string | undefined, readonly item?: Stored | undefined }
): LoadedCommand {
  const { mount: { family, urls }, request } = exchange
  const entry = showRecord(family, record, reading.principal)
  const view = viewEntry(exchange, query, { record, id: entry.id }, noun)
  return { view, entry, self: urls.command(request, entry.target, entry.id, noun), item }
}

/** The operations of an item, and whether they are allowed now; undefined if there is no item. */
export async function loadOperations (
  responding: Responding, reading: Reading, id: Id, search: string
): Promise<{ readonly view: PageView, readonly item: Stored } | undefined> {
  refuseParameters(search)
  const item = await reading.get(id)
  return item && { view: await showOperations(toExchange(responding), item, readerOf(reading)), item }
}

/** The families at the prefix of a mount, as far as the caller may list them. */
export async function loadFamilies ({ mount, request, reply }: Responding): Promise<LoadedHome> {
  const { readers, ...home } = await loadHome(mountOf(mount), request, reply)
  return { ...home, readings: readers.map(([{ shown }, reader]) => readBy(shown, reader)) }
}

/** Where an action on an item is sent, such as `HoldDeal`; undefined if no form takes it. */
export function findActionAddress (
  { mount, request }: Pick<Responding, 'mount' | 'request'>, action: string, id: Id
): { readonly method: string, readonly href: string, readonly form?: string } | undefined {
  const own = mountOf(mount)
  const operation = own.family.changes.get(action)?.operation
  return operation && findAddress(own, request, id, operation)
}
