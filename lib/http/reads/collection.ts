import { Type } from '@sinclair/typebox'
import { listOperators } from '../../core/book/describe.js'
import { addTitleColumns, makeExpand } from '../../core/book/expand.js'
import { invalidQuery, Problem } from '../../core/problems.js'
import { makePageUrl, type ParsedQuery, startParameters } from '../../core/query/grammar.js'
import { operators } from '../../core/query/operators.js'
import { splitQuery } from '../../core/query/query-string.js'
import { describeValue, readOperand, readValue } from '../../core/query/values.js'
import { intendToList } from '../../core/service/caller.js'
import { readTarget } from '../../core/service/record.js'
import { selectById } from '../../core/storage/pages.js'
import type { Field, Id } from '../../core/storage/storage.js'
import { shorten } from '../../core/values/words.js'
import type { Mount } from '../mount.js'
import { describeListProblems } from '../openapi/problems.js'
import {
  describeAnswer, describePage, describeQuerystring, describeRoute, describeSharedRoute,
  describeShortly
} from '../openapi/routes.js'
import { describeListedItem, nameItem } from '../openapi/schemas.js'
import type { RefusedForm } from '../pages/form-fields.js'
import { makeFeedback } from '../pages/log-entries.js'
import { readSelection, type Selection, showSelection } from '../pages/many.js'
import { linkList } from '../pages/offers.js'
import { makeCollectionAffordances, makeRowAffordances } from '../pages/page-affordances.js'
import { finding, lookUpAll } from '../pages/references.js'
import type { Endpoint } from '../routes.js'
import { findDownload, type Listing, loadPage } from './page.js'
import {
  type Answer, endFeedback, type Loading, parsePageQuery, type Read, readEndpoints, readFeedback, readSent
} from './read.js'

interface CollectionQuery {
  readonly parsed: ParsedQuery
  readonly refused?: RefusedForm | undefined
  /** Items to find by a part of their titles, by the fields that refer to them. */
  readonly wanted?: readonly (readonly [field: string, text: string])[]
  /** If the query has amounts as a person typed them, the query for every language. */
  readonly common?: string | undefined
  /** Shown instead of the list. */
  readonly selection?: Selection | undefined
}

/** `GET /customers`, also with a path suffix that names the representation. */
export function collectionEndpoints (mount: Mount): Endpoint[] {
  const { home, family: { name, members: [first] } } = mount
  const suffixes = listOperators(mount.grammar).map(operator => `.${operator}`).join(', ')
  return readEndpoints(collectionRead(mount), home, describeRoute(mount, 'items', `list-${name}`, {
    summary: `List ${name}`,
    description: 'Items match all filters, and any value of a repeated one. ' +
      `Fields also have ${suffixes}, or are compared as in ${first}>=1.`,
    querystring: describeQuerystring(mount, 'page'),
    response: {
      200: describePage(mount, `${nameItem(mount)}Page`, `A page of ${name}`, describeListedItem(mount)),
      ...describeListProblems(mount)
    }
  }))
}

export function collectionRead (mount: Mount): Read<CollectionQuery> {
  const { family, family: { lifecycle }, grammar, urls } = mount
  const intent = intendToList(family)
  // Pages show the newest first, if ids grow with time; the links of the page keep this order.
  const isGrowing = lifecycle !== undefined && !lifecycle.takesId && mount.makers.makeId === undefined
  const order = isGrowing && family.order.length === 0 ? '-id' : undefined
  return {
    mount,
    kind: 'page',
    noun: 'list',
    intend: () => intent,
    parse (whole, representation) {
      if (representation.interactive !== true) return { parsed: parsePageQuery(grammar, whole, representation) }
      const { rest, wanted } = splitWanted(whole)
      const parse = (search: string) => parsePageQuery(grammar, search, representation, order)
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
    },
    async load (loading) {
      const { reader, request, query: { parsed, refused, selection, wanted = [], common } } = loading
      if (selection !== undefined) return exchange => showSelection(exchange, reader, selection)
      if (wanted.length > 0) return await redirectToFound(loading, wanted)
      // So that the address can be sent to readers of other languages.
      if (common !== undefined && ['GET', 'HEAD'].includes(request.method)) {
        const url = `${urls.self(request)}${common === '' ? '' : `?${common}`}`
        return ({ reply }) => reply.code(303).header('location', url).send()
      }
      const answer = await loadItems(mount, loading, parsed, false, async (exchange, { items, total }, links) => {
        const command = refused === undefined ? readFeedback(request) : undefined
        const record = command === undefined ? undefined : await reader.getOwnCommand(command)
        const feedback = record && makeFeedback(family, record)
        if (feedback !== undefined) endFeedback(exchange.reply, urls.collection(request))
        // A grant's conditions cannot be checked for a deleted item, so its log is not shown under them.
        const hasLog = feedback?.name === 'delete' && !reader.isNarrowed
        const log = record && hasLog ? `${urls.item(request, readTarget(family, record))}/commands` : undefined
        const whole = makePageUrl('', parsed, ['format']).slice(1)
        const shown = { items, total, reader, links, from: whole === `sort=${order}` ? '' : whole }
        return await makeCollectionAffordances(exchange, parsed, shown, refused, feedback && { ...feedback, log })
      })
      if (refused?.problem === undefined) return answer
      const { statusCode, headers } = refused.problem
      return exchange => {
        exchange.reply.code(statusCode).headers(headers)
        return answer(exchange)
      }
    }
  }
}

/** A filter by a part of a title becomes one by the ids of the items that fit. */
async function redirectToFound (
  { request, query: { parsed } }: Loading<CollectionQuery>,
  wanted: readonly (readonly [field: string, text: string])[]
): Promise<Answer> {
  return async ({ mount, reply }) => {
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
    return reply.code(303).header('location', url).send()
  }
}

function splitWanted (search: string): Required<Pick<CollectionQuery, 'wanted'>> & { readonly rest: string } {
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

async function loadItems (
  mount: Mount,
  { request, caller, reader, representation }: Loading<unknown>,
  parsed: ParsedQuery,
  isBare: boolean,
  afford: Listing['afford']
): Promise<Answer> {
  const { family, family: { name, singular, members: all, references } } = mount
  const { expand, fields = all } = parsed
  const download = findDownload(request, representation)
  const columns = download === undefined ? undefined : addTitleColumns(family, fields)
  return await loadPage({
    mount,
    parsed,
    name,
    singular,
    members: columns ?? fields,
    isBare,
    reader,
    hasLongItems: family.hasLongItems || expand?.some(field => references.get(field)?.hasLongItems) === true,
    expand: (expand ?? columns) && await makeExpand(family, caller, expand ?? [], { columns }),
    download,
    find: query => reader.find(query),
    findText: query => reader.findText?.(query, fields),
    afford
  }, representation)
}

/** `GET /query/{result_name}/{parameter}` for every named query: a list, 404 when it is empty. */
export function queryEndpoints (mount: Mount): Endpoint[] {
  const { family } = mount
  return [...family.queries].flatMap(([name, query]) => {
    const list = Type.Array(describeListedItem(mount))
    const field = family.fields.find(({ name }) => name === query.field) as Field
    const schema = describeShortly(mount, describeSharedRoute(mount, 'other forms', `query-${name}`, {
      summary: `List ${family.name} by ${field.name}`,
      description: 'An array of items. 404 if there are none.',
      path: { parameter: describeValue(field) },
      querystring: describeQuerystring(mount, 'bare'),
      response: { 200: describeAnswer(mount, 'page', `The ${family.name}`, list) }
    }))
    return readEndpoints(queryRead(mount, field), `/query/${name}/:parameter`, schema)
      .map(endpoint => ({ ...endpoint, sharedBy: 'versions' as const }))
  })
}

function queryRead (mount: Mount, field: Field): Read<ParsedQuery> {
  const { family, grammar, urls } = mount
  return {
    mount,
    kind: 'page',
    noun: 'list',
    parameter: 'parameter',
    intend: (_request, name) => intendToList(family, { [field.name]: name }),
    parse (search, representation) {
      const parsed = parsePageQuery(grammar, search, representation)
      if (parsed.query.count) throw invalidQuery([{ parameter: 'count', detail: 'count is not available here' }])
      return parsed
    },
    async load (loading) {
      const { reader, name, query: parsed } = loading
      const read = readOperand(field, name, parsed['time-zone'])
      if ('expected' in read) return undefined
      const where = operators.eq.lower(field, [read.value]).flat()
      // The list exists if it has any item, regardless of further filters and of the page.
      const { items: [one] } = await reader.find(selectById(where, 1))
      if (one === undefined) return undefined
      const narrowed = { ...parsed, query: { ...parsed.query, where: [...where, ...parsed.query.where] } }
      return await loadItems(mount, loading, narrowed, true, (exchange, { items }, links) =>
        makeRowAffordances(exchange, parsed, {
          grammar,
          columns: family.presentation.list,
          title: family.presentation.title,
          isCountable: false,
          links,
          trail: [linkList(mount, exchange.request)],
          address: index => urls.item(exchange.request, items[index]?.id as Id),
          identify: index => ({ id: String(items[index]?.id), revision: items[index]?.revision as number })
        }))
    },
    // A value that does not fit the field is an invalid query; for any other value, the list does not exist.
    explainMissing (name, hint) {
      const read = readValue(field, name)
      const start = name.replace(/\.(?!\d)[^.]*$/, '')
      const isSuffixed = 'value' in readValue(field, start)
      if (hint !== undefined && 'expected' in read && isSuffixed) return hint
      if (field.name !== 'id' && 'expected' in read && !isSuffixed) {
        return invalidQuery([{ parameter: field.name, detail: `${field.name} ${read.expected}` }])
      }
      const value = shorten('expected' in read && isSuffixed ? start : name)
      return new Problem('empty-list', `There are no ${family.name} whose ${field.name} is "${value}"`)
    }
  }
}
