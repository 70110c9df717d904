import { invalidQuery } from '../core/problems.js'
import { makePageUrl, type PageLinks, type ParsedQuery, startParameters } from '../core/query/grammar.js'
import { splitQuery } from '../core/query/query-string.js'
import type { FollowedPage } from '../core/service/bounded.js'
import { intendToList } from '../core/service/caller.js'
import type { Reader } from '../core/service/reader.js'
import { readTarget } from '../core/service/record.js'
import { shorten } from '../core/values/words.js'
import { type Field, type Id, Problem } from '../exports.js'
import type { Exchange, Mount } from '../http/mount.js'
import { listItems, narrow, refuseCount } from '../http/reads/collection.js'
import { loadView } from '../http/reads/page.js'
import { authorizeRead } from '../http/reads/read.js'
import type { PageAffordances } from './affordances.js'
import { endFeedback, readFeedback } from './feedback.js'
import type { RefusedForm } from './form-fields.js'
import { linkList } from './links.js'
import { makeFeedback } from './log-entries.js'
import { readSelection, type Selection, showSelection } from './many.js'
import { makeCollectionAffordances, makeRowAffordances } from './page-affordances.js'
import { finding, lookUpAll } from './references.js'
import { parseSent, readSent } from './sent.js'
import { redirectTo, sendView } from './views.js'

interface ListQuery {
  readonly parsed: ParsedQuery
  readonly refused?: RefusedForm | undefined
  /** Items to find by a part of their titles, by the fields that refer to them. */
  readonly wanted?: readonly (readonly [field: string, text: string])[]
  /** If the query has amounts as a person typed them, the query for every language. */
  readonly common?: string | undefined
  /** Shown instead of the list. */
  readonly selection?: Selection | undefined
}

/** Pages show the newest first, if ids grow with time; the links of the page keep this order. */
function findOrder ({ family: { lifecycle, order }, makers }: Mount): string | undefined {
  const isGrowing = lifecycle !== undefined && !lifecycle.takesId && makers.makeId === undefined
  return isGrowing && order.length === 0 ? '-id' : undefined
}

function parseList (mount: Mount, whole: string): ListQuery {
  const { grammar } = mount
  const { rest, wanted } = splitWanted(whole)
  const parse = (search: string) => parseSent(grammar, search, findOrder(mount))
  const selection = readSelection(rest)
  if (selection !== undefined) return { parsed: parse(''), selection }
  try {
    const { sent, isTyped } = readSent(grammar, rest)
    return { parsed: parse(rest), wanted, common: isTyped ? sent : undefined }
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    const entered = new Map(new URLSearchParams(rest))
    // An invalid query is explained on the page without filters.
    const refused = { action: undefined, entered, language: entered.get('_language'), problem: error }
    return { parsed: parse(''), refused }
  }
}

/** The page of a list. */
export async function sendListPage (
  exchange: Exchange,
  search: string,
  also: Partial<ListQuery> = {}
): Promise<boolean> {
  const { mount, request, reply, choice: { representation } } = exchange
  const { family, urls } = mount
  const read = { mount, intend: () => intendToList(family), parse: (search: string) => parseList(mount, search) }
  const loading = await authorizeRead(read, request, '', search, representation)
  if (loading === undefined) return false
  const query = { ...loading.query, ...also }
  const { parsed, refused, selection, wanted = [], common } = query
  if (selection !== undefined) return await showSelection(exchange, loading.reader, selection)
  if (wanted.length > 0) return await redirectToFound(exchange, parsed, wanted)
  // So that the address can be sent to readers of other languages.
  if (common !== undefined && ['GET', 'HEAD'].includes(request.method)) {
    const url = `${urls.self(request)}${common === '' ? '' : `?${common}`}`
    return redirectTo(exchange, url)
  }
  const { view, page, links } = await loadView(exchange, await listItems(mount, loading, parsed))
  if (refused?.problem !== undefined) {
    const { statusCode, headers } = refused.problem
    reply.code(statusCode).headers(headers)
  }
  const { reader } = loading
  const affordances = async () => await makeListAffordances(exchange, reader, query, { ...page, links })
  return await sendView(exchange, { ...view, affordances })
}

async function makeListAffordances (
  exchange: Exchange,
  reader: Reader,
  { parsed, refused }: ListQuery,
  { items, total, links }: FollowedPage & { readonly links: PageLinks }
): Promise<PageAffordances> {
  const { mount, mount: { family, urls }, request, reply } = exchange
  const command = refused === undefined ? readFeedback(request) : undefined
  const record = command === undefined ? undefined : await reader.getOwnCommand(command)
  const feedback = record && makeFeedback(family, record)
  if (feedback !== undefined) endFeedback(reply, urls.collection(request))
  // A grant's conditions cannot be checked for a deleted item, so its log is not shown under them.
  const hasLog = feedback?.name === 'delete' && !reader.isNarrowed
  const log = record && hasLog ? `${urls.item(request, readTarget(family, record))}/commands` : undefined
  const whole = makePageUrl('', parsed, ['format']).slice(1)
  const shown = { items, total, reader, links, from: whole === `sort=${findOrder(mount)}` ? '' : whole }
  return await makeCollectionAffordances(exchange, parsed, shown, refused, feedback && { ...feedback, log })
}

/** A filter by a part of a title becomes one by the ids of the items that fit. */
async function redirectToFound (
  exchange: Exchange,
  parsed: ParsedQuery,
  wanted: readonly (readonly [field: string, text: string])[]
): Promise<true> {
  const { mount, request } = exchange
  const fields = wanted.map(([field]) => field)
  const found = await Promise.all(wanted.map(async ([field, text]) => {
    const family = mount.family.references.get(field)
    const ids = family === undefined ? [] : await lookUpAll({ mount, request }, family, text)
    return ids.map(id => `${field}=${encodeURIComponent(id)}`)
  }))
  const missing = wanted.find((_, index) => found[index]?.length === 0)
  if (missing !== undefined) {
    throw invalidQuery([{ parameter: missing[0], detail: `has no match for "${shorten(missing[1])}"` }])
  }
  const list = mount.urls.collection(request)
  const url = makePageUrl(list, parsed, [...fields, ...startParameters], found.flat().join('&'))
  return redirectTo(exchange, url)
}

function splitWanted (search: string): Required<Pick<ListQuery, 'wanted'>> & { readonly rest: string } {
  if (!search.includes(finding)) return { rest: search, wanted: [] }
  const parts = splitQuery(search)
  const wanted = parts.filter(part => part.name !== undefined && part.name.startsWith(finding))
  return {
    rest: parts.filter(part => !wanted.includes(part)).map(({ raw }) => raw).join('&'),
    wanted: wanted.flatMap(part => part.name === undefined || part.value === ''
      ? []
      : [[part.name.slice(finding.length), part.value] as const])
  }
}

/** The list of a named query; undefined if it is empty. */
export async function sendQueryPage (
  exchange: Exchange,
  name: string,
  value: string,
  search: string
): Promise<boolean> {
  const { mount, mount: { family, grammar, urls }, request, choice: { representation } } = exchange
  const field = family.fields.find(field => field.name === name) as Field
  const loading = await authorizeRead({
    mount,
    intend: () => intendToList(family, { [name]: value }),
    parse: search => refuseCount(parseSent(grammar, search))
  }, request, value, search, representation)
  if (loading === undefined) return false
  const parsed = await narrow(loading, field)
  if (parsed === undefined) return false
  const { view, page: { items }, links } = await loadView(exchange, await listItems(mount, loading, parsed, true))
  const affordances = async () => await makeRowAffordances(exchange, loading.query, {
    grammar,
    columns: family.presentation.list,
    title: family.presentation.title,
    isCountable: false,
    links,
    trail: [linkList(mount, request)],
    address: index => urls.item(request, items[index]?.id as Id),
    identify: index => ({ id: String(items[index]?.id), revision: items[index]?.revision as number })
  })
  return await sendView(exchange, { ...view, affordances })
}
