import { isIPv4, isIPv6 } from 'node:net'

export const dateRule = 'must be an existing date, such as 2026-03-31'
export const dateTimeRule = 'must be a date and time, such as 2026-03-31T12:00:00Z'

const datePattern = /^(\d{4})-(\d\d)-(\d\d)$/
const timePattern = /^T([01]\d|2[0-3])(:[0-5]\d){2}(\.\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/i

/** Whether the day exists, from the year 1 (databases have no year 0) to 9999. */
export function isDate (text: string): boolean {
  const parts = datePattern.exec(text)
  if (parts === null) return false
  const [year, month, day] = [Number(parts[1]), Number(parts[2]), Number(parts[3])]
  return year >= 1 && month >= 1 && month <= 12 && day >= 1 && day <= new Date(Date.UTC(year, month, 0)).getUTCDate()
}

/** Whether a database can hold it: `infinity` and years before 1 or after 9999 are shown as PostgreSQL writes them. */
export function isDatabaseDate (text: string, test: (text: string) => boolean, lastYear: number): boolean {
  const [, digits, rest = '', before] = /^(\d{4,7})(-.*?)( BC)?$/.exec(text) ?? []
  const year = Number(digits)
  const last = before === undefined ? lastYear : 4713
  if (digits === undefined || year < 1 || year > last) return /^-?infinity$/.test(text)
  // The calendar repeats after 400 years.
  return test(`${2000 + (before === undefined ? year : 4801 - year) % 400}${rest}`)
}

export interface Day {
  readonly from: string
  readonly before: string
}

export function toDay (date: string): Day {
  const from = `${date}T00:00:00.000Z`
  const next = new Date(Date.parse(from) + 86_400_000).toISOString()
  // The day after 9999-12-31 has a five-digit year; T24 sorts after every time of the last day too.
  return { from, before: /^\d{4}-/.test(next) ? next : `${date}T24:00:00.000Z` }
}

/** Converts a date-time of any offset to `YYYY-MM-DDTHH:mm:ss.sssZ`; undefined if it is not one. */
export function readDateTime (text: string): string | undefined {
  if (!isDate(text.slice(0, 10)) || !timePattern.test(text.slice(10))) return undefined
  const moment = new Date(text.toUpperCase()).toISOString()
  // The offset can move it out of the four-digit years.
  return isDate(moment.slice(0, 10)) ? moment : undefined
}

interface Format {
  readonly rule: string
  test (text: string): boolean
}

// Compiling a class such as \p{L} takes 50 µs: a long text of them would block the process.
const maxRegex = 2000

const uri = /^[a-z][a-z\d+.-]*:/i
const uriCharacters = /^(?:[\w.~:/?[\]@!$&'()*+,;=-]|%[\da-f]{2})*(?:#(?:[\w.~:/?@!$&'()*+,;=-]|%[\da-f]{2})*)?$/i
const duration = /^P(?:\d+W|(?=\d|T)(?:\d+Y)?(?:\d+M)?(?:\d+D)?(?:T(?=\d)(?:\d+H)?(?:\d+M)?(?:\d+S)?)?)$/
const uuid = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/i
const hostLabel = /^(?!-)[a-z\d-]{1,63}(?<!-)$/i
const mailbox = /^[\w!#$%&'*+/=?^`{|}~-]+(?:\.[\w!#$%&'*+/=?^`{|}~-]+)*$/

/** Not from a package: each takes linear time on a text of a megabyte, and has a text for what it expects. */
const formatsByName: Readonly<Record<string, Format>> = {
  date: { test: isDate, rule: dateRule },
  'date-time': { test: text => readDateTime(text) !== undefined, rule: dateTimeRule },
  time: {
    test: text => readDateTime(`2000-01-01T${text}`) !== undefined,
    rule: 'must be a time with an offset, such as 12:00:00Z'
  },
  duration: { test: text => duration.test(text), rule: 'must be a duration, such as P3DT12H or P2W' },
  email: { test: isEmail, rule: 'must be an email address, such as ann@example.org' },
  hostname: { test: isHostname, rule: 'must be a host name, such as www.example.org' },
  ipv4: { test: isIPv4, rule: 'must be an IPv4 address, such as 192.0.2.1' },
  ipv6: { test: text => isIPv6(text) && !text.includes('%'), rule: 'must be an IPv6 address, such as 2001:db8::1' },
  uri: {
    test: text => uri.test(text) && uriCharacters.test(text) && URL.canParse(text),
    rule: 'must be a URI with a scheme, such as https://example.org/a'
  },
  'uri-reference': {
    test: text => uriCharacters.test(text) && URL.canParse(text, 'http://example.org'),
    rule: 'must be a URI or a part of one, such as /a?b=c'
  },
  uuid: { test: text => uuid.test(text), rule: 'must be a UUID, such as 01890a5d-ac96-774b-bcce-b302099a8057' },
  'json-pointer': {
    test: text => /^(?:\/(?:[^~/]|~[01])*)*$/.test(text),
    rule: 'must be a JSON pointer, such as /a/0'
  },
  regex: {
    test: text => text.length <= maxRegex && isRegex(text),
    rule: `must be a JavaScript regular expression of at most ${maxRegex} characters`
  }
}

export const formatNames: readonly string[] = Object.keys(formatsByName)

export const formatTests = Object.fromEntries(Object.entries(formatsByName).map(([name, { test }]) => [name, test]))

export function getFormat (name: string): Format | undefined {
  return Object.hasOwn(formatsByName, name) ? formatsByName[name] : undefined
}

function isHostname (text: string): boolean {
  return text.length <= 253 && text.split('.').every(part => hostLabel.test(part))
}

function isEmail (text: string): boolean {
  const at = text.lastIndexOf('@')
  return at > 0 && at <= 64 && text.length <= 254 && mailbox.test(text.slice(0, at)) && isHostname(text.slice(at + 1))
}

export function isRegex (text: string): boolean {
  try {
    return new RegExp(text, 'u') instanceof RegExp
  } catch {
    return false
  }
}

/** Changes that a text field makes to the texts of clients, with the names of ajv-keywords. */
export type TextTransform =
  'trim' | 'trimStart' | 'trimLeft' | 'trimEnd' | 'trimRight' | 'toLowerCase' | 'toUpperCase'

/** Each is a method of strings. */
export const transformNames: readonly string[] =
  ['trim', 'trimStart', 'trimLeft', 'trimEnd', 'trimRight', 'toLowerCase', 'toUpperCase']

export function transformText (names: readonly TextTransform[], text: string): string {
  return names.reduce((changed, name) => changed[name](), text)
}
