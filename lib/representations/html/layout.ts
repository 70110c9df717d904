import type { Crumb, Link } from '../representation.js'
import type { Content } from './markup.js'
import { Markup, markup } from './markup.js'
import type { Texts } from './texts.js'
import { shorten } from './values.js'

/** What a host can say of its pages. */
export interface HtmlOptions {
  /** What the application is called. Default: Dealbook. */
  readonly title?: string
  /** Where the title leads, if anywhere. */
  readonly home?: string
  /** CSS after ours. */
  readonly css?: string
  /** What the pages say, in the place of our words. */
  readonly texts?: Partial<Texts>
}

/** The look of pages, and of those that are only text. */
export interface Styles {
  readonly whole: string
  readonly plain: string
}

interface PageParts {
  readonly heading: string
  /** The state of what it is about. */
  readonly state?: string | undefined
  /** What has just happened, for the title. */
  readonly message?: string | undefined
  readonly content: Content
  /** What the page belongs to. */
  readonly trail?: readonly Crumb[] | undefined
  /** The same in other representations. */
  readonly others?: readonly Link[] | undefined
  /** Whether it is only text: there is nothing for a script to do, and little to be styled. */
  readonly isStill?: boolean
}

/** Makes the function that puts content into a whole page. */
export function makeLayout (
  { title = 'Dealbook', home }: HtmlOptions,
  texts: Texts,
  styles: Styles,
  script: string
): (parts: PageParts) => string {
  const name = home === undefined ? title : markup`<a href="${home}">${title}</a>`
  const [whole, plain, code] = [new Markup(styles.whole), new Markup(styles.plain), new Markup(script)]
  return ({ heading, state, message, content, trail = [], others = [], isStill = false }) => {
    const said = message === undefined ? shorten(heading, maxTitle) : `${message} ${shorten(heading, maxTitle)}`
    const page = markup`<html lang="${texts.lang}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${texts.pageTitle(said, title)}</title>
<style>${isStill ? plain : whole}</style>
</head>
<body>
<header><strong>${name}</strong>${trail.length > 0 && markup`
<nav class="trail" aria-label="${texts.trail}"><ol>
${trail.map(crumb => markup`<li><a href="${crumb.href}">${nameCrumb(texts, crumb)}</a></li>
`)}</ol></nav>`}</header>
<main>
<h1 dir="auto">${heading}${state !== undefined && markup` <span class="badge">${state}</span>`}</h1>
${content}
</main>
${others.length > 0 && markup`<footer>${texts.otherFormats}${others.map(renderOther)}</footer>
`}${!isStill && markup`<script>${code}</script>
`}</body>
</html>`
    return `<!DOCTYPE html>\n${page.text}\n`
  }
}

// Of a title, the beginning tells enough.
const maxTitle = 60

function nameCrumb (texts: Texts, { kind, name }: Crumb): string {
  if (kind === 'log') return texts.log
  return kind === 'list' ? texts.label(name) : shorten(name, maxTitle)
}

function renderOther ({ href, title }: Link, index: number): Markup {
  return markup`${index > 0 && ', '}<a href="${href}">${title.toUpperCase()}</a>`
}
