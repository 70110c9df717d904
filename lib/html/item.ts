import type { Members } from '../core/values/json.js'
import type { ItemAffordances, Kinds, OneView } from '../representations/representation.js'
import type { Content, Markup } from './markup.js'
import { markup } from './markup.js'
import { renderMessage } from './message.js'
import { nameForm, renderOperation } from './operation.js'
import { formatReason, renderRefusal } from './refusal.js'
import type { Texts } from './texts.js'
import { renderTimeline } from './timeline.js'
import { renderValue } from './values.js'

/** Renders one resource: its members, what can be done with it now, and what was done. */
export async function renderItem (
  texts: Texts,
  { document, name }: OneView,
  affordances: ItemAffordances | undefined
): Promise<Markup> {
  if (affordances === undefined) return renderMembers(texts, document, {})
  const { operations, log, refused, kinds, technical, feedback, entry } = affordances
  const isTechnical = ([name]: [string, unknown]) => technical.includes(name)
  const members = Object.entries(document).filter(([name]) => entry === undefined || !shownByEntry.includes(name))
  const [plain, given] = [members.filter(member => !isTechnical(member)), members.filter(isTechnical)]
  return markup`${feedback && renderMessage(texts, feedback)}
${renderRefusal(texts, refused, operations)}
${entry && markup`${await renderTimeline(texts, [entry])}
<h2>${texts.technical}</h2>`}
${plain.length > 0 && renderMembers(texts, Object.fromEntries(plain), kinds, entry?.href)}
${operations.length > 0 && markup`<section class="operations" aria-labelledby="operations">
<h2 id="operations">${texts.operations}</h2>
${operations.map(operation => renderOperation(texts, operation))}
</section>`}
${renderUnavailable(texts, name, affordances)}
${log && markup`<h2>${texts.log}</h2>
${await renderTimeline(texts, log.entries)}
<p><a href="${log.href}">${texts.wholeLog}</a></p>`}
${given.length > 0 && markup`<h2>${texts.technical}</h2>
${renderMembers(texts, Object.fromEntries(given), kinds)}`}`
}

// Better than as JSON.
const shownByEntry = ['params', 'problem']

function renderUnavailable (texts: Texts, singular: string, { unavailable }: ItemAffordances): Content {
  return unavailable.length > 0 && markup`<h2>${texts.unavailable}</h2>
<dl>
${unavailable.map(({ name, reason, wrongState }) =>
  markup`<dt>${nameForm(texts, { name, singular })}</dt><dd dir="auto">${formatReason(texts, reason, wrongState)}</dd>
`)}</dl>`
}

// A page does not link to itself.
function renderMembers (texts: Texts, document: Members, kinds: Kinds, here?: string): Markup {
  const { links = {}, ...members } = document as { links?: Record<string, string> }
  const entries = Object.entries(members)
  // What is a member and a link is one thing.
  const others = Object.entries(links).filter(([rel, href]) => href !== here && !Object.hasOwn(members, rel))
  const show = (name: string, value: unknown): Content => {
    const shown = renderValue(texts, value, kinds[name])
    return Object.hasOwn(links, name) ? markup`<a href="${links[name]}">${shown}</a>` : shown
  }
  return markup`<dl>
${entries.map(([name, value]) => markup`<dt>${texts.label(name)}</dt><dd dir="auto">${show(name, value)}</dd>
`)}${others.map(([rel, href]) => markup`<dt>${texts.label(rel)}</dt><dd><a href="${href}">${href}</a></dd>
`)}</dl>`
}
