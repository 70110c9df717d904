import type { FastifyRequest } from 'fastify'
import { makeExpand } from '../../core/book/expand.js'
import { type ActionTarget, findOffers, findTargets } from '../../core/book/offers.js'
import type { Family } from '../../core/family/family.js'
import { type Moment, splitMoment } from '../../core/query/moment.js'
import { type Parameter, splitQuery } from '../../core/query/query-string.js'
import { intendToRead } from '../../core/service/caller.js'
import type { Reader } from '../../core/service/reader.js'
import type { Id, Stored } from '../../core/storage/storage.js'
import { makePicker } from '../../core/values/json.js'
import type { PageView } from '../../representations/representation.js'
import { markItem } from '../conditional.js'
import { type Exchange, type Mount, showItem } from '../mount.js'
import { sendOne, sendText } from '../reply.js'
import { readItemId, refuseParameters } from '../request.js'
import type { Endpoint } from '../routes.js'
import { writeRows } from './page.js'
import { loadPast } from './past.js'
import { type OneQuery, parseOne, type Read, readEndpoints } from './read.js'

/** `GET /customers/{id}`, also with a suffix of the id that names the representation. */
export function itemEndpoints (mount: Mount): Endpoint[] {
  return readEndpoints(itemRead(mount), `${mount.home}/:id`, { kind: 'item' })
}

interface ItemQuery extends OneQuery {
  readonly when?: Moment | undefined
}

function itemRead (mount: Mount): Read<ItemQuery> {
  const { family: whole } = mount
  return {
    mount,
    kind: 'one',
    noun: whole.singular,
    parameter: 'id',
    ...ofItem(whole),
    parse (search, { family, grammar }) {
      const { rest, when } = splitMoment(splitFrom(search).rest, family)
      const query = parseOne(grammar, rest)
      return when === undefined ? query : { ...query, when }
    },
    async load (loading) {
      const { mount, request, caller, reader, intent, query, query: { fields, expand, when } } = loading
      const { family } = mount
      if (when !== undefined) return await loadPast(mount, loading, query, when)
      const item = await reader.get(intent.id as Id)
      if (item === undefined) return undefined
      const expandOne = expand && await makeExpand(family, caller, expand, { one: item })
      const expanded = expandOne && (await expandOne([item]))[0]
      const document = fields === undefined
        ? showItem(mount, request, item, expanded)
        : makePicker(fields)(expanded ?? item)
      return exchange => sendOne(exchange, item, {
        kind: 'one',
        name: family.singular,
        document,
        mount: mount.shown,
        offers: async () => await findOffers(reader.called, reader.grant, item)
      }, expanded !== undefined, family.tag + markItem(family, item))
    }
  }
}

/** Which item is read, if any can have the name. */
export function ofItem (family: Family): Pick<Read<OneQuery>, 'intend' | 'aim'> {
  return {
    intend (_request, name) {
      const id = family.readId(name)
      return id === undefined ? undefined : intendToRead(family, id)
    },
    aim (_request, name) {
      const id = family.readId(name)
      return id === undefined ? undefined : { kind: 'item', id }
    }
  }
}

/** Pages link with it, and people copy their addresses. Here no field is filtered, so that none is meant. */
export function splitFrom (search: string): { readonly rest: string, readonly from: string | undefined } {
  if (!search.includes('from')) return { rest: search, from: undefined }
  const parts = splitQuery(search)
  const from = parts.find(({ name }) => name === 'from') as Parameter | undefined
  return { rest: parts.filter(({ name }) => name !== 'from').map(({ raw }) => raw).join('&'), from: from?.value }
}

/** `GET …/{id}/operations`: the operations allowed now, and why others are not, as far as the caller may run them. */
export function operationsEndpoints (mount: Mount): Endpoint[] {
  const { family, home } = mount
  const read: Read<undefined> = {
    mount,
    kind: 'page',
    noun: family.singular,
    intend: request => intendToRead(family, readItemId(family, request)),
    aim: request => ({ kind: 'operations', id: readItemId(family, request) }),
    parse: refuseParameters,
    async load ({ reader, intent }) {
      const item = await reader.get(intent.id as Id)
      return item && (async exchange => {
        const view = await showOperations(exchange, item, reader)
        const { rows } = exchange.choice.representation
        if (rows !== undefined) return sendText(exchange, writeRows(rows, view.items, view.members))
        // It depends on the clock, on other items and, with authorize, on the reader.
        return await sendOne(exchange, item, view, true, markItem(family, item))
      })
    }
  }
  // It has no parameters that a body could have.
  return readEndpoints(read, `${home}/:id/operations`, { kind: 'operations' }, false)
}

export async function showOperations (
  { mount, request }: Pick<Exchange, 'mount' | 'request'>,
  item: Stored,
  reader: Reader
): Promise<PageView> {
  const { family, urls, shown } = mount
  const offers = await findTargets(reader.called, reader.grant, item)
  const self = urls.item(request, item.id)
  const items = offers.map(({ operation, params, reason }) => ({
    name: operation.name,
    action: operation.action,
    summary: operation.summary ?? operation.name,
    ...findAddress(mount, request, item.id, operation),
    params: params.schema,
    allowed: reason === undefined,
    ...(reason === undefined ? {} : { reason })
  }))
  const links = { self: `${self}/operations`, [family.singular]: self }
  const document = { items, links }
  const members = operationMembers
  return { kind: 'page', name: 'operations', singular: 'operation', items, members, document, mount: shown }
}

/** Where an operation is sent. The deletion has no form. */
export function findAddress (
  { forms, urls }: Mount,
  request: FastifyRequest,
  id: Id,
  { verb, participle, noun }: ActionTarget['operation']
): { readonly method: string, readonly href: string, readonly form?: string } | undefined {
  const self = urls.item(request, id)
  if (verb === undefined) return { method: 'DELETE', href: self }
  if (forms.has('verb')) return { method: 'PUT', href: `${self}/${verb}`, form: 'verb' }
  if (forms.has('participle')) return { method: 'PUT', href: `${self}/${participle}`, form: 'participle' }
  if (forms.has('noun')) return { method: 'POST', href: `${self}/${noun}`, form: 'noun' }
  return forms.has('update') ? { method: 'PUT', href: self, form: 'update' } : undefined
}

const operationMembers = ['name', 'action', 'summary', 'method', 'href', 'form', 'params', 'allowed', 'reason']
