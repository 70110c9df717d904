import type { FormField, FormOffer } from '../representation.js'
import { markup } from './markup.js'
import type { Markup } from './markup.js'
import { label, sentence } from './values.js'

/** A form that POSTs, with what was entered and what was wrong with it. */
export function form ({ name, title, action, fields, key, revision }: FormOffer, danger = false): Markup {
  return markup`<form method="post" action="${action}" aria-labelledby="${name}-title">
<h3 id="${name}-title">${title}</h3>
<input type="hidden" name="_key" value="${key}">${revision !== undefined && markup`
<input type="hidden" name="_revision" value="${revision}">`}
${fields.map(each => field(each, name))}
<button type="submit"${danger ? markup` class="danger"` : ''}>${label(name)}</button>
</form>`
}

/** The fields to filter a list by; they are sent as its query. */
export function filterForm (fields: readonly FormField[], action: string, kept: readonly (readonly [string, string])[]): Markup {
  const isUsed = fields.some(({ value }) => value !== undefined && value !== '')
  return markup`<details${isUsed && markup` open`}>
<summary>Filter</summary>
<form method="get" action="${action}">
${kept.map(([name, value]) => markup`<input type="hidden" name="${name}" value="${value}">`)}
<div class="filters">
${fields.map(each => field(each, 'filter'))}
<div class="field apply"><button type="submit">Apply</button>${isUsed && markup`<a href="${action}">Clear</a>`}</div>
</div>
</form>
</details>`
}

/** The id of a field in the page. */
export function fieldId (form: string, name: string): string {
  return `${form}-${name.replaceAll('.', '-')}`
}

function field (shown: FormField, form: string): Markup {
  const { name, label: text, description, error } = shown
  const id = fieldId(form, name)
  const hints = [description === undefined ? '' : `${id}-hint`, error === undefined ? '' : `${id}-error`].filter(hint => hint !== '')
  const aria = markup`${hints.length > 0 && markup` aria-describedby="${hints.join(' ')}"`}${error !== undefined && markup` aria-invalid="true"`}`
  return markup`<div class="field">
<label for="${id}">${label(text)}</label>
${description !== undefined && markup`<span class="hint" id="${id}-hint">${description}</span>`}
${control(shown, id, aria)}
${error !== undefined && markup`<span class="error" id="${id}-error">${sentence(label(text), error)}</span>`}
</div>`
}

function control (shown: FormField, id: string, aria: Markup): Markup {
  const { name, kind, required, values, value } = shown
  const common = markup`id="${id}" name="${name}"${required && markup` required`}${aria}`
  const choices = values ?? (kind === 'boolean' ? ['true', 'false'] : undefined)
  if (choices !== undefined) {
    const options = choices.map(choice => markup`<option value="${choice}"${choice === value && markup` selected`}>${kind === 'boolean' ? (choice === 'true' ? 'yes' : 'no') : choice}</option>`)
    return markup`<select ${common}><option value="">${required ? 'choose' : 'any'}</option>${options}</select>`
  }
  if (kind === 'string' && (shown.maxLength ?? 0) > 1000) {
    // A first line feed in a textarea would be dropped.
    return markup`<textarea ${common} maxlength="${shown.maxLength}">
${value}</textarea>`
  }
  return markup`<input ${common} ${typeOf(shown)}${value !== undefined && markup` value="${value}"`}>`
}

function typeOf ({ kind, minimum, maxLength }: FormField): Markup {
  const least = minimum === undefined ? undefined : markup` min="${minimum}"`
  switch (kind) {
    case 'integer': return markup`type="number" step="1" inputmode="numeric"${least}`
    case 'number': return markup`type="number" step="any" inputmode="decimal"${least}`
    case 'date': return markup`type="date"`
    default: return markup`type="text"${maxLength === undefined ? undefined : markup` maxlength="${maxLength}"`}`
  }
}
