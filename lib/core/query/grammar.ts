import type { QueryFlaw } from '../problems.js'
import type { FieldCondition, Order, Query } from '../storage/storage.js'
import { didYouMean, maxHints, shorten } from '../values/words.js'
import {
  type OrderedList, type PositionsAround, readCursor, readOrder, type Start, toTotalOrder, writeCursor
} from './cursor.js'
import {
  addFilter, anyOf, type Filter, findFilter, type GivenFilters, listFilters, reservedNames, splitGroup, toConditions
} from './filters.js'
import { countParameters, maxParameters, type Parameter, splitQuery } from './query-string.js'
import { isTimeZone } from './time-zones.js'
import { type QueryLimits, readInteger, type ReadResult, readWords } from './values.js'

interface Settings {
  page?: number
  maxpagesize?: number
  sort?: Order[]
  fields?: string[]
  expand?: string[]
  count?: boolean
  format?: string
  /** As sent: the meaning depends on the order. */
  after?: string
  before?: string
  state?: string[]
  search?: string
  'time-zone'?: string
}

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
  const { name, fields: all, order: ownOrder = [], references = [], key } = shape
  const fields = all.filter(field => field.name !== key)
  const filters = listFilters(fields)
  const ownList: OrderedList = { name, fields: all, order: toTotalOrder(ownOrder, all, key) }
  const names = fields.map(({ name }) => name)
  // A field of the same name is filtered by it.
  const searched = names.includes('search') ? [] : shape.presentation?.search ?? []
  const states = new Map<string, readonly FieldCondition[]>()
  for (const [state, { where }] of names.includes('state') ? [] : shape.presentation?.states ?? []) {
    if (where !== undefined) states.set(state, where)
  }
  const plain = fields.filter(({ kind }) => kind !== 'json').map(field => field.name)
  const keep = (value: string) => ({ value })
  // For a setting that may be repeated, `before` has the earlier values.
  type Read<S extends keyof Settings> = (text: string, before?: string[]) => ReadResult<NonNullable<Settings[S]>>
  const readers: { readonly [S in keyof Settings]-?: Read<S> } = {
    page: readPositive,
    maxpagesize: readPositive,
    sort (text) {
      const sort = text.split(',').map(readOrder)
      const read = readNames(sort.map(({ field }) => field), key === undefined ? plain : [key], 'not a field')
      return 'expected' in read ? read : { value: sort }
    },
    fields: (text, before = []) => readNames([...before, ...text.split(',')], names, 'not a field'),
    expand: text => readNames(text.split(','), references, 'not a field that refers to an item'),
    count: text => text === 'exact' ? { value: true } : { expected: 'must be "exact"' },
    format: keep,
    after: keep,
    before: keep,
    state: (text, before = []) => states.has(text)
      ? { value: [...new Set([...before, text])] }
      : { expected: `must be one of ${[...states.keys()].join(', ')}` },
    search (text) {
      const words = splitWords(text)
      if (words.length > maxWords) return { expected: `may have at most ${maxWords} words` }
      const flawed = words.map(word => readWords(word, limits)).find(read => 'expected' in read)
      return flawed === undefined ? { value: text } : flawed as { readonly expected: string }
    },
    'time-zone': text => isTimeZone(text)
      ? { value: text }
      : { expected: 'must be a time zone, such as Europe/Berlin' }
  }
  const optional = { expand: references.length, state: states.size, search: searched.length, 'time-zone': 1 }
  const absent = Object.entries(optional).flatMap(([name, count]) => count > 0 ? [] : name)
  if (key !== undefined) absent.push('page', 'count')
  const settingNames = new Set(Object.keys(readers).filter(name => !absent.includes(name)))

  return { limits, order: ownList.order, references, filters, states: [...states.keys()], search: searched, parse }

  function parse (search: string): ParsedQuery | { flaws: QueryFlaw[] } {
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
      const flaw = readParameter(part, settings, given)
      if (flaw === undefined) continue
      const detail = flaw === 'unknown' ? describeUnknown(part.name, unknown++) : `${shorten(part.name)} ${flaw}`
      flaws.push({ parameter: part.name, detail })
    }

    const page = settings.page ?? 1
    const limit = Math.min(settings.maxpagesize ?? limits.pageSize, limits.maxPageSize)
    const offset = (page - 1) * limit
    if (offset > limits.maxSkipped) {
      const detail = `page may skip at most ${limits.maxSkipped} items; follow links.next, or use gt and lt`
      flaws.push({ parameter: 'page', detail })
    }
    const list = settings.sort === undefined ? ownList : { ...ownList, order: toTotalOrder(settings.sort, all, key) }
    const start = readStart(list, settings)
    if (start !== undefined && 'detail' in start) flaws.push(start)
    if (flaws.length > 0) return { flaws }

    const inState = (settings.state ?? []).map(state => [...states.get(state) as readonly FieldCondition[]])
    const where = [
      ...inState.length === 0 ? [] : anyOf(inState),
      ...toConditions(given),
      ...splitWords(settings.search ?? '').flatMap(word =>
        anyOf(searched.map(field => [{ field, op: 'has', texts: [word] }])))
    ]
    const query = { where, order: list.order, offset, limit, count: settings.count ?? false }
    // A literal that begins with a spread takes several times as long.
    return { query, page, list, start: start as Start | undefined, parameters, ...settings }
  }

  function readParameter (parameter: Parameter, settings: Settings, given: GivenFilters): string | undefined {
    const name = parameter.name as keyof Settings
    if (settingNames.has(name)) {
      const before = settings[name]
      if (before !== undefined && name !== 'fields' && name !== 'state') return 'may be given only once'
      const read = readers[name](parameter.value, before as string[] | undefined)
      if ('expected' in read) return read.expected
      settings[name] = read.value as never
      return undefined
    }
    const use = findFilter(filters, parameter)
    return use === undefined ? 'unknown' : addFilter(given, use, limits)
  }

  /** @param before how many unknown ones came before: only the first lists what is allowed */
  function describeUnknown (name: string, before: number): string {
    const { group } = splitGroup(name)
    const known = group === undefined
      ? [...settingNames, ...filters.keys()]
      : Array.from(filters.keys(), filter => `${group}.${filter}`)
    const near = foreignNames.get(name.toLowerCase().replace(/[^a-z]/g, '')) ?? name
    const text = `Unknown parameter "${shorten(name, 50)}".${before < maxHints ? didYouMean(near, known) : ''}`
    if (before > 0) return text
    const others = [...reservedNames, ...Object.keys(optional)].filter(name => !absent.includes(name)).join(', ')
    return `${text} Fields that can be filtered: ${plain.join(', ')}; ` +
      `other parameters: ${others}; or. before alternatives`
  }

  function readNames (value: string[], allowed: readonly string[], otherwise: string): ReadResult<string[]> {
    if (value.length > limits.maxValues) return { expected: `may name at most ${limits.maxValues} fields` }
    const unknown = value.find(name => !allowed.includes(name))
    if (unknown !== undefined) {
      const text = `names "${shorten(unknown, 50)}", which is ${otherwise}.${didYouMean(unknown, allowed)}`
      return { expected: `${text} Allowed, separated by commas: ${allowed.join(', ')}` }
    }
    const repeated = value.find((name, index) => value.indexOf(name) !== index)
    return repeated === undefined ? { value } : { expected: `names "${repeated}" twice` }
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

const maxWords = 8

function splitWords (text: string): string[] {
  return text.split(/\s+/).filter(word => word !== '')
}

function readPositive (text: string): ReadResult<number> {
  const read = readInteger(text)
  return 'expected' in read || read.value < 1 ? { expected: 'must be a positive integer' } : read
}

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

export function makePageUrl (
  path: string,
  { parameters }: Pick<ParsedQuery, 'parameters'>,
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
