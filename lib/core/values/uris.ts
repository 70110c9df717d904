import { isIPv6 } from 'node:net'

// RFC 3986 and, with the characters of all alphabets, RFC 3987. Every pattern takes each character in one way only.
const all = '\\u{a0}-\\u{d7ff}\\u{f900}-\\u{fdcf}\\u{fdf0}-\\u{ffef}' +
  // Of every further plane all but its last two.
  Array.from({ length: 14 }, (_, index) => (index + 1).toString(16))
    .map(plane => `\\u{${plane}${plane === 'e' ? '1000' : '0000'}}-\\u{${plane}fffd}`).join('')
const ofPrivateUse = '\\u{e000}-\\u{f8ff}\\u{f0000}-\\u{ffffd}\\u{100000}-\\u{10fffd}'
const common = "\\w.~!$&'()*+,;="

interface Patterns {
  readonly user: RegExp
  readonly host: RegExp
  readonly path: RegExp
  readonly query: RegExp
  readonly fragment: RegExp
}

function makePatterns (letters: string, privateLetters: string): Patterns {
  const repeat = (characters: string) => new RegExp(`^(?:[${characters}${letters}-]|%[\\da-fA-F]{2})*$`, 'u')
  return {
    user: repeat(`${common}:`),
    host: repeat(common),
    path: repeat(`${common}:@/`),
    query: repeat(`${common}:@/?${privateLetters}`),
    fragment: repeat(`${common}:@/?`)
  }
}

const uri = makePatterns('', '')
const iri = makePatterns(all, ofPrivateUse)

export const isUri = (text: string) => hasScheme(text) && isReference(text, uri)
export const isUriReference = (text: string) => isReference(text, uri)
export const isIri = (text: string) => hasScheme(text) && isReference(text, iri)
export const isIriReference = (text: string) => isReference(text, iri)

const scheme = /^[A-Za-z][A-Za-z\d+.-]*:/

function hasScheme (text: string): boolean {
  return scheme.test(text)
}

function isReference (text: string, patterns: Patterns): boolean {
  const [beforeFragment, fragment] = cut(text, '#')
  const [beforeQuery, query] = cut(beforeFragment, '?')
  if (!patterns.query.test(query) || !patterns.fragment.test(fragment)) return false
  const hierarchy = beforeQuery.replace(scheme, '')
  if (hierarchy.startsWith('//')) {
    const end = hierarchy.indexOf('/', 2)
    const authority = hierarchy.slice(2, end === -1 ? undefined : end)
    return isAuthority(authority, patterns) && patterns.path.test(end === -1 ? '' : hierarchy.slice(end))
  }
  // Where there is no scheme, a colon in the first segment would make one.
  const isScheme = hierarchy === beforeQuery && /^[^/]*:/.test(hierarchy)
  return !isScheme && patterns.path.test(hierarchy)
}

const authorityParts = /^(?:([^@]*)@)?(?:\[([^\]]*)\]|([^:@[\]]*))(?::\d*)?$/

function isAuthority (text: string, { user, host }: Patterns): boolean {
  const parts = authorityParts.exec(text)
  if (parts === null) return false
  const [, userInfo = '', address, name = ''] = parts
  return user.test(userInfo) && (address === undefined ? host.test(name) : isAddress(address))
}

// Of the sixth version, or of one to come.
function isAddress (text: string): boolean {
  return isIPv6(text) ? !text.includes('%') : /^v[\da-f]+\.[\w.~!$&'()*+,;=:-]+$/i.test(text)
}

function cut (text: string, mark: string): [string, string] {
  const at = text.indexOf(mark)
  return at === -1 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)]
}

// RFC 6570: text, and expressions in braces.
const templateText = /^(?:[\w!#$&'()*+,\-./:;=?@[\]~\u0080-\u{10ffff}]|%[\da-fA-F]{2})*$/u
const variable = /^(?:\w|%[\da-fA-F]{2})(?:\.?(?:\w|%[\da-fA-F]{2}))*(?:\*|:[1-9]\d{0,3})?$/

export function isUriTemplate (text: string): boolean {
  const [first, ...others] = text.split('{')
  return templateText.test(first as string) && others.every(part => {
    const end = part.indexOf('}')
    const names = part.slice(/^[+#./;?&=,!@|]/.test(part) ? 1 : 0, end).split(',')
    return end !== -1 && names.every(name => variable.test(name)) && templateText.test(part.slice(end + 1))
  })
}
