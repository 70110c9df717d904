import type { Crumb, Link, Site } from '../representations/representation.js'
import type { Content } from './markup.js'
import { Markup, markup } from './markup.js'
import type { HtmlOptions } from './options.js'
import type { Texts } from './texts.js'
import { renderBadge, shorten } from './values.js'

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
export function makeLayout (
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
<header><strong>${home === undefined ? title : markup`<a href="${home}">${title}</a>`}</strong>
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
