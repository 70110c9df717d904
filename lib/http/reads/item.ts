import { Type } from '@sinclair/typebox'
import type { FastifyReply } from 'fastify'
import type { Family } from '../../core/family/family.js'
import { notFound, preconditionFailed } from '../../core/problems.js'
import { intendToRead } from '../../core/service/caller.js'
import type { CommandRecord } from '../../core/service/command.js'
import type { Id, Stored } from '../../core/storage/storage.js'
import type { Members } from '../../core/values/json.js'
import { makePicker, measureAll } from '../../core/values/json.js'
import type { OneView, PageView } from '../../representations/representation.js'
import { explainTags, judgeRead, makeEtag } from '../conditional.js'
import { writeHttpDate } from '../dates.js'
import { holdAnswer } from '../large-answers.js'
import type { Exchange, Mount } from '../mount.js'
import { describeAnswer, notModified, validatorHeaders } from '../openapi/answers.js'
import { describeReadItem } from '../openapi/items.js'
import { describeFieldsAndFormat, describeIdParameter, listItems, readConditionHeaders } from '../openapi/parameters.js'
import { describeProblems } from '../openapi/problems.js'
import { describeRoute } from '../openapi/route.js'
import type { RefusedForm } from '../pages/form-fields.js'
import type { ItemPage, Question } from '../pages/item-affordances.js'
import { affordConfirmation, affordItem } from '../pages/item-affordances.js'
import { findNewest, makeFeedback } from '../pages/log-entries.js'
import { send, setCaching } from '../reply.js'
import type { Endpoint } from '../routes.js'
import { linkReferred, showItem } from '../show-item.js'
import { makeExpand } from './expand.js'
import { splitFeedback } from './feedback.js'
import type { Loading, Read } from './read.js'
import { addHint, parseOne, readHandler } from './read.js'

/** Which members are wanted, and what a page is to show besides them. */
interface ItemQuery {
  readonly fields?: readonly string[] | undefined
  readonly expand?: readonly string[] | undefined
  /** The command that a page is to tell of. */
  readonly command?: string
  /** The form that the item is shown around, where it was refused. */
  readonly refused?: RefusedForm
  /** What is to be asked before it is done. */
  readonly question?: Question
}

interface LoadedItem {
  readonly item: Stored
  /** With others in it, where that is asked for. */
  readonly expanded: Members | undefined
  /** What its page shows besides it, where it is for people. */
  readonly page: ItemPage | undefined
  loadPage (): Promise<ItemPage>
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
    parse (search, representation) {
      const { rest, ...asked } = splitFeedback(search, representation)
      return { ...parseOne(grammar, rest, representation), ...asked }
    },
    async load (loading) {
      const { request, caller, reader, intent, query, representation } = loading
      const id = intent.id as Id
      const item = await reader.get(id)
      if (item !== undefined) {
        const expand = await makeExpand(family, caller, query.expand, item)
        const [expanded] = await expand?.([item]) ?? []
        const loadPage = async () => await loadItemPage(family, loading, item)
        return { item, expanded, page: representation.interactive === true ? await loadPage() : undefined, loadPage }
      }
      if (representation.interactive !== true || !family.writable || !await reader.hasLog(id)) return undefined
      throw notFound(family.singular, id, { log: `${mount.urls.item(request, id)}/commands` })
    },
    represent (exchange, { fields, refused, question }, { item, expanded, page, loadPage }) {
      const view: OneView = {
        kind: 'one',
        name: family.singular,
        document: chooseMembers(exchange, fields, item, expanded),
        affordances: async () => question === undefined
          ? await affordItem(exchange, item, page ?? await loadPage())
          : affordConfirmation(exchange, item, question)
      }
      if (question !== undefined) return send(exchange, view)
      if (refused === undefined) {
        const also = page?.entries.find(isRefused)?.id
        return sendOne(exchange, item, view, { also, isExpanded: expanded !== undefined })
      }
      exchange.reply.code(refused.problem.statusCode).headers(refused.problem.headers)
      return send(exchange, view)
    },
    miss: (name, refusal) => addHint(notFound(family.singular, name), refusal)
  }
}

async function loadItemPage (
  family: Family,
  { reader, reply, query: { command, refused } }: Loading<ItemQuery>,
  item: Stored
): Promise<ItemPage> {
  const { principal, offers } = reader
  if (!family.writable) return { entries: [], principal, offers, refused }
  const [entries, told] = await Promise.all([
    findNewest(reader, item),
    command === undefined ? undefined : reader.getFromLog(item.id, command)
  ])
  // However much of it is cut, until the page is made it is there.
  holdAnswer(reply, measureAll(entries))
  return { entries, principal, offers, refused, feedback: told && makeFeedback(family, told) }
}

function isRefused ({ outcome }: CommandRecord): boolean {
  return outcome === 'refused'
}

// To a person, the page itself leads on, but for what the item refers to.
function chooseMembers (
  { mount, request, choice }: Exchange,
  fields: ItemQuery['fields'],
  item: Stored,
  expanded: Members | undefined
): Members {
  const isForPeople = choice.representation.interactive === true
  if (fields === undefined && !isForPeople) return showItem(mount, request, item, expanded)
  const members = makePicker(fields ?? mount.family.members)(expanded ?? item)
  const links = isForPeople ? linkReferred(mount, request, item) : {}
  return Object.keys(links).length === 0 ? members : { ...members, links }
}

const unknown = { revision: 0 }

/** What an answer shows of which the revision knows nothing. */
interface Sharing {
  /** Whether it depends on who asks. */
  readonly isPersonal?: boolean
  /** What is not in the resource. */
  readonly also?: string | undefined
  /** Whether other items stand in it, so that only its content tells whether it is another. */
  readonly isExpanded?: boolean
}

/** Answers with one resource, or with what the request's conditions ask for in its place. */
export function sendOne (
  exchange: Exchange,
  item: Stored,
  view: OneView | PageView,
  { isPersonal = exchange.choice.representation.interactive === true, also, isExpanded = false }: Sharing = {}
): FastifyReply | Promise<FastifyReply> {
  const { mount: { isGuarded }, request, reply, choice } = exchange
  const etag = makeEtag(isExpanded ? unknown : item, view.document, choice.representation, also)
  const updatedAt = isExpanded ? undefined : item.updatedAt
  const verdict = judgeRead(request.headers, { etag, updatedAt })
  if (verdict === 'failed') {
    throw preconditionFailed(view.name, item.revision, explainTags(request.headers, item.revision))
  }
  if (isPersonal && (isGuarded || isExpanded)) return send(exchange, view)
  reply.header('etag', etag)
  if (updatedAt !== undefined) reply.header('last-modified', writeHttpDate(updatedAt))
  if (verdict === 'go') return send(exchange, view)
  return setCaching(reply.code(304).header('vary', 'Accept')).send()
}

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
        schema: describeReadItem(mount),
        headers: validatorHeaders
      }),
      304: notModified,
      ...describeProblems(mount, 'invalid-query', 'not-found', 'not-acceptable', 'precondition-failed')
    }
  })
}
