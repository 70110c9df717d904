import { compareScalars } from '../storage/compare.js'
import type { Condition, Field, Order, Scalar } from '../storage/storage.js'
import type { Members } from '../values/json.js'
import { didYouMean } from '../values/nearest.js'
import { shorten } from '../values/shorten.js'
import { readCursor } from './cursor.js'
import { explainForeignOrder } from './foreign-names.js'
import type { Filter } from './names.js'
import type { PatternLimits } from './patterns.js'
import { describeTooMany, readPattern } from './patterns.js'
import type { Parameter } from './query-string.js'
import { isNullField, readInteger, readValue } from './values.js'

/** Bounds of what filters may ask. */
export interface FilterLimits extends PatternLimits {
  /** How often one name may be repeated. */
  readonly maxValues: number
}

/** A filter as one parameter uses it. */
export interface FilterUse {
  readonly filter: Filter
  /** Values under the same key are alternatives; different keys must all hold. */
  readonly key: string
  readonly text: string
}

/** The filters of one query, as far as they were read. */
export interface GivenFilters {
  /** With their values, by their keys. */
  readonly byKey: Map<string, { readonly filter: Filter, readonly values: Scalar[] }>
  /** How many patterns there were, wrong ones too. */
  patterns: number
}

/** Finds the filter that a parameter stands for, by its name or by a comparison sign in it. */
export function findFilter (filters: ReadonlyMap<string, Filter>, parameter: Parameter): FilterUse | undefined {
  const filter = filters.get(parameter.name)
  if (filter === undefined) return findComparison(filters, parameter)
  return { filter, key: parameter.name, text: parameter.value }
}

// age>=18 arrives as the name "age>" with a value, age>18 as the name "age>18" without one; percent-encoded, both
// arrive as one name.
function findComparison (
  filters: ReadonlyMap<string, Filter>,
  { name, value, assigned }: Parameter
): FilterUse | undefined {
  const parts = /^([^<>]+)([<>])(=?)(.*)$/s.exec(name)
  if (parts === null) return undefined
  const [, field, sign, equals, rest] = parts as unknown as [string, string, '<' | '>', string, string]
  const isSplitAtEquals = rest === '' && equals === '' && assigned
  const isInclusive = isSplitAtEquals || equals === '='
  const filter = filters.get(`${field}.${sign === '>' ? 'gt' : 'lt'}${isInclusive ? 'e' : ''}`)
  if (filter === undefined) return undefined
  const text = isSplitAtEquals ? value : assigned ? `${rest}=${value}` : rest
  return { filter, key: `${field}${sign}${isInclusive ? '=' : ''}`, text }
}

/** Adds a value to the filters of a query, or returns what is wrong with it. */
export function addFilter (given: GivenFilters, use: FilterUse, limits: FilterLimits): string | undefined {
  const { filter, key, text } = use
  const values = given.byKey.get(key)?.values
  if (values !== undefined && values.length >= limits.maxValues) return `may be given at most ${limits.maxValues} times`
  if (filter.op === 'regex' && ++given.patterns > limits.maxPatterns) return describeTooMany(limits)
  const read = filter.op === 'regex'
    ? readPattern(text, limits)
    : readValue(filter.op === 'null' ? isNullField : filter.field, text)
  if ('expected' in read) return read.expected
  if (values === undefined) given.byKey.set(key, { filter, values: [read.value] })
  else values.push(read.value)
  return undefined
}

/** Turns the filters of a query into conditions, all of which must hold. */
export function toConditions (given: GivenFilters): Condition[] {
  const conditions: Condition[] = []
  for (const { filter, values } of given.byKey.values()) conditions.push(toCondition(filter, values))
  return conditions
}

function toCondition ({ field: { name: field }, op }: Filter, values: readonly Scalar[]): Condition {
  if (op === 'eq' || op === 'ne') return { field, op, values }
  if (op === 'regex') return { field, op, patterns: values as string[] }
  if (op === 'null') {
    const [is, ...others] = values as [boolean, ...boolean[]]
    // Absent or not: that holds for all.
    return others.every(other => other === is) ? { field, op, is } : { field, op: 'ne', values: [] }
  }
  // Above any of the values is above the least of them; below any, below the greatest.
  const sign = op === 'gt' || op === 'gte' ? 1 : -1
  return { field, op, value: values.reduce((best, value) => compareScalars(value, best) * sign < 0 ? value : best) }
}

/** What a query says besides its filters, by the names of the parameters. */
export interface Settings {
  page?: number
  maxpagesize?: number
  sort?: Order[]
  fields?: string[]
  count?: boolean
  format?: string
  after?: Members
}

/** Reads the text of a parameter into the settings, or returns what is wrong with it. */
export type SettingReader = (text: string, settings: Settings) => string | undefined

/**
 * Makes the readers of all parameters that do not filter.
 *
 * @param maxValues how many fields a list may name
 */
export function makeSettingReaders (fields: readonly Field[], maxValues: number): Map<string, SettingReader> {
  const showable = fields.map(({ name }) => name)
  const sortable = fields.filter(({ kind }) => kind !== 'json').map(({ name }) => name)

  const readers: Record<Exclude<keyof Settings, 'after'>, SettingReader> = {
    page: readPositive('page'),

    maxpagesize: readPositive('maxpagesize'),

    sort (text, settings) {
      const sort = text.split(',').map(readOrder)
      const names = sort.map(({ field }) => field)
      const flaw = findListFlaw(names, sortable, maxValues, () => explainForeignOrder(text, sortable))
      if (flaw === undefined) settings.sort = sort
      return flaw
    },

    fields (text, settings) {
      const names = text.split(',')
      const flaw = findListFlaw(names, showable, maxValues)
      if (flaw === undefined) settings.fields = names
      return flaw
    },

    count (text, settings) {
      if (text !== 'exact') return 'must be "exact"'
      settings.count = true
      return undefined
    },

    format (text, settings) {
      settings.format = text
      return undefined
    }
  }
  return new Map(Object.entries(readers))
}

/** The reader of a cursor, where an order has them. */
export function makeCursorReader (fields: readonly Field[], order: readonly Order[]): SettingReader {
  return (text, settings) => {
    const after = readCursor(fields, order, text)
    if (after === undefined) return 'must be as it stands in the link to the next page'
    settings.after = after
    return undefined
  }
}

function readPositive (name: 'page' | 'maxpagesize'): SettingReader {
  return (text, settings) => {
    const read = readInteger(text)
    if ('expected' in read || read.value < 1) return 'must be an integer from 1'
    settings[name] = read.value
    return undefined
  }
}

function readOrder (text: string): Order {
  return text.startsWith('-') ? { field: text.slice(1), descending: true } : { field: text, descending: false }
}

function findListFlaw (
  names: readonly string[],
  allowed: readonly string[],
  maxValues: number,
  explain?: () => string | undefined
): string | undefined {
  if (names.length > maxValues) return `may name at most ${maxValues} fields`
  const unknown = names.find(name => !allowed.includes(name))
  if (unknown !== undefined) {
    const hint = explain?.() ?? didYouMean(unknown, allowed)
    const text = `names "${shorten(unknown, 50)}", which is no field.${hint}`
    return `${text} Allowed, separated by commas: ${allowed.join(', ')}`
  }
  const repeated = names.find((name, index) => names.indexOf(name) !== index)
  return repeated === undefined ? undefined : `names "${repeated}" twice`
}
