import type { QueryFlaw } from '../problems.js'
import type { Condition, FieldCondition, Order, Query } from '../storage/storage.js'
import { didYouMean, maxHints, shorten } from '../values/words.js'
import {
  type OrderedList, type PositionsAround, readCursor, type Start, toTotalOrder, writeCursor
} from './cursor.js'
import {
  addFilter, anyOf, type Filter, findFilter, type GivenFilters, listFilters, reservedNames, splitGroup, toConditions
} from './filters.js'
import { countParameters, maxParameters, type Parameter, splitQuery } from './query-string.js'
import { makeReaders, type SettingReaders, type Settings, splitWords } from './settings.js'
import type { QueryLimits } from './values.js'

/** With the parameters that are not filters, by their names. */
export interface ParsedQuery extends Readonly<Settings> {
  readonly query: Query
  readonly page: number
  readonly list: OrderedList
  readonly start: Start | undefined
  /** Unchanged, for the links to other pages. */
  readonly parameters: readonly Parameter[]
}

export interface Grammar {
  readonly limits: QueryLimits
  readonly order: readonly Order[]
  readonly references: readonly string[]
  readonly filters: ReadonlyMap<string, Filter>
  /** Those that `state` can name; empty if there is no such parameter. */
  readonly states: readonly string[]
  /** The fields that `search` looks in; empty if there is no such parameter. */
  readonly search: readonly string[]
  parse (search: string): ParsedQuery | { readonly flaws: readonly QueryFlaw[] }
}

type ListShape = Omit<OrderedList, 'order'> & Partial<Pick<OrderedList, 'order'>> & {
  readonly references?: readonly string[]
  /** Of a feed, the field of its only order, which is not shown or filtered. */
  readonly key?: string
  readonly presentation?: {
    readonly states: ReadonlyMap<string, { readonly where: readonly FieldCondition[] | undefined }>
    readonly search: readonly string[]
  }
}

/** Options that select a page of a list. */
export interface PageOptions {
  /** Default 50. */
  readonly limit?: number
  /** Counted from 1. */
  readonly page?: number
  /** As in a query string: `-age,id`. */
  readonly sort?: string
  /** Whether `total` is wanted. */
  readonly count?: boolean
  /** Starts here: the `next` of another page in the same order. Instead of `page`. */
  readonly after?: string
  /** Ends here: the `prev` of another page in the same order. Instead of `page`. */
  readonly before?: string
}

/** A page of a list. */
export interface ItemPage<T> {
  readonly items: readonly T[]
  readonly hasNext: boolean
  readonly total?: number
  /** The start of the next page, for `after`: it costs the same at any position. */
  readonly next?: string
  /** The end of the previous page, for `before`. */
  readonly prev?: string
}

export function compileGrammar (shape: ListShape, limits: QueryLimits): Grammar {
  return new ListGrammar(shape, limits)
}

class ListGrammar implements Grammar {
  readonly references: readonly string[]
  readonly filters: ReadonlyMap<string, Filter>
  readonly states: readonly string[]
  readonly search: readonly string[]
  readonly #shape: ListShape
  readonly #list: OrderedList
  readonly #conditions: ReadonlyMap<string, readonly FieldCondition[]>
  readonly #readers: SettingReaders
  /** Of settings that this list has. */
  readonly #settings: ReadonlySet<string>
  readonly #plain: readonly string[]

  constructor (shape: ListShape, readonly limits: QueryLimits) {
    const { name, fields: all, order = [], references = [], key, presentation } = shape
    const fields = all.filter(field => field.name !== key)
    const names = fields.map(({ name }) => name)
    this.#shape = shape
    this.#list = { name, fields: all, order: toTotalOrder(order, all, key) }
    this.references = references
    this.filters = listFilters(fields)
    // A field of the same name is filtered by it.
    this.search = names.includes('search') ? [] : presentation?.search ?? []
    this.#conditions = new Map([...names.includes('state') ? [] : presentation?.states ?? []]
      .flatMap(([state, { where }]) => where === undefined ? [] : [[state, where] as const]))
    this.states = [...this.#conditions.keys()]
    this.#plain = fields.filter(({ kind }) => kind !== 'json').map(field => field.name)
    const sorted = key === undefined ? this.#plain : [key]
    this.#readers = makeReaders({ names, sorted, references, states: this.states }, limits)
    const optional = { expand: references.length, state: this.states.length, search: this.search.length }
    const absent = Object.entries(optional).flatMap(([name, count]) => count > 0 ? [] : name)
    if (key !== undefined) absent.push('page', 'count')
    this.#settings = new Set(Object.keys(this.#readers).filter(name => !absent.includes(name)))
  }

  get order (): readonly Order[] {
    return this.#list.order
  }

  parse (search: string): ParsedQuery | { flaws: QueryFlaw[] } {
    const parts = splitQuery(search)
    if (parts.length > maxParameters) {
      const detail = `A query may have at most ${maxParameters} parameters; this one has ${countParameters(search)}`
      return { flaws: [{ parameter: '?', detail }] }
    }

    const settings: Settings = {}
    // It applies to all days, whatever the order of the parameters.
    const timeZone = parts.find(({ name }) => name === 'time-zone') as Parameter | undefined
    const given: GivenFilters = { byKey: new Map(), patterns: 0, timeZone: timeZone?.value }
    const parameters: Parameter[] = []
    const flaws: QueryFlaw[] = []
    let unknown = 0
    for (const part of parts) {
      if (part.name === undefined) {
        flaws.push({ parameter: part.raw, detail: 'This is not valid percent-encoding' })
        continue
      }
      parameters.push(part)
      const flaw = this.#readParameter(part, settings, given)
      if (flaw === undefined) continue
      const detail = flaw === 'unknown' ? this.#describeUnknown(part.name, unknown++) : `${shorten(part.name)} ${flaw}`
      flaws.push({ parameter: part.name, detail })
    }
    const read = this.#readPage(settings, flaws)
    if (flaws.length > 0) return { flaws }
    const { page, limit, offset, list, start } = read
    const where = this.#select(settings, given)
    const query = { where, order: list.order, offset, limit, count: settings.count ?? false }
    // A literal that begins with a spread takes several times as long.
    return { query, page, list, start, parameters, ...settings }
  }

  /** Adds flaws to those that there are. */
  #readPage (settings: Settings, flaws: QueryFlaw[]) {
    const { limits } = this
    const { fields, key } = this.#shape
    const page = settings.page ?? 1
    const limit = Math.min(settings.maxpagesize ?? limits.pageSize, limits.maxPageSize)
    const offset = (page - 1) * limit
    if (offset > limits.maxSkipped) {
      const detail = `page may skip at most ${limits.maxSkipped} items; follow links.next, or use gt and lt`
      flaws.push({ parameter: 'page', detail })
    }
    const list = settings.sort === undefined
      ? this.#list
      : { ...this.#list, order: toTotalOrder(settings.sort, fields, key) }
    const start = readStart(list, settings)
    if (start !== undefined && 'detail' in start) flaws.push(start)
    return { page, limit, offset, list, start: start as Start | undefined }
  }

  #select ({ state: states = [], search = '' }: Settings, given: GivenFilters): Condition[] {
    const inState = states.map(state => [...this.#conditions.get(state) as readonly FieldCondition[]])
    return [
      ...inState.length === 0 ? [] : anyOf(inState),
      ...toConditions(given),
      ...splitWords(search).flatMap(word => anyOf(this.search.map(field => [{ field, op: 'has', texts: [word] }])))
    ]
  }

  #readParameter (parameter: Parameter, settings: Settings, given: GivenFilters): string | undefined {
    const name = parameter.name as keyof Settings
    if (this.#settings.has(name)) {
      const before = settings[name]
      if (before !== undefined && name !== 'fields' && name !== 'state') return 'may be given only once'
      const read = this.#readers[name](parameter.value, before as string[] | undefined)
      if ('expected' in read) return read.expected
      settings[name] = read.value as never
      return undefined
    }
    const use = findFilter(this.filters, parameter)
    return use === undefined ? 'unknown' : addFilter(given, use, this.limits)
  }

  /** @param before how many unknown ones came before: only the first lists what is allowed */
  #describeUnknown (name: string, before: number): string {
    const { group } = splitGroup(name)
    const known = group === undefined
      ? [...this.#settings, ...this.filters.keys()]
      : Array.from(this.filters.keys(), filter => `${group}.${filter}`)
    const near = foreignNames.get(name.toLowerCase().replace(/[^a-z]/g, '')) ?? name
    const text = `Unknown parameter "${shorten(name, 50)}".${before < maxHints ? didYouMean(near, known) : ''}`
    if (before > 0) return text
    const others = [...reservedNames, 'expand', 'state', 'search', 'time-zone']
      .filter(name => this.#settings.has(name) || !Object.hasOwn(this.#readers, name)).join(', ')
    return `${text} Fields that can be filtered: ${this.#plain.join(', ')}; ` +
      `other parameters: ${others}; or. before alternatives`
  }
}

// Parameters of other systems, by ours; in lower case, letters only.
const foreignNames = new Map(Object.entries({
  maxpagesize: 'limit perpage pagesize size top take first rows maxresults',
  page: 'offset skip start startindex pagenumber pageno pageindex',
  after: 'cursor startingafter pagetoken skiptoken',
  sort: 'order orderby ordering sortby',
  search: 'q query term keyword fulltext',
  fields: 'select columns only',
  count: 'total withcount totalcount'
}).flatMap(([ours, names]) => names.split(' ').map(name => [name, ours] as const)))

function readStart (list: OrderedList, { after, before, page }: Settings): Start | QueryFlaw | undefined {
  const parameter = before === undefined ? 'after' : 'before'
  const text = before ?? after
  if (text === undefined) return undefined
  const other = page !== undefined ? 'page' : before !== undefined && after !== undefined ? 'after' : undefined
  if (other !== undefined) return { parameter, detail: `${parameter} cannot be combined with ${other}` }
  const position = readCursor(list, text)
  if (position !== undefined) return { position, backwards: before !== undefined }
  return { parameter, detail: `${parameter} must be copied from a link of the page, with the same sort` }
}

/** The URL of a list with the parameters of a query, but for some. @param added such as `sort=-id` */
export function makePageUrl (
  path: string,
  { parameters }: { readonly parameters: readonly Parameter[] },
  without: readonly string[] = [],
  added?: string
): string {
  let url = path
  let separator = '?'
  for (const { name, raw } of parameters) {
    if (without.includes(name)) continue
    url += separator + raw
    separator = '&'
  }
  return added === undefined ? url : url + separator + added
}

/** The links of a page. */
export interface PageLinks {
  readonly self: string
  readonly first: string
  next?: string
  prev?: string
  /** Of a feed: to continue from here later. */
  follow?: string
}

/** Where a page starts: reset when filters change. */
export const startParameters: readonly string[] = ['page', 'after', 'before']

export function makePageMembers (path: string, parsed: ParsedQuery, { next, prev }: PositionsAround, total?: number) {
  const { page, query: { limit: pageSize }, list } = parsed
  const links: PageLinks = { self: makePageUrl(path, parsed), first: makePageUrl(path, parsed, startParameters) }
  if (next !== undefined) links.next = makePageUrl(path, parsed, startParameters, `after=${writeCursor(list, next)}`)
  if (prev !== undefined) links.prev = makePageUrl(path, parsed, startParameters, `before=${writeCursor(list, prev)}`)
  // Beyond the last page, there is no item to read backwards from.
  else if (page > 1) links.prev = makePageUrl(path, parsed, startParameters, `page=${page - 1}`)
  return total === undefined ? { page, pageSize, links } : { page, pageSize, total, links }
}
