import type { Members } from '../core/values/json.js'
import type { FormAffordance, FormField, Refusal, SampleRequest, WrongState } from '../representations/affordances.js'
import type { ProblemView } from '../representations/representation.js'
import { type Content, formatBoolean, type Markup, markup, renderTerms } from './markup.js'
import type { Texts } from './texts.js'

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

export function nameForm (texts: Texts, { name, singular }: Pick<FormAffordance, 'name' | 'singular'>): string {
  return texts.submit(texts.label(name), texts.label(singular))
}

export function renderInputs (texts: Texts, { name, fields, key, revision, danger, final }: FormAffordance): Markup {
  const asksFirst = danger === true || final === true
  return markup`<input type="hidden" name="_key" value="${key}">${revision !== undefined && markup`
<input type="hidden" name="_revision" value="${revision}">`}${asksFirst && markup`
<input type="hidden" name="_confirm" value="ask">`}
${fields.map(field => renderField(texts, field, name))}`
}

export const filterForm = 'filter'

export function renderField (texts: Texts, field: FormField, form: string): Markup {
  const { name, description, was, error } = field
  const id = toFieldId(form, name)
  return markup`<div class="field">
<label for="${id}">${labelField(texts, field)}</label>
${description !== undefined && markup`<span class="hint" id="${id}-hint">${description}</span>`}
${renderControl(texts, field, id, form)}${was !== undefined && markup`
<input type="hidden" name="_was.${name}" value="${was}">`}
${error !== undefined && markup`<span class="error" id="${id}-error">${formatError(texts, field)}</span>`}
</div>`
}

function toFieldId (form: string, name: string): string {
  return `${form}-${name.replaceAll('.', '-')}`
}

function labelField (texts: Texts, { label, bound }: FormField): string {
  const name = texts.label(label)
  return bound === undefined ? name : texts[bound](name)
}

function formatError (texts: Texts, field: FormField): string {
  return texts.sentence(labelField(texts, field), texts.flaw(field.error as string))
}

function renderControl (texts: Texts, field: FormField, id: string, form: string): Markup {
  const { name, kind, required, values, value, maxLength, description, error } = field
  const described = [description !== undefined && `${id}-hint`, error !== undefined && `${id}-error`].filter(Boolean)
  const attributes = markup`id="${id}" name="${name}"${required && markup` required`}${
    described.length > 0 && markup` aria-describedby="${described.join(' ')}"`}${
    error !== undefined && markup` aria-invalid="true"`}`
  const choices = values ?? (kind === 'boolean' ? ['true', 'false'] : undefined)
  if (choices !== undefined) {
    const empty = required ? texts.choose : form === filterForm ? texts.any : texts.chooseNone
    return markup`<select ${attributes}><option value="">${empty}</option>${choices.map(choice =>
      markup`<option value="${choice}"${choice === value && markup` selected`}>${
        kind === 'boolean' ? formatBoolean(texts, choice === 'true') : texts.choice(choice)}</option>`)}</select>`
  }
  // An input would drop line ends.
  if (kind === 'string' && ((maxLength ?? 0) > 1000 || (value !== undefined && /[\r\n]/.test(value)))) {
    // A textarea would drop its first line feed.
    return markup`<textarea ${attributes} dir="auto"${maxLength !== undefined && markup` maxlength="${maxLength}"`}>
${value}</textarea>`
  }
  return markup`<input ${attributes} ${renderType(field)}${value !== undefined && markup` value="${value}"`}>`
}

function renderType ({ kind, value = '', minimum, maxLength, scale = 0 }: FormField): Markup {
  // Browsers clear a number or date input with an invalid value, so such an entry is shown in a text input.
  const asText = (mode: string) => markup`type="text" inputmode="${mode}"`
  const isNumber = number.test(value)
  const min = minimum !== undefined && markup` min="${minimum}"`
  const step = kind === 'decimal' ? (10 ** -scale).toFixed(scale) : 'any'
  switch (kind) {
    case 'integer': return isNumber ? markup`type="number" step="1" inputmode="numeric"${min}` : asText('numeric')
    case 'number':
    case 'decimal':
      return isNumber ? markup`type="number" step="${step}" inputmode="decimal"${min}` : asText('decimal')
    case 'date': return day.test(value) ? markup`type="date"` : asText('text')
    default: return markup`type="text" dir="auto"${maxLength !== undefined && markup` maxlength="${maxLength}"`}`
  }
}

// As browsers take them (HTML, 2.3.4 and 2.3.5).
const number = /^(-?(\d+|\d*\.\d+)(e[+-]?\d+)?)?$/i
const day = /^(\d{4,}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01]))?$/

/** Renders the equivalent command line for a POSIX shell. */
export function renderRequest (texts: Texts, { method, url, headers, body }: SampleRequest): Markup {
  let line = `curl -X ${method} ${quote(url)}`
  for (const [name, value] of Object.entries(headers)) line += ` -H ${quote(`${name}: ${value}`)}`
  // Invisible and bidirectional characters are written as escapes.
  const json = body && JSON.stringify(body)
    .replace(unseen, character => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
  if (json !== undefined) line += ` -d ${quote(json)}`
  // The script inserts the host of the page into a relative URL.
  const start = url.startsWith('/') ? line.indexOf("'") + 1 : 0
  const origin = start > 0 && markup`<span class="origin"></span>`
  return markup`<details class="request">
<summary>${texts.asRequest}</summary>
<p class="hint">${texts.asRequestHint}</p>
<code class="curl">${line.slice(0, start)}${origin}${line.slice(start)}</code>
</details>`
}

/** Quotes any text as one word of a shell. */
export function quote (text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}

const unseen = /[\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g

export function renderRefusal (
  texts: Texts,
  refused: Refusal | undefined,
  forms: readonly Pick<FormAffordance, 'name' | 'fields'>[]
): Content {
  if (refused === undefined) return undefined
  const { problem, entered, wrongState } = refused
  const wrong = forms.flatMap(({ name: form, fields }) =>
    fields.filter(({ error }) => error !== undefined).map(field => ({ form, field })))
  const links = wrong.map(({ form, field }) =>
    markup`<a href="#${toFieldId(form, field.name)}">${formatError(texts, field)}</a>`)
  const others = listErrors(texts, problem).filter(({ name }) => !wrong.some(({ field }) => field.name === name))
  const flaws = [...links, ...others.map(({ text }) => text)]
  const reason = flaws.length > 0
    ? markup`<strong>${texts.invalid}</strong>`
    : renderReason(texts, problem, wrongState)
  return markup`<div class="refused" role="alert" tabindex="-1" autofocus>
<p dir="auto">${reason}</p>
${flaws.length > 0 && renderTexts(flaws)}
${entered.length > 0 && markup`<p>${texts.entered}</p>
${renderTerms(entered.map(([name, value]) => [texts.label(name), value]))}`}
</div>`
}

export function renderProblem (texts: Texts, { document: problem, log, wrongState }: ProblemView): Markup {
  const errors = listErrors(texts, problem).map(({ text }) => text)
  const [text] = errors.length === 1 ? errors : [formatDetail(texts, problem, wrongState)]
  return markup`<div class="refused" role="alert"><p dir="auto">${text}</p></div>
${errors.length > 1 && renderTexts(errors)}
${log !== undefined && markup`<p>${texts.wasDeleted} <a href="${log}">${texts.logOfDeleted}</a></p>`}
<p class="hint">${texts.status(Number(problem.status))}</p>`
}

function listErrors (texts: Texts, { errors = [], more }: Members): { name?: string, text: string }[] {
  const flaws = errors as { parameter?: string, pointer?: string, detail: string }[]
  const named = flaws.map(({ parameter, pointer = '', detail }) => {
    if (parameter !== undefined) return { name: parameter, text: texts.flaw(detail) }
    const name = pointer.slice(1)
    return { name, text: texts.sentence(name === '' ? texts.it : texts.label(name), texts.flaw(detail)) }
  })
  return more === undefined ? named : [...named, { text: texts.more(Number(more)) }]
}

function renderTexts (texts: readonly Content[]): Markup {
  return markup`<ul>
${texts.map(text => markup`<li dir="auto">${text}</li>
`)}</ul>`
}

export function formatReason (texts: Texts, reason: string, wrongState: WrongState | undefined): string {
  if (wrongState === undefined) return reason
  const { singular, state } = wrongState
  return texts.wrongState(texts.label(singular), state === undefined ? undefined : texts.choice(state))
}

function formatDetail (texts: Texts, { detail }: Members, wrongState: WrongState | undefined): string {
  const reason = formatReason(texts, String(detail), wrongState)
  if (wrongState === undefined) return reason
  const { allowed, singular } = wrongState
  return `${reason} ${texts.possible(allowed.map(name => nameForm(texts, { name, singular })))}`
}

function renderReason (texts: Texts, problem: Members, wrongState: WrongState | undefined): Markup {
  // The page sent the precondition, not the person.
  if (problem.type === 'urn:dealbook:problem:precondition-failed') {
    return markup`<strong>${texts.changedMeanwhile}</strong> ${texts.changedMeanwhileDetail}`
  }
  const refused = wrongState === undefined
    ? `${String(problem.title)}.`
    : texts.refused(nameForm(texts, { ...wrongState, name: wrongState.operation }))
  return markup`<strong>${refused}</strong> ${formatDetail(texts, problem, wrongState)}`
}
