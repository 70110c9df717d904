import type { FastifyRequest } from 'fastify'
import { didYouMean, isTimeZone } from '../exports.js'
import type { PageUser } from './layout.js'
import { isColor } from './style.js'
import { english, type Texts } from './texts.js'
import { hasMembers } from './values.js'

/** Options of the HTML pages. */
export interface HtmlOptions {
  /** The name of the application. Default: `API`. */
  readonly title?: string
  /** The URL of its logo, on the same origin or as `data:`. */
  readonly logo?: string
  /** The colour of the application, light and dark, such as `#0a58ca`. Links use a shade that can be read. */
  readonly colors?: { readonly accent?: string | readonly [light: string, dark: string] }
  /** The user who is signed in, and the URLs to sign in or out. */
  user? (request: FastifyRequest): PageUser | undefined | Promise<PageUser | undefined>
  /** The URL that the title links to. Default: the home of the prefix, if it has one. */
  readonly home?: string
  /** The URL of the API's documentation, to link to it. */
  readonly documentation?: string
  /** Added after the built-in CSS. */
  readonly css?: string
  /** The texts of one or more languages; missing ones are English. The first language is the default. */
  readonly texts?: Partial<Texts> | readonly Partial<Texts>[]
  /** The language of a page, one of those in `texts`. Default: by `Accept-Language`. */
  language? (request: FastifyRequest): string | undefined
  /** The zone in which moments are shown, entered and filtered. Default: the reader's zone, or UTC without scripts. */
  readonly timeZone?: string
}

type MemberKind = 'string' | 'function' | 'object' | 'any'

const kinds: Readonly<Record<keyof HtmlOptions, MemberKind>> = {
  title: 'string',
  logo: 'string',
  colors: 'object',
  user: 'function',
  home: 'string',
  documentation: 'string',
  css: 'string',
  texts: 'any',
  language: 'function',
  timeZone: 'string'
}

const textKinds = Object.fromEntries(Object.entries(english).map(([name, text]) => [name, typeof text as MemberKind]))

function findFlawInMembers (
  kinds: Readonly<Record<string, MemberKind>>, given: unknown, what = 'member', before = ''
): string | undefined {
  const known = Object.keys(kinds)
  if (!hasMembers(given)) return `must be an object with ${known.join(', ')}`
  const named = Object.keys(given).filter(name => given[name] !== undefined)
  const unknown = named.find(name => !known.includes(name))
  if (unknown !== undefined) return `unknown ${what} "${unknown}".${didYouMean(unknown, known)}`
  const isWrong = (name: string): boolean => {
    const [kind, value] = [kinds[name], given[name]]
    if (kind === 'object') return !hasMembers(value)
    const found: string = typeof value
    return kind !== 'any' && found !== kind
  }
  const wrong = known.find(name => named.includes(name) && isWrong(name))
  return wrong && `${before}"${wrong}" must be ${kinds[wrong] === 'object' ? 'an object' : `a ${kinds[wrong]}`}`
}

function locate (place: string, flaw: string | undefined): string | undefined {
  return flaw && `${place}: ${flaw}`
}

export function findFlawInOptions (options: HtmlOptions): string | undefined {
  return findFlawInMembers(kinds, options, 'option', 'the option ') ??
    locate('colors', findFlawInMembers({ accent: 'any' }, options.colors ?? {})) ??
    findFlawInLooks(options) ??
    findFlawInZone(options) ??
    findFlawInTexts(options)
}

function findFlawInLooks ({ css = '', logo = '', colors }: HtmlOptions): string | undefined {
  // It would end the style element, and the rest would be markup.
  if (/<\/style/i.test(css)) return 'the option "css" must not contain "</style"'
  if (/^([a-z][a-z\d+.-]*:|\/\/)/i.test(logo) && !/^data:image\//i.test(logo)) {
    return 'the option "logo" must be a path on the same origin, or a data: URL of an image'
  }
  const accents = [colors?.accent ?? []].flat()
  if (accents.every(isColor) && (!Array.isArray(colors?.accent) || accents.length === 2)) return undefined
  return 'the option "colors.accent" must be a colour such as "#0a58ca", or two of them: light and dark'
}

function findFlawInZone ({ timeZone }: HtmlOptions): string | undefined {
  if (timeZone === undefined || isTimeZone(timeZone)) return undefined
  return `the option "timeZone" is not a time zone: "${timeZone}"`
}

function findFlawInTexts ({ texts = {} }: HtmlOptions): string | undefined {
  const tables = Array.isArray(texts) ? texts as readonly unknown[] : [texts]
  if (tables.length === 0 || !tables.every(hasMembers)) {
    return 'the option "texts" must be an object, or a list of objects'
  }
  const wrong = tables.map(table => findFlawInMembers(textKinds, table)).find(flaw => flaw !== undefined)
  return locate('texts', wrong)
}
