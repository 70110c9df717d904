import { Type } from '@sinclair/typebox'
import type { FastifyReply } from 'fastify'
import { intendToRead } from '../../core/service/caller.js'
import type { Id, Stored } from '../../core/storage/storage.js'
import type { Members } from '../../core/values/json.js'
import { addArticle } from '../../core/values/words.js'
import type { Exchange, Mount } from '../mount.js'
import { describeResource } from '../openapi/answers.js'
import { describeQuerystring, describeRequestHeaders, readConditions } from '../openapi/parameters.js'
import { describeItemRoute } from '../openapi/route.js'
import { describeLink, makeItemPath, nameItem, nameSchema } from '../openapi/schemas.js'
import { findAddress, findOffers, type Offer } from '../pages/offers.js'
import { findSite, trailToItem } from '../pages/site.js'
import { sendOne, sendText } from '../reply.js'
import { readItemId, refuseParameters } from '../request.js'
import type { Endpoint } from '../routes.js'
import { writeRows } from './page.js'
import { type Read, readEndpoints } from './read.js'

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
      return item && (exchange => sendOperations(exchange, item, reader.offers))
    }
  }
  return readEndpoints(read, `${home}/:id/operations`, describeOperations(mount))
}

async function sendOperations (
  exchange: Exchange,
  item: Stored,
  named: readonly string[] | undefined
): Promise<FastifyReply> {
  const { mount: { family, urls }, request, choice: { representation } } = exchange
  const offers = await findOffers(exchange, item, named)
  const self = urls.item(request, item.id)
  const items = offers.map(offer => showOffer(exchange, item, offer))
  const links = { self: `${self}/operations`, [family.singular]: self }
  const { rows } = representation
  if (rows !== undefined) return sendText(exchange, writeRows(rows, items, members))
  const document = { items, links }
  const around = async () => ({ site: await findSite(exchange), trail: trailToItem(exchange, item.id, item) })
  const view = { kind: 'page', name: 'operations', singular: 'operation', items, members, document, around } as const
  return await sendOne(exchange, item, view, { isPersonal: true })
}

const members = ['name', 'action', 'summary', 'method', 'href', 'form', 'params', 'allowed', 'reason']

function showOffer (exchange: Exchange, item: Stored, { operation, params, reason }: Offer): Members {
  const { name, action, summary = name } = operation
  return {
    name,
    action,
    summary,
    ...findAddress(exchange, item.id, operation),
    params: params.schema,
    allowed: reason === undefined,
    ...(reason === undefined ? {} : { reason })
  }
}

function describeOperations (mount: Mount): Endpoint['schema'] {
  const { singular } = mount.family
  const said = (description: string) => Type.Optional(Type.String({ description }))
  const self = makeItemPath(mount)
  const operation = nameSchema(mount, `${nameItem(mount)}Operation`, Type.Object({
    name: Type.String(),
    action: Type.String({ description: 'As update and the commands say it' }),
    summary: Type.String(),
    method: said('By which it is done'),
    href: said('Where it is done'),
    form: said('The form that is sent there: of update { action, params }, of the others the params alone'),
    params: Type.Unsafe<object>({ type: 'object', description: 'A JSON Schema of what is sent along' }),
    allowed: Type.Boolean({ description: `Whether the ${singular} allows it now` }),
    reason: said('Why it does not')
  }))
  const operations = nameSchema(mount, `${nameItem(mount)}Operations`, Type.Object({
    items: Type.Array(operation),
    links: Type.Object({ self: describeLink(`${self}/operations`), [singular]: describeLink(self) })
  }))
  return describeItemRoute(mount, 'operations', `list-${singular}-operations`, {
    summary: `Read what can be done with ${addArticle(singular)}`,
    description: 'Every operation that the caller may do, and whether the state allows it now.',
    querystring: describeQuerystring(mount, 'items', 'format'),
    headers: describeRequestHeaders(...readConditions),
    response: describeResource(mount, 'page', 'The operations', operations)
  })
}
