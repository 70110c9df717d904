import { isIPv4, isIPv6 } from 'node:net'
import { dateRule, dateTimeRule, isDate, readDateTime } from './dates.js'

/** A format of text: whether a text has it, and what a refusal says of one that has not. */
interface Format {
  readonly rule: string
  test (text: string): boolean
}

// To compile one class such as \p{L} takes 50 µs: a long text of them would stop the process.
const maxRegex = 2000

const uri = /^[a-z][a-z\d+.-]*:/i
const uriCharacters = /^(?:[\w.~:/?[\]@!$&'()*+,;=-]|%[\da-f]{2})*(?:#(?:[\w.~:/?@!$&'()*+,;=-]|%[\da-f]{2})*)?$/i
const duration = /^P(?:\d+W|(?=\d|T)(?:\d+Y)?(?:\d+M)?(?:\d+D)?(?:T(?=\d)(?:\d+H)?(?:\d+M)?(?:\d+S)?)?)$/
const uuid = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/i
const label = /^(?!-)[a-z\d-]{1,63}(?<!-)$/i
const mailbox = /^[\w!#$%&'*+/=?^`{|}~-]+(?:\.[\w!#$%&'*+/=?^`{|}~-]+)*$/

/**
 * The formats that can be checked. Our own, in place of a package: each takes linear time on a text of a megabyte, and
 * says what it expects.
 */
const formats: Readonly<Record<string, Format>> = {
  date: { test: isDate, rule: dateRule },
  'date-time': { test: text => readDateTime(text) !== undefined, rule: dateTimeRule },
  time: {
    test: text => readDateTime(`2000-01-01T${text}`) !== undefined,
    rule: 'must be a time with its offset, as in 12:00:00Z'
  },
  duration: { test: text => duration.test(text), rule: 'must be a duration, as in P3DT12H or P2W' },
  email: { test: isEmail, rule: 'must be an email address, as in ann@example.org' },
  hostname: { test: isHostname, rule: 'must be the name of a host, as in www.example.org' },
  ipv4: { test: isIPv4, rule: 'must be an IPv4 address, as in 192.0.2.1' },
  ipv6: { test: text => isIPv6(text) && !text.includes('%'), rule: 'must be an IPv6 address, as in 2001:db8::1' },
  uri: {
    test: text => uri.test(text) && uriCharacters.test(text) && URL.canParse(text),
    rule: 'must be a URI with its scheme, as in https://example.org/a'
  },
  'uri-reference': {
    test: text => uriCharacters.test(text) && URL.canParse(text, 'http://example.org'),
    rule: 'must be a URI or a part of one, as in /a?b=c'
  },
  uuid: { test: text => uuid.test(text), rule: 'must be a UUID, as in 01890a5d-ac96-774b-bcce-b302099a8057' },
  'json-pointer': {
    test: text => /^(?:\/(?:[^~/]|~[01])*)*$/.test(text),
    rule: 'must be a JSON pointer, as in /a/0'
  },
  regex: { test: isRegex, rule: `must be a regular expression of JavaScript, of at most ${maxRegex} characters` }
}

export const formatNames: readonly string[] = Object.keys(formats)

/** The format of this name; undefined where it is not known. */
export function getFormat (name: string): Format | undefined {
  return Object.hasOwn(formats, name) ? formats[name] : undefined
}

function isHostname (text: string): boolean {
  return text.length <= 253 && text.split('.').every(part => label.test(part))
}

function isEmail (text: string): boolean {
  const at = text.lastIndexOf('@')
  return at > 0 && at <= 64 && text.length <= 254 && mailbox.test(text.slice(0, at)) && isHostname(text.slice(at + 1))
}

function isRegex (text: string): boolean {
  try {
    return text.length <= maxRegex && new RegExp(text, 'u') instanceof RegExp
  } catch {
    return false
  }
}
