import type { Field, Order, Query } from '../storage/storage.js'
import { didYouMean, shorten } from '../values/words.js'
import type { OrderedList, Start } from './cursor.js'
import { readCursor, readOrder, toTotalOrder } from './cursor.js'
import type { Filter, FilterLimits, GivenFilters } from './filters.js'
import { addFilter, findFilter, listFilters, reservedNames, splitGroup, toConditions } from './filters.js'
import { explainForeignName, explainForeignOrder } from './foreign-names.js'
import type { Parameter } from './query-string.js'
import { countParameters, maxParameters, splitQuery } from './query-string.js'
import type { ReadResult } from './values.js'
import { readInteger } from './values.js'

/** Bounds of what a query may ask. */
interface QueryLimits extends FilterLimits {
  readonly pageSize: number
  readonly maxPageSize: number
  /** Items that a page number may pass over. */
  readonly maxSkipped: number
}

/** What a query string asks for. */
export interface ParsedQuery {
  readonly query: Query
  readonly page: number
  /** Whether the client chose the page size itself. */
  readonly sized: boolean
  /** The members to show; undefined for all. */
  readonly fields: readonly string[] | undefined
  /** The fields in the place of which the items are to stand that they refer to. */
  readonly expand: readonly string[] | undefined
  /** The list in the order that is asked for. */
  readonly list: OrderedList
  /** The place from which to read, where one is named. */
  readonly start: Start | undefined
  /** The parameters as they were sent, from which the links to other pages are made. */
  readonly parameters: readonly Parameter[]
}

/** What is wrong with a parameter, and what is allowed. */
export interface QueryFlaw {
  readonly parameter: string
  readonly detail: string
}

export interface Grammar {
  readonly limits: QueryLimits
  /** Where a client asks for none. */
  readonly order: readonly Order[]
  /** The fields that can be expanded. */
  readonly references: readonly string[]
  /** Every name that filters, for documentation. */
  readonly filters: ReadonlyMap<string, Filter>
  parse (search: string): ParsedQuery | { readonly flaws: readonly QueryFlaw[] }
}

// To look for a name that is nearly the same takes time, and in a query that is all wrong it helps nobody.
const maxHints = 5

/** What is listed, and in which order where the client asks for none; by id where that is empty. */
type ListShape = Omit<OrderedList, 'order'> & Partial<Pick<OrderedList, 'order'>> & {
  /** Fields that refer to other items. */
  readonly references?: readonly string[]
}

/** Compiles the query grammar of a list: a pure function from query string to query. */
export function compileGrammar (shape: ListShape, limits: QueryLimits): Grammar {
  const { name, fields, order: ownOrder = [], references = [] } = shape
  const filters = listFilters(fields)
  const ownList: OrderedList = { name, fields, order: toTotalOrder(ownOrder) }
  const settingReaders = makeSettingReaders(fields, references, limits.maxValues)

  return { limits, order: ownList.order, references, filters, parse }

  function parse (search: string): ParsedQuery | { flaws: QueryFlaw[] } {
    const parts = splitQuery(search)
    if (parts.length > maxParameters) {
      const detail = `A query has at most ${maxParameters} parameters, this one has ${countParameters(search)}`
      return { flaws: [{ parameter: '?', detail }] }
    }

    const settings: Settings = {}
    const given: GivenFilters = { byKey: new Map(), patterns: 0 }
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
    if (offset > limits.maxSkipped) flaws.push({ parameter: 'page', detail: describeDepth(limits) })
    const list = settings.sort === undefined ? ownList : { name, fields, order: toTotalOrder(settings.sort) }
    const start = readStart(list, settings)
    if (start !== undefined && 'flaw' in start) flaws.push(start.flaw)
    if (flaws.length > 0) return { flaws }

    return {
      query: { where: toConditions(given), order: list.order, offset, limit, count: settings.count ?? false },
      page,
      sized: settings.maxpagesize !== undefined,
      fields: settings.fields,
      expand: settings.expand,
      list,
      start: start as Start | undefined,
      parameters
    }
  }

  // Puts the parameter among the settings or the filters, or returns what is wrong with it.
  function readParameter (parameter: Parameter, settings: Settings, given: GivenFilters): string | undefined {
    const name = parameter.name as keyof Settings
    const readSetting = settingReaders.get(name)
    if (readSetting !== undefined) {
      if (settings[name] !== undefined) return 'may be given only once'
      const read = readSetting(parameter.value)
      if ('expected' in read) return read.expected
      settings[name] = read.value as never
      return undefined
    }
    const use = findFilter(filters, parameter)
    return use === undefined ? 'unknown' : addFilter(given, use, limits)
  }

  /** @param before how many unknown ones were described before it: what is allowed is said once */
  function describeUnknown (name: string, before: number): string {
    const text = `Unknown parameter "${shorten(name, 50)}".${before < maxHints ? findHint(name) : ''}`
    if (before > 0) return text
    const names = fields.filter(({ kind }) => kind !== 'json').map(field => field.name).join(', ')
    const settings = [...reservedNames, ...references.length > 0 ? ['expand'] : []]
    const others = `other parameters: ${settings.join(', ')}; or. before alternatives`
    return `${text} Fields that can be filtered: ${names}; ${others}`
  }

  function findHint (name: string): string {
    const foreign = explainForeignName(name, fields, filters)
    if (foreign !== undefined) return ` ${foreign}`
    const group = splitGroup(name)?.group
    return didYouMean(name, group === undefined
      ? [...settingReaders.keys(), ...filters.keys()]
      : Array.from(filters.keys(), filter => `${group}.${filter}`))
  }
}

/** The parameters of a query besides its filters, by their names. */
interface Settings {
  page?: number
  maxpagesize?: number
  sort?: Order[]
  fields?: string[]
  expand?: string[]
  count?: boolean
  format?: string
  /** As they were sent: what they mean depends on the order. */
  after?: string
  before?: string
}

type SettingReaders = { readonly [S in keyof Settings]-?: (text: string) => ReadResult<NonNullable<Settings[S]>> }

/**
 * Makes the readers of all parameters that do not filter.
 *
 * @param references the fields that can be expanded; without any, there is no such parameter
 * @param maxValues how many fields a list may name
 */
function makeSettingReaders (fields: readonly Field[], references: readonly string[], maxValues: number) {
  const showable = fields.map(({ name }) => name)
  const sortable = fields.filter(({ kind }) => kind !== 'json').map(({ name }) => name)
  const readers: SettingReaders = {
    page: readPositive,
    maxpagesize: readPositive,
    sort (text) {
      const sort = text.split(',').map(readOrder)
      const explain = () => explainForeignOrder(text, sortable)
      const flaw = findListFlaw(sort.map(({ field }) => field), sortable, maxValues, 'no field', explain)
      return flaw === undefined ? { value: sort } : { expected: flaw }
    },
    fields: text => readList(text, showable, 'no field'),
    expand: text => readList(text, references, 'no field that refers to an item'),
    count: text => text === 'exact' ? { value: true } : { expected: 'must be "exact"' },
    format: value => ({ value }),
    after: value => ({ value }),
    before: value => ({ value })
  }
  const entries = Object.entries(readers) as [keyof Settings, SettingReaders[keyof Settings]][]
  return new Map(entries.filter(([name]) => name !== 'expand' || references.length > 0))

  function readList (text: string, allowed: readonly string[], otherwise: string): ReadResult<string[]> {
    const value = text.split(',')
    const flaw = findListFlaw(value, allowed, maxValues, otherwise)
    return flaw === undefined ? { value } : { expected: flaw }
  }
}

function readPositive (text: string): ReadResult<number> {
  const read = readInteger(text)
  return 'expected' in read || read.value < 1 ? { expected: 'must be an integer from 1' } : read
}

function findListFlaw (
  names: readonly string[],
  allowed: readonly string[],
  maxValues: number,
  otherwise: string,
  explain?: () => string | undefined
): string | undefined {
  if (names.length > maxValues) return `may name at most ${maxValues} fields`
  const unknown = names.find(name => !allowed.includes(name))
  if (unknown !== undefined) {
    const text = `names "${shorten(unknown, 50)}", which is ${otherwise}.${explain?.() ?? didYouMean(unknown, allowed)}`
    return `${text} Allowed, separated by commas: ${allowed.join(', ')}`
  }
  const repeated = names.find((name, index) => names.indexOf(name) !== index)
  return repeated === undefined ? undefined : `names "${repeated}" twice`
}

/** Where a page begins or ends, by the cursor that is given for it. */
function readStart (list: OrderedList, { after, before, page }: Settings): Start | { flaw: QueryFlaw } | undefined {
  const parameter = before === undefined ? 'after' : 'before'
  const text = before ?? after
  if (text === undefined) return undefined
  const other = page !== undefined ? 'page' : before !== undefined && after !== undefined ? 'after' : undefined
  if (other !== undefined) return { flaw: { parameter, detail: `${parameter} has no place beside ${other}` } }
  const place = readCursor(list, text)
  if (place !== undefined) return { place, backwards: before !== undefined }
  const detail = `${parameter} must be as it stands in the link to the page, with the same sort`
  return { flaw: { parameter, detail } }
}

function describeDepth ({ maxSkipped }: QueryLimits): string {
  return `page may pass over at most ${maxSkipped} items; go on by links.next, or by gt and lt`
}
