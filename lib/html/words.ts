import type { Count, Labels } from '../exports.js'
import type { LabelTable } from '../pages/affordances.js'
import { anyLanguage } from '../pages/labels.js'
import type { Texts } from './texts.js'

/** The language of a page: its texts, the labels of its family, and the zone of its moments. */
export interface Words {
  readonly texts: Texts
  readonly labels: Labels
  /** Labels of fields and, by paths, of what is in them, unless `labels` has others. */
  readonly titles?: Labels['fields']
  /** Undefined for the reader's zone, which only the script knows; without it, UTC. */
  readonly zone: string | undefined
  readonly now: number
  /** Translates an English text of the service or of the host. */
  readonly translate: (text: string) => string
}

/** The words with the labels of a family. */
export function withLabels (words: Words, table: LabelTable | undefined): Words {
  if (table === undefined) return { ...words, labels: noLabels, titles: undefined }
  return { ...words, labels: findLabels(table, words.texts.lang), titles: table[anyLanguage]?.fields }
}

/** In a log, the moment of an entry is when something was done. */
export function withLogLabels (words: Words): Words {
  const { labels, texts } = words
  return { ...words, labels: { ...labels, fields: { ...labels.fields, createdAt: texts.day } } }
}

export const noLabels: Labels = {}

// de-CH, otherwise de.
function findLabels (table: LabelTable, lang: string): Labels {
  return table[lang] ?? table[lang.replace(/-.*$/s, '')] ?? noLabels
}

const own = (table: Readonly<Record<string, string>> | undefined, name: string): string | undefined =>
  table !== undefined && Object.hasOwn(table, name) ? table[name] : undefined

export function nameField ({ labels, titles, texts }: Words, name: string, title = own(titles, name)): string {
  return own(labels.fields, name) ?? title ?? texts.label(name)
}

/** Of a member of an object, or of the rows of a list: by its path, otherwise like a field of its name. */
export function namePart ({ labels, titles, texts }: Words, field = '', part: string, title?: string): string {
  const path = `${field}.${part}`
  const label = own(labels.fields, path) ?? own(labels.fields, part)
  return label ?? title ?? own(titles, path) ?? texts.label(part)
}

export function namePlural ({ labels, texts }: Words, name: string): string {
  return labels.plural ?? texts.label(name)
}

export function nameSingular ({ labels, texts }: Words, name: string): string {
  return labels.singular ?? texts.label(name)
}

/** A state, or another value of a choice. */
export function nameState ({ labels, texts }: Words, value: string): string {
  return own(labels.states, value) ?? texts.choice(value)
}

interface Named {
  readonly name: string
  readonly singular: string
}

/** The text of its button. */
export function nameOperation (words: Words, { name, singular }: Named): string {
  const { labels: { operations = {} }, texts } = words
  const label = Object.hasOwn(operations, name) ? operations[name] : undefined
  if (label !== undefined) return typeof label === 'string' ? label : label.label
  return texts.submit(texts.label(name), nameSingular(words, singular))
}

/** The text in the history. */
export function nameDone (words: Words, operation: Named): string {
  const { labels: { operations = {} }, texts } = words
  const { name } = operation
  const label = Object.hasOwn(operations, name) ? operations[name] : undefined
  if (typeof label === 'object' && label.done !== undefined) return label.done
  if (name === 'create') return texts.created
  if (name === 'restore') return texts.restored
  if (name === 'erase') return texts.erased
  return name === 'delete' ? texts.deleted : texts.done(nameOperation(words, operation))
}

export function nameCreate (words: Words, singular: string): string {
  return words.labels.create ?? words.texts.create(nameSingular(words, singular))
}

interface Formatter { format (value: number): string }

// A formatter takes much time and memory. Zones are those that clients ask for.
const formats = new Map<string, Formatter>()
const maxFormats = 100

function findFormat (key: string, make: () => Formatter): Formatter {
  const known = formats.get(key)
  if (known !== undefined) return known
  if (formats.size === maxFormats) formats.clear()
  const made = make()
  formats.set(key, made)
  return made
}

export function formatNumber ({ texts: { locale } }: Words, value: number, digits = 0): string {
  return findFormat(`${locale} ${digits}`, () => makeNumberFormat(locale, digits)).format(value)
}

function makeNumberFormat (locale: string, digits: number): Formatter {
  return new Intl.NumberFormat(locale, { minimumFractionDigits: digits, maximumFractionDigits: 20 })
}

/** A decimal of at most 15 digits, with all its digits after the point. */
export function formatDecimal (words: Words, text: string): string {
  return formatNumber(words, Number(text), text.split('.')[1]?.length)
}

/** A sum, which may have more digits than a number. */
export function formatExact (words: Words, text: string): string {
  const { texts: { locale } } = words
  const digits = text.split('.')[1]?.length ?? 0
  // A text is formatted with all its digits.
  return findFormat(`${locale} ${digits}`, () => makeNumberFormat(locale, digits)).format(text as never)
}

/** `2026-03-31` -> 31 Mar 2026 */
export function formatDate ({ texts: { locale } }: Words, text: string): string {
  return findFormat(`${locale} day`, () =>
    new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeZone: 'UTC' })).format(Date.parse(text))
}

/** In the zone of the page, to the minute. */
export function formatMoment ({ texts: { locale }, zone = 'UTC' }: Words, text: string): string {
  return findFormat(`${locale} ${zone}`, () =>
    new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short', timeZone: zone }))
    .format(Date.parse(text))
}

const units: readonly (readonly [unit: Intl.RelativeTimeFormatUnit, seconds: number])[] = [
  ['year', 31_557_600], ['month', 2_629_800], ['day', 86_400], ['hour', 3600], ['minute', 60]
]

/** 2 hours ago */
export function formatAgo ({ texts: { locale }, now }: Words, text: string): string {
  const seconds = (Date.parse(text) - now) / 1000
  const [unit, size] = units.find(([, size]) => Math.abs(seconds) >= size) ?? ['second', 1]
  // Whole units: 1 hour 59 minutes ago is not 2 hours ago.
  const count = unit === 'second' ? 0 : Math.trunc(seconds / size)
  return findFormat(`${locale} ago ${unit}`, () => {
    const relative = new Intl.RelativeTimeFormat(locale, { numeric: 'auto' })
    return { format: count => relative.format(count, unit) }
  }).format(count)
}

/** Today in the zone of the page, `YYYY-MM-DD`, or some days before. */
export function findDay ({ zone, now }: Words, daysBefore: number): string {
  return new Date(Date.parse(formatDay(zone, now)) - daysBefore * 86_400_000).toISOString().slice(0, 10)
}

export function findDayOf ({ zone }: Words, moment: string): string {
  return formatDay(zone, Date.parse(moment))
}

function formatDay (zone = 'UTC', time: number): string {
  return findFormat(`day ${zone}`, () =>
    new Intl.DateTimeFormat('en-CA', { dateStyle: 'short', timeZone: zone })).format(time)
}

type Template = readonly [from: readonly string[], to: readonly string[]]

/** By templates such as `must be at least {}`; other texts stay unchanged. */
export function makeTranslator (messages: Readonly<Record<string, string>>): (text: string) => string {
  const whole = new Map(Object.entries(messages))
  const templates = Object.entries(messages).filter(([from]) => from.includes('{}'))
    .map(([from, to]): Template => [from.split('{}'), to.split('{}')])
  return text => {
    const known = whole.get(text)
    if (known !== undefined) return known
    for (const [from, [first = '', ...rest]] of templates) {
      const values = match(from, text)
      if (values === undefined) continue
      return rest.reduce((filled, part, index) => `${filled}${values[index] ?? ''}${part}`, first)
    }
    return text
  }
}

/** The texts between the parts, in linear time; undefined if they do not fit. */
function match (parts: readonly string[], text: string): string[] | undefined {
  const [first = '', ...rest] = parts
  if (!text.startsWith(first)) return undefined
  const values: string[] = []
  let start = first.length
  for (const [index, part] of rest.entries()) {
    const isLast = index === rest.length - 1
    const end = isLast ? text.length - part.length : text.indexOf(part, start)
    if (end < start || (isLast && !text.endsWith(part))) return undefined
    values.push(text.slice(start, end))
    start = end + part.length
  }
  return values
}

export function formatCount (words: Words, { total, atLeast }: Count): string | undefined {
  if (total !== undefined) return formatNumber(words, total)
  return atLeast === undefined ? undefined : words.texts.atLeast(formatNumber(words, atLeast))
}
