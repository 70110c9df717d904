import type { Home } from '../representations/affordances.js'
import { type Markup, markup } from './markup.js'
import { renderBadge } from './values.js'
import { formatCount, namePlural, speakOf, type Words } from './words.js'

export function renderHome (words: Words, { families }: Home): Markup {
  const { texts } = words
  return markup`<ul class="home">
${families.map(family => {
  const { name, version, href, labels, states = [] } = family
  const its = speakOf(words, labels)
  const count = formatCount(words, family)
  return markup`<li>
<h2><a href="${href}">${texts.family(namePlural(its, name), version)}</a></h2>
${count !== undefined && markup`<p>${texts.items(count)}</p>
`}${states.length > 0 && markup`<ul class="counts">
${states.map(each => markup`<li><a href="${each.href}">${renderBadge(its, each)}</a> ${formatCount(words, each)}</li>
`)}</ul>
`}</li>
`
})}</ul>`
}
