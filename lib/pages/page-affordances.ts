import { filterGranted, listTargets, mayOffer } from '../core/book/offers.js'
import { findFilter } from '../core/query/filters.js'
import { type Grammar, makePageUrl, type ParsedQuery, startParameters } from '../core/query/grammar.js'
import { operators } from '../core/query/operators.js'
import { splitQuery } from '../core/query/query-string.js'
import type { Reader } from '../core/service/reader.js'
import { canShow, type Condition, type Count, type Found, type Id, matcher } from '../exports.js'
import type { Exchange } from '../http/mount.js'
import { countUpTo } from '../http/reads/home.js'
import type {
  ActiveFilter, Feedback, FormAffordance, ManyAffordance, PageAffordances
} from './affordances.js'
import {
  explainRefusal, isText, makeFilterFields, makeForm, makeSampleRequest, type RefusedForm
} from './form-fields.js'
import { listStateFields, showState } from './item-affordances.js'
import { checkFrom, findSite, linkItemFrom, linkOthers } from './links.js'
import { listKinds, showKind } from './log-entries.js'
import { findReferenceFields, findReferred } from './references.js'

type RowLinks = Pick<PageAffordances, 'columns' | 'title' | 'timeline' | 'isCountable' | 'address' | 'identify'> &
  Partial<PageAffordances> & {
    readonly grammar: Grammar
    readonly links: Pick<PageAffordances, 'prev' | 'next'>
  }

type FoundPage = Pick<Found, 'items'> & Pick<RowLinks, 'links'>

interface FoundItems extends FoundPage {
  readonly total: number | undefined
  readonly reader: Reader
  /** The query of the list, to return to; empty if it is that of the plain address. */
  readonly from: string
}

/** The maximum of items to count for a page. */
const counted = 10_000

/** The maximum to count in each state. */
const countedInState = 1000

export async function makeCollectionAffordances (
  exchange: Exchange,
  parsed: ParsedQuery,
  { items, links, reader, total, from }: FoundItems,
  refused?: RefusedForm,
  feedback?: Feedback
): Promise<PageAffordances> {
  const { mount, request } = exchange
  const { family, grammar, urls } = mount
  const { title, list, labels } = family.presentation
  const columns = parsed.fields ?? list
  const hasState = family.state !== undefined || family.presentation.states.size > 0
  const shownByState = listStateFields(family)
  const page = { items, links }
  const checked = checkFrom(mount, from)
  const [rows, refer, states, found, create, many, hasActivity] = await Promise.all([
    makeRowAffordances(exchange, parsed, {
      grammar,
      columns: hasState ? list.filter(column => !shownByState.includes(column)) : list,
      members: family.members,
      title,
      labels,
      links,
      isCountable: true,
      address: index => linkItemFrom(mount, request, items[index]?.id as Id, checked),
      identify: index => ({ id: String(items[index]?.id), revision: items[index]?.revision as number })
    }, refused),
    findReferred(exchange, columns, items),
    listStates(exchange, parsed, reader, page),
    total === undefined ? countFound(reader, parsed, page) : { total },
    makeCreationForm(exchange, reader, refused, from),
    makeManyAffordance(exchange, reader, from),
    family.writable && (reader.grant.offers !== undefined || mayOffer(reader.called, 'read'))
  ])
  const { url, page: number = 1, pageSize } = rows
  const active = await nameFiltered(exchange, rows.active)
  const lastPage = found.total === undefined ? undefined : Math.ceil(found.total / pageSize)
  const { maxSkipped } = grammar.limits
  // By numbers, as far as pages are counted, so that people see their position.
  const isCounted = rows.page !== undefined && number * pageSize <= maxSkipped
  const numbered = (page: number) => url({ page: page === 1 ? undefined : String(page) })
  const exported = mount.representations.find(other => other.name === 'csv' && canShow(other, 'page'))
  return {
    ...rows,
    ...states,
    feedback,
    create,
    many,
    found,
    search: grammar.search.length === 0 ? undefined : parsed.search ?? '',
    recent: family.writable ? 'createdAt' : undefined,
    from: rows.page === undefined ? undefined : (number - 1) * pageSize + 1,
    prev: isCounted && links.prev !== undefined ? numbered(number - 1) : links.prev,
    next: isCounted && links.next !== undefined ? numbered(number + 1) : links.next,
    first: links.prev === undefined ? undefined : numbered(1),
    last: links.next === undefined || lastPage === undefined || (lastPage - 1) * pageSize > maxSkipped
      ? undefined
      : numbered(lastPage),
    exported: exported && rows.others.find(({ title }) => title === exported.name)?.href,
    activity: hasActivity ? `${urls.collection(request)}/commands` : undefined,
    active,
    refer: (index, member) => refer(items[index] ?? {}, member),
    stateOf: hasState
      ? index => {
        const item = items[index]
        return item && showState(family, item)
      }
      : undefined
  }
}

async function makeCreationForm (
  exchange: Exchange,
  { called, grant }: Reader,
  refused: RefusedForm | undefined,
  from: string
): Promise<FormAffordance | undefined> {
  const { mount, request } = exchange
  const { family: { lifecycle } } = mount
  if (lifecycle === undefined) return undefined
  const { params, createAction } = lifecycle
  if (!await mayOffer(called, createAction, grant)) return undefined
  const action = mount.urls.collection(request)
  const sample = makeSampleRequest(mount, { method: 'POST', href: action }, params)
  const form = { action, key: mount.makers.makeCommandId(), request: sample, from }
  return await makeForm(exchange, { ...lifecycle, operation: { name: 'create' } }, form, refused)
}

/** Adds the titles of the items that filters name. */
async function nameFiltered (exchange: Exchange, active: readonly ActiveFilter[]): Promise<ActiveFilter[]> {
  const { references } = exchange.mount.family
  const items = active.map(({ field, value }) => ({ [field]: references.get(field)?.readId(value) }))
  const refer = await findReferred(exchange, active.map(({ field }) => field), items)
  return active.map((filter, index) => ({ ...filter, referred: refer(items[index] ?? {}, filter.field) }))
}

/** The states, each with the number of items in the list that it links to: those that all other filters find. */
async function listStates (
  { mount, request }: Exchange,
  parsed: ParsedQuery,
  reader: Reader,
  { items, links }: FoundPage
): Promise<Pick<PageAffordances, 'states' | 'everyState'>> {
  const { family: { presentation }, urls, grammar } = mount
  const self = urls.collection(request)
  const known = Array.from(presentation.states).map(([state, { tone, where = [], filter = '' }]) => {
    // If the family has a field of this name, the parameter means that field.
    const asked = grammar.states.includes(state) ? `state=${encodeURIComponent(state)}` : filter
    return { state, tone, where, asked, parts: splitQuery(asked) }
  }).filter(({ where }) => where.length > 0)
  const replaced = [...startParameters, ...known.flatMap(({ parts }) => parts.map(({ name = '' }) => name))]
  const link = (added?: string) => makePageUrl(self, parsed, replaced, added)
  const isReplaced = parsed.parameters.some(({ name }) => replaced.includes(name))
  const isWhole = !isReplaced && links.next === undefined && links.prev === undefined
  const count = async (where: readonly Condition[], href: string): Promise<Count> => {
    // A search may take long, so that it is not repeated for each state if the page has all it found.
    if (isWhole) return { total: items.filter(matcher(where)).length }
    const listed = grammar.parse(href.slice(self.length + 1))
    return await countUpTo(reader, 'flaws' in listed ? where : listed.query.where, countedInState)
  }
  const states = await Promise.all(known.map(async ({ state, tone, where, asked, parts }) => ({
    state,
    tone,
    href: link(asked),
    isCurrent: parts.every(part =>
      parsed.parameters.some(({ name, value }) => name === part.name && value === part.value)),
    ...await count(where, link(asked))
  })))
  return { states, everyState: link() }
}

/** A page that is not full shows the total. */
async function countFound (
  reader: Reader,
  { query: { where, limit, offset }, start }: ParsedQuery,
  { items, links }: FoundPage
): Promise<Count> {
  if (start === undefined && links.next === undefined && (items.length > 0 || offset === 0)) {
    return { total: offset + Math.min(items.length, limit) }
  }
  return await countUpTo(reader, where as readonly Condition[], counted)
}

/** Operations for the selected rows are sent to the collection. */
async function makeManyAffordance (
  exchange: Exchange,
  { called, grant }: Reader,
  from: string
): Promise<ManyAffordance | undefined> {
  const { mount: { family, forms, urls }, request } = exchange
  if (family.lifecycle === undefined || !forms.has('noun')) return undefined
  const granted = await filterGranted(called, grant, listTargets(family).filter(({ params }) => !params.isPartial))
  const operations = granted.map(({ operation: { name } }) => ({ name, singular: family.singular }))
  return operations.length === 0 ? undefined : { action: urls.collection(request), from, operations }
}

export async function makeRowAffordances (
  exchange: Exchange,
  parsed: ParsedQuery,
  { grammar, columns, links: { prev, next }, trail = [], filters: given, ...rows }: RowLinks,
  refused?: RefusedForm
): Promise<PageAffordances> {
  const { mount, request, suffix } = exchange
  const { parameters, page, start, 'time-zone': zone, query: { limit }, list: { fields } } = parsed
  const { pageSize, maxPageSize } = grammar.limits
  const self = mount.urls.self(request).replace(/\/$/, '')
  // A path suffix would override `format`.
  const plain = suffix === undefined ? self : self.slice(0, -suffix.length - 1)
  const isSearch = refused !== undefined && refused.action === undefined
  const entered = new Map(parameters.map(({ name, value }) => [name, value]))
  const isOwn = grammar === mount.grammar
  const references = isOwn ? await findReferenceFields(exchange, mount.family.references, fields) : new Map()
  const filters = given ?? makeFilterFields(fields, isSearch ? refused : { entered }, references)
  const replaced = [...startParameters, 'gt', 'lt', 'search', 'sort', ...filters.map(({ name }) => name)]
  return {
    site: await findSite(exchange),
    now: mount.makers.clock().getTime(),
    kinds: listKinds(isOwn ? mount.family : { fields }),
    columns: parsed.fields ?? columns,
    members: [],
    states: [],
    found: {},
    zone,
    trail,
    others: linkOthers(mount, 'page', ({ name, rows }) =>
      makePageUrl(plain, parsed, rows === undefined ? ['format'] : notExported, `format=${name}`)),
    page: start === undefined ? page : undefined,
    prev,
    next,
    pageSize: limit,
    pageSizes: [...new Set([...usualSizes, pageSize, limit])].filter(size => size <= maxPageSize).sort((a, b) => a - b),
    filters,
    ...listActiveFilters(grammar, parsed, self),
    // Filters in other spellings stay: the address shows them.
    kept: parameters.filter(({ name }) => !replaced.includes(name)).map(({ name, value }) => [name, value] as const),
    given: parameters.filter(({ name }) => name !== 'fields' && !startParameters.includes(name))
      .map(({ name, value }) => [name, value] as const),
    sortable: fields.filter(isText).map(({ name }) => name),
    sort: entered.get('sort'),
    // Pages are counted from the first, not from a cursor.
    url (changes) {
      const set = Object.entries(changes).flatMap(([name, value]) =>
        value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`])
      const added = set.length === 0 ? undefined : set.join('&')
      return makePageUrl(self, parsed, [...Object.keys(changes), 'after', 'before'], added)
    },
    refused: refused && explainRefusal(mount.family, refused, true),
    ...rows
  }
}

// An export has all rows.
const notExported = [...startParameters, 'format', 'maxpagesize']

const usualSizes = [20, 50, 100, 200]

function listActiveFilters ({ filters }: Grammar, { parameters, state, search }: ParsedQuery, path: string) {
  const isActive = (index: number) => {
    const name = parameters[index]?.name
    return (name === 'state' && state !== undefined) || (name === 'search' && search !== undefined)
  }
  const uses = parameters.map(parameter => findFilter(filters, parameter))
  const without = (isDropped: (index: number) => boolean): string =>
    makePageUrl(path, { parameters: parameters.filter((_, index) => !isDropped(index)) }, startParameters)
  const active = parameters.flatMap((parameter, index): ActiveFilter[] => {
    const href = without(other => other === index)
    const use = uses[index]
    if (use === undefined) {
      if (!isActive(index)) return []
      const { name: field, value } = parameter
      const [kind, op] = field === 'state' ? ['choice', 'eq'] as const : ['string', 'has'] as const
      return [{ field, kind, op, isValue: field === 'state', value, isAlternative: false, href }]
    }
    const { filter: { field, op }, text, group } = use
    const kind = showKind({}, field)
    const isValue = operators[op].operand.kind === 'value'
    return [{ field: field.name, kind, op, isValue, value: text, isAlternative: group !== undefined, href }]
  })
  const clear = active.length === 0 ? undefined : without(index => uses[index] !== undefined || isActive(index))
  return { active, clear }
}
