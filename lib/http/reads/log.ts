import type { FastifyReply } from 'fastify'
import type { NounOperation } from '../../core/family/definition.js'
import type { ParsedQuery } from '../../core/query/grammar.js'
import { intendToRead } from '../../core/service/caller.js'
import type { Outcome } from '../../core/service/execute.js'
import { Feed, placeAfter } from '../../core/service/feed.js'
import { type Find, findPage } from '../../core/service/reader.js'
import { type CommandRecord, nameRecord, readTarget, showCommand } from '../../core/service/record.js'
import type { Id, Stored } from '../../core/storage/storage.js'
import { makePicker, type Members } from '../../core/values/json.js'
import { addArticle } from '../../core/values/words.js'
import type { Exchange, Mount } from '../mount.js'
import {
  commandIdParameter, describeAnswer, describeItemRoute, describePage, describeQuerystring, describeShortly
} from '../openapi/routes.js'
import { describeCommand, describeEntry, nameItem } from '../openapi/schemas.js'
import { listLogFilters } from '../pages/form-fields.js'
import { makeEntryAffordances } from '../pages/item-affordances.js'
import { showEntry } from '../pages/log-entries.js'
import { trailToItem } from '../pages/offers.js'
import { makeRowAffordances } from '../pages/page-affordances.js'
import { nameInLog } from '../pages/references.js'
import { sendOne } from '../reply.js'
import { readItemId } from '../request.js'
import type { Endpoint, RouteSchema } from '../routes.js'
import { answerFeed, isFeedRequest, listMembers } from './feed.js'
import { findDownload, loadPage } from './page.js'
import { type OneQuery, parseOne, parsePageQuery, type Read, readEndpoints } from './read.js'

/** The log of an item (`…/{id}/commands`) or, for an operation, the part of it that its noun names. */
export function logEndpoints (mount: Mount, operation?: NounOperation): Endpoint[] {
  const path = `${mount.home}/:id/${operation?.noun ?? 'commands'}`
  // The part of an operation is read like the whole log, which is described.
  const { list, one } = operation === undefined ? describeLog(mount) : { list: { hide: true }, one: { hide: true } }
  const endpoints = [
    ...readEndpoints(logRead(mount, operation), path, list).map(endpoint =>
      operation === undefined ? orFeed(mount, endpoint) : endpoint),
    ...readEndpoints(entryRead(mount, operation), `${path}/:command`, one)
  ]
  return operation === undefined ? endpoints : endpoints.map(endpoint => ({ ...endpoint, word: operation.noun }))
}

/** By the cursor of a feed, or live, the log of an item is a feed as well. */
function orFeed (mount: Mount, endpoint: Endpoint): Endpoint {
  const { family } = mount
  return {
    ...endpoint,
    handler: (request, reply) => isFeedRequest(request)
      ? answerFeed({ mount, mounts: [mount], id: readItemId(family, request) }, request, reply)
      : endpoint.handler(request, reply)
  }
}

function describeLog (mount: Mount): { readonly list: RouteSchema, readonly one: RouteSchema } {
  const { singular } = mount.family
  const owner = addArticle(singular)
  const page = 'A page of commands'
  return {
    list: describeShortly(mount, describeItemRoute(mount, 'log', `list-${singular}-commands`, {
      summary: `List the commands of ${owner}`,
      description: `Oldest first, with the filters of lists. The log is kept if the ${singular} is deleted.`,
      querystring: describeQuerystring(mount, 'log'),
      response: { 200: describePage(mount, `${nameItem(mount)}EntryPage`, page, describeEntry(mount)) }
    })),
    one: describeShortly(mount, describeItemRoute(mount, 'log', `read-${singular}-commands`, {
      summary: `Read a command of ${owner}`,
      description: 'The request and its outcome.',
      path: { command: commandIdParameter },
      response: { 200: describeAnswer(mount, 'one', 'The command', describeCommand(mount)) }
    }))
  }
}

function logRead (mount: Mount, operation: NounOperation | undefined): Read<ParsedQuery> {
  const { family, urls, logGrammar: grammar } = mount
  const noun = operation?.noun
  return {
    mount,
    kind: 'page',
    noun: family.singular,
    intend: request => intendToRead(family, readItemId(family, request)),
    // Pages show the newest first, as on the page of the item.
    parse: (search, representation) => parsePageQuery(grammar, search, representation, '-revision,-createdAt'),
    async load ({ request, caller, reader, intent, query: parsed, representation }) {
      const id = intent.id as Id
      const isFollowed = operation === undefined && representation.interactive !== true
      const feed = new Feed(await caller.storage(), [{ family, reader }], caller.signal, id)
      // Read beside the item, but before the page, so that nothing is missed in between.
      const starting = isFollowed ? feed.findStart(undefined) : undefined
      starting?.catch(() => {})
      const item = await reader.checkLog(id)
      const follow = starting && placeAfter(await starting)
      const find: Find = query => reader.findLog(id, query, operation)
      const members = parsed.fields ?? listMembers([mount])
      const pick = makePicker(members)
      const nameOf = (entry: Stored) => nameRecord(entry as CommandRecord, reader.grant.principal)
      return await loadPage({
        mount,
        parsed,
        name: noun ?? 'commands',
        singular: 'command',
        members,
        isBare: false,
        download: findDownload(request, representation),
        hasLongItems: family.hasLongCommands,
        find,
        findPage: async parsed => ({ ...await findPage(find, parsed), follow }),
        reader,
        show: entry => pick(showCommand(family, entry as CommandRecord, nameOf(entry))),
        afford: async (exchange, { items }, links) => await makeRowAffordances(exchange, parsed, {
          grammar,
          columns: members,
          title: 'id',
          isCountable: true,
          links,
          labels: family.presentation.labels,
          trail: trailToItem(exchange, id, item),
          filters: operation === undefined ? listLogFilters([family], parsed) : [],
          timeline: await nameInLog(exchange, items.map(entry =>
            showEntry(exchange, entry as CommandRecord, reader.grant.principal, noun))),
          address: index => urls.command(exchange.request, id, nameOf(items[index] as Stored), noun),
          identify: index => ({ id: nameOf(items[index] as Stored), revision: 0 })
        })
      }, representation)
    }
  }
}

function entryRead (mount: Mount, operation: NounOperation | undefined): Read<OneQuery> {
  const { family } = mount
  return {
    mount,
    kind: 'one',
    noun: 'command',
    parameter: 'command',
    intend: request => intendToRead(family, readItemId(family, request)),
    parse: (search, representation) => parseOne(mount.logGrammar, search, representation),
    async load ({ reader, intent, name, query }) {
      const id = intent.id as Id
      const item = await reader.checkLog(id)
      const record = await reader.getFromLog(id, name, operation)
      if (record === undefined) return undefined
      const shown = { record, id: nameRecord(record, reader.grant.principal) }
      return exchange => sendEntry(exchange, query, shown, operation?.noun, item)
    }
  }
}

export function sendEntry (
  exchange: Exchange,
  { fields }: OneQuery,
  found: Pick<Outcome, 'record' | 'id'>,
  noun?: string,
  item?: Stored
): FastifyReply | Promise<FastifyReply> {
  const document = linkCommand(exchange, found, noun)
  return sendOne(exchange, found.record, {
    kind: 'one',
    name: 'command',
    document: fields === undefined ? document : makePicker(fields)(document),
    affordances: async () => makeEntryAffordances(exchange, document.links.self as string, found.record, item)
  }, exchange.mount.isGuarded)
}

/** `noun` names the part of the log that shows the command. A command that is not in the log has no id. */
export function linkCommand (
  { mount, request }: Exchange,
  { record, id }: Pick<Outcome, 'record' | 'id'>,
  noun?: string
): Members & { readonly links: { readonly self?: string } } {
  const { family, urls } = mount
  const target = readTarget(family, record)
  const self = id === undefined ? {} : { self: urls.command(request, target, id, noun) }
  const shown = showCommand(family, record, id)
  return { ...shown, links: { ...self, [family.singular]: urls.item(request, target) } }
}
