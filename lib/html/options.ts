import { errorCodes } from '../core/errors.js'
import { didYouMean } from '../core/values/nearest.js'
import type { Texts } from './texts.js'
import { english } from './texts.js'

/** What a host can set for its pages. */
export interface HtmlOptions {
  /** What the application is called. Default: API. */
  readonly title?: string
  /** Where the title leads. Default: to the home of the prefix, where there is one. */
  readonly home?: string
  /** Where the documentation of the interface is, for a link to it. */
  readonly documentation?: string
  /** CSS after ours. */
  readonly css?: string
  /** Words of the pages that replace ours. */
  readonly texts?: Partial<Texts>
}

const kinds: Readonly<Record<keyof HtmlOptions, string>> =
  { title: 'a string', home: 'a string', documentation: 'a string', css: 'a string', texts: 'an object' }

/** Refuses what is no such option. */
export function checkOptions (options: HtmlOptions): void {
  for (const [name, value] of Object.entries(options) as [keyof HtmlOptions, unknown][]) {
    if (!Object.hasOwn(kinds, name)) fail(`unknown option "${name}"; there are ${Object.keys(kinds).join(', ')}`)
    const isRight = value === undefined || (value !== null && kinds[name].endsWith(` ${typeof value}`))
    if (!isRight) fail(`the option "${name}" must be ${kinds[name]}`)
  }
  // It would end the style element, and the rest would be markup.
  if (/<\/style/i.test(options.css ?? '')) fail('the option "css" must not contain "</style"')
}

/** The texts with those of a host in their places; one that is unknown or no such text is an error that names it. */
export function replaceTexts (own: Partial<Texts> = {}): Texts {
  for (const [name, text] of Object.entries(own)) {
    if (!Object.hasOwn(english, name)) {
      const known = Object.keys(english)
      fail(`unknown text "${name}".${didYouMean(name, known)} There are ${known.join(', ')}`)
    }
    const kind: string = typeof english[name as keyof Texts]
    const given: string = typeof text
    if (text !== undefined && given !== kind) fail(`the text "${name}" must be a ${kind}`)
  }
  const given = Object.entries(own).filter(([, text]) => text !== undefined)
  return { ...english, ...Object.fromEntries(given) }
}

function fail (flaw: string): never {
  throw new errorCodes.FST_DEALBOOK_INVALID_HTML_OPTION(flaw)
}
