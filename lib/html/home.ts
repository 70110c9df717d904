import type { Count, Home, HomeFamily } from '../representations/representation.js'
import type { Markup } from './markup.js'
import { markup } from './markup.js'
import type { Texts } from './texts.js'
import { renderBadge } from './values.js'

/** Renders the families at a prefix, with what is known of how many items they have. */
export function renderHome (texts: Texts, { families }: Home): Markup {
  return markup`<ul class="home">
${families.map(family => renderFamily(texts, family))}</ul>`
}

function renderFamily (texts: Texts, family: HomeFamily): Markup {
  const { name, version, href, states = [] } = family
  const count = formatCount(texts, family)
  return markup`<li>
<h2><a href="${href}">${texts.family(texts.label(name), version)}</a></h2>
${count !== undefined && markup`<p>${texts.items(count)}</p>
`}${states.length > 0 && markup`<ul class="states">
${states.map(each => markup`<li><a href="${each.href}">${renderBadge(texts, each.state)}</a> ${
  formatCount(texts, each)}</li>
`)}</ul>
`}</li>
`
}

function formatCount (texts: Texts, { total, atLeast }: Count): string | undefined {
  if (total !== undefined) return texts.number(total)
  return atLeast === undefined ? undefined : texts.atLeast(texts.number(atLeast))
}
