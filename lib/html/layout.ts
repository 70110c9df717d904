import type { Crumb, ItemAffordances, Site } from '../pages/affordances.js'
import { isVisible } from '../pages/titles.js'
import { type Content, cutText, Markup, markup, renderLink } from './markup.js'
import { script } from './script.js'
import { describeResult } from './timeline.js'
import { renderBadge } from './values.js'
import { namePlural, withLabels, type Words } from './words.js'

/** The user of a page. */
export interface PageUser {
  readonly name?: string
  /** The URLs to sign out, or to sign in. */
  readonly signOut?: string
  readonly signIn?: string
}

/** The parts that all pages of an application share. */
export interface Frame {
  readonly title: string | undefined
  readonly logo: string | undefined
  readonly home: string | undefined
  readonly documentation: string | undefined
  readonly style: string
}

export interface PageParts
  extends Partial<Pick<ItemAffordances, 'trail' | 'state' | 'others' | 'feedback' | 'refused'>> {
  readonly site?: Site | undefined
  readonly heading: string
  readonly content: Content
  readonly user: PageUser | undefined
  /** Where to go back to, if not to the page itself. */
  readonly place: string | undefined
  /** Whether the form that was sent last is done. Default: if there is a message about it. */
  readonly isDone?: boolean
}

export function renderPage (words: Words, frame: Frame, parts: PageParts): string {
  const { texts, zone } = words
  const { title = texts.application, style } = frame
  const { heading, state, content, site, trail = [], others, place } = parts
  const { isDone = parts.feedback !== undefined } = parts
  const top: Crumb[] = site?.home === undefined ? [] : [{ kind: 'home', href: site.home, name: '' }]
  const known = zone !== undefined && markup` data-zone="${zone}"`
  const page = markup`<html lang="${texts.lang}" data-locale="${texts.locale}"${known}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${texts.pageTitle(nameContent(words, parts), title)}</title>
<style>${new Markup(style)}</style>
</head>
<body>
<a class="skip" href="#main">${texts.skip}</a>
${renderHeader(words, { ...frame, title }, parts)}
<main id="main"${isDone && markup` data-done`}${place !== undefined && markup` data-place="${place}"`}>
${renderTrail(words, [...top, ...trail])}
<h1 dir="auto">${heading}${state !== undefined && markup` ${renderBadge(words, state)}`}</h1>
${content}
</main>
<footer>${renderOthers(words, others)}<span class="zone" data-text="${
  texts.zone('{}')}">${texts.zone(zone ?? 'UTC')}</span></footer>
<script>${code}</script>
</body>
</html>`
  return `<!DOCTYPE html>\n${page.text}\n`
}

const code = new Markup(script)
const maxHeading = 60

/** The heading, after the result of what was just sent. */
function nameContent (words: Words, parts: PageParts): string {
  const beginning = cutText(parts.heading, maxHeading)
  const message = describeResult(words, parts)
  return message === undefined ? beginning : `${message}: ${beginning}`
}

function renderHeader (words: Words, { title, logo, documentation, home }: Frame, { site, user }: PageParts): Markup {
  const brand = logo === undefined ? title : markup`<img src="${logo}" alt="${title}">`
  return markup`<header><strong>${renderLink(home ?? site?.home, brand)}</strong>
${site && renderFamilies(words, site)}
<div class="account">${documentation !== undefined && markup`<a href="${documentation}">${words.texts.documentation}</a>
`}${user && renderUser(words, user)}</div></header>`
}

function renderOthers ({ texts }: Words, others: PageParts['others'] = []): Content {
  return others.length > 0 && markup`<span>${texts.otherFormats}${others.map(({ href, title }, index) =>
    markup`${index > 0 && ', '}<a href="${href}">${title.toUpperCase()}</a>`)}</span>
`
}

function renderUser ({ texts }: Words, { name, signOut, signIn }: PageUser): Content {
  return [
    isVisible(name) && markup`<bdi>${name}</bdi>
`,
    signOut !== undefined && markup`<a href="${signOut}">${texts.signOut}</a>`,
    signIn !== undefined && markup`<a href="${signIn}">${texts.signIn}</a>`
  ]
}

function renderFamilies (words: Words, { families }: Site): Content {
  const { texts } = words
  return families.length > 0 && markup`<nav class="families" aria-label="${texts.families}"><ul>
${families.map(({ name, labels, version, href, isCurrent }) => markup`<li><a href="${href}"${
  isCurrent && markup` aria-current="true"`}>${
  texts.family(namePlural(withLabels(words, labels), name), version)}</a></li>
`)}</ul></nav>`
}

function renderTrail (words: Words, trail: readonly Crumb[]): Content {
  return trail.length > 0 && markup`<nav class="trail" aria-label="${words.texts.trail}"><ol>
${trail.map(({ kind, href, name, labels }) => {
  const shown = kind === 'item'
    ? cutText(name, maxHeading)
    : kind === 'list' ? namePlural(withLabels(words, labels), name) : words.texts[kind]
  return markup`<li><a href="${href}"><bdi>${shown}</bdi></a></li>
`
})}</ol></nav>`
}
