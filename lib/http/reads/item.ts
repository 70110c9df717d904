import type { Family } from '../../core/family/family.js'
import { notFound } from '../../core/problems.js'
import { intendToRead } from '../../core/service/caller.js'
import type { Id, Stored } from '../../core/storage/storage.js'
import { makePicker, type Members } from '../../core/values/json.js'
import type { OneView } from '../../representations/representation.js'
import { type Exchange, linkReferred, type Mount, showItem } from '../mount.js'
import { describeResource } from '../openapi/answers.js'
import { describeQuerystring, describeRequestHeaders, readConditions } from '../openapi/parameters.js'
import { describeItemRoute } from '../openapi/route.js'
import { describeReadItem } from '../openapi/schemas.js'
import type { RefusedForm } from '../pages/form-fields.js'
import { affordConfirmation, affordItem, type ItemPage, type Question } from '../pages/item-affordances.js'
import { findNewest, makeFeedback } from '../pages/log-entries.js'
import { send, sendOne } from '../reply.js'
import type { Endpoint } from '../routes.js'
import { makeExpand } from './expand.js'
import { type Loading, type OneQuery, parseOne, type Read, readEndpoints, splitFeedback } from './read.js'

interface ItemQuery extends OneQuery {
  /** The command whose outcome the page shows. */
  readonly command?: string | undefined
  readonly refused?: RefusedForm
  /** Shown instead of the item. */
  readonly question?: Question
}

/** `GET /customers/{id}`, also with a suffix of the id that names the representation. */
export function itemEndpoints (mount: Mount): Endpoint[] {
  const { home, family: { singular } } = mount
  return readEndpoints(itemRead(mount), `${home}/:id`, describeItemRoute(mount, 'items', `read-${singular}`, {
    summary: `Read one ${singular}`,
    description: 'With its validators: a client that has the current representation gets 304.',
    querystring: describeQuerystring(mount, 'items', 'one'),
    headers: describeRequestHeaders(...readConditions),
    response: describeResource(mount, 'one', `The ${singular}`, describeReadItem(mount))
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
      if (representation.interactive !== true) return parseOne(grammar, search, representation)
      const { rest, command } = splitFeedback(search)
      return { ...parseOne(grammar, rest, representation), command }
    },
    async load (loading) {
      const { request, caller, reader, intent, query, representation: { interactive } } = loading
      const { fields, expand, refused, question } = query
      const id = intent.id as Id
      const item = await reader.get(id)
      if (item === undefined) {
        if (interactive !== true || !family.writable || !await reader.hasLog(id)) return undefined
        throw notFound(family.singular, id, { log: `${mount.urls.item(request, id)}/commands` })
      }
      const expandOne = expand && await makeExpand(family, caller, expand, item)
      const expanded = expandOne && (await expandOne([item]))[0]
      const page = interactive === true ? await loadItemPage(family, loading, item) : undefined
      return exchange => {
        const view: OneView = {
          kind: 'one',
          name: family.singular,
          document: chooseMembers(exchange, fields, item, expanded),
          affordances: async () => question === undefined
            ? await affordItem(exchange, item, reader, page ?? await loadItemPage(family, loading, item), refused)
            : affordConfirmation(exchange, item, question)
        }
        if (question !== undefined || refused !== undefined) return send(exchange, view)
        const also = page?.entries.find(({ outcome }) => outcome === 'refused')?.id
        return sendOne(exchange, item, view, { also, isExpanded: expanded !== undefined })
      }
    }
  }
}

async function loadItemPage (
  family: Family,
  { reader, query: { command } }: Loading<ItemQuery>,
  item: Stored
): Promise<ItemPage> {
  if (!family.writable) return { entries: [] }
  const [entries, told] = await Promise.all([
    findNewest(reader, item),
    command === undefined ? undefined : reader.getFromLog(item.id, command)
  ])
  return { entries, feedback: told && makeFeedback(family, told) }
}

// Pages have navigation, so they only get links to the items referred to.
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
