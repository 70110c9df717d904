import { findFilter } from '../../core/query/filters.js'
import type { Grammar, ParsedQuery } from '../../core/query/grammar.js'
import { makePageUrl } from '../../core/query/grammar.js'
import type { Parameter } from '../../core/query/query-string.js'
import type { Field, Id, Stored } from '../../core/storage/storage.js'
import type { ActiveFilter, Crumb, Feedback, PageAffordances } from '../../representations/affordances.js'
import { canShow, listKinds, showKind } from '../../representations/representation.js'
import type { Exchange } from '../mount.js'
import { linkReferred } from '../mount.js'
import type { RefusedForm } from './form-fields.js'
import { explainRefusal, isText, makeFilterFields, makeForm, makeSampleRequest } from './form-fields.js'
import { mayOffer } from './offers.js'
import { findSite } from './site.js'

/** The addresses of the pages around one. */
type PagesAround = Pick<PageAffordances, 'prev' | 'next'>

/** The rows of a page, and where they lead. */
interface RowLinks extends Pick<PageAffordances, 'title' | 'timeline' | 'isCountable' | 'address' | 'refer'> {
  readonly grammar: Grammar
  readonly fields: readonly Field[]
  /** The members to show where the client does not choose. */
  readonly columns: readonly string[]
  readonly links: PagesAround
  /** What the page belongs to. */
  readonly trail?: readonly Crumb[]
}

/** A page of a family, and what the grant offers. */
interface Listed {
  readonly items: readonly Stored[]
  readonly links: PagesAround
  readonly offers: readonly string[] | undefined
}

/** What people can do with a page of a family. */
export async function affordCollection (
  exchange: Exchange,
  parsed: ParsedQuery,
  { items, links, offers }: Listed,
  refused?: RefusedForm,
  feedback?: Feedback
): Promise<PageAffordances> {
  const { mount: { family, grammar, urls, makers }, request } = exchange
  const { fields, singular, lifecycle, presentation: { title, list: columns } } = family
  const address = (index: number) => urls.item(request, items[index]?.id as Id)
  const refer = family.references.size === 0
    ? undefined
    : (index: number, member: string) => linkReferred(exchange.mount, request, items[index] as Stored)[member]
  const rowLinks = { grammar, fields, columns, title, links, isCountable: true, address, refer }
  const rows = await affordRows(exchange, parsed, rowLinks, refused)
  const isOffered = lifecycle !== undefined &&
    (offers?.includes(lifecycle.createAction) ?? await mayOffer(exchange, lifecycle.createAction))
  const action = urls.collection(request)
  return {
    ...rows,
    feedback,
    create: isOffered
      ? makeForm({
        name: 'create',
        singular,
        action,
        key: makers.makeCommandId(),
        request: makeSampleRequest(exchange.mount, { method: 'POST', href: action }, lifecycle.params, undefined)
      }, lifecycle.params, refused)
      : undefined
  }
}

/** The same for any page: filters, order, and the pages around it. */
export async function affordRows (
  exchange: Exchange,
  parsed: ParsedQuery,
  rows: RowLinks,
  refused?: RefusedForm
): Promise<PageAffordances> {
  const { mount, request, suffix } = exchange
  const { grammar, fields, columns, title, links: { prev, next }, trail = [], timeline, isCountable } = rows
  const { address, refer } = rows
  const { parameters, page, start, query: { limit } } = parsed
  const self = mount.urls.self(request).replace(/\/$/, '')
  const isSearch = refused !== undefined && refused.action === undefined
  const entered = new Map(parameters.map(({ name, value }) => [name, value]))
  const filters = makeFilterFields(fields, isSearch ? refused : { entered })
  const isKept = (name: string) =>
    ![...places, 'gt', 'lt'].includes(name) && !filters.some(filter => filter.name === name)
  return {
    site: await findSite(exchange),
    kinds: listKinds(fields),
    columns: parsed.fields ?? columns,
    title,
    trail,
    // A suffix of the path would win over the format.
    others: linkOthers(exchange, parsed, suffix === undefined ? self : self.slice(0, -suffix.length - 1)),
    timeline,
    page: start === undefined ? page : undefined,
    prev,
    next,
    pageSize: limit,
    pageSizes: listPageSizes(grammar, limit),
    isCountable,
    filters,
    ...listActiveFilters(grammar, parsed, self),
    // What filters in other spellings stays, as long as it is seen in the address.
    kept: parameters.filter(({ name }) => isKept(name)).map(({ name, value }) => [name, value] as const),
    sortable: fields.filter(isText).map(({ name }) => name),
    sort: parameters.find(({ name }) => name === 'sort')?.value,
    // Pages are counted from the first, not from a cursor.
    url: changes => makePageUrl(self, parsed, [...Object.keys(changes), 'after', 'before'], writeChanges(changes)),
    address,
    refer,
    refused: explainRefusal(mount, refused)
  }
}

function linkOthers ({ mount }: Exchange, parsed: ParsedQuery, path: string): PageAffordances['others'] {
  const others = mount.representations.filter(each => each.interactive !== true && canShow(each, 'page'))
  return others.map(({ name, rows }) => {
    // What goes line by line goes from the beginning to the end.
    const without = rows === undefined ? ['format'] : ['format', 'page', 'maxpagesize', 'sort', 'after', 'before']
    return { href: makePageUrl(path, parsed, without, `format=${name}`), title: name }
  })
}

const usualSizes = [20, 50, 100, 200]

function listPageSizes ({ limits: { pageSize, maxPageSize } }: Grammar, limit: number): number[] {
  const sizes = new Set([...usualSizes, pageSize, limit].filter(size => size <= maxPageSize))
  return [...sizes].sort((a, b) => a - b)
}

function writeChanges (changes: Readonly<Record<string, string | undefined>>): string | undefined {
  const set = Object.entries(changes).filter(([, value]) => value !== undefined)
  if (set.length === 0) return undefined
  return set.map(([name, value]) => `${name}=${encodeURIComponent(value as string)}`).join('&')
}

// Settings that no longer hold when other filters are chosen.
export const places: readonly string[] = ['page', 'after', 'before']

/** Everything that narrows a list, each with the way to the list without it, and the way to the list without any. */
export function listActiveFilters (
  { filters }: Grammar,
  { parameters }: ParsedQuery,
  path: string
): { readonly active: readonly ActiveFilter[], readonly clear: string | undefined } {
  const uses = parameters.map(parameter => findFilter(filters, parameter))
  const active = uses.flatMap((use, index): ActiveFilter[] => {
    if (use === undefined) return []
    const { filter: { field, op }, text, group } = use
    const href = join(path, parameters.filter((_, other) => other !== index))
    return [{ field: field.name, kind: showKind(field), op, value: text, isAlternative: group !== undefined, href }]
  })
  const others = parameters.filter((_, index) => uses[index] === undefined)
  return { active, clear: active.length === 0 ? undefined : join(path, others) }
}

function join (path: string, parameters: readonly Parameter[]): string {
  const kept = parameters.filter(({ name }) => !places.includes(name))
  return kept.length === 0 ? path : `${path}?${kept.map(({ raw }) => raw).join('&')}`
}
