import { compareScalars } from '../storage/compare.js'
import { compilePattern } from '../storage/pattern.js'
import type { Condition, Field, Order, Query, Scalar } from '../storage/storage.js'
import { readInteger, readValue } from '../values/read.js'
import { flawOfText } from '../values/text.js'
import { filterNames, isOrdered, reservedNames } from './names.js'
import type { Filter } from './names.js'
import { nearest } from '../values/nearest.js'
import { splitQuery } from './split.js'
import type { Parameter } from './split.js'

/** Bounds of what a query may ask. */
export interface QueryLimits {
  readonly pageSize: number
  readonly maxPageSize: number
  /** How often one name may be repeated. */
  readonly maxValues: number
  readonly maxPatternLength: number
}

/** A query string, understood. */
export interface Reading {
  readonly query: Query
  readonly page: number
  /** Whether the client chose the page size itself. */
  readonly sized: boolean
  /** The members to show; undefined for all. */
  readonly fields: readonly string[] | undefined
  readonly format: string | undefined
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
  parse (search: string): Reading | { readonly flaws: readonly QueryFlaw[] }
}

const maxParameters = 100

/**
 * The query grammar of a family: a pure function from query string to query.
 *
 * @param order the order where the client asks for none; by id unless given
 */
export function compileGrammar (fields: readonly Field[], limits: QueryLimits, order: readonly Order[] = []): Grammar {
  const filters = filterNames(fields)
  const byName = new Map(fields.map(field => [field.name, field]))
  const settings = settingReaders(byName, limits)
  const known = [...Object.keys(settings), ...filters.keys()]

  return { limits, filters, parse }

  function parse (search: string): Reading | { flaws: QueryFlaw[] } {
    const flaws: QueryFlaw[] = []
    const chosen: Settings = {}
    const given = new Map<string, Given>()
    const parameters: Parameter[] = []
    const parts = splitQuery(search)
    if (parts.length > maxParameters) {
      return { flaws: [{ parameter: '?', detail: `A query has at most ${maxParameters} parameters, this one has ${parts.length}` }] }
    }

    for (const part of parts) {
      if (part.name === undefined) {
        flaws.push({ parameter: part.raw, detail: 'This is not valid percent-encoding' })
        continue
      }
      parameters.push(part)
      if (Object.hasOwn(settings, part.name)) {
        const name = part.name as keyof Settings
        const flaw = chosen[name] === undefined ? settings[name](part.value, chosen) : 'may be given only once'
        if (flaw !== undefined) flaws.push({ parameter: name, detail: `${name} ${flaw}` })
        continue
      }
      const use = filters.has(part.name) ? { filter: filters.get(part.name) as Filter, text: part.value } : comparison(part)
      if (use === undefined) {
        flaws.push({ parameter: part.name, detail: unknownName(part.name) })
        continue
      }
      const flaw = collect(given, part.name, use, limits)
      if (flaw !== undefined) flaws.push({ parameter: part.name, detail: `${part.name} ${flaw}` })
    }

    const page = chosen.page ?? 1
    const limit = Math.min(chosen.maxpagesize ?? limits.pageSize, limits.maxPageSize)
    const offset = (page - 1) * limit
    if (!Number.isSafeInteger(offset)) flaws.push({ parameter: 'page', detail: 'page is too large' })
    if (flaws.length > 0) return { flaws }

    return {
      query: {
        where: [...given.values()].map(toCondition),
        order: totalOrder(chosen.sort ?? order),
        offset,
        limit,
        count: chosen.count ?? false
      },
      page,
      sized: chosen.maxpagesize !== undefined,
      fields: chosen.fields,
      format: chosen.format,
      parameters
    }
  }

  // age>=18 arrives as the name "age>", age>18 as the name "age>18" without a value; percent-encoded, both as one name.
  function comparison ({ name, value, assigned }: Parameter): Use | undefined {
    const parts = /^([^<>]+)([<>])(=?)(.*)$/s.exec(name)
    const field = byName.get(parts?.[1] ?? '')
    if (parts === null || field === undefined || !isOrdered(field)) return undefined
    const [, , sign, equals, rest] = parts as unknown as [string, string, '<' | '>', string, string]
    const bare = rest === '' && equals === '' && assigned
    const text = bare ? value : assigned ? `${rest}=${value}` : rest
    const inclusive = bare || equals === '='
    const op = sign === '>' ? (inclusive ? 'gte' : 'gt') : (inclusive ? 'lte' : 'lt')
    return { filter: filters.get(`${field.name}.${op}`) as Filter, text }
  }

  function unknownName (name: string): string {
    const meant = nearest(name, known)
    const hint = meant === undefined ? '' : ` Did you mean "${meant}"?`
    const names = [...byName.values()].filter(field => field.kind !== 'json').map(field => field.name).join(', ')
    return `Unknown parameter "${name.slice(0, 50)}".${hint} Fields that can be filtered: ${names}; other parameters: ${reservedNames.join(', ')}`
  }
}

interface Use {
  readonly filter: Filter
  readonly text: string
}

interface Given {
  readonly filter: Filter
  readonly values: Scalar[]
}

// Values are gathered by the name as it was sent: a repeated name means any of them, different names must all hold.
function collect (given: Map<string, Given>, name: string, { filter, text }: Use, limits: QueryLimits): string | undefined {
  const key = /[<>]/.test(name) ? `${filter.field.name}.${filter.op} as sign` : name
  const values = given.get(key)?.values ?? []
  if (values.length >= limits.maxValues) return `may be given at most ${limits.maxValues} times`
  const read = filter.op === 'regex' ? readPattern(text, limits) : readValue(filter.field, text)
  if ('expected' in read) return read.expected
  values.push(read.value)
  given.set(key, { filter, values })
  return undefined
}

function readPattern (text: string, limits: QueryLimits): { value: string } | { expected: string } {
  if (text.length > limits.maxPatternLength) return { expected: `must have at most ${limits.maxPatternLength} characters` }
  const flaw = flawOfText(text)
  if (flaw !== undefined) return { expected: flaw }
  try {
    compilePattern(text)
    return { value: text }
  } catch (error) {
    return { expected: `must be a pattern in RE2 syntax: ${(error as Error).message}` }
  }
}

function toCondition ({ filter: { field: { name: field }, op }, values }: Given): Condition {
  if (op === 'eq' || op === 'ne') return { field, op, values }
  if (op === 'regex') return { field, op, patterns: values as string[] }
  // Above any of the values is above the least of them; below any, below the greatest.
  const sign = op === 'gt' || op === 'gte' ? 1 : -1
  return { field, op, value: values.reduce((least, value) => compareScalars(value, least) * sign < 0 ? value : least) }
}

function totalOrder (order: readonly Order[]): Order[] {
  const end = order.findIndex(({ field }) => field === 'id')
  return end === -1 ? [...order, { field: 'id', descending: false }] : order.slice(0, end + 1)
}

interface Settings {
  page?: number
  maxpagesize?: number
  sort?: Order[]
  fields?: string[]
  count?: boolean
  format?: string
}

type SettingReader = (text: string, chosen: Settings) => string | undefined

/** Parameters that do not filter. Each reads its text into the settings, or answers what is wrong with it. */
function settingReaders (fields: ReadonlyMap<string, Field>, limits: QueryLimits): Record<keyof Settings, SettingReader> {
  const positive = (name: 'page' | 'maxpagesize'): SettingReader => (text, chosen) => {
    const read = readInteger(text)
    if ('expected' in read || read.value < 1) return 'must be an integer from 1'
    chosen[name] = read.value
    return undefined
  }
  const sortable = [...fields.values()].filter(field => field.kind !== 'json').map(field => field.name)

  return {
    page: positive('page'),

    maxpagesize: positive('maxpagesize'),

    sort (text, chosen) {
      const sort = text.split(',').map(name => name.startsWith('-')
        ? { field: name.slice(1), descending: true }
        : { field: name, descending: false })
      const names = sort.map(({ field }) => field)
      const flaw = flawOfList(names, sortable, limits)
      if (flaw === undefined) chosen.sort = sort
      return flaw
    },

    fields (text, chosen) {
      const names = text.split(',')
      const flaw = flawOfList(names, [...fields.keys()], limits)
      if (flaw === undefined) chosen.fields = names
      return flaw
    },

    count (text, chosen) {
      if (text !== 'exact') return 'must be "exact"'
      chosen.count = true
      return undefined
    },

    format (text, chosen) {
      chosen.format = text
      return undefined
    }
  }
}

function flawOfList (names: readonly string[], allowed: readonly string[], limits: QueryLimits): string | undefined {
  if (names.length > limits.maxValues) return `may name at most ${limits.maxValues} fields`
  const unknown = names.find(name => !allowed.includes(name))
  if (unknown !== undefined) {
    const meant = nearest(unknown, allowed)
    const hint = meant === undefined ? '' : ` Did you mean "${meant}"?`
    return `names "${unknown}", which is no field.${hint} Allowed, separated by commas: ${allowed.join(', ')}`
  }
  const repeated = names.find((name, index) => names.indexOf(name) !== index)
  return repeated === undefined ? undefined : `names "${repeated}" twice`
}
