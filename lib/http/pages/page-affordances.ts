import type { Grammar, ParsedQuery } from '../../core/query/grammar.js'
import { makePageUrl } from '../../core/query/query-string.js'
import type { Field, Id, Stored } from '../../core/storage/storage.js'
import type { Feedback, LogEntry } from '../../representations/item-view.js'
import type { Crumb, PageAffordances } from '../../representations/representation.js'
import { canShow, listKinds } from '../../representations/representation.js'
import type { Exchange } from '../mount.js'
import { linkReferred } from '../show-item.js'
import { listActiveFilters, places } from './active-filters.js'
import type { Submission } from './form-fields.js'
import { explainRefusal, makeFilterFields, makeForm } from './form-fields.js'
import { mayOffer } from './may-offer.js'
import { listRequests } from './sample-requests.js'
import { findSite } from './site.js'
import { keepSuffix, removeSuffix } from './suffix.js'

/** The addresses of the pages around one. */
interface PagesAround {
  readonly prev?: string
  readonly next?: string
}

/** The rows of a page, and where they lead. */
interface RowLinks {
  readonly grammar: Grammar
  readonly fields: readonly Field[]
  /** The members to show where the client does not choose. */
  readonly columns: readonly string[]
  /** The one that leads to the item. */
  readonly title: string
  readonly links: PagesAround
  /** What the page belongs to. */
  readonly trail?: readonly Crumb[]
  /** The same as entries of a log. */
  readonly timeline?: readonly LogEntry[]
  /** Whether there is a place to say how many there are in all. */
  readonly isCountable: boolean
  /** Where the item in this row is. */
  address (index: number): string
  /** Where the items are that it refers to, by its members. */
  refer? (index: number): Readonly<Record<string, string>>
}

/** What people can do with a page of a family. */
export async function affordCollection (
  exchange: Exchange,
  parsed: ParsedQuery,
  { items, links }: { readonly items: readonly Stored[], readonly links: PagesAround },
  submission?: Submission,
  feedback?: Feedback
): Promise<PageAffordances> {
  const { mount: { family, grammar, urls, makers }, request } = exchange
  const { fields, singular, lifecycle, presentation: { title, list: columns } } = family
  const address = (index: number) => urls.item(request, items[index]?.id as Id)
  const refer = (index: number) => linkReferred(exchange.mount, request, items[index] as Stored)
  const rowLinks = { grammar, fields, columns, title, links, isCountable: true, address, refer }
  const rows = { ...await affordRows(exchange, parsed, rowLinks, submission), ...(feedback && { feedback }) }
  if (lifecycle === undefined || !await mayOffer(exchange, lifecycle.createAction)) return rows
  const { params } = lifecycle
  const action = urls.collection(request)
  const key = makers.makeCommandId()
  const entered = submission?.action === action ? submission.entered : undefined
  const create = makeForm({
    name: 'create',
    singular,
    action,
    key,
    schema: params.schema,
    requests: listRequests(exchange, { operation: undefined, item: undefined }, { params, entered, key })
  }, submission)
  return { ...rows, create }
}

/** The same for any page: filters, order, and the pages around it. */
export async function affordRows (
  exchange: Exchange,
  parsed: ParsedQuery,
  rows: RowLinks,
  submission?: Submission
): Promise<PageAffordances> {
  const { mount, request, suffix } = exchange
  const { grammar, fields, columns, title, links: { prev, next }, trail = [], timeline, isCountable, address } = rows
  const { refer } = rows
  const { parameters, page, start, query: { limit } } = parsed
  const self = mount.urls.self(request).replace(/\/$/, '')
  const isSearch = submission !== undefined && submission.action === undefined
  const entered = new Map(parameters.map(({ name, value }) => [name, value]))
  const filters = makeFilterFields(fields, isSearch ? submission : { entered })
  const isKept = (name: string) =>
    ![...places, 'gt', 'lt'].includes(name) && !filters.some(filter => filter.name === name)
  return {
    site: await findSite(exchange),
    kinds: listKinds(fields),
    columns: parsed.fields ?? columns,
    title,
    trail: trail.map(crumb => ({ ...crumb, href: keepSuffix(exchange, crumb.href) })),
    others: linkOthers(exchange, parsed, removeSuffix(self, suffix)),
    ...(timeline && { timeline }),
    ...(start === undefined ? { page } : {}),
    ...(prev === undefined ? {} : { prev }),
    ...(next === undefined ? {} : { next }),
    pageSize: limit,
    pageSizes: listPageSizes(grammar, limit),
    isCountable,
    filters,
    ...listActiveFilters(grammar, parsed, self),
    // What filters in other spellings stays, as long as it is seen in the address.
    kept: parameters.filter(({ name }) => isKept(name)).map(({ name, value }) => [name, value] as const),
    sortable: fields.filter(({ kind }) => kind !== 'json').map(({ name }) => name),
    sort: parameters.find(({ name }) => name === 'sort')?.value,
    // Pages are counted from the first, not from a cursor.
    url: changes => makePageUrl(self, parsed, [...Object.keys(changes), 'after', 'before'], writeChanges(changes)),
    address: index => keepSuffix(exchange, address(index)),
    ...refer && {
      refer (index: number, member: string) {
        const href = refer(index)[member]
        return href && keepSuffix(exchange, href)
      }
    },
    ...explainRefusal(mount, submission)
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
