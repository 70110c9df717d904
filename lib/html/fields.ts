import { isAmount, type Kind, toLocal, writeAmount } from '../exports.js'
import type { FormAffordance, FormField } from '../pages/affordances.js'
import { type Content, type Markup, markup } from './markup.js'
import { formatBoolean, renderValue } from './values.js'
import { nameField, nameOperation, namePlural, nameSingular, nameState, withLabels, type Words } from './words.js'

export function renderInputs (words: Words, form: FormAffordance): Markup {
  const { name, fields, key, revision, danger, final, from = '' } = form
  const asksFirst = danger === true || final === true
  return markup`<input type="hidden" name="_key" value="${key}">${revision !== undefined && markup`
<input type="hidden" name="_revision" value="${revision}">`}${from !== '' && markup`
<input type="hidden" name="_from" value="${from}">`}${asksFirst && markup`
<input type="hidden" name="_confirm" value="ask">`}${hasMoment(fields) && markup`
<input type="hidden" name="_zone" value="${words.zone ?? 'UTC'}">`}${hasAmount(fields) && markup`
${renderLanguage(words)}`}
${fields.map(field => renderField(words, field, name))}`
}

function hasMoment (fields: readonly FormField[]): boolean {
  return fields.some(({ kind, rows = [] }) => kind === 'date-time' || rows.some(hasMoment))
}

export function hasAmount (fields: readonly FormField[]): boolean {
  return fields.some(field => isTypedAmount(field) || field.rows?.some(hasAmount))
}

// Other items are chosen, or found by their titles.
function isTypedAmount (field: FormField): boolean {
  return isAmount(field) && field.reference === undefined
}

/** Amounts of a list are on lines. */
function showAmounts ({ texts: { locale } }: Words, text: string): string {
  return text.split('\n').map(line => writeAmount(locale, line)).join('\n')
}

/** Amounts are read in the language in which they were shown. */
export function renderLanguage ({ texts: { locale } }: Words): Markup {
  return markup`<input type="hidden" name="_language" value="${locale}">`
}

export const filterForm = 'filter'

export function renderField (words: Words, field: FormField, form: string): Markup {
  const { description, was, error, theirs, shape, reference, name } = field
  const { texts } = words
  const id = toFieldId(form, field.name)
  const hint = description === undefined ? undefined : words.translate(description)
  const help = shape === 'lines'
    ? texts.onePerLine
    : reference !== undefined && reference.choices === undefined && form !== filterForm
      ? texts.lookup(nameSingular(withLabels(words, reference.labels), reference.singular))
      : undefined
  const hints = [hint, help].filter(text => text !== undefined).join(' ')
  // Not for values that an item already has, nor for members of a nested value.
  const isOptional = form !== filterForm && !field.required && was === undefined && !name.includes('.') &&
    shape !== 'rows' && shape !== 'group'
  const label = isOptional ? texts.optional(labelField(words, field)) : labelField(words, field)
  const now = theirs && renderValue(words, theirs.value, theirs)
  const about = markup`${hints !== '' && markup`<span class="hint" id="${id}-hint">${hints}</span>
`}${theirs !== undefined && markup`<span class="theirs">${texts.nowIs} ${now}</span>
`}`
  const flaw = error !== undefined && markup`
<span class="error" id="${id}-error">${formatError(words, field)}</span>`
  if (field.rows !== undefined) {
    const inside = shape === 'rows'
      ? renderRows(words, field, form)
      : field.rows[0]?.map(each => renderField(words, each, form))
    return markup`<fieldset class="${shape}" id="${id}">
<legend>${label}</legend>
${about}${inside}${flaw}
</fieldset>`
  }
  return markup`<div class="field">
<label for="${id}">${label}</label>
${about}${renderControl(words, field, id, { form, isDescribed: hints !== '' })}${renderWas(words, field)}${flaw}
</div>`
}

function renderRows (words: Words, { name, rows = [] }: FormField, form: string): Markup {
  const { texts } = words
  return markup`<div class="wide"><table class="rows"><thead><tr>${rows[0]?.map(cell =>
    markup`<th scope="col">${nameField(words, cell.label)}</th>`)}</tr></thead>
<tbody>${rows.map((row, index) => markup`<tr>${row.map(cell => {
  const id = toFieldId(form, cell.name)
  const label = `${nameField(words, cell.label)}, ${texts.row(index + 1)}`
  return markup`<td data-label="${nameField(words, cell.label)}">${renderControl(words, cell, id, { form, label })}${
    renderWas(words, cell)}${cell.error !== undefined && markup`
<span class="error" id="${id}-error">${formatError(words, cell)}</span>`}</td>`
})}</tr>
`)}</tbody></table></div>
<button type="submit" name="_add" value="${name}" class="plain" formnovalidate>${texts.addRow}</button>`
}

export function toFieldId (form: string, name: string): string {
  return `${form}-${name.replaceAll('.', '-')}`
}

export function labelField (words: Words, { label, bound }: FormField): string {
  const name = nameField(words, label)
  return bound === undefined ? name : words.texts[bound](name)
}

export function formatError (words: Words, field: FormField): string {
  const label = labelField(words, field)
  const subject = field.line === undefined ? label : `${label} ${field.line}`
  // The description beside the field says more to people than the pattern.
  const error = field.description === undefined
    ? field.error as string
    : (field.error as string).replace(/^must match pattern .*/s, 'does not have the right form')
  const detail = words.translate(error)
  const { locale } = words.texts
  // Such as the least amount.
  const shown = detail.replace(/(?<![\w.-])-?\d+\.\d+(?![\w.])/g, text => writeAmount(locale, text))
  return words.texts.sentence(subject, isAmount(field) ? shown : detail)
}

/** `label`: if there is no label element. */
function renderControl (
  words: Words,
  field: FormField,
  id: string,
  { form, label, isDescribed }: { form: string, label?: string, isDescribed?: boolean }
): Markup {
  const { name, kind, required, maxLength, error, shape, reference } = field
  const isShown = field.isTyped !== true && isTypedAmount(field) && field.value !== undefined
  const value = isShown ? showAmounts(words, field.value) : field.value
  const described = [isDescribed === true && `${id}-hint`, error !== undefined && `${id}-error`].filter(Boolean)
  const attributes = markup`id="${id}" name="${name}"${required && markup` required`}${
    label !== undefined && markup` aria-label="${label}"`}${
    described.length > 0 && markup` aria-describedby="${described.join(' ')}"`}${
    error !== undefined && markup` aria-invalid="true"`}`
  const choices = listChoices(words, field)
  if (choices !== undefined) {
    const { texts } = words
    const empty = required ? texts.choose : form === filterForm ? texts.any : texts.chooseNone
    return markup`<select ${attributes}><option value="">${empty}</option>${choices.map(([choice, title]) =>
      markup`<option value="${choice}"${choice === value && markup` selected`}>${title}</option>`)}</select>`
  }
  // An input would drop line ends.
  const isLong = kind === 'string' && ((maxLength ?? 0) > 1000 || (value !== undefined && /[\r\n]/.test(value)))
  if (shape === 'lines' || isLong) {
    // A textarea would drop its first line feed.
    return markup`<textarea ${attributes} dir="auto"${maxLength !== undefined && markup` maxlength="${maxLength}"`}>
${value}</textarea>`
  }
  if (reference !== undefined) {
    const { lookup, title } = reference
    const ahead = lookup !== undefined && markup` list="${id}-list" data-lookup="${lookup}" data-title="${title}"`
    return markup`<input ${attributes} type="text" dir="auto" autocomplete="off"${ahead} value="${value}">${
      lookup !== undefined && markup`<datalist id="${id}-list"></datalist>`}`
  }
  return markup`<input ${attributes} ${renderType(words, kind, value, maxLength)}>`
}

/** Undefined where anything can be entered. */
export function listChoices (words: Words, field: FormField): (readonly [value: string, title: string])[] | undefined {
  const { kind, values, reference, actions, families } = field
  if (reference?.choices !== undefined) return reference.choices.map(({ value, title }) => [value, title])
  if (actions !== undefined) {
    return actions.map(action => [action.value, nameOperation(withLabels(words, action.labels), action)])
  }
  if (families !== undefined) {
    return families.map(({ name, labels }) => [name, namePlural(withLabels(words, labels), name)])
  }
  if (kind === 'boolean') return ['true', 'false'].map(value => [value, formatBoolean(words, value === 'true')])
  return values?.map(value => [value, nameState(words, value)])
}

function renderType (words: Words, kind: Kind, value = '', maxLength?: number): Markup {
  const valued: Content = value !== '' && markup` value="${value}"`
  switch (kind) {
    // Browsers read a number input in their own language, not in that of the page.
    case 'integer': return markup`type="text" inputmode="numeric"${valued}`
    case 'number':
    case 'decimal': return markup`type="text" inputmode="decimal"${valued}`
    // Browsers clear a date input with an invalid value, so such an entry is shown in a text input.
    case 'date': return markup`type="${day.test(value) ? 'date' : 'text'}"${valued}`
    case 'date-time': return renderMoment(words, value)
    default:
      return markup`type="text" dir="auto"${maxLength !== undefined && markup` maxlength="${maxLength}"`}${valued}`
  }
}

/** In the zone of the page; the script changes it to that of the reader. */
function renderMoment ({ zone }: Words, value: string): Markup {
  if (value !== '' && !/^\d{4}-\d\d-\d\dT\d\d:\d\d/.test(value)) return markup`type="text" value="${value}"`
  const shown = showMoment(zone, value)
  return markup`type="datetime-local" step="any"${value !== '' && markup` value="${shown}"`}${
    markMoment(zone, value)}`
}

function markMoment (zone: string | undefined, value: string): Content {
  return value.endsWith('Z') && zone === undefined && markup` data-moment="${value}"`
}

function showMoment (zone: string | undefined, value: string): string {
  return value.endsWith('Z') ? toLocal(value, zone ?? 'UTC').replace(/(:00)?\.000$/, '') : value
}

/** The value that the input showed, to recognize an untouched field. */
function renderWas (words: Words, field: FormField): Content {
  const { name, kind, was } = field
  const { zone } = words
  if (was === undefined) return undefined
  const [shown, moment] = kind === 'date-time'
    ? [showMoment(zone, was), markMoment(zone, was)]
    : [isTypedAmount(field) ? showAmounts(words, was) : was]
  return markup`
<input type="hidden" name="_was.${name}" value="${shown}"${moment}>`
}

// The form that browsers accept (HTML, 2.3.5).
const day = /^(\d{4,}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01]))?$/
