import type { Field, Order } from '../storage/storage.js'
import { didYouMean } from '../values/nearest.js'
import { shorten } from '../values/shorten.js'
import { explainForeignOrder } from './foreign-names.js'
import { readOrder } from './order.js'
import { readInteger } from './values.js'

/** What a query says besides its filters, by the names of the parameters. */
export interface Settings {
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

/** Reads the text of a parameter into the settings, or returns what is wrong with it. */
export type SettingReader = (text: string, settings: Settings) => string | undefined

/**
 * Makes the readers of all parameters that do not filter.
 *
 * @param references the fields that can be expanded; without any, there is no such parameter
 * @param maxValues how many fields a list may name
 */
export function makeSettingReaders (
  fields: readonly Field[],
  references: readonly string[],
  maxValues: number
): Map<string, SettingReader> {
  const showable = fields.map(({ name }) => name)
  const sortable = fields.filter(({ kind }) => kind !== 'json').map(({ name }) => name)

  const readers: Record<keyof Settings, SettingReader> = {
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

    expand (text, settings) {
      const names = text.split(',')
      const flaw = findListFlaw(names, references, maxValues, undefined, 'no field that refers to an item')
      if (flaw === undefined) settings.expand = names
      return flaw
    },

    count (text, settings) {
      if (text !== 'exact') return 'must be "exact"'
      settings.count = true
      return undefined
    },

    format: keepText('format'),

    after: keepText('after'),

    before: keepText('before')
  }
  return new Map(Object.entries(readers).filter(([name]) => name !== 'expand' || references.length > 0))
}

function readPositive (name: 'page' | 'maxpagesize'): SettingReader {
  return (text, settings) => {
    const read = readInteger(text)
    if ('expected' in read || read.value < 1) return 'must be an integer from 1'
    settings[name] = read.value
    return undefined
  }
}

function keepText (name: 'format' | 'after' | 'before'): SettingReader {
  return (text, settings) => {
    settings[name] = text
    return undefined
  }
}

function findListFlaw (
  names: readonly string[],
  allowed: readonly string[],
  maxValues: number,
  explain?: () => string | undefined,
  flaw = 'no field'
): string | undefined {
  if (names.length > maxValues) return `may name at most ${maxValues} fields`
  const unknown = names.find(name => !allowed.includes(name))
  if (unknown !== undefined) {
    const hint = explain?.() ?? didYouMean(unknown, allowed)
    const text = `names "${shorten(unknown, 50)}", which is ${flaw}.${hint}`
    return `${text} Allowed, separated by commas: ${allowed.join(', ')}`
  }
  const repeated = names.find((name, index) => names.indexOf(name) !== index)
  return repeated === undefined ? undefined : `names "${repeated}" twice`
}
