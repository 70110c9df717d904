import type { IncomingHttpHeaders } from 'node:http'
import { BoundedCache } from '../core/cache.js'
import { hashText } from '../core/values/ids.js'
import { shorten } from '../core/values/words.js'
import type { Representation } from '../representations/representation.js'

/** A strong tag: of the revision and the shape of the family if a revision is stored, otherwise of the content. */
export function makeEtag (
  { revision }: { readonly revision: number },
  document: object,
  { name }: Representation,
  ofShape = ''
): string {
  if (revision > 0) return `"${revision}-${name}${ofShape}"`
  return `"${hashText(JSON.stringify(document)).slice(0, 22)}-${name}"`
}

/** In the order of RFC 9110, 13.2.2. Without `updatedAt`, dates are ignored. */
export function checkReadConditions (
  headers: IncomingHttpHeaders,
  { etag, updatedAt }: { readonly etag: string, readonly updatedAt: string | undefined }
): 'go' | 'not-modified' | 'failed' {
  const match = headers['if-match']
  const noneMatch = headers['if-none-match']
  const since = headers['if-modified-since']
  const unmodified = headers['if-unmodified-since']
  if (match === undefined && noneMatch === undefined && since === undefined && unmodified === undefined) return 'go'
  if (match !== undefined) {
    if (!listMatches(match, tag => tag === etag)) return 'failed'
  } else if (updatedAt !== undefined && unmodified !== undefined && isLater(updatedAt, unmodified)) {
    return 'failed'
  }
  if (noneMatch !== undefined) {
    return listMatches(noneMatch, tag => withoutWeakness(tag) === etag) ? 'not-modified' : 'go'
  }
  if (updatedAt === undefined || since === undefined || readHttpDate(since) === undefined) return 'go'
  return isLater(updatedAt, since) ? 'go' : 'not-modified'
}

/** A tag of any representation or the bare revision matches. If-None-Match counts only if the target is the item. */
export function checkWriteConditions (
  headers: IncomingHttpHeaders,
  current: { readonly revision: number, readonly updatedAt: string },
  toItem: boolean
): boolean {
  const { 'if-match': match, 'if-none-match': noneMatch, 'if-unmodified-since': unmodified } = headers
  const isCurrent = (tag: string) => /^"(\d+)(?:-[^"]*)?"$/.exec(tag)?.[1] === String(current.revision)
  if (match !== undefined) {
    if (!listMatches(match, isCurrent)) return false
  } else if (unmodified !== undefined && isLater(current.updatedAt, unmodified)) {
    return false
  }
  if (!toItem || noneMatch === undefined) return true
  // A malformed header must not permit a write.
  return isTagList(noneMatch) && !listMatches(noneMatch, tag => isCurrent(withoutWeakness(tag)))
}

/** Empty if the tags could match. */
export function explainTags (headers: IncomingHttpHeaders, revision: number): string {
  for (const name of ['If-Match', 'If-None-Match'] as const) {
    const header = headers[name.toLowerCase() as Lowercase<typeof name>]
    if (header !== undefined && !isTagList(header)) {
      return `. ${name}: ${shorten(header, 50)} is not valid: an entity tag is in quotes, such as "${revision}"`
    }
  }
  const tags = readTags(headers['if-match'] ?? '') ?? []
  if (tags.length === 0 || !tags.every(tag => tag.startsWith('W/'))) return ''
  return `. In If-Match a weak tag (W/) never matches: remove W/, such as "${revision}"`
}

function isTagList (header: string): boolean {
  return header.trim() === '*' || readTags(header) !== undefined
}

/** Malformed headers match nothing. */
export function listMatches (header: string, holds: (tag: string) => boolean): boolean {
  if (header.trim() === '*') return true
  const tags = readTags(header)
  return tags !== undefined && tags.some(holds)
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

/** In the whole seconds of HTTP dates; an invalid date is ignored. */
export function isLater (moment: string, date: string): boolean {
  const seconds = readHttpDate(date)
  return seconds !== undefined && Math.floor(Date.parse(moment) / 1000) > seconds
}

const day = '(?:Sun|Mon|Tue|Wed|Thu|Fri|Sat)'
const month = '(?<month>[A-Z][a-z]{2})'
const time = '(?<time>\\d\\d:\\d\\d:(?:[0-5]\\d|60))'
const forms = [
  new RegExp(`^${day}, (?<day>\\d\\d) ${month} (?<year>\\d{4}) ${time} GMT$`),
  new RegExp(`^${day}[a-z]*day, (?<day>\\d\\d)-${month}-(?<year>\\d\\d) ${time} GMT$`),
  new RegExp(`^${day} ${month} (?<day>[ \\d]\\d) ${time} (?<year>\\d{4})$`)
]

/** The three forms of RFC 9110, 5.6.7, as seconds since 1970; undefined if the date is invalid. */
export function readHttpDate (text: string, now = Date.now()): number | undefined {
  for (const form of forms) {
    const parts = form.exec(text)?.groups
    if (parts === undefined) continue
    let year = Number(parts.year)
    if (parts.year?.length === 2) {
      const current = new Date(now).getUTCFullYear()
      year += current - current % 100
      // A year of two digits that would be more than 50 years ahead is in the past.
      if (year > current + 50) year -= 100
    }
    // Date reads a leap second as the first of its minute.
    const time = parts.time?.replace(/60$/, '59') as string
    const date = new Date(`${parts.day} ${parts.month} ${year} ${time} GMT`)
    // It reads 31 April as 1 May, and maps years below 100.
    if (date.getUTCDate() !== Number(parts.day) || year < 100) return undefined
    return date.getTime() / 1000 + (time === parts.time ? 0 : 1)
  }
  return undefined
}

// The same items are read repeatedly, and formatting a date takes longer than a lookup.
const written = new BoundedCache<string>(1000)

export function writeHttpDate (moment: string): string {
  return written.get(moment, () => new Date(moment).toUTCString())
}
