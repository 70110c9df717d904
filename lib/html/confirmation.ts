import type { ChangedItem } from '../representations/item-view.js'
import type { ItemAffordances } from '../representations/representation.js'
import type { Content, Markup } from './markup.js'
import { markup } from './markup.js'
import { nameForm, renderWarning } from './operation.js'
import type { Texts } from './texts.js'
import { renderChanges, renderGiven, sayOnce } from './timeline.js'

/** Renders the page that asks before something is done, with all that is known of it. */
export function renderConfirmation (
  texts: Texts,
  title: string,
  { form, item, entered, others, ...asked }: NonNullable<ItemAffordances['confirm']>
): Markup {
  const { action } = form
  const { changes, params } = sayOnce(asked)
  return markup`<p dir="auto"><a href="${item}">${title}</a></p>
${renderWarning(texts, form)}
${renderPart(texts.whatChanges, renderChanges(texts, changes))}
${others.map(other => renderOther(texts, other))}
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

function renderOther (texts: Texts, { singular, title, href, changes }: ChangedItem): Markup {
  const name = texts.item(texts.label(singular), title)
  return markup`<h2>${texts.changesToo}</h2>
<p dir="auto">${href === undefined ? name : markup`<a href="${href}">${name}</a>`}</p>
${renderChanges(texts, changes)}`
}
