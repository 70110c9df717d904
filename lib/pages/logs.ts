import { listTargets } from '../core/book/offers.js'
import type { NounOperation } from '../core/family/definition.js'
import type { Family } from '../core/family/family.js'
import { intendToRead } from '../core/service/caller.js'
import type { Outcome } from '../core/service/execute.js'
import { type CommandRecord, nameRecord } from '../core/service/record.js'
import type { Id, Stored } from '../exports.js'
import { findCommand } from '../http/forms/rest-commands.js'
import type { Exchange } from '../http/mount.js'
import { linkCommand, listLog, viewEntry } from '../http/reads/log.js'
import { loadView } from '../http/reads/page.js'
import { authorizeRead, type OneQuery, parseOne } from '../http/reads/read.js'
import { retire } from '../http/routes.js'
import { listLogFilters } from './form-fields.js'
import { makeEntryAffordances } from './item-affordances.js'
import { trailToItem } from './links.js'
import { showEntry } from './log-entries.js'
import { makeRowAffordances } from './page-affordances.js'
import { nameInLog } from './references.js'
import { parseSent } from './sent.js'
import { sendPage, sendView, type ShownOne } from './views.js'

function findOperation (family: Family, noun: string | undefined): NounOperation | undefined {
  return listTargets(family).find(({ operation }) => operation.noun === noun)?.operation
}

/** The page of the log of an item or, with the noun of an operation, of a part of it. */
export async function sendLogPage (
  exchange: Exchange,
  id: Id,
  noun: string | undefined,
  search: string
): Promise<boolean> {
  const { mount, mount: { family, logGrammar: grammar, urls }, request, choice: { representation } } = exchange
  const operation = findOperation(family, noun)
  const loading = await authorizeRead({
    mount,
    intend: () => intendToRead(family, id),
    // The newest first, as on the page of the item.
    parse: search => parseSent(grammar, search, '-revision,-createdAt')
  }, request, '', search, representation)
  if (loading === undefined) return false
  const { reader, reader: { grant: { principal } }, query: parsed } = loading
  const item = await reader.checkLog(id)
  const { view, page, links } = await loadView(exchange, listLog(mount, loading, parsed, { operation }))
  const entries = page.items as readonly CommandRecord[]
  const nameOf = (index: number) => nameRecord(entries[index] as CommandRecord, principal)
  const affordances = async () => await makeRowAffordances(exchange, parsed, {
    grammar,
    columns: view.members,
    title: 'id',
    isCountable: true,
    links,
    labels: family.presentation.labels,
    trail: trailToItem(exchange, id, item),
    filters: operation === undefined ? listLogFilters([family], parsed) : [],
    timeline: await nameInLog(exchange, entries.map(entry => showEntry(exchange, entry, principal, noun))),
    address: index => urls.command(request, id, nameOf(index), noun),
    identify: index => ({ id: nameOf(index), revision: 0 })
  })
  return await sendView(exchange, { ...view, affordances })
}

/** The page of a command in the log of an item. */
export async function sendEntryPage (
  exchange: Exchange,
  id: Id,
  command: string,
  noun: string | undefined,
  search: string
): Promise<boolean> {
  const { mount, mount: { family, logGrammar }, request, choice: { representation } } = exchange
  const loading = await authorizeRead({
    mount,
    intend: () => intendToRead(family, id),
    parse: search => parseOne(logGrammar, search, parseSent)
  }, request, command, search, representation)
  if (loading === undefined) return false
  const { reader, query } = loading
  const item = await reader.checkLog(id)
  const record = await reader.getFromLog(id, command, findOperation(family, noun))
  if (record === undefined) return false
  return await sendEntry(exchange, query, { record, id: nameRecord(record, reader.grant.principal) }, noun, item)
}

/** The same by the id of the command alone. */
export async function sendCommandPage (
  exchange: Exchange,
  command: string,
  search: string
): Promise<boolean> {
  const { mount, mount: { family, logGrammar, retirement }, request, reply, choice: { representation } } = exchange
  const loading = await authorizeRead({
    mount,
    intend: () => intendToRead(family, undefined, { command }),
    parse: search => parseOne(logGrammar, search, parseSent)
  }, request, command, search, representation)
  if (loading === undefined) return false
  const found = await findCommand(mount, loading)
  if (found === undefined) return false
  retire(reply, retirement)
  return await sendEntry(exchange, loading.query, found)
}

async function sendEntry (
  exchange: Exchange,
  query: OneQuery,
  found: Pick<Outcome, 'record' | 'id'>,
  noun?: string,
  item?: Stored
): Promise<true> {
  const { self } = linkCommand(exchange, found, noun).links
  const view: ShownOne = {
    ...viewEntry(exchange, query, found, noun),
    affordances: async () => await makeEntryAffordances(exchange, self as string, found.record, item)
  }
  return await sendPage(exchange, found.record, view, exchange.mount.isGuarded ? view.document : undefined)
}
