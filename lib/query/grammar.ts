import type { Field, Order, Query } from '../storage/storage.js'
import type { Members } from '../values/json.js'
import { didYouMean } from '../values/nearest.js'
import { shorten } from '../values/shorten.js'
import { explainForeignName } from './foreign-names.js'
import type { Filter } from './names.js'
import { listFilters, reservedNames } from './names.js'
import type { FilterLimits, GivenFilters, Settings } from './parameters.js'
import { addFilter, findFilter, makeCursorReader, makeSettingReaders, toConditions } from './parameters.js'
import type { Parameter } from './query-string.js'
import { countParameters, maxParameters, splitQuery } from './query-string.js'

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
  /** Whether pages go on by a cursor: the order is that of the grammar, and not one that the client chose. */
  readonly byCursor: boolean
  /** The place after which to begin: the values of the fields of the order there. */
  readonly after: Members | undefined
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
  /** Every name that filters, for documentation. */
  readonly filters: ReadonlyMap<string, Filter>
  /** Whether a page may be asked for by a cursor. */
  readonly hasCursors: boolean
  parse (search: string): ParsedQuery | { readonly flaws: readonly QueryFlaw[] }
}

// To look for a name that is nearly the same takes time, and in a query that is all wrong it helps nobody.
const maxHints = 5

/**
 * Compiles the query grammar of a family: a pure function from query string to query.
 *
 * @param ownOrder the order where the client asks for none; by id unless given. With one of its own, pages go on by a
 *   cursor.
 */
export function compileGrammar (
  fields: readonly Field[],
  limits: QueryLimits,
  ownOrder: readonly Order[] = []
): Grammar {
  const filters = listFilters(fields)
  const hasCursors = ownOrder.length > 0
  const order = toTotalOrder(ownOrder)
  const settingReaders = makeSettingReaders(fields, limits.maxValues)
  if (hasCursors) settingReaders.set('after', makeCursorReader(fields, order))

  return { limits, filters, hasCursors, parse }

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
    if (settings.after !== undefined && (settings.page ?? settings.sort) !== undefined) {
      flaws.push({ parameter: 'after', detail: 'after has no place beside page or sort' })
    }
    if (flaws.length > 0) return { flaws }

    return {
      query: {
        where: toConditions(given),
        order: settings.sort === undefined ? order : toTotalOrder(settings.sort),
        offset,
        limit,
        count: settings.count ?? false
      },
      page,
      sized: settings.maxpagesize !== undefined,
      fields: settings.fields,
      byCursor: hasCursors && settings.sort === undefined,
      after: settings.after,
      parameters
    }
  }

  // Puts the parameter among the settings or the filters, or returns what is wrong with it.
  function readParameter (parameter: Parameter, settings: Settings, given: GivenFilters): string | undefined {
    const { name, value } = parameter
    const readSetting = settingReaders.get(name)
    if (readSetting !== undefined) {
      const isRepeated = settings[name as keyof Settings] !== undefined
      return isRepeated ? 'may be given only once' : readSetting(value, settings)
    }
    const use = findFilter(filters, parameter)
    return use === undefined ? 'unknown' : addFilter(given, use, limits)
  }

  /** @param before how many unknown ones were described before it: what is allowed is said once */
  function describeUnknown (name: string, before: number): string {
    const text = `Unknown parameter "${shorten(name, 50)}".${before < maxHints ? findHint(name) : ''}`
    if (before > 0) return text
    const others = hasCursors ? [...reservedNames, 'after'] : reservedNames
    const names = fields.filter(({ kind }) => kind !== 'json').map(field => field.name).join(', ')
    return `${text} Fields that can be filtered: ${names}; other parameters: ${others.join(', ')}`
  }

  function findHint (name: string): string {
    const foreign = explainForeignName(name, fields, filters)
    return foreign === undefined ? didYouMean(name, [...settingReaders.keys(), ...filters.keys()]) : ` ${foreign}`
  }
}

function describeDepth ({ maxSkipped }: QueryLimits): string {
  return `page may pass over at most ${maxSkipped} items (maxSkipped); go on by links.next, or by gt and lt`
}

// The id breaks ties; whatever comes after it decides nothing.
function toTotalOrder (order: readonly Order[]): Order[] {
  const end = order.findIndex(({ field }) => field === 'id')
  return end === -1 ? [...order, { field: 'id', descending: false }] : order.slice(0, end + 1)
}
