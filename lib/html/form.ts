import type { FormAffordance, FormField, SampleRequest } from '../representations/affordances.js'
import type { Markup } from './markup.js'
import { formatBoolean, markup } from './markup.js'
import type { Texts } from './texts.js'

/** Renders everything of a form but its title and its button. */
export function renderInputs (texts: Texts, { name, fields, key, revision, danger, final }: FormAffordance): Markup {
  const asksFirst = danger === true || final === true
  return markup`<input type="hidden" name="_key" value="${key}">${revision !== undefined && markup`
<input type="hidden" name="_revision" value="${revision}">`}${asksFirst && markup`
<input type="hidden" name="_confirm" value="ask">`}
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
    return markup`<textarea ${attributes} dir="auto"${maxLength !== undefined && markup` maxlength="${maxLength}"`}>
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
  const text = kind === 'boolean' ? formatBoolean(texts, choice === 'true') : texts.choice(choice)
  return markup`<option value="${choice}"${choice === value && markup` selected`}>${text}</option>`
}

function renderType ({ kind, value = '', minimum, maxLength }: FormField): Markup {
  // What was entered and is no such value would not be shown again.
  const asText = (mode: string) => markup`type="text" inputmode="${mode}"`
  const isNumber = number.test(value)
  const min = minimum !== undefined && markup` min="${minimum}"`
  switch (kind) {
    case 'integer': return isNumber ? markup`type="number" step="1" inputmode="numeric"${min}` : asText('numeric')
    case 'number': return isNumber ? markup`type="number" step="any" inputmode="decimal"${min}` : asText('decimal')
    case 'date': return day.test(value) ? markup`type="date"` : asText('text')
    default: return markup`type="text" dir="auto"${maxLength !== undefined && markup` maxlength="${maxLength}"`}`
  }
}

// As browsers take them (HTML, 2.3.4 and 2.3.5).
const number = /^(-?(\d+|\d*\.\d+)(e[+-]?\d+)?)?$/i
const day = /^(\d{4,}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01]))?$/

/** Renders an operation, which is folded up until it is wanted, or was refused. */
export function renderOperation (texts: Texts, form: FormAffordance): Markup {
  const { name, title, action, isRefused, request, danger } = form
  const label = nameForm(texts, form)
  return markup`<details class="operation${danger === true && ' danger'}"${isRefused && markup` open`}>
<summary id="${name}.title">${label}</summary>
<form method="post" action="${action}" aria-labelledby="${name}.title">
${title !== undefined && title !== label && markup`<p class="hint">${title}</p>`}
${renderInputs(texts, form)}
<button type="submit"${danger === true && markup` class="danger"`}>${label}</button>
${request && renderRequest(texts, request)}
</form>
</details>`
}

/** The text of the button of a form. */
export function nameForm (texts: Texts, { name, singular }: Pick<FormAffordance, 'name' | 'singular'>): string {
  return texts.submit(texts.label(name), texts.label(singular))
}

/** Renders the request that does the same as the button of a form, as a command line for a POSIX shell. */
export function renderRequest (texts: Texts, { method, url, headers, body }: SampleRequest): Markup {
  let line = `curl -X ${method} ${quote(url)}`
  for (const [name, value] of Object.entries(headers)) line += ` -H ${quote(`${name}: ${value}`)}`
  if (body !== undefined) line += ` -d ${quote(writeJson(body))}`
  const start = url.startsWith('/') ? line.indexOf("'") + 1 : 0
  return markup`<details class="request">
<summary>${texts.asRequest}</summary>
<p class="hint">${texts.asRequestHint}</p>
<code class="curl">${line.slice(0, start)}${start > 0 && origin}${line.slice(start)}</code>
</details>`
}

// Where the address has no host, the script puts in that of the page.
const origin = markup`<span class="origin"></span>`

/** One word of a shell, whatever is in it. */
export function quote (text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}

// What cannot be seen, or turns around what is seen, is written as what it is.
const unseen = /[\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g

function writeJson (body: object): string {
  return JSON.stringify(body)
    .replace(unseen, character => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
