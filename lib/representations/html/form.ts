import type { FormAffordance, FormField } from '../representation.js'
import type { Markup } from './markup.js'
import { markup } from './markup.js'
import type { Texts } from './texts.js'

/**
 * Renders a form that POSTs, with what was entered and what was wrong with it.
 *
 * @param singular what it is about
 */
export function renderForm (texts: Texts, form: FormAffordance, singular: string, isDangerous = false): Markup {
  const { name, action } = form
  const words = [texts.label(name), texts.label(singular)] as const
  const { title = texts.operation(...words) } = form
  return markup`<form method="post" action="${action}" aria-labelledby="${name}.title">
<h3 id="${name}.title">${title}</h3>
${renderInputs(texts, form)}
<button type="submit"${isDangerous && markup` class="danger"`}>${texts.submit(...words)}</button>
</form>`
}

/** Renders everything of a form but its title and its button. */
export function renderInputs (texts: Texts, { name, fields, key, revision }: FormAffordance): Markup {
  return markup`<input type="hidden" name="_key" value="${key}">${revision !== undefined && markup`
<input type="hidden" name="_revision" value="${revision}">`}
${fields.map(field => renderField(texts, field, name))}`
}

/** The name of the form that filters a list. */
export const filterForm = 'filter'

/** Makes the id of a field in the page. */
export function toFieldId (form: string, name: string): string {
  return `${form}-${name.replaceAll('.', '-')}`
}

/** What a field is called. */
export function labelField (texts: Texts, { label, bound }: Pick<FormField, 'label' | 'bound'>): string {
  const name = texts.label(label)
  return bound === undefined ? name : texts[bound](name)
}

export function renderField (texts: Texts, field: FormField, form: string): Markup {
  const { name, description, was, error } = field
  const label = labelField(texts, field)
  const id = toFieldId(form, name)
  const hint = description !== undefined && markup`<span class="hint" id="${id}-hint">${description}</span>`
  const message = error !== undefined &&
    markup`<span class="error" id="${id}-error">${texts.sentence(label, texts.flaw(error))}</span>`
  return markup`<div class="field">
<label for="${id}">${label}</label>
${hint}
${renderControl(texts, field, id, form)}${was !== undefined && markup`
<input type="hidden" name="_was.${name}" value="${was}">`}
${message}
</div>`
}

function renderControl (texts: Texts, field: FormField, id: string, form: string): Markup {
  const { name, kind, required, values, value, maxLength } = field
  const attributes = markup`id="${id}" name="${name}"${required && markup` required`}${renderAria(field, id)}`
  const choices = values ?? (kind === 'boolean' ? ['true', 'false'] : undefined)
  if (choices !== undefined) {
    const options = choices.map(choice => renderOption(texts, choice, field))
    const empty = required ? texts.choose : form === filterForm ? texts.any : texts.chooseNone
    return markup`<select ${attributes}><option value="">${empty}</option>${options}</select>`
  }
  // In an input, line ends would be dropped.
  if (kind === 'string' && ((maxLength ?? 0) > 1000 || (value !== undefined && /[\r\n]/.test(value)))) {
    // A first line feed in a textarea would be dropped.
    return markup`<textarea ${attributes}${maxLength !== undefined && markup` maxlength="${maxLength}"`}>
${value}</textarea>`
  }
  return markup`<input ${attributes} ${renderType(field)}${value !== undefined && markup` value="${value}"`}>`
}

function renderAria ({ description, error }: FormField, id: string): Markup {
  const describedBy: string[] = []
  if (description !== undefined) describedBy.push(`${id}-hint`)
  if (error !== undefined) describedBy.push(`${id}-error`)
  const reference = describedBy.length > 0 && markup` aria-describedby="${describedBy.join(' ')}"`
  return markup`${reference}${error !== undefined && markup` aria-invalid="true"`}`
}

function renderOption (texts: Texts, choice: string, { kind, value }: FormField): Markup {
  const text = kind !== 'boolean' ? choice : choice === 'true' ? texts.yes : texts.no
  return markup`<option value="${choice}"${choice === value && markup` selected`}>${text}</option>`
}

function renderType ({ kind, minimum, maxLength }: FormField): Markup {
  const min = minimum !== undefined && markup` min="${minimum}"`
  switch (kind) {
    case 'integer': return markup`type="number" step="1" inputmode="numeric"${min}`
    case 'number': return markup`type="number" step="any" inputmode="decimal"${min}`
    case 'date': return markup`type="date"`
    default: return markup`type="text"${maxLength !== undefined && markup` maxlength="${maxLength}"`}`
  }
}
