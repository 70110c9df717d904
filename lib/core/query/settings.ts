import type { Order } from '../storage/storage.js'
import { didYouMean, shorten } from '../values/words.js'
import { readOrder } from './cursor.js'
import { isTimeZone } from './time-zones.js'
import { type QueryLimits, readInteger, type ReadResult, readWords } from './values.js'

/** Parameters of a list that are not filters. */
export interface Settings {
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

/** What settings may name. */
interface Nameable {
  readonly names: readonly string[]
  /** Those that the list can be sorted by. */
  readonly sorted: readonly string[]
  readonly references: readonly string[]
  readonly states: readonly string[]
}

/** For a setting that may be repeated, `before` has the earlier values. */
type ReadSetting<S extends keyof Settings> =
  (text: string, before?: string[]) => ReadResult<NonNullable<Settings[S]>>
export type SettingReaders = { readonly [S in keyof Settings]-?: ReadSetting<S> }

export function makeReaders ({ names, sorted, references, states }: Nameable, limits: QueryLimits): SettingReaders {
  const keep = (value: string) => ({ value })
  const readNames = (value: string[], allowed: readonly string[], otherwise: string): ReadResult<string[]> =>
    value.length > limits.maxValues
      ? { expected: `may name at most ${limits.maxValues} fields` }
      : checkNames(value, allowed, otherwise)
  return {
    page: readPositive,
    maxpagesize: readPositive,
    sort (text) {
      const sort = text.split(',').map(readOrder)
      const read = readNames(sort.map(({ field }) => field), sorted, 'not a field')
      return 'expected' in read ? read : { value: sort }
    },
    fields: (text, before = []) => readNames([...before, ...text.split(',')], names, 'not a field'),
    expand: text => readNames(text.split(','), references, 'not a field that refers to an item'),
    count: text => text === 'exact' ? { value: true } : { expected: 'must be "exact"' },
    format: keep,
    after: keep,
    before: keep,
    state: (text, before = []) => states.includes(text)
      ? { value: [...new Set([...before, text])] }
      : { expected: `must be one of ${states.join(', ')}` },
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
}

function checkNames (value: string[], allowed: readonly string[], otherwise: string): ReadResult<string[]> {
  const unknown = value.find(name => !allowed.includes(name))
  if (unknown !== undefined) {
    const text = `names "${shorten(unknown, 50)}", which is ${otherwise}.${didYouMean(unknown, allowed)}`
    return { expected: `${text} Allowed, separated by commas: ${allowed.join(', ')}` }
  }
  const repeated = value.find((name, index) => value.indexOf(name) !== index)
  return repeated === undefined ? { value } : { expected: `names "${repeated}" twice` }
}

const maxWords = 8

export function splitWords (text: string): string[] {
  return text.split(/\s+/).filter(word => word !== '')
}

function readPositive (text: string): ReadResult<number> {
  const read = readInteger(text)
  return 'expected' in read || read.value < 1 ? { expected: 'must be a positive integer' } : read
}
