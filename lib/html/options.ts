import type { TSchema } from '@sinclair/typebox'
import { errorCodes } from '../core/errors.js'
import { findFlaw, membersOf, rules } from '../core/values/rules.js'
import { english } from './english.js'
import type { Texts } from './texts.js'

/** What a host can say of its pages. */
export interface HtmlOptions {
  /** What the application is called. Default: API. */
  readonly title?: string
  /** Where the title leads. Default: to the home of the prefix, where there is one. */
  readonly home?: string
  /** Where the documentation of the interface is, for a link to it. */
  readonly documentation?: string
  /** CSS after ours. */
  readonly css?: string
  /** What the pages say, in the place of our words. */
  readonly texts?: Partial<Texts>
}

const { callback, word } = rules
const textRules = Object.entries(english).map(([name, text]) => [name, typeof text === 'function' ? callback : word])
const optionsRule = membersOf({
  title: word, home: word, documentation: word, css: word, texts: membersOf(Object.fromEntries(textRules))
} satisfies Record<keyof HtmlOptions, TSchema>)

/** Refuses an unknown or wrong option. */
export function checkOptions (options: HtmlOptions): void {
  const flaw = findFlaw(optionsRule, options, 'option') ??
    // It would end the style element, and the rest would be markup.
    (/<\/style/i.test(options.css ?? '') ? 'the option "css" must not contain "</style"' : undefined)
  if (flaw !== undefined) throw new errorCodes.FST_DEALBOOK_INVALID_HTML_OPTION(flaw)
}

/** The texts, with those of a host in place of ours. */
export function replaceTexts (own: Partial<Texts> = {}): Texts {
  return { ...english, ...Object.fromEntries(Object.entries(own).filter(([, text]) => text !== undefined)) }
}
