import { isDate, type Members, readDateTime } from '../exports.js'
import type { Referred, ShownKind, ShownState } from '../pages/affordances.js'
import { type Content, type Markup, markup, renderLink, shorten } from './markup.js'
import {
  formatAgo, formatDate, formatDecimal, formatMoment, formatNumber, nameField, nameState, type Words
} from './words.js'

interface Shown {
  readonly kind?: ShownKind | undefined
  readonly referred?: Referred | undefined
  /** Whether to add how long ago a moment was. */
  readonly isLong?: boolean
}

export function renderValue (words: Words, value: unknown, { kind, referred, isLong = false }: Shown = {}): Content {
  const { texts } = words
  if (value === undefined || value === null || value === '') return markup`<span class="absent">${texts.absent}</span>`
  if (referred !== undefined) return renderLink(referred.href, referred.title)
  if (typeof value === 'boolean') return formatBoolean(words, value)
  if (typeof value === 'object') return renderNested(words, value)
  if (typeof value === 'number' && (kind === 'integer' || kind === 'number')) {
    return markup`<span class="number">${formatNumber(words, value)}</span>`
  }
  const text = String(value)
  if (kind === 'decimal' && /^-?\d+(\.\d+)?$/.test(text)) {
    return markup`<span class="number">${formatDecimal(words, text)}</span>`
  }
  if (kind === 'choice') return nameState(words, text)
  if (kind === 'date' && isDate(text)) return markup`<time datetime="${text}">${formatDate(words, text)}</time>`
  // A moment that was sent may be in a different zone. It is shown to the minute; the title has it exactly.
  const moment = kind === 'date-time' ? readDateTime(text) : undefined
  if (moment === undefined) return text
  const shown = markup`<time datetime="${moment}" title="${moment}">${formatMoment(words, moment)}</time>`
  return isLong ? markup`${shown} <span class="ago">· ${formatAgo(words, moment)}</span>` : shown
}

export function renderShort (words: Words, value: unknown, shown: Shown, maxLength: number): Content {
  const content = renderValue(words, value, shown)
  return typeof content === 'string' ? shorten(content, maxLength) : content
}

// Longer texts are folded.
const maxShown = 400

export function fold ({ texts }: Words, content: Content): Content {
  if (typeof content !== 'string' || content.length <= maxShown) return content
  return markup`<details class="long"><summary>${shorten(content, 200)} <span>${texts.showMore}</span></summary>${
    content}</details>`
}

/** A list as a list or a table, an object as terms, anything deeper as JSON. */
function renderNested (words: Words, value: object): Content {
  if (!Array.isArray(value)) {
    return isFlat(value as Members) ? renderMembers(words, value as Members) : JSON.stringify(value)
  }
  const entries = value as unknown[]
  if (entries.length === 0) return renderValue(words, undefined)
  if (entries.every(entry => hasMembers(entry) && isFlat(entry))) return renderRows(words, entries as Members[])
  return entries.some(entry => typeof entry === 'object' && entry !== null)
    ? JSON.stringify(value)
    : markup`<ul class="values">${entries.map(entry => markup`<li dir="auto">${renderPlain(words, entry)}</li>`)}</ul>`
}

export function hasMembers (value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isFlat (members: Members): boolean {
  return Object.values(members).every(member => typeof member !== 'object' || member === null)
}

function renderPlain (words: Words, value: unknown): Content {
  return typeof value === 'number' ? renderValue(words, value, { kind: 'number' }) : renderValue(words, value)
}

function renderMembers (words: Words, members: Members): Content {
  const entries = Object.entries(members)
  if (entries.length === 0) return renderValue(words, undefined)
  return markup`<ul class="values">${entries.map(([name, member]) =>
    markup`<li dir="auto">${nameField(words, name)}: ${renderPlain(words, member)}</li>`)}</ul>`
}

function renderRows (words: Words, rows: readonly Members[]): Markup {
  const columns = [...new Set(rows.flatMap(row => Object.keys(row)))]
  const isNumeric = (column: string) =>
    rows.every(({ [column]: cell }) => typeof cell === 'number' || cell === undefined)
  const classOf = (column: string): Content => isNumeric(column) && markup` class="number"`
  return markup`<div class="wide"><table class="rows"><thead><tr>${columns.map(column =>
    markup`<th scope="col"${classOf(column)}>${nameField(words, column)}</th>`)}</tr></thead>
<tbody>${rows.map(row => markup`<tr>${columns.map(column =>
  markup`<td dir="auto" data-label="${nameField(words, column)}"${classOf(column)}>${
    row[column] !== undefined && renderPlain(words, row[column])}</td>`)}</tr>
`)}</tbody></table></div>`
}

export function formatBoolean ({ texts: { yes, no } }: Words, value: boolean): string {
  return value ? yes : no
}

export function renderBadge (words: Words, { state, tone }: ShownState): Markup {
  return markup`<span class="badge ${tone}">${nameState(words, state)}</span>`
}
