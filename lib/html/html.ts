import { createHash } from 'node:crypto'
import type { TSchema } from '@sinclair/typebox'
import { errorCodes } from '../core/errors.js'
import { findFlaw, membersOf, rules } from '../core/values/rules.js'
import type { Crumb, ItemAffordances, Site } from '../representations/affordances.js'
import type { Representation } from '../representations/representation.js'
import { nameForm, renderProblem } from './form.js'
import { describeResult, renderConfirmation, renderItem } from './item.js'
import { renderHome, renderList } from './list.js'
import { type Content, Markup, markup, renderBadge, renderLink, shorten } from './markup.js'
import { problemStyle, script, style } from './style.js'
import { english, type Texts } from './texts.js'

/**
 * The API as pages for people, which work without scripts: lists with filters, items with a form per allowed operation.
 *
 * @example
 * const pages = html({ title: 'CRM', home: '/' })
 * app.register(deals, { storage, version: 'v1', representations: [json, xml, pages, csv, ndjson] })
 */
export function html (options: HtmlOptions = {}): Representation {
  const flaw = findFlaw(optionsRule, options, 'option') ??
    // It would end the style element, and the rest would be markup.
    (/<\/style/i.test(options.css ?? '') ? 'the option "css" must not contain "</style"' : undefined)
  if (flaw !== undefined) throw new errorCodes.FST_DEALBOOK_INVALID_HTML_OPTION(flaw)
  const replaced = Object.entries(options.texts ?? {}).filter(([, text]) => text !== undefined)
  const texts: Texts = { ...english, ...Object.fromEntries(replaced) }
  // Browsers read every line end as a line feed, and hash what they read.
  const finish = (css: string) => (css + (options.css ?? '')).replace(/\r\n?/g, '\n')
  const [whole, small] = [problemStyle + style, problemStyle].map(finish) as [string, string]
  const [main, reduced, code] = [whole, small, script].map(text => createHash('sha256').update(text).digest('base64'))
  const policy = `default-src 'none'; style-src 'sha256-${main}' 'sha256-${reduced}'; script-src 'sha256-${code}'; ` +
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
  const renderPage = makeLayout(options, texts, whole, small)
  return {
    name: 'html',
    extension: 'html',
    mediaTypes: ['text/html'],
    interactive: true,
    headers: { 'content-security-policy': policy, 'referrer-policy': 'same-origin' },
    one: async view => {
      const { home } = view
      if (home !== undefined) {
        return renderPage({ heading: texts.home, content: renderHome(texts, home), site: home.site })
      }
      const affordances = await view.affordances?.()
      const named = view.document[affordances?.title ?? 'name'] ?? view.document.id ?? undefined
      const title = texts.item(texts.label(view.name), named === undefined ? undefined : String(named))
      if (affordances?.confirm === undefined) {
        return renderPage({ heading: title, content: await renderItem(texts, view, affordances), ...affordances })
      }
      const { site, trail, confirm } = affordances
      const content = renderConfirmation(texts, title, confirm)
      return renderPage({ heading: texts.ask(nameForm(texts, confirm.form)), content, site, trail })
    },
    page: async view => {
      const affordances = await view.affordances?.()
      // A log, or a part of it, belongs to an item.
      const item = affordances?.timeline && affordances.trail.at(-1)
      const short = item !== undefined && view.name === 'commands' ? texts.log : texts.label(view.name)
      const heading = item === undefined ? short : texts.partOf(short, item.name)
      const content = await renderList(texts, view, affordances)
      return renderPage({ heading, short, content, ...affordances ?? await view.around?.() })
    },
    problem: view => renderPage({
      heading: String(view.document.title),
      content: renderProblem(texts, view),
      trail: view.onward,
      isProblem: true
    })
  }
}

/** Options of the HTML pages. */
export interface HtmlOptions {
  /** The name of the application. Default: `API`. */
  readonly title?: string
  /** The URL that the title links to. Default: the home of the prefix, if it has one. */
  readonly home?: string
  /** The URL of the API's documentation, to link to it. */
  readonly documentation?: string
  /** Added after the built-in CSS. */
  readonly css?: string
  /** Replaces texts of the pages. */
  readonly texts?: Partial<Texts>
}

const { callback, word } = rules
const textRules = Object.entries(english).map(([name, text]) => [name, typeof text === 'function' ? callback : word])
const optionsRule = membersOf({
  title: word, home: word, documentation: word, css: word, texts: membersOf(Object.fromEntries(textRules))
} satisfies Record<keyof HtmlOptions, TSchema>)

interface PageParts
  extends Partial<Pick<ItemAffordances, 'site' | 'trail' | 'state' | 'others' | 'feedback' | 'refused'>> {
  readonly heading: string
  /** For the trail, which already shows what the page belongs to. */
  readonly short?: string
  readonly content: Content
  /** Problem pages have less style and no script. */
  readonly isProblem?: boolean
}

function makeLayout (options: HtmlOptions, texts: Texts, whole: string, small: string): (parts: PageParts) => string {
  const { title = texts.application, documentation } = options
  return parts => {
    const { heading, short = heading, state, content, site, trail = [], others = [], isProblem } = parts
    const { home = site?.home } = options
    const top: Crumb[] = site?.home === undefined ? [] : [{ kind: 'home', href: site.home, name: '' }]
    const beginning = shorten(heading, maxTitle)
    const message = describeResult(texts, parts)
    const pageTitle = texts.pageTitle(message === undefined ? beginning : `${message} ${beginning}`, title)
    const page = markup`<html lang="${texts.lang}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${pageTitle}</title>
<style>${new Markup(isProblem === true ? small : whole)}</style>
</head>
<body>
<header><strong>${renderLink(home, title)}</strong>
${site && renderFamilies(texts, site)}${documentation !== undefined && markup`
<a href="${documentation}">${texts.documentation}</a>`}</header>
${renderTrail(texts, [...top, ...trail], short)}
<main>
<h1 dir="auto">${heading}${state !== undefined && markup` ${renderBadge(texts, state)}`}</h1>
${content}
</main>
${others.length > 0 && markup`<footer>${texts.otherFormats}${others.map(({ href, title }, index) =>
  markup`${index > 0 && ', '}<a href="${href}">${title.toUpperCase()}</a>`)}</footer>
`}${isProblem !== true && markup`<script>${code}</script>
`}</body>
</html>`
    return `<!DOCTYPE html>\n${page.text}\n`
  }
}

const code = new Markup(script)
const maxTitle = 60

function renderFamilies (texts: Texts, { families }: Site): Content {
  return families.length > 0 && markup`<nav class="families" aria-label="${texts.families}"><ul>
${families.map(({ name, version, href, isCurrent }) => markup`<li><a href="${href}"${
  isCurrent && markup` aria-current="true"`}>${texts.family(texts.label(name), version)}</a></li>
`)}</ul></nav>`
}

function renderTrail (texts: Texts, trail: readonly Crumb[], here: string): Content {
  return trail.length > 0 && markup`<nav class="trail" aria-label="${texts.trail}"><ol>
${trail.map(({ kind, href, name }) => {
  const shown = kind === 'item' ? shorten(name, maxTitle) : kind === 'list' ? texts.label(name) : texts[kind]
  return markup`<li><a href="${href}"><bdi>${shown}</bdi></a></li>
`
})}<li aria-current="page"><bdi>${shorten(here, maxTitle)}</bdi></li>
</ol></nav>`
}
