import { isIPv4, isIPv6 } from 'node:net'
import { domainToASCII, domainToUnicode } from 'node:url'
import { dateRule, dateTimeRule, isDate, readDateTime } from './dates.js'
import { isIri, isIriReference, isUri, isUriReference, isUriTemplate } from './uris.js'

/** A format of text: whether a text has it, and how that is said to who sent another. */
interface Format {
  readonly rule: string
  test (text: string): boolean
}

// To read one class such as \p{L} takes a twentieth of a millisecond: a long text of them would stop the process.
const maxRegex = 2000

const hostRule = 'must be the name of a host, as in www.example.org'
const emailRule = 'must be an email address, as in ann@example.org'
const uriRule = 'must be a URI with its scheme, as in https://example.org/a'
const referenceRule = 'must be a URI or a part of one, as in /a?b=c'

/**
 * The formats of JSON Schema 2020-12, all of them. Our own: the usual packages lack some, and match a client's text
 * with patterns that were not made for texts of a megabyte.
 */
const formats: Readonly<Record<string, Format>> = {
  date: { test: isDate, rule: dateRule },
  'date-time': { test: text => readDateTime(text) !== undefined, rule: dateTimeRule },
  duration: { test: isDuration, rule: 'must be a duration, as in P3DT12H or P2W' },
  email: { test: text => isEmail(text, isHostname, false), rule: emailRule },
  hostname: { test: isHostname, rule: hostRule },
  'idn-email': { test: text => isEmail(text, isIdnHostname, true), rule: emailRule },
  'idn-hostname': { test: isIdnHostname, rule: hostRule },
  ipv4: { test: isIPv4, rule: 'must be an IPv4 address, as in 192.0.2.1' },
  ipv6: { test: text => isIPv6(text) && !text.includes('%'), rule: 'must be an IPv6 address, as in 2001:db8::1' },
  iri: { test: isIri, rule: uriRule },
  'iri-reference': { test: isIriReference, rule: referenceRule },
  'json-pointer': { test: text => pointer.test(text), rule: 'must be a JSON pointer, as in /a/0' },
  regex: { test: isRegex, rule: `must be a regular expression of JavaScript, of at most ${maxRegex} characters` },
  'relative-json-pointer': {
    test: text => relativePointer.test(text),
    rule: 'must be a relative JSON pointer, as in 1/a'
  },
  time: { test: isTime, rule: 'must be a time with its offset, as in 12:00:00Z' },
  uri: { test: isUri, rule: uriRule },
  'uri-reference': { test: isUriReference, rule: referenceRule },
  'uri-template': { test: isUriTemplate, rule: 'must be a URI template, as in /a/{id}' },
  uuid: {
    test: text => /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/i.test(text),
    rule: 'must be a UUID, as in 01890a5d-ac96-774b-bcce-b302099a8057'
  }
}

export const formatNames: readonly string[] = Object.keys(formats)

/** The format of this name; undefined where there is none. */
export function getFormat (name: string): Format | undefined {
  return Object.hasOwn(formats, name) ? formats[name] : undefined
}

const pointer = /^(?:\/(?:[^~/]|~[01])*)*$/
const relativePointer = /^(?:0|[1-9]\d*)(?:[+-][1-9]\d*)?(?:#|(?:\/(?:[^~/]|~[01])*)*)$/
const timePattern = /^([01]\d|2[0-3]):([0-5]\d):([0-5]\d|60)(?:\.\d+)?(?:z|([+-])([01]\d|2[0-3]):([0-5]\d))$/i

// RFC 3339; a leap second is the last one of a day in UTC.
function isTime (text: string): boolean {
  const parts = timePattern.exec(text)
  if (parts === null) return false
  const [, hours, minutes, seconds, sign, offsetHours = 0, offsetMinutes = 0] = parts
  if (seconds !== '60') return true
  const offset = (Number(offsetHours) * 60 + Number(offsetMinutes)) * (sign === '-' ? -1 : 1)
  const day = 24 * 60
  return (Number(hours) * 60 + Number(minutes) - offset + day) % day === day - 1
}

function isDuration (text: string): boolean {
  return /^P(?:\d+W|(?=\d|T)(?:\d+Y)?(?:\d+M)?(?:\d+D)?(?:T(?=\d)(?:\d+H)?(?:\d+M)?(?:\d+S)?)?)$/.test(text)
}

const label = /^(?!-)[A-Za-z\d-]{1,63}(?<!-)$/

function isHostname (text: string): boolean {
  return text.length <= 253 && text.split('.').every(part =>
    label.test(part) && (!/^..--/.test(part) || isEncodedLabel(part)))
}

// Two hyphens there are kept for labels of other alphabets, which must mean something.
function isEncodedLabel (label: string): boolean {
  return /^xn--/i.test(label) && ![label.toLowerCase(), ''].includes(domainToUnicode(label))
}

function isIdnHostname (text: string): boolean {
  // What Node makes of a domain is more than a name may be: it unescapes, and reads numbers as addresses.
  if (text.length > 253 || /[\0-,/:-@[-`{-\x7f]/.test(text)) return false
  const parts = text.split(/[.\u3002\uff0e\uff61]/)
  return parts.every(part => label.test(part)
    ? isHostname(part)
    : part !== '' && !/^-|-$/.test(part) && isHostname(domainToASCII(part)))
}

const atoms = /^[\w!#$%&'*+/=?^`{|}~-]+(?:\.[\w!#$%&'*+/=?^`{|}~-]+)*$/
const idnAtoms = /^[\w!#$%&'*+/=?^`{|}~\u0080-\u{10ffff}-]+(?:\.[\w!#$%&'*+/=?^`{|}~\u0080-\u{10ffff}-]+)*$/u
const quoted = /^"(?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\[\x20-\x7e])*"$/
const idnQuoted = /^"(?:[\x20\x21\x23-\x5b\x5d-\x7e\u0080-\u{10ffff}]|\\[\x20-\x7e])*"$/u

// RFC 5321, and RFC 6531 for all alphabets: a name of at most 64 bytes, of atoms or in quotes, at a host or an address.
function isEmail (text: string, isHost: (text: string) => boolean, isIdn: boolean): boolean {
  const at = text.lastIndexOf('@')
  const [name, host] = [text.slice(0, at), text.slice(at + 1)]
  if (at < 1 || text.length > 254 || Buffer.byteLength(name) > 64) return false
  const [dots, quotes] = isIdn ? [idnAtoms, idnQuoted] : [atoms, quoted]
  if (!dots.test(name) && !quotes.test(name)) return false
  const address = /^\[(?:IPv6:([^\]%]*)|([\d.]*))\]$/i.exec(host)
  return address === null ? isHost(host) : isIPv6(address[1] ?? '') || isIPv4(address[2] ?? '')
}

function isRegex (text: string): boolean {
  try {
    return text.length <= maxRegex && new RegExp(text, 'u') instanceof RegExp
  } catch {
    return false
  }
}
