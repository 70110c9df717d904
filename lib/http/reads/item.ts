import { Type } from '@sinclair/typebox'
import type { FastifyReply } from 'fastify'
import { makeExpand } from '../../core/book/expand.js'
import { findTargets } from '../../core/book/offers.js'
import { notFound } from '../../core/problems.js'
import { type Parameter, splitQuery } from '../../core/query/query-string.js'
import { intendToRead } from '../../core/service/caller.js'
import { findEnd } from '../../core/service/log-reads.js'
import type { Reader } from '../../core/service/reader.js'
import type { Id, Stored } from '../../core/storage/storage.js'
import { makePicker } from '../../core/values/json.js'
import { addArticle } from '../../core/values/words.js'
import type { OneView } from '../../representations/representation.js'
import { markItem } from '../conditional.js'
import { type Exchange, hasPages, linkReferred, type Mount, showItem } from '../mount.js'
import {
  describeAnswer, describeItemAnswers, describeItemRoute, describeQuerystring, describeRequestHeaders, describeShortly,
  readConditions
} from '../openapi/routes.js'
import { describeReadItem, linkSchema, nameItem, nameSchema } from '../openapi/schemas.js'
import type { RefusedForm } from '../pages/form-fields.js'
import { type ItemPage, makeAffordances, makeConfirmation, type Question } from '../pages/item-affordances.js'
import { findNewest, makeFeedback } from '../pages/log-entries.js'
import { checkFrom, findAddress, findSite, trailToItem } from '../pages/offers.js'
import { send, sendOne, sendText } from '../reply.js'
import { readItemId, refuseParameters } from '../request.js'
import type { Endpoint } from '../routes.js'
import { writeRows } from './page.js'
import { endFeedback, type Loading, type OneQuery, parseOne, type Read, readEndpoints, readFeedback } from './read.js'

interface ItemQuery extends OneQuery {
  readonly refused?: RefusedForm
  /** Shown instead of the item. */
  readonly question?: Question
  /** Of a page: the query of the list from which it was opened. */
  readonly from?: string | undefined
}

/** `GET /customers/{id}`, also with a suffix of the id that names the representation. */
export function itemEndpoints (mount: Mount): Endpoint[] {
  const { home, family: { singular } } = mount
  return readEndpoints(itemRead(mount), `${home}/:id`, describeItemRoute(mount, 'items', `read-${singular}`, {
    summary: `Read ${addArticle(singular)}`,
    description: 'With the ETag of an earlier response in If-None-Match: 304 if nothing has changed.',
    querystring: describeQuerystring(mount, 'one'),
    headers: describeRequestHeaders(...readConditions),
    response: describeItemAnswers(mount, describeReadItem(mount))
  }))
}

export function itemRead (mount: Mount): Read<ItemQuery> {
  const { family, grammar } = mount
  return {
    mount,
    kind: 'one',
    noun: family.singular,
    parameter: 'id',
    intend (_request, name) {
      const id = family.readId(name)
      return id === undefined ? undefined : intendToRead(family, id)
    },
    parse (search, representation) {
      if (!search.includes('from')) return parseOne(grammar, search, representation)
      // Pages link with it, and people copy their addresses. Here no field is filtered, so that none is meant.
      const parts = splitQuery(search)
      const from = parts.find(({ name }) => name === 'from') as Parameter | undefined
      const rest = parts.filter(({ name }) => name !== 'from').map(({ raw }) => raw).join('&')
      return { ...parseOne(grammar, rest, representation), from: checkFrom(mount, from?.value) }
    },
    async load (loading) {
      const { request, caller, reader, intent, query, representation: { interactive } } = loading
      const { fields, expand, refused, question } = query
      const id = intent.id as Id
      const isLive = interactive === true && family.writable && refused === undefined && question === undefined
      // Read before the item, so that no later change is missed.
      const position = isLive ? await findEnd(await caller.storage(), caller.signal) : undefined
      const item = await reader.get(id)
      if (item === undefined) {
        if (interactive !== true || !family.writable || !await reader.hasLog(id)) return undefined
        throw notFound(family.singular, id, { log: `${mount.urls.item(request, id)}/commands` })
      }
      const expandOne = expand && await makeExpand(family, caller, expand, { one: item })
      const expanded = expandOne && (await expandOne([item]))[0]
      const page = interactive === true ? { ...await loadItemPage(mount, loading, item), position } : undefined
      const document = fields === undefined && interactive !== true
        ? showItem(mount, request, item, expanded)
        : makePicker(fields ?? family.members)(expanded ?? item)
      // Pages have navigation, so they only get links to the items referred to.
      const links = interactive === true ? linkReferred(mount, request, item, hasPages) : undefined
      return exchange => {
        const view: OneView = {
          kind: 'one',
          name: family.singular,
          document: links === undefined || Object.keys(links).length === 0 ? document : { ...document, links },
          affordances: async () => question === undefined
            ? await makeAffordances(exchange, item, reader, page ?? await loadItemPage(mount, loading, item), refused)
            : makeConfirmation(exchange, item, question)
        }
        if (question !== undefined || refused !== undefined) return send(exchange, view)
        if (page?.feedback !== undefined) endFeedback(exchange.reply, mount.urls.item(request, id))
        return sendOne(exchange, item, view, expanded !== undefined, family.tag + markItem(family, item))
      }
    }
  }
}

async function loadItemPage (
  mount: Mount,
  { reader, request, query: { refused, question, from } }: Loading<ItemQuery>,
  item: Stored
): Promise<ItemPage> {
  const { family } = mount
  if (!family.writable) return { entries: [], from }
  const command = refused === undefined && question === undefined ? readFeedback(request) : undefined
  const [entries, record] = await Promise.all([
    findNewest(reader, item),
    command === undefined ? undefined : reader.getFromLog(item.id, command)
  ])
  return { entries, feedback: record && makeFeedback(family, record), from }
}

/** `GET …/{id}/operations`: the operations allowed now, and why others are not, as far as the caller may run them. */
export function operationsEndpoints (mount: Mount): Endpoint[] {
  const { family, home } = mount
  const read: Read<undefined> = {
    mount,
    kind: 'page',
    noun: family.singular,
    intend: request => intendToRead(family, readItemId(family, request)),
    parse: refuseParameters,
    async load ({ reader, intent }) {
      const item = await reader.get(intent.id as Id)
      return item && (exchange => sendOperations(exchange, item, reader))
    }
  }
  // It has no parameters that a body could have.
  return readEndpoints(read, `${home}/:id/operations`, describeOperations(mount), false)
}

async function sendOperations (
  exchange: Exchange,
  item: Stored,
  reader: Reader
): Promise<FastifyReply> {
  const { mount: { family, urls }, request, choice: { representation } } = exchange
  const offers = await findTargets(reader.called, reader.grant, item)
  const self = urls.item(request, item.id)
  const items = offers.map(({ operation, params, reason }) => ({
    name: operation.name,
    action: operation.action,
    summary: operation.summary ?? operation.name,
    ...findAddress(exchange, item.id, operation),
    params: params.schema,
    allowed: reason === undefined,
    ...(reason === undefined ? {} : { reason })
  }))
  const links = { self: `${self}/operations`, [family.singular]: self }
  const { rows } = representation
  if (rows !== undefined) return sendText(exchange, writeRows(rows, items, members))
  const document = { items, links }
  const around = async () => ({ site: await findSite(exchange), trail: trailToItem(exchange, item.id, item) })
  const view = { kind: 'page', name: 'operations', singular: 'operation', items, members, document, around } as const
  // It depends on the clock, on other items and, with authorize, on the reader.
  return await sendOne(exchange, item, view, true, markItem(family, item))
}

const members = ['name', 'action', 'summary', 'method', 'href', 'form', 'params', 'allowed', 'reason']

function describeOperations (mount: Mount): Endpoint['schema'] {
  const { singular } = mount.family
  const text = (description: string) => Type.Optional(Type.String({ description }))
  const operation = nameSchema(mount, 'OperationOffer', Type.Object({
    name: Type.String(),
    action: Type.String({ description: 'The action, for update and the commands' }),
    summary: Type.String(),
    method: text('The HTTP method'),
    href: text('The URL'),
    form: text('The form of the request: update takes { action, params }, the others only the params'),
    params: Type.Unsafe<object>({ type: 'object', description: 'A JSON Schema of the parameters' }),
    allowed: Type.Boolean({ description: 'Whether the state allows it now' }),
    reason: text('Why the state does not allow it')
  }))
  const operations = nameSchema(mount, `${nameItem(mount)}Operations`, Type.Object({
    items: Type.Array(operation),
    links: Type.Object({ self: linkSchema, [singular]: linkSchema })
  }))
  return describeShortly(mount, describeItemRoute(mount, 'operations', `list-${singular}-operations`, {
    summary: `List the operations of ${addArticle(singular)}`,
    description: 'The operations that you may use, and whether the state allows them now.',
    response: { 200: describeAnswer(mount, 'page', 'The operations', operations) }
  }))
}
