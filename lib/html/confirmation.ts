import type { ChangedItem, Confirmation } from '../representations/item-view.js'
import type { Content, Markup } from './markup.js'
import { markup } from './markup.js'
import { nameForm } from './operation.js'
import type { Texts } from './texts.js'
import { omitRepeated, renderChanges, renderGiven } from './timeline.js'

/** Renders the page that asks before something is done, with all that is known of it. */
export function renderConfirmation (
  texts: Texts,
  title: string,
  { form, item, entered, others, ...asked }: Confirmation
): Markup {
  const { name, singular, title: summary, final, action } = form
  const { changes, params } = omitRepeated(asked)
  const warning = name === 'delete' ? texts.willBeGone(texts.label(singular)) : summary
  return markup`<p dir="auto"><a href="${item}">${title}</a></p>
${warning !== undefined && markup`<p>${warning}</p>`}
${final === true && markup`<p><strong>${texts.final}</strong></p>`}
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
