import type { Many, ManyItem, PageAffordances } from '../representations/affordances.js'
import { renderInputs } from './fields.js'
import { formatReason, renderRefusal } from './form.js'
import { type Content, type Markup, markup, renderHidden } from './markup.js'
import { formatNumber, nameDone, nameOperation, type Words } from './words.js'

/** The form of an operation for several items, or the outcome of each. */
export function renderManyItems (words: Words, { form, items, isDone, list, refused }: Many): Markup {
  const { texts } = words
  const shown = markup`<ul class="many">
${items.map(item => markup`<li${item.outcome !== undefined && markup` class="${item.outcome}"`}>
<a href="${item.href}"><bdi>${item.title}</bdi></a>
${isDone && markup`<span>${describe(words, form, item)}</span>`}</li>
`)}</ul>`
  if (isDone) return markup`${shown}<p><a href="${list}">${texts.back}</a></p>`
  const hint = form.title === undefined ? undefined : words.translate(form.title)
  // This page asks for confirmation, so that no other has to.
  return markup`${renderRefusal(words, refused, [form])}
<p>${texts.selectedItems(formatNumber(words, items.length))}</p>
${shown}
${form.final === true && markup`<p><strong>${texts.final}</strong></p>`}
<form method="post" action="${form.action}" class="confirm">
${hint !== undefined && markup`<p class="hint">${hint}</p>
`}<input type="hidden" name="_operation" value="${form.name}"><input type="hidden" name="_ready" value="yes">
${renderHidden(items.map(({ id, revision }) => [`_item.${id}`, revision]))}<div class="inputs">
${renderInputs(words, { ...form, danger: false, final: false })}
</div>
<a class="button" href="${list}"${form.fields.length === 0 && markup` autofocus`}>${texts.leave}</a>
<button type="submit"${form.danger === true && markup` class="danger"`}>${nameOperation(words, form)}</button>
</form>`
}

function describe (words: Words, form: Many['form'], { outcome, reason, wrongState }: ManyItem): Content {
  if (outcome === 'refused') return formatReason(words, reason ?? '', wrongState)
  return outcome === 'unchanged' ? words.texts.unchanged : nameDone(words, form)
}

/** The checkboxes of the rows belong to this form. */
export function renderMany (words: Words, { action, operations }: NonNullable<PageAffordances['many']>): Markup {
  const { texts } = words
  return markup`<form method="post" action="${action}" id="many" class="many">
<label for="many-operation">${texts.withSelected}</label>
<select id="many-operation" name="_operation"><option value="">${texts.choose}</option>${operations.map(operation =>
  markup`<option value="${operation.name}">${nameOperation(words, operation)}</option>`)}</select>
<button type="submit">${texts.go}</button>
</form>`
}
