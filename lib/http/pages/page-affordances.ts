import { findFilter } from '../../core/query/filters.js'
import { type Grammar, makePageUrl, type ParsedQuery } from '../../core/query/grammar.js'
import type { Reader } from '../../core/service/reader.js'
import type { Found, Id, Stored } from '../../core/storage/storage.js'
import type { ActiveFilter, Feedback, PageAffordances } from '../../representations/affordances.js'
import { type Exchange, linkReferred } from '../mount.js'
import {
  explainRefusal, isText, makeFilterFields, makeForm, makeSampleRequest, type RefusedForm
} from './form-fields.js'
import { listKinds, showKind } from './log-entries.js'
import { findSite, linkOthers, mayOffer } from './offers.js'

type RowLinks = Pick<PageAffordances, 'columns' | 'title' | 'timeline' | 'isCountable' | 'address' | 'refer'> & {
  readonly grammar: Grammar
  readonly links: Pick<PageAffordances, 'prev' | 'next'>
  readonly trail?: PageAffordances['trail']
}

export async function affordCollection (
  exchange: Exchange,
  parsed: ParsedQuery,
  { items, links, offers }: Pick<RowLinks, 'links'> & Pick<Reader, 'offers'> & Pick<Found, 'items'>,
  refused?: RefusedForm,
  feedback?: Feedback
): Promise<PageAffordances> {
  const { mount, request } = exchange
  const { family: { singular, lifecycle, references, presentation: { title, list: columns } }, grammar, urls } = mount
  const rows = await affordRows(exchange, parsed, {
    grammar,
    columns,
    title,
    links,
    isCountable: true,
    address: index => urls.item(request, items[index]?.id as Id),
    refer: references.size === 0
      ? undefined
      : (index, member) => linkReferred(mount, request, items[index] as Stored)[member]
  }, refused)
  if (lifecycle === undefined) return { ...rows, feedback }
  const { params, createAction } = lifecycle
  const action = urls.collection(request)
  const isOffered = offers?.includes(createAction) ?? await mayOffer(exchange, createAction)
  if (!isOffered) return { ...rows, feedback }
  const key = mount.makers.makeCommandId()
  const sample = makeSampleRequest(mount, { method: 'POST', href: action }, params)
  const create = makeForm({ name: 'create', singular, action, key, request: sample }, params, refused)
  return { ...rows, feedback, create }
}

export async function affordRows (
  exchange: Exchange,
  parsed: ParsedQuery,
  { grammar, columns, links: { prev, next }, trail = [], ...rows }: RowLinks,
  refused?: RefusedForm
): Promise<PageAffordances> {
  const { mount, request, suffix } = exchange
  const { parameters, page, start, query: { limit }, list: { fields } } = parsed
  const { pageSize, maxPageSize } = grammar.limits
  const self = mount.urls.self(request).replace(/\/$/, '')
  // A path suffix would override `format`.
  const plain = suffix === undefined ? self : self.slice(0, -suffix.length - 1)
  const isSearch = refused !== undefined && refused.action === undefined
  const entered = new Map(parameters.map(({ name, value }) => [name, value]))
  const filters = makeFilterFields(fields, isSearch ? refused : { entered })
  const replaced = [...places, 'gt', 'lt', ...filters.map(({ name }) => name)]
  return {
    site: await findSite(exchange),
    kinds: listKinds(fields),
    columns: parsed.fields ?? columns,
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

// Parameters to reset when filters change.
const places: readonly string[] = ['page', 'after', 'before']

// An export has all rows, in a fixed order.
const notExported = [...places, 'format', 'maxpagesize', 'sort']

const usualSizes = [20, 50, 100, 200]

function listActiveFilters ({ filters }: Grammar, { parameters }: ParsedQuery, path: string) {
  const uses = parameters.map(parameter => findFilter(filters, parameter))
  const without = (isDropped: (index: number) => boolean): string =>
    makePageUrl(path, { parameters: parameters.filter((_, index) => !isDropped(index)) }, places)
  const active = uses.flatMap((use, index): ActiveFilter[] => {
    if (use === undefined) return []
    const { filter: { field, op }, text, group } = use
    const href = without(other => other === index)
    return [{ field: field.name, kind: showKind(field), op, value: text, isAlternative: group !== undefined, href }]
  })
  return { active, clear: active.length === 0 ? undefined : without(index => uses[index] !== undefined) }
}
