import type { FastifyReply } from 'fastify'
import type { NounOperation } from '../../core/family/definition.js'
import { CommandMembers } from '../../core/family/fields.js'
import { principalName } from '../../core/family/narrow.js'
import type { ParsedQuery } from '../../core/query/grammar.js'
import type { FollowedPage } from '../../core/service/bounded.js'
import { intendToRead } from '../../core/service/caller.js'
import type { Outcome } from '../../core/service/execute.js'
import { type Find, findPage } from '../../core/service/find-page.js'
import { findEnd, placeAfter } from '../../core/service/log-reads.js'
import { type CommandRecord, nameRecord, readTarget, showCommand, showEntry } from '../../core/service/record.js'
import type { Id } from '../../core/storage/storage.js'
import { makePicker, type Members } from '../../core/values/json.js'
import type { OneView } from '../../representations/representation.js'
import type { Exchange, Mount } from '../mount.js'
import { sendOne } from '../reply.js'
import { readItemId } from '../request.js'
import type { Documented, Endpoint } from '../routes.js'
import { findDownload, type Listing, loadPage } from './page.js'
import {
  type Loading, type OneQuery, parseOne, parseQuery, type Read, readEndpoints
} from './read.js'

/** The log of an item (`…/{id}/commands`) or, for an operation, the part of it that its noun names. */
export function logEndpoints (mount: Mount, operation?: NounOperation): Endpoint[] {
  const path = `${mount.home}/:id/${operation?.noun ?? 'commands'}`
  // The part of an operation is read like the whole log, which documents show.
  const document = (kind: Documented['kind']) => operation === undefined ? { kind } : undefined
  const endpoints = [
    ...readEndpoints(logRead(mount, operation), path, document('log')).map(endpoint =>
      operation === undefined ? orFeed(mount, endpoint) : endpoint),
    ...readEndpoints(entryRead(mount, operation), `${path}/:command`, document('entry'))
  ]
  return operation === undefined ? endpoints : endpoints.map(endpoint => ({ ...endpoint, word: operation.noun }))
}

/** By the cursor of a feed, or live, the log of an item is a feed as well. */
function orFeed (mount: Mount, endpoint: Endpoint): Endpoint {
  const { family } = mount
  return {
    ...endpoint,
    handler: (request, reply) => mount.parts.feed.isAsked(request)
      ? mount.parts.feed.answer({ mount, mounts: [mount], id: readItemId(family, request) }, request, reply)
      : endpoint.handler(request, reply)
  }
}

function logRead (mount: Mount, operation: NounOperation | undefined): Read<ParsedQuery> {
  const { family } = mount
  const noun = operation?.noun
  return {
    mount,
    kind: 'page',
    noun: family.singular,
    intend: request => intendToRead(family, readItemId(family, request)),
    aim: request => ({ kind: 'log', id: readItemId(family, request), noun }),
    parse: (search, { logGrammar }) => parseQuery(logGrammar, search),
    async load (loading) {
      const { caller, reader, intent, query } = loading
      const id = intent.id as Id
      if (operation !== undefined) {
        await reader.checkLog(id)
        return await loadPage(listLog(loading, query, { operation }), loading.representation)
      }
      // Read beside the item, but before the page, so that nothing is missed in between.
      const ending = findEnd(await caller.storage(), caller.signal)
      ending.catch(() => {})
      await reader.checkLog(id)
      const listing = listLog(loading, query, { follow: placeAfter(await ending) })
      return await loadPage(listing, loading.representation)
    }
  }
}

interface Logged {
  /** Only its part of the log. */
  readonly operation?: NounOperation | undefined
  /** The place to follow the log from. */
  readonly follow?: FollowedPage['follow']
}

/** A page of the log of an item that the caller may read. */
export function listLog (
  { mount, request, reader, intent, representation }: Loading<unknown>,
  parsed: ParsedQuery,
  { operation, follow }: Logged
): Listing {
  const { family } = mount
  const find: Find = query => reader.findLog(intent.id as Id, query, operation)
  const members = parsed.fields ?? listMembers([mount])
  const pick = makePicker(members)
  return {
    mount,
    parsed,
    name: operation?.noun ?? 'commands',
    singular: 'command',
    members,
    isBare: false,
    download: findDownload(request, representation),
    hasLongItems: family.hasLongCommands,
    find,
    findPage: async parsed => ({ ...await findPage(find, parsed), follow }),
    reader,
    show: entry => pick(showEntry(family, entry as CommandRecord,
      nameRecord(entry as CommandRecord, reader.grant.principal)))
  }
}

// The member that names the item comes after the id.
const [first, ...others] = Object.keys(CommandMembers.properties) as [string, ...string[]]

export function listMembers (
  mounts: readonly Mount[], isShared = false, isAnonymous = mounts.some(hidesPrincipal)
): string[] {
  const named = isAnonymous ? others.filter(name => name !== principalName) : others
  return [first, ...isShared ? ['family'] : [], ...mounts.map(({ family: { singular } }) => singular), ...named]
}

export function hidesPrincipal ({ family: { hiding } }: Mount): boolean {
  return hiding?.hidesPrincipal === true
}

function entryRead (mount: Mount, operation: NounOperation | undefined): Read<OneQuery> {
  const { family } = mount
  return {
    mount,
    kind: 'one',
    noun: 'command',
    parameter: 'command',
    intend: request => intendToRead(family, readItemId(family, request)),
    aim: (request, command) =>
      ({ kind: 'entry', id: readItemId(family, request), command, noun: operation?.noun }),
    parse: (search, { logGrammar }) => parseOne(logGrammar, search),
    async load ({ reader, intent, name, query }) {
      const id = intent.id as Id
      await reader.checkLog(id)
      const record = await reader.getFromLog(id, name, operation)
      if (record === undefined) return undefined
      const shown = { record, id: nameRecord(record, reader.grant.principal) }
      return exchange => sendEntry(exchange, query, shown, operation?.noun)
    }
  }
}

export function sendEntry (
  exchange: Exchange,
  query: OneQuery,
  found: Pick<Outcome, 'record' | 'id'>,
  noun?: string
): FastifyReply | Promise<FastifyReply> {
  return sendOne(exchange, found.record, viewEntry(exchange, query, found, noun), exchange.mount.isGuarded)
}

export function viewEntry (
  exchange: Exchange,
  { fields }: { readonly fields?: readonly string[] | undefined },
  found: Pick<Outcome, 'record' | 'id'>,
  noun?: string
): OneView {
  const whole = linkCommand(exchange, found, noun, true)
  const document = fields === undefined ? whole : makePicker(fields)(whole)
  return { kind: 'one', name: 'command', document, mount: exchange.mount.shown }
}

/**
 * `noun` names the part of the log that shows the command. A command that is not in the log has no id.
 *
 * @param isEntry whether it is read: the answer to a command has neither its changes nor the item after it
 */
export function linkCommand (
  { mount, request }: Exchange,
  { record, id }: Pick<Outcome, 'record' | 'id'>,
  noun?: string,
  isEntry = false
): Members & { readonly links: { readonly self?: string } } {
  const { family, urls } = mount
  const target = readTarget(family, record)
  const self = id === undefined ? {} : { self: urls.command(request, target, id, noun) }
  const shown = showCommand(family, record, id, isEntry ? record.changes : undefined)
  const item = urls.item(request, target)
  // The item after it.
  const isRemoval = record.about === undefined && record.action === family.lifecycle?.deletion?.operation.action
  const isKept = isEntry && record.outcome === 'done' && !isRemoval
  const after = isKept ? { revision: `${item}?revision=${record.revision}` } : {}
  return { ...shown, links: { ...self, [family.singular]: item, ...after } }
}
