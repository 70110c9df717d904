import {
  canShow, type Condition, type Count, findUsedFilters, type Id, type Listed, type ListQuery, makePageUrl, matcher,
  type Reading, readListQuery, splitQuery, startParameters, type Stored
} from '../exports.js'
import type {
  ActiveFilter, Feedback, FormAffordance, ManyAffordance, PageAffordances
} from './affordances.js'
import type { RefusedForm } from './fields.js'
import { isFilterable, makeFilterFields } from './filter-fields.js'
import { explainRefusal, makeForm, makeSampleRequest } from './form-fields.js'
import { labelsOf, listKinds, showKind } from './labels.js'
import { checkFrom, findSite, linkItemFrom, linkOthers } from './links.js'
import { isForMany, nameForTexts } from './log-entries.js'
import type { PageRequest } from './page-reads.js'
import { findReferenceFields, findReferredTitles } from './references.js'
import { listStateFields, showState } from './states.js'
import { listUrl, ownUrl } from './urls.js'
import { listRepresentations } from './views.js'

type RowLinks = Pick<PageAffordances, 'columns' | 'title' | 'timeline' | 'isCountable' | 'address' | 'identify'> &
  Partial<PageAffordances> & {
    readonly listed: Listed
    readonly links: Pick<PageAffordances, 'prev' | 'next'>
    readonly filtered?: ReturnType<typeof listActiveFilters>
  }

interface RowItems extends Pick<RowLinks, 'links'> {
  readonly items: readonly Stored[]
}

interface FoundItems extends RowItems {
  readonly total: number | undefined
  readonly reading: Reading
  /** The query of the list, to return to; empty if it is that of the plain address. */
  readonly from: string
}

/** The maximum of items to count for a page. */
const counted = 10_000

/** The maximum to count in each state. */
const countedInState = 1000

export async function makeCollectionAffordances (
  responding: PageRequest,
  parsed: ListQuery,
  shown: FoundItems,
  refused?: RefusedForm,
  feedback?: Feedback
): Promise<PageAffordances> {
  const { mount, mount: { model, maxSkipped }, request } = responding
  const { items, links, reading, total, from } = shown
  const columns = parsed.fields ?? model.list
  const filtered = listActiveFilters(responding, parsed, ownUrl(responding), 'items')
  const [rows, active, refer, states, found, create, many, hasActivity, deleted] = await Promise.all([
    makeRowAffordances(responding, parsed, { ...describeRows(responding, shown), filtered }, refused),
    nameFiltered(responding, filtered.active),
    findReferredTitles(responding, columns, items),
    countStates(responding, parsed, reading, shown),
    total === undefined ? countFound(reading, parsed, shown) : { total },
    makeCreationForm(responding, reading, refused, from),
    items.length > 0 ? makeManyAffordance(responding, reading, from) : undefined,
    model.isWritable && reading.mayOffer('read'),
    findDeletedPage(responding, reading)
  ])
  const exported = listRepresentations(mount).find(other => other.name === 'csv' && canShow(other, 'page'))
  return {
    ...rows,
    ...states,
    ...numberPages(rows, links, found, maxSkipped),
    feedback,
    create,
    many,
    found,
    search: model.search.length === 0 ? undefined : parsed.search ?? '',
    exported: exported && rows.others.find(({ title }) => title === exported.name)?.href,
    activity: hasActivity ? `${listUrl(mount, request)}/commands` : undefined,
    deleted: hasActivity ? deleted : undefined,
    active,
    refer: (index, member) => refer.of(items[index] ?? {}, member),
    inRows: refer.inRows
  }
}

/** What the rows of items have, whatever is asked for. */
function describeRows ({ mount, request }: PageRequest, { items, links, from }: FoundItems): RowLinks {
  const { title, list, members, hasStates, isWritable } = mount.model
  const shownByState = listStateFields(mount)
  const checked = checkFrom(mount, from)
  return {
    listed: 'items',
    columns: hasStates ? list.filter(column => !shownByState.includes(column)) : list,
    members,
    title,
    labels: labelsOf(mount),
    links,
    isCountable: true,
    recent: isWritable ? 'createdAt' : undefined,
    address: index => linkItemFrom(mount, request, items[index]?.id as Id, checked),
    identify: index => ({ id: String(items[index]?.id), revision: items[index]?.revision as number }),
    stateOf: hasStates
      ? index => {
        const item = items[index]
        return item && showState(mount, item)
      }
      : undefined
  }
}

/** What is deleted now, for callers who may restore it. */
async function findDeletedPage (
  { mount, mount: { model: { actions } }, request }: PageRequest, reading: Reading
): Promise<string | undefined> {
  const restore = actions.find(({ kind }) => kind === 'restore')
  if (restore === undefined || !await reading.mayOffer(restore.action)) return undefined
  return `${listUrl(mount, request)}/commands/deleted`
}

/** By numbers, as far as pages are counted, so that people see their position. */
function numberPages (
  { url, page, pageSize }: PageAffordances, { prev, next }: RowLinks['links'], { total }: Count, maxSkipped: number
): Pick<PageAffordances, 'from' | 'prev' | 'next' | 'first' | 'last'> {
  const number = page ?? 1
  const lastPage = total === undefined ? undefined : Math.ceil(total / pageSize)
  const isCounted = page !== undefined && number * pageSize <= maxSkipped
  const numbered = (page: number) => url({ page: page === 1 ? undefined : String(page) })
  return {
    from: page === undefined ? undefined : (number - 1) * pageSize + 1,
    prev: isCounted && prev !== undefined ? numbered(number - 1) : prev,
    next: isCounted && next !== undefined ? numbered(number + 1) : next,
    first: prev === undefined ? undefined : numbered(1),
    last: next === undefined || lastPage === undefined || (lastPage - 1) * pageSize > maxSkipped
      ? undefined
      : numbered(lastPage)
  }
}

async function makeCreationForm (
  responding: PageRequest,
  reading: Reading,
  refused: RefusedForm | undefined,
  from: string
): Promise<FormAffordance | undefined> {
  const { mount, mount: { model: { actions } }, request } = responding
  const creation = actions.find(({ kind }) => kind === 'create')
  if (creation === undefined || !await reading.mayOffer(creation.action)) return undefined
  const action = listUrl(mount, request)
  const sample = makeSampleRequest(mount, creation.action, { method: 'POST', href: action })
  const form = { action, key: mount.makeCommandId(), request: sample, from }
  return await makeForm(responding, creation.action, form, refused)
}

/** Adds the titles of the items that filters name. */
async function nameFiltered (responding: PageRequest, active: readonly ActiveFilter[]): Promise<ActiveFilter[]> {
  const { mount, mount: { model: { references } } } = responding
  const findThere = (field: string) =>
    Object.hasOwn(references, field) ? mount.beside(references[field] as string) : undefined
  const items = active.map(({ field, value }) => ({ [field]: findThere(field)?.readId(value) }))
  const refer = await findReferredTitles(responding, active.map(({ field }) => field), items)
  return active.map((filter, index) => ({ ...filter, referred: refer.of(items[index] ?? {}, filter.field) }))
}

/** The states, each with the number of items in the list that it links to: those that all other filters find. */
async function countStates (
  { mount, mount: { model }, request }: PageRequest,
  parsed: ListQuery,
  reading: Reading,
  { items, links }: RowItems
): Promise<Pick<PageAffordances, 'states' | 'everyState'>> {
  const self = listUrl(mount, request)
  const known = model.states.map(({ name: state, tone, where = [], filter = '' }) => {
    // If the family has a field of this name, the parameter means that field.
    const asked = model.stateNames.includes(state) ? `state=${encodeURIComponent(state)}` : filter
    return { state, tone, where, asked, parts: splitQuery(asked) }
  }).filter(({ where }) => where.length > 0)
  const replaced = [...startParameters, ...known.flatMap(({ parts }) => parts.map(({ name = '' }) => name))]
  const link = (added?: string) => makePageUrl(self, parsed, replaced, added)
  const isReplaced = parsed.parameters.some(({ name }) => replaced.includes(name))
  const isWhole = !isReplaced && links.next === undefined && links.prev === undefined
  const count = async (where: readonly Condition[], href: string): Promise<Count> => {
    // A search may take long, so that it is not repeated for each state if the page has all it found.
    if (isWhole) return { total: items.filter(matcher(where)).length }
    const listed = readListQuery(mount, href.slice(self.length + 1))
    return await reading.count('flaws' in listed ? where : listed.query.where, countedInState)
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
  reading: Reading,
  { query: { where, limit, offset }, start }: ListQuery,
  { items, links }: RowItems
): Promise<Count> {
  if (start === undefined && links.next === undefined && (items.length > 0 || offset === 0)) {
    return { total: offset + Math.min(items.length, limit) }
  }
  return await reading.count(where, counted)
}

/** Operations for the selected rows are sent to the collection. */
async function makeManyAffordance (
  { mount, mount: { model: { actions, singular }, forms }, request }: PageRequest,
  reading: Reading,
  from: string
): Promise<ManyAffordance | undefined> {
  if (!actions.some(({ kind }) => kind === 'create') || !forms.includes('noun')) return undefined
  const targeted = actions.filter(isForMany)
  const isGranted = await Promise.all(targeted.map(({ action }) => reading.mayOffer(action)))
  const granted = targeted.filter((_, index) => isGranted[index])
  const operations = granted.map(each => ({ name: nameForTexts(each), singular }))
  return operations.length === 0 ? undefined : { action: listUrl(mount, request), from, operations }
}

export async function makeRowAffordances (
  responding: PageRequest,
  parsed: ListQuery,
  { listed, columns, links: { prev, next }, trail = [], filters: given, filtered, ...rows }: RowLinks,
  refused?: RefusedForm
): Promise<PageAffordances> {
  const { mount, mount: { pageSize, maxPageSize }, suffix } = responding
  const { parameters, page, start, 'time-zone': zone, query: { limit }, list: { fields } } = parsed
  const self = ownUrl(responding)
  // A path suffix would override `format`.
  const plain = suffix === undefined ? self : self.slice(0, -suffix.length - 1)
  const isSearch = refused !== undefined && refused.action === undefined
  const entered = new Map(parameters.map(({ name, value }) => [name, value]))
  const isOwn = listed === 'items'
  const [site, references] = await Promise.all([
    findSite(responding),
    isOwn ? findReferenceFields(responding, mount.model.references, fields) : new Map()
  ])
  const filters = given ?? makeFilterFields(fields, isSearch ? refused : { entered }, references)
  const replaced = [...startParameters, 'gt', 'lt', 'search', 'sort', ...filters.map(({ name }) => name)]
  return {
    site,
    now: mount.now().getTime(),
    kinds: isOwn ? listKinds(mount) : listKinds(undefined, fields),
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
    ...filtered ?? listActiveFilters(responding, parsed, self, listed),
    // Filters in other spellings stay: the address shows them.
    kept: parameters.filter(({ name }) => !replaced.includes(name)).map(({ name, value }) => [name, value] as const),
    given: parameters.filter(({ name }) => name !== 'fields' && !startParameters.includes(name))
      .map(({ name, value }) => [name, value] as const),
    sortable: fields.filter(isFilterable).map(({ name }) => name),
    sort: entered.get('sort'),
    // Pages are counted from the first, not from a cursor.
    url (changes) {
      const set = Object.entries(changes).flatMap(([name, value]) =>
        value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`])
      const added = set.length === 0 ? undefined : set.join('&')
      return makePageUrl(self, parsed, [...Object.keys(changes), 'after', 'before'], added)
    },
    refused: refused && explainRefusal(mount, refused, true),
    ...rows
  }
}

// An export has all rows.
const notExported = [...startParameters, 'format', 'maxpagesize']

const usualSizes = [20, 50, 100, 200]

function listActiveFilters ({ mount }: PageRequest, parsed: ListQuery, path: string, listed: Listed) {
  const { parameters, state, search } = parsed
  const isActive = (index: number) => {
    const name = parameters[index]?.name
    return (name === 'state' && state !== undefined) || (name === 'search' && search !== undefined)
  }
  const uses = findUsedFilters(mount, parsed, listed)
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
    const { field, op, isValue, text, group } = use
    const kind = showKind(undefined, field)
    return [{ field: field.name, kind, op, isValue, value: text, isAlternative: group !== undefined, href }]
  })
  const clear = active.length === 0 ? undefined : without(index => uses[index] !== undefined || isActive(index))
  return { active, clear }
}
