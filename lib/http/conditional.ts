import type { IncomingHttpHeaders } from 'node:http'
import { BoundedCache } from '../core/cache.js'
import type { Family } from '../core/family/family.js'
import { now as readClock } from '../core/runtime.js'
import type { Stored } from '../core/storage/storage.js'
import { hashText } from '../core/values/ids.js'
import { shorten } from '../core/values/words.js'
import type { Representation } from '../representations/representation.js'

/**
 * A strong tag of the revision and the shape of the family, and of the content: where it depends on more than the item,
 * or no revision is stored.
 */
export function makeEtag (
  revision: number,
  { name }: Representation,
  ofShape = '',
  content?: unknown
): string {
  const hash = content === undefined ? '' : hashText(JSON.stringify(content)).slice(0, 22)
  if (revision === 0) return `"${hash}-${name}"`
  return `"${revision}-${name}${ofShape}${hash === '' ? '' : `-${hash}`}"`
}

/**
 * The end of a tag where clients choose ids: an item may have the id of one that was deleted and pruned, and then
 * differs by the moment of its creation.
 */
export function markItem ({ lifecycle }: Family, { createdAt }: Partial<Pick<Stored, 'createdAt'>>): string {
  const moment = lifecycle?.takesId === true && createdAt !== undefined ? Date.parse(createdAt) : 0
  // Tables of the host may have no such column.
  return moment === 0 ? '' : `~${moment.toString(36)}`
}

// A table of the host may round it, or set it by its own clock. A log is not pruned that soon.
const sameCreation = 60_000

/** Without a mark, a tag matches. */
function isSameMark (mark: string, other: string): boolean {
  if (mark === '' || other === '') return true
  return Math.abs(parseInt(mark.slice(1), 36) - parseInt(other.slice(1), 36)) < sameCreation
}

/** In the order of RFC 9110, 13.2.2. Without `updatedAt`, dates are ignored. */
export function checkReadConditions (
  headers: IncomingHttpHeaders,
  { etag, updatedAt }: { readonly etag: string, readonly updatedAt: string | undefined }
): 'go' | 'not-modified' | 'failed' {
  if (!mayProceed(headers, updatedAt, tag => tag === etag)) return 'failed'
  const { 'if-none-match': noneMatch, 'if-modified-since': since } = headers
  const isSame = noneMatch === undefined
    ? updatedAt !== undefined && isLater(updatedAt, since) === false
    : listMatches(noneMatch, tag => withoutWeakness(tag) === etag)
  return isSame ? 'not-modified' : 'go'
}

/**
 * A tag of any representation or the bare revision matches. If-None-Match counts only if the target is the item.
 *
 * @param mark of `markItem`; a tag without one matches
 */
export function checkWriteConditions (
  headers: IncomingHttpHeaders,
  { revision, updatedAt }: { readonly revision: number, readonly updatedAt: string },
  toItem: boolean,
  mark = ''
): boolean {
  const isCurrent = (tag: string): boolean => {
    const [, found, end = ''] = /^"(\d+)(-[^"]*)?"$/.exec(tag) ?? []
    return found === String(revision) && isSameMark(mark, /~\w+/.exec(end)?.[0] ?? '')
  }
  if (!mayProceed(headers, updatedAt, isCurrent)) return false
  const { 'if-none-match': noneMatch } = headers
  if (!toItem || noneMatch === undefined) return true
  // A malformed header must not permit a write.
  return readTags(noneMatch)?.some(tag => isCurrent(withoutWeakness(tag))) === false
}

/** Empty if the tags could match. */
export function explainTags (headers: IncomingHttpHeaders, revision: number): string {
  for (const name of ['If-Match', 'If-None-Match'] as const) {
    const header = headers[name.toLowerCase() as Lowercase<typeof name>] ?? '*'
    if (header.trim() !== '*' && readTags(header) === undefined) {
      return `. ${name}: ${shorten(header, 50)} is not valid: an entity tag is in quotes, such as "${revision}"`
    }
  }
  const tags = readTags(headers['if-match'] ?? '') ?? []
  if (tags.length === 0 || !tags.every(tag => tag.startsWith('W/'))) return ''
  return `. In If-Match a weak tag (W/) never matches: remove W/, such as "${revision}"`
}

/** If-Match or, without it, If-Unmodified-Since. */
function mayProceed (
  { 'if-match': match, 'if-unmodified-since': date }: IncomingHttpHeaders,
  updatedAt: string | undefined,
  isCurrent: (tag: string) => boolean
): boolean {
  if (match !== undefined) return listMatches(match, isCurrent)
  return updatedAt === undefined || isLater(updatedAt, date) !== true
}

/** Malformed headers match nothing. */
export function listMatches (header: string, holds: (tag: string) => boolean): boolean {
  return header.trim() === '*' || readTags(header)?.some(holds) === true
}

/** RFC 9110, 8.8.3 and 5.6.1; undefined if the list is malformed. */
export function readTags (header: string): string[] | undefined {
  const tags: string[] = []
  // Sticky, one element at a time: a comma inside a tag is data, empty elements are skipped.
  const element = /[ \t]*(?:((?:W\/)?"[\x21\x23-\x7e\x80-\xff]*")[ \t]*)?(,|$)/y
  while (element.lastIndex < header.length) {
    const parts = element.exec(header)
    if (parts === null) return undefined
    if (parts[1] !== undefined) tags.push(parts[1])
  }
  return tags
}

function withoutWeakness (tag: string): string {
  return tag.startsWith('W/') ? tag.slice(2) : tag
}

/** In the whole seconds of HTTP dates; undefined if the date is invalid. */
export function isLater (moment: string, header: string | undefined): boolean | undefined {
  const seconds = header === undefined ? undefined : readHttpDate(header)
  return seconds === undefined ? undefined : Math.floor(Date.parse(moment) / 1000) > seconds
}

const dateForms = [
  /^WEEKDAY, (?<day>\d\d) (?<month>[A-Z][a-z]{2}) (?<year>\d{4}) (?<time>[\d:]{8}) GMT$/,
  /^WEEKDAY[a-z]*day, (?<day>\d\d)-(?<month>[A-Z][a-z]{2})-(?<year>\d\d) (?<time>[\d:]{8}) GMT$/,
  /^WEEKDAY (?<month>[A-Z][a-z]{2}) (?<day>[ \d]\d) (?<time>[\d:]{8}) (?<year>\d{4})$/
].map(({ source }) => new RegExp(source.replace('WEEKDAY', '(?:Sun|Mon|Tue|Wed|Thu|Fri|Sat)')))

/** The three forms of RFC 9110, 5.6.7, as seconds since 1970; undefined if the date is invalid. */
export function readHttpDate (text: string, now = readClock()): number | undefined {
  const parts = dateForms.map(form => form.exec(text)?.groups).find(groups => groups !== undefined)
  if (parts === undefined) return undefined
  const { day = '', month, year = '', time } = parts
  const current = new Date(now).getUTCFullYear()
  const near = current - current % 100 + Number(year)
  // A year of two digits that would be more than 50 years ahead is in the past.
  const full = year.length === 4 ? year : near > current + 50 ? near - 100 : near
  // A leap second is the next one.
  const leap = time?.endsWith(':60') === true ? 1 : 0
  const canonical = `${day.replace(' ', '0')} ${month} ${full} ${time?.replace(/60$/, '59')} GMT`
  const date = new Date(canonical)
  // Date reads 31 April as 1 May.
  return date.toUTCString().slice(5) === canonical ? date.getTime() / 1000 + leap : undefined
}

// The same items are read repeatedly, and formatting a date takes longer than a lookup.
const written = new BoundedCache<string>(1000)

export function writeHttpDate (moment: string): string {
  return written.get(moment, () => new Date(moment).toUTCString())
}
