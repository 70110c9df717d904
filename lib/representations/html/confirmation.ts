import type { ItemAffordances } from '../representation.js'
import type { Content, Markup } from './markup.js'
import { markup } from './markup.js'
import { nameForm, renderWarning } from './operation.js'
import type { Texts } from './texts.js'
import { renderChanges, renderGiven } from './timeline.js'

/** Renders the page that asks before something is done, with all that is known of it. */
export function renderConfirmation (
  texts: Texts,
  title: string,
  { form, item, entered, params, changes }: NonNullable<ItemAffordances['confirm']>
): Markup {
  const { action } = form
  return markup`<p dir="auto"><a href="${item}">${title}</a></p>
${renderWarning(texts, form)}
${renderPart(texts.whatChanges, renderChanges(texts, changes))}
${renderPart(texts.yourEntries, renderGiven(texts, params))}
<form method="post" action="${action}" class="confirm">
${entered.map(([name, value]) => markup`<input type="hidden" name="${name}" value="${value}">
`)}<button type="submit" class="danger">${nameForm(texts, form)}</button>
<a href="${item}">${texts.leave}</a>
</form>`
}

function renderPart (heading: string, content: Content): Content {
  return content !== false && markup`<h2>${heading}</h2>
${content}`
}
