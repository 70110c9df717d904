import { Type } from '@sinclair/typebox'
import type { FastifyReply } from 'fastify'
import { explainTags, judgeRead, makeEtag } from '../http/conditional.js'
import { writeHttpDate } from '../http/dates.js'
import { send, setCaching } from '../http/reply.js'
import type { Endpoint } from '../http/routes.js'
import type { Exchange, Mount } from '../mount/mount.js'
import { linkReferred, showItem } from '../mount/show-item.js'
import { describeAnswer, describeLinkedItem, notModified, validatorHeaders } from '../openapi/answers.js'
import { describeFieldsAndFormat, describeIdParameter, listItems, readConditionHeaders } from '../openapi/parameters.js'
import { describeProblems } from '../openapi/problems.js'
import { describeRoute } from '../openapi/route.js'
import type { Submission } from '../pages/form-fields.js'
import { affordItem } from '../pages/item-affordances.js'
import { notFound, preconditionFailed } from '../problems.js'
import type { OneView, PageView } from '../representations/representation.js'
import { intendToRead } from '../service/caller.js'
import type { Reader } from '../service/reader.js'
import type { Id, Stored } from '../storage/storage.js'
import type { Members } from '../values/json.js'
import { makePicker } from '../values/json.js'
import { makeExpand } from './expand.js'
import type { Read } from './read.js'
import { addHint, parseOne, readHandler } from './read.js'

/** Which members are wanted, and the form that the item is shown around where it was refused. */
interface ItemQuery {
  readonly fields?: readonly string[] | undefined
  readonly expand?: readonly string[] | undefined
  readonly refused?: Submission
}

interface LoadedItem {
  readonly item: Stored
  /** With others in it, where that is asked for. */
  readonly expanded: Members | undefined
  /** For what else its page shows. */
  readonly reader: Reader
}

/** `GET /customers/{id}`, also with a suffix of the id that names the representation. */
export function itemEndpoints (mount: Mount): Endpoint[] {
  const handler = readHandler(itemRead(mount))
  return [{ method: 'GET', path: `${mount.home}/:id`, schema: describeRead(mount), handler }]
}

/** Reads one item. */
export function itemRead (mount: Mount): Read<ItemQuery, LoadedItem> {
  const { family, grammar } = mount
  return {
    mount,
    kind: 'one',
    locate: request => ({ name: (request.params as { id: string }).id, isSuffixed: true }),
    intend (_request, name) {
      const id = family.readId(name)
      return id === undefined ? undefined : intendToRead(family, id)
    },
    parse: (search, representation) => parseOne(grammar, search, representation),
    async load ({ caller, reader, intent, query: { expand: fields } }) {
      const item = await reader.get(intent.id as Id)
      if (item === undefined) return undefined
      const expand = await makeExpand(family, caller, fields, item)
      const [expanded] = await expand?.([item]) ?? []
      return { item, expanded, reader }
    },
    represent (exchange, { fields, refused }, { item, expanded, reader }) {
      const view: OneView = {
        kind: 'one',
        name: family.singular,
        document: chooseMembers(exchange, fields, item, expanded),
        affordances: () => affordItem(exchange, item, reader, refused)
      }
      if (refused === undefined) return sendOne(exchange, item, view, { isExpanded: expanded !== undefined })
      exchange.reply.code(refused.problem.statusCode).headers(refused.problem.headers)
      return send(exchange, view)
    },
    miss: (name, refusal) => addHint(notFound(family.singular, name), refusal)
  }
}

// To a person, the page itself leads on, but for what the item refers to.
function chooseMembers (
  { mount, request, choice }: Exchange,
  fields: ItemQuery['fields'],
  item: Stored,
  expanded: Members | undefined
): Members {
  if (fields === undefined && choice.representation.interactive !== true) {
    return showItem(mount, request, item, expanded)
  }
  const members = makePicker(fields ?? mount.family.members)(expanded ?? item)
  const links = choice.representation.interactive === true ? linkReferred(mount, request, item) : {}
  return Object.keys(links).length === 0 ? members : { ...members, links }
}

/** What an answer with one resource depends on, of which the revision of the item knows nothing. */
interface Dependence {
  /** On who asks. */
  readonly isPersonal?: boolean
  /** On other items, which stand in it: only its content tells whether it is another. */
  readonly isExpanded?: boolean
}

/** Answers with one resource, or with what the request's conditions ask for in its place. */
export function sendOne (
  exchange: Exchange,
  item: Stored,
  view: OneView | PageView,
  { isPersonal = exchange.choice.representation.interactive === true, isExpanded = false }: Dependence = {}
): FastifyReply | Promise<FastifyReply> {
  const { mount: { isGuarded }, request, reply, choice } = exchange
  const etag = makeEtag(isExpanded ? unknown : item, view.document, choice.representation)
  const updatedAt = isExpanded ? undefined : item.updatedAt
  const verdict = judgeRead(request.headers, { etag, updatedAt })
  if (verdict === 'failed') {
    throw preconditionFailed(view.name, item.revision, explainTags(request.headers, item.revision))
  }
  if (isGuarded && isPersonal) return send(exchange, view)
  reply.header('etag', etag)
  if (updatedAt !== undefined) reply.header('last-modified', writeHttpDate(updatedAt))
  if (verdict === 'go') return send(exchange, view)
  return setCaching(reply.code(304).header('vary', 'Accept')).send()
}

const unknown = { revision: 0 }

function describeRead (mount: Mount): Endpoint['schema'] {
  const { family } = mount
  return describeRoute(mount, 'items', `read-${family.singular}`, {
    summary: `Read one ${family.singular}`,
    description: 'With its validators: a client that has the current representation is told so by 304.',
    params: Type.Object({ id: describeIdParameter(mount) }),
    querystring: describeFieldsAndFormat(mount, listItems(mount)),
    headers: Type.Object(readConditionHeaders),
    response: {
      200: describeAnswer(mount, 'one', {
        description: `The ${family.singular}`,
        schema: describeLinkedItem(mount),
        headers: validatorHeaders
      }),
      304: notModified,
      ...describeProblems(
        mount, 'invalid-query', 'not-found', 'not-acceptable', 'precondition-failed', 'storage-unavailable'
      )
    }
  })
}
