import { notFound, Problem } from '../../core/problems.js'
import type { ParsedQuery } from '../../core/query/grammar.js'
import { splitQuery } from '../../core/query/query-string.js'
import type { Reader } from '../../core/service/reader.js'
import { readTarget } from '../../core/service/record.js'
import { makePicker } from '../../core/values/json.js'
import type { Feedback } from '../../representations/item-view.js'
import type { Representation } from '../../representations/representation.js'
import type { Exchange, Mount } from '../mount.js'
import { describePage, describeProblems } from '../openapi/answers.js'
import { describePaging, listItems } from '../openapi/parameters.js'
import { describeRoute } from '../openapi/route.js'
import { describeListedItem, nameItem } from '../openapi/schemas.js'
import type { RefusedForm } from '../pages/form-fields.js'
import { makeFeedback } from '../pages/log-entries.js'
import { affordCollection } from '../pages/page-affordances.js'
import type { Endpoint } from '../routes.js'
import { hasLongItems, makeExpand } from './expand.js'
import { splitFeedback } from './feedback.js'
import { makePageLinks } from './listing.js'
import type { LoadedPage } from './page.js'
import { loadPage, sendPage } from './page.js'
import type { Loading, Read } from './read.js'
import { parsePageQuery, readHandler } from './read.js'

/** The query of a page, and the form that the page is shown around where it was refused. */
interface CollectionQuery {
  readonly parsed: ParsedQuery
  readonly refused?: RefusedForm
  /** The command that a page is to tell of. */
  readonly command?: string
}

/** `GET /customers`, also with a path suffix that names the representation. */
export function collectionEndpoints (mount: Mount): Endpoint[] {
  const { home } = mount
  const handler = readHandler(collectionRead(mount))
  return [
    { method: 'GET', path: home, schema: describeCollection(mount), handler },
    { method: 'GET', path: `${home}.:extension`, schema: { hide: true }, handler }
  ]
}

/** Reads a page of the family. */
export function collectionRead (mount: Mount): Read<CollectionQuery, LoadedPage> {
  const { family, grammar } = mount
  return {
    mount,
    kind: 'page',
    locate: request => ({ name: family.name, suffix: (request.params as { extension?: string }).extension }),
    intend: () => ({ family: family.name, action: 'list', id: undefined, params: {} }),
    parse (whole, representation) {
      const { rest: search, ...asked } = splitFeedback(whole, representation)
      try {
        const ordered = orderForPeople(mount, search, representation)
        return { parsed: parsePageQuery(grammar, ordered, representation), ...asked }
      } catch (error) {
        if (representation.interactive !== true || !(error instanceof Problem)) throw error
        // To a person: the page before anything was filtered, and what was wrong beside what was entered.
        const refused = { action: undefined, entered: new Map(new URLSearchParams(search)), problem: error }
        const first = orderForPeople(mount, '', representation)
        return { parsed: parsePageQuery(grammar, first, representation), refused }
      }
    },
    load: loading => loadCollection(mount, loading),
    represent (exchange, { parsed, refused }, loaded) {
      if (refused !== undefined) exchange.reply.code(refused.problem.statusCode).headers(refused.problem.headers)
      return sendPage(exchange, parsed, loaded)
    },
    miss: name => notFound('list', name)
  }
}

/** People are shown the newest first, where ids tell which that is; all links of the page then say so. */
function orderForPeople (
  { family: { lifecycle, order }, makers }: Mount,
  search: string,
  { interactive }: Representation
): string {
  const isByAge = lifecycle !== undefined && order.length === 0 && makers.makeId === undefined
  if (interactive !== true || !isByAge) return search
  const isOrdered = splitQuery(search).some(({ name }) => name !== undefined && ordering.includes(name))
  return isOrdered ? search : [search, 'sort=-id'].filter(part => part !== '').join('&')
}

// A place is one of its order.
const ordering = ['sort', 'after', 'before']

async function loadCollection (
  { family, emptyList, urls }: Mount,
  loading: Loading<CollectionQuery>
): Promise<LoadedPage> {
  const { caller, reader, query: { parsed, refused, command } } = loading
  const members = parsed.fields ?? family.members
  const { findText } = reader
  return await loadPage({
    name: family.name,
    singular: family.singular,
    members,
    emptyList,
    hasLongItems: hasLongItems(family, parsed.expand),
    expand: await makeExpand(family, caller, parsed.expand),
    find: query => reader.find(query),
    renewTime: () => { reader.renewTime() },
    findText: findText && (query => findText(query, members)),
    show: makePicker(members),
    afford: async (exchange, page) => await affordCollection(exchange, parsed, {
      items: page.items,
      offers: reader.offers,
      links: makePageLinks(urls.self(exchange.request), parsed, page)
    }, refused, command === undefined ? undefined : await tellOwn(exchange, reader, command))
  }, parsed, loading)
}

/** What became of a command that its reader gave, and where its log is if it left nothing else. */
async function tellOwn (exchange: Exchange, reader: Reader, command: string): Promise<Feedback | undefined> {
  const { mount: { family, urls }, request } = exchange
  const record = await reader.getOwnCommand(command)
  if (record === undefined) return undefined
  const feedback = makeFeedback(family, record)
  // No condition can judge the log of what is gone, so none of it is shown under one.
  const hasLog = feedback.name === 'delete' && !reader.isNarrowed
  return { ...feedback, log: hasLog ? `${urls.item(request, readTarget(family, record))}/commands` : undefined }
}

function describeCollection (mount: Mount): Endpoint['schema'] {
  const { family, emptyList } = mount
  const [first] = family.members
  const empty = emptyList === 'not-found' ? ['empty-list'] as const : []
  return describeRoute(mount, 'items', `list-${family.name}`, {
    summary: `Read a page of ${family.name}`,
    description: 'Different parameters must all hold; of a repeated parameter, any value. Besides the parameters ' +
      `listed, every ordered field can be compared as in ${first}>=1, ${first}<1.`,
    querystring: describePaging(mount, listItems(mount)),
    response: {
      200: describePage(mount, `${nameItem(mount)}Page`, `A page of ${family.name}`, describeListedItem(mount)),
      ...describeProblems(mount, 'invalid-query', ...empty, 'not-acceptable')
    }
  })
}
