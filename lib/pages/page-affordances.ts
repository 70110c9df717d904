import type { Exchange } from '../mount/mount.js'
import type { ParsedQuery } from '../query/grammar.js'
import { makePageUrl } from '../query/query-string.js'
import type { Feedback, LogEntry } from '../representations/item-view.js'
import type { Crumb, PageAffordances } from '../representations/representation.js'
import { canShow, listKinds } from '../representations/representation.js'
import type { Field, Id, Stored } from '../storage/storage.js'
import type { Submission } from './form-fields.js'
import { explainRefusal, makeFilterFields, makeForm } from './form-fields.js'
import { mayOffer } from './may-offer.js'
import { listRequests } from './sample-requests.js'

/** The addresses of the pages around one. */
interface PagesAround {
  readonly prev?: string
  readonly next?: string
}

/** The rows of a page, and where they lead. */
interface RowLinks {
  readonly fields: readonly Field[]
  readonly links: PagesAround
  /** What the page belongs to. */
  readonly trail?: readonly Crumb[]
  /** The same as entries of a log. */
  readonly timeline?: readonly LogEntry[]
  /** Where the item in this row is. */
  address (index: number): string
}

/** What people can do with a page of a family. */
export async function affordCollection (
  exchange: Exchange,
  parsed: ParsedQuery,
  { items, links }: { readonly items: readonly Stored[], readonly links: PagesAround },
  submission?: Submission,
  feedback?: Feedback
): Promise<PageAffordances> {
  const { mount: { family: { fields, singular, lifecycle }, urls, makers }, request } = exchange
  const address = (index: number) => urls.item(request, items[index]?.id as Id)
  const rows = {
    ...affordRows(exchange, parsed, { fields, links, address }, submission),
    ...(feedback && { feedback })
  }
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

// Settings that no longer hold when other filters are chosen.
const dropped = ['page', 'gt', 'lt', 'after', 'before']

/** The same for any page: filters, order, and the pages around it. */
export function affordRows (
  { mount, request, suffix }: Exchange,
  parsed: ParsedQuery,
  { fields, links: { prev, next }, trail = [], timeline, address }: RowLinks,
  submission?: Submission
): PageAffordances {
  const { urls, representations } = mount
  const { parameters, page, start } = parsed
  const path = removeSuffix(urls.self(request), suffix)
  const isSearch = submission !== undefined && submission.action === undefined
  const entered = new Map(parameters.map(({ name, value }) => [name, value]))
  const filters = makeFilterFields(fields, isSearch ? submission : { entered })
  const isKept = (name: string) => !dropped.includes(name) && !filters.some(filter => filter.name === name)
  const others = representations.filter(each => each.interactive !== true && canShow(each, 'page'))
  return {
    kinds: listKinds(fields),
    trail,
    ...(timeline && { timeline }),
    others: others.map(({ name, rows }) => {
      // What goes line by line goes from the beginning to the end.
      const without = rows === undefined ? ['format'] : ['format', 'page', 'maxpagesize', 'sort', 'after', 'before']
      return { href: makePageUrl(path, parsed, without, `format=${name}`), title: name }
    }),
    ...(start === undefined ? { page } : {}),
    ...(prev === undefined ? {} : { prev }),
    ...(next === undefined ? {} : { next }),
    filters,
    // What filters in other spellings stays, as long as it is seen in the address.
    kept: parameters.filter(({ name }) => isKept(name)).map(({ name, value }) => [name, value] as const),
    sortable: fields.filter(({ kind }) => kind !== 'json').map(({ name }) => name),
    sort: parameters.find(({ name }) => name === 'sort')?.value,
    // Pages are counted from the first, not from a cursor.
    url: changes => makePageUrl(path, parsed, [...Object.keys(changes), 'after', 'before'], writeChanges(changes)),
    address,
    ...explainRefusal(mount, submission)
  }
}

function writeChanges (changes: Readonly<Record<string, string | undefined>>): string | undefined {
  const set = Object.entries(changes).filter(([, value]) => value !== undefined)
  if (set.length === 0) return undefined
  return set.map(([name, value]) => `${name}=${encodeURIComponent(value as string)}`).join('&')
}

// The path in which Accept chooses the representation.
function removeSuffix (path: string, suffix: string | undefined): string {
  const plain = path.replace(/\/$/, '')
  return suffix === undefined ? plain : plain.slice(0, -suffix.length - 1)
}
