import { isAmount, type Kind, toLocal, writeAmount } from '../exports.js'
import type { FormAffordance, FormField, ReferenceField } from '../pages/affordances.js'
import { type Content, type Markup, markup } from './markup.js'
import { formatBoolean, renderValue } from './values.js'
import {
  nameField, nameOperation, namePart, namePlural, nameSingular, nameState, withLabels, type Words
} from './words.js'

export function renderInputs (words: Words, form: FormAffordance): Markup {
  const { name, fields, key, revision, danger, final, from = '' } = form
  const asksFirst = danger === true || final === true
  // Otherwise Enter in an input would press the first button of a row.
  const send = fields.some(({ shape }) => shape === 'rows') && markup`<button type="submit" hidden></button>
`
  return markup`${send}<input type="hidden" name="_key" value="${key}">${revision !== undefined && markup`
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
  const { error, shape, rows, mostRows } = field
  const id = toFieldId(form, field.name)
  const name = labelField(words, field)
  const label = mayBeEmpty(field, form) ? words.texts.optional(name) : name
  const hints = listHints(words, field, form)
  const about = renderAbout(words, field, id, hints)
  const flaw = error !== undefined && markup`
<span class="error" id="${id}-error">${formatError(words, field)}</span>`
  if (rows !== undefined) {
    const inside = shape === 'rows'
      ? renderRowInputs(words, field, form)
      : rows[0]?.map(each => renderField(words, each, form))
    return markup`<fieldset class="${shape}" id="${id}"${mostRows !== undefined && markup` data-most="${mostRows}"`}>
<legend>${label}</legend>
${about}${inside}${flaw}
</fieldset>`
  }
  return markup`<div class="field">
<label for="${id}">${label}</label>
${about}${renderControl(words, field, id, { form, isDescribed: hints !== '' })}${renderWas(words, field)}${flaw}
</div>`
}

/** Not said of values that an item already has, nor of members of a nested value. */
function mayBeEmpty ({ name, required, was, shape }: FormField, form: string): boolean {
  const isNested = name.includes('.') || shape === 'rows' || shape === 'group'
  return form !== filterForm && !required && was === undefined && !isNested
}

/** The description, and how the field is filled in. */
function listHints (words: Words, { description, shape, reference }: FormField, form: string): string {
  const { texts } = words
  const hints = description === undefined ? [] : [words.translate(description)]
  if (shape === 'lines') hints.push(texts.onePerLine)
  else if (reference !== undefined && reference.choices === undefined && form !== filterForm) {
    hints.push(texts.lookup(nameSingular(withLabels(words, reference.labels), reference.singular)))
  }
  return hints.join(' ')
}

function renderAbout (words: Words, { theirs }: FormField, id: string, hints: string): Markup {
  const now = theirs && renderValue(words, theirs.value, theirs)
  return markup`${hints !== '' && markup`<span class="hint" id="${id}-hint">${hints}</span>
`}${theirs !== undefined && markup`<span class="theirs">${words.texts.nowIs} ${now}</span>
`}`
}

function renderRowInputs (words: Words, { name, rows = [], mostRows = Infinity }: FormField, form: string): Markup {
  const { texts } = words
  return markup`<div class="wide"><table class="rows"><thead><tr>${rows[0]?.map(cell =>
    markup`<th scope="col">${labelField(words, cell)}</th>`)}<td></td></tr></thead>
<tbody>${rows.map((row, index) => markup`<tr>${row.map(cell => renderInputCell(words, cell, form))}<td class="remove">${
  renderRemove(words, name, index)}</td></tr>
`)}</tbody></table></div>
<button type="submit" name="_add" value="${name}" class="plain" formnovalidate${
  rows.length >= mostRows && markup` hidden`}>${texts.addRow}</button>`
}

function renderInputCell (words: Words, cell: FormField, form: string): Markup {
  const id = toFieldId(form, cell.name)
  const name = labelField(words, cell)
  const label = nameCell(words, name, cell)
  return markup`<td data-label="${name}">${renderControl(words, cell, id, { form, label })}${renderWas(words, cell)}${
    cell.error !== undefined && markup`
<span class="error" id="${id}-error">${formatError(words, cell)}</span>`}</td>`
}

function renderRemove ({ texts }: Words, name: string, index: number): Markup {
  return markup`<button type="submit" name="_remove" value="${name}.${index}" class="plain" formnovalidate
aria-label="${texts.removeRow(index + 1)}">×</button>`
}

function nameCell ({ texts }: Words, name: string, { row }: FormField): string {
  return row === undefined ? name : `${name}, ${texts.row(row)}`
}

export function toFieldId (form: string, name: string): string {
  return `${form}-${name.replaceAll('.', '-')}`
}

export function labelField (words: Words, { label, title, bound }: FormField): string {
  // Members of lists and objects have paths.
  const [field, part] = label.split('.') as [string, string?]
  const name = part === undefined ? nameField(words, label, title) : namePart(words, field, part, title)
  return bound === undefined ? name : words.texts[bound](name)
}

/** @param isAlone whether it is not beside the field */
export function formatError (words: Words, field: FormField, isAlone = false): string {
  const { line, row, isRowError } = field
  const label = labelField(words, field)
  const subject = isRowError === true && row !== undefined
    ? words.texts.row(row)
    : line === undefined ? isAlone ? nameCell(words, label, field) : label : `${label} ${line}`
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

interface Around {
  readonly form: string
  /** If there is no label element. */
  readonly label?: string
  readonly isDescribed?: boolean
}

function renderControl (words: Words, field: FormField, id: string, around: Around): Markup {
  const { kind, maxLength, shape, reference } = field
  const value = showEntered(words, field)
  const attributes = renderAttributes(field, id, around)
  const choices = listChoices(words, field)
  if (choices !== undefined) {
    const { texts } = words
    const empty = field.required ? texts.choose : around.form === filterForm ? texts.any : texts.chooseNone
    return markup`<select ${attributes}><option value="">${empty}</option>${choices.map(([choice, title]) =>
      markup`<option value="${choice}"${choice === value && markup` selected`}>${title}</option>`)}</select>`
  }
  if (shape === 'lines' || isLong(field, value)) {
    // A textarea would drop its first line feed.
    return markup`<textarea ${attributes} dir="auto"${maxLength !== undefined && markup` maxlength="${maxLength}"`}>
${value}</textarea>`
  }
  if (reference !== undefined) return renderLookup(reference, attributes, id, value)
  return markup`<input ${attributes} ${renderType(words, kind, value, maxLength)}>`
}

function showEntered (words: Words, field: FormField): string | undefined {
  const { isTyped, value } = field
  return value !== undefined && isTyped !== true && isTypedAmount(field) ? showAmounts(words, value) : value
}

/** An input would drop line ends. */
function isLong ({ kind, maxLength = 0 }: FormField, value = ''): boolean {
  return kind === 'string' && (maxLength > 1000 || /[\r\n]/.test(value))
}

function renderAttributes (field: FormField, id: string, { label, isDescribed }: Around): Markup {
  const { name, required, error, isFocused } = field
  const described = [isDescribed === true && `${id}-hint`, error !== undefined && `${id}-error`].filter(Boolean)
  return markup`id="${id}" name="${name}"${required && markup` required`}${
    label !== undefined && markup` aria-label="${label}"`}${
    described.length > 0 && markup` aria-describedby="${described.join(' ')}"`}${
    error !== undefined && markup` aria-invalid="true"`}${isFocused === true && markup` autofocus`}`
}

function renderLookup ({ lookup, title }: ReferenceField, attributes: Markup, id: string, value: Content): Markup {
  const ahead = lookup !== undefined && markup` list="${id}-list" data-lookup="${lookup}" data-title="${title}"`
  return markup`<input ${attributes} type="text" dir="auto" autocomplete="off"${ahead} value="${value}">${
    lookup !== undefined && markup`<datalist id="${id}-list"></datalist>`}`
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
