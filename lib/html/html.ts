import { createHash } from 'node:crypto'
import { errorCodes } from '../core/errors.js'
import type { Members } from '../core/values/json.js'
import { didYouMean } from '../core/values/nearest.js'
import type { Crumb, Link, PageAffordances, Site } from '../representations/affordances.js'
import type { Representation } from '../representations/representation.js'
import { nameForm } from './form.js'
import { describeResult, renderConfirmation, renderItem } from './item.js'
import { renderHome, renderList } from './list.js'
import type { Content } from './markup.js'
import { Markup, markup, renderBadge, renderLink, shorten } from './markup.js'
import { renderProblem } from './refusal.js'
import { script, style } from './style.js'
import type { Texts } from './texts.js'
import { english } from './texts.js'

/**
 * The API as pages that people can use, with or without scripts: lists with filters, items with a form for each
 * operation that is allowed now.
 *
 * @example
 * const pages = html({ title: 'CRM', home: '/' })
 * app.register(deals, { storage, version: 'v1', representations: [json, xml, pages, csv, ndjson] })
 */
export function html (options: HtmlOptions = {}): Representation {
  checkOptions(options)
  // Browsers read every line end as a line feed, and hash what they read.
  const css = (style + (options.css ?? '')).replace(/\r\n?/g, '\n')
  const texts = replaceTexts(options.texts)
  const renderPage = makeLayout(options, texts, css, script)
  return {
    name: 'html',
    extension: 'html',
    mediaTypes: ['text/html'],
    interactive: true,
    headers: { 'content-security-policy': makePolicy(css, script), 'referrer-policy': 'same-origin' },
    one: async view => {
      if (view.home !== undefined) {
        const { home } = view
        return renderPage({ heading: texts.home, content: renderHome(texts, home), site: home.site })
      }
      const affordances = await view.affordances?.()
      const title = makeHeading(texts, view.name, view.document, affordances?.title)
      return renderPage(affordances?.confirm === undefined
        ? {
            heading: title,
            state: affordances?.state,
            message: affordances && describeResult(texts, affordances),
            content: await renderItem(texts, view, affordances),
            site: affordances?.site,
            trail: affordances?.trail,
            others: affordances?.others
          }
        : {
            heading: texts.ask(nameForm(texts, affordances.confirm.form)),
            content: renderConfirmation(texts, title, affordances.confirm),
            site: affordances.site,
            trail: affordances.trail
          })
    },
    page: async view => {
      const affordances = await view.affordances?.()
      const around = affordances ?? await view.around?.()
      return renderPage({
        ...nameList(texts, view.name, affordances),
        message: affordances && describeResult(texts, affordances),
        content: await renderList(texts, view, affordances),
        site: around?.site,
        trail: around?.trail,
        others: affordances?.others
      })
    },
    problem: view => renderPage({
      heading: String(view.document.title),
      content: renderProblem(texts, view),
      trail: view.onward
    })
  }
}

function makePolicy (css: string, script: string): string {
  const hash = (text: string) => createHash('sha256').update(text).digest('base64')
  return `default-src 'none'; style-src 'sha256-${hash(css)}'; script-src 'sha256-${hash(script)}'; ` +
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
}

// A log, or a part of it, belongs to an item.
function nameList (
  texts: Texts,
  name: string,
  affordances: PageAffordances | undefined
): { readonly heading: string, readonly short?: string } {
  const item = affordances?.timeline && affordances.trail.at(-1)
  if (item === undefined) return { heading: texts.label(name) }
  const short = name === 'commands' ? texts.log : texts.label(name)
  return { heading: texts.partOf(short, item.name), short }
}

function makeHeading (texts: Texts, name: string, document: Members, titled = 'name'): string {
  const title = document[titled] ?? document.id
  return texts.item(texts.label(name), title === undefined || title === null ? undefined : String(title))
}

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
function checkOptions (options: HtmlOptions): void {
  for (const [name, value] of Object.entries(options) as [keyof HtmlOptions, unknown][]) {
    if (!Object.hasOwn(kinds, name)) fail(`unknown option "${name}"; there are ${Object.keys(kinds).join(', ')}`)
    const isRight = value === undefined || (value !== null && kinds[name].endsWith(` ${typeof value}`))
    if (!isRight) fail(`the option "${name}" must be ${kinds[name]}`)
  }
  // It would end the style element, and the rest would be markup.
  if (/<\/style/i.test(options.css ?? '')) fail('the option "css" must not contain "</style"')
}

/** The texts with those of a host in their places; one that is unknown or no such text is an error that names it. */
function replaceTexts (own: Partial<Texts> = {}): Texts {
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

interface PageParts {
  readonly heading: string
  /** A shorter heading for the trail, which shows already what the page belongs to. */
  readonly short?: string | undefined
  /** The state of what it is about. */
  readonly state?: string | undefined
  /** What has just happened, for the title. */
  readonly message?: string | undefined
  readonly content: Content
  /** Where it leads besides. */
  readonly site?: Site | undefined
  /** What the page belongs to. */
  readonly trail?: readonly Crumb[] | undefined
  /** The same in other representations. */
  readonly others?: readonly Link[] | undefined
}

/** Makes the function that puts content into a whole page. */
function makeLayout (
  options: HtmlOptions,
  texts: Texts,
  css: string,
  script: string
): (parts: PageParts) => string {
  const { title = texts.application, documentation } = options
  const [style, code] = [new Markup(css), new Markup(script)]
  return parts => {
    const { heading, short = heading, state, message, content, site = noSite, trail = [], others = [] } = parts
    const { home = site.home } = options
    const beginning = shorten(heading, maxTitle)
    const pageTitle = texts.pageTitle(message === undefined ? beginning : `${message} ${beginning}`, title)
    const page = markup`<html lang="${texts.lang}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${pageTitle}</title>
<style>${style}</style>
</head>
<body>
<header><strong>${renderLink(home, title)}</strong>
${renderFamilies(texts, site)}${documentation !== undefined && markup`
<a href="${documentation}">${texts.documentation}</a>`}</header>
${renderTrail(texts, addHome(site, trail), short)}
<main>
<h1 dir="auto">${heading}${state !== undefined && markup` ${renderBadge(texts, state)}`}</h1>
${content}
</main>
${others.length > 0 && markup`<footer>${texts.otherFormats}${others.map(renderOther)}</footer>
`}<script>${code}</script>
</body>
</html>`
    return `<!DOCTYPE html>\n${page.text}\n`
  }
}

const noSite: Site = { families: [] }

// Of a title, the beginning is enough.
const maxTitle = 60

function renderFamilies (texts: Texts, { families }: Site): Markup | undefined {
  if (families.length === 0) return undefined
  return markup`<nav class="families" aria-label="${texts.families}"><ul>
${families.map(({ name, version, href, isCurrent }) => markup`<li><a href="${href}"${
  isCurrent && markup` aria-current="true"`}>${texts.family(texts.label(name), version)}</a></li>
`)}</ul></nav>`
}

// The home is above everything that belongs to something.
function addHome ({ home }: Site, trail: readonly Crumb[]): readonly Crumb[] {
  if (home === undefined || trail[0]?.kind === 'home') return trail
  return [{ kind: 'home', href: home, name: '' }, ...trail]
}

function renderTrail (texts: Texts, trail: readonly Crumb[], here: string): Markup | undefined {
  if (trail.length === 0) return undefined
  return markup`<nav class="trail" aria-label="${texts.trail}"><ol>
${trail.map(crumb => markup`<li><a href="${crumb.href}"><bdi>${nameCrumb(texts, crumb)}</bdi></a></li>
`)}<li aria-current="page"><bdi>${shorten(here, maxTitle)}</bdi></li>
</ol></nav>`
}

function nameCrumb (texts: Texts, { kind, name }: Crumb): string {
  if (kind === 'log') return texts.log
  if (kind === 'home') return texts.home
  return kind === 'list' ? texts.label(name) : shorten(name, maxTitle)
}

function renderOther ({ href, title }: Link, index: number): Markup {
  return markup`${index > 0 && ', '}<a href="${href}">${title.toUpperCase()}</a>`
}
