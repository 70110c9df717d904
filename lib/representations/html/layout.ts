import type { Crumb, Link, Site } from '../representation.js'
import type { Content } from './markup.js'
import { Markup, markup } from './markup.js'
import type { Texts } from './texts.js'
import { shorten } from './values.js'

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

interface PageParts {
  readonly heading: string
  readonly content: Content
  /** Where it leads besides. */
  readonly site?: Site | undefined
  /** What the page belongs to. */
  readonly trail?: readonly Crumb[] | undefined
  /** The same in other representations. */
  readonly others?: readonly Link[] | undefined
}

/** Makes the function that puts content into a whole page. */
export function makeLayout (options: HtmlOptions, texts: Texts, css: string): (parts: PageParts) => string {
  const { title = texts.application, documentation } = options
  const sheet = new Markup(css)
  return ({ heading, content, site = { families: [] }, trail = [], others = [] }) => {
    const { home = site.home } = options
    const page = markup`<html lang="${texts.lang}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${texts.pageTitle(shorten(heading, maxTitle), title)}</title>
<style>${sheet}</style>
</head>
<body>
<header><strong>${home === undefined ? title : markup`<a href="${home}">${title}</a>`}</strong>
${renderFamilies(texts, site)}${documentation !== undefined && markup`
<a href="${documentation}">${texts.documentation}</a>`}</header>
${renderTrail(texts, addHome(site, trail), heading)}
<main>
<h1>${heading}</h1>
${content}
</main>
${others.length > 0 && markup`<footer>${texts.otherFormats}${others.map(renderOther)}</footer>
`}</body>
</html>`
    return `<!DOCTYPE html>\n${page.text}\n`
  }
}

// Of a title, the beginning tells enough.
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

function renderTrail (texts: Texts, trail: readonly Crumb[], heading: string): Markup | undefined {
  if (trail.length === 0) return undefined
  return markup`<nav class="trail" aria-label="${texts.trail}"><ol>
${trail.map(crumb => markup`<li><a href="${crumb.href}">${nameCrumb(texts, crumb)}</a></li>
`)}<li aria-current="page">${shorten(heading, maxTitle)}</li>
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
