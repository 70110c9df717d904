import { isAmount, isDate, type Members, readDateTime } from '../exports.js'
import type { Kinds, Referred, RowReferences, ShownKind, ShownState } from '../pages/affordances.js'
import { type Content, cutText, type Markup, markup, renderLink } from './markup.js'
import { sumExactly } from './sums.js'
import {
  formatAgo, formatDate, formatDecimal, formatExact, formatMoment, formatNumber, namePart, nameState, type Words
} from './words.js'

interface Shown {
  readonly kind?: ShownKind | undefined
  readonly referred?: Referred | undefined
  /** Of a list or an object: its name, and what is known of what is in it. */
  readonly name?: string | undefined
  readonly kinds?: Kinds | undefined
  readonly inRows?: RowReferences | undefined
  /** Whether to add how long ago a moment was, and the sums of a table. */
  readonly isLong?: boolean
}

export function renderValue (words: Words, value: unknown, shown: Shown = {}): Content {
  const { kind, referred } = shown
  if (value === undefined || value === null || value === '') {
    return markup`<span class="absent">${words.texts.absent}</span>`
  }
  if (referred !== undefined) return renderLink(referred.href, referred.title)
  if (typeof value === 'boolean') return formatBoolean(words, value)
  if (typeof value === 'object') return renderNested(words, value, shown)
  const text = String(value)
  if (typeof value === 'number' && (kind === 'integer' || kind === 'number')) {
    return markup`<span class="number">${formatNumber(words, value)}</span>`
  }
  return renderText(words, text, shown) ?? text
}

/** Undefined if it is shown as it is. */
function renderText (words: Words, text: string, { kind, isLong = false }: Shown): Content {
  switch (kind) {
    case 'choice': return nameState(words, text)
    case 'decimal': return /^-?\d+(\.\d+)?$/.test(text)
      ? markup`<span class="number">${formatDecimal(words, text)}</span>`
      : undefined
    case 'date': return isDate(text) ? markup`<time datetime="${text}">${formatDate(words, text)}</time>` : undefined
    case 'date-time': {
      // A moment that was sent may be in a different zone. It is shown to the minute; the title has it exactly.
      const moment = readDateTime(text)
      if (moment === undefined) return undefined
      const shown = markup`<time datetime="${moment}" title="${moment}">${formatMoment(words, moment)}</time>`
      return isLong ? markup`${shown} <span class="ago">· ${formatAgo(words, moment)}</span>` : shown
    }
    default: return undefined
  }
}

export function renderShort (words: Words, value: unknown, shown: Shown, maxLength: number): Content {
  const content = renderValue(words, value, shown)
  return typeof content === 'string' ? cutText(content, maxLength) : content
}

// Longer texts are folded.
const maxShown = 400

export function fold ({ texts }: Words, content: Content): Content {
  if (typeof content !== 'string' || content.length <= maxShown) return content
  return markup`<details class="long"><summary>${cutText(content, 200)} <span>${texts.showMore}</span></summary>${
    content}</details>`
}

/** A list as a list or a table, an object as terms, anything deeper as JSON. */
function renderNested (words: Words, value: object, shown: Shown): Content {
  if (!Array.isArray(value)) {
    return isFlat(value as Members) ? renderObject(words, value as Members, shown) : JSON.stringify(value)
  }
  const entries = value as unknown[]
  if (entries.length === 0) return renderValue(words, undefined)
  const rows = entries.flatMap(entry => hasMembers(entry) ? [foldReferred(entry, shown)] : [])
  if (rows.length === entries.length && rows.every(isFlat)) return renderRows(words, rows, shown)
  return entries.some(entry => typeof entry === 'object' && entry !== null)
    ? JSON.stringify(value)
    : markup`<ul class="values">${entries.map(entry =>
      markup`<li dir="auto">${renderPart(words, entry, shown, '')}</li>`)}</ul>`
}

export function hasMembers (value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isFlat (members: Members): boolean {
  return Object.values(members).every(member => typeof member !== 'object' || member === null)
}

/** A row with the ids of the items that it refers to, also if they were asked for in place of these. */
function foldReferred (row: Members, { name, inRows = {} }: Shown): Members {
  const expanded = Object.entries(row)
    .filter(([part, value]) => hasMembers(value) && inRows[`${name}.${part}`] !== undefined)
  return expanded.length === 0
    ? row
    : { ...row, ...Object.fromEntries(expanded.map(([part, value]) => [part, (value as Members)['id']])) }
}

/** A value inside another. @param part its name; empty in a list of values */
function renderPart (words: Words, value: unknown, { name, kinds = {}, inRows = {} }: Shown, part: string): Content {
  const path = `${name}.${part}`
  const kind = kinds[path] ?? (typeof value === 'number' ? 'number' : undefined)
  return renderValue(words, value, { kind, referred: inRows[path]?.get(String(value)) })
}

function renderObject (words: Words, value: Members, shown: Shown): Content {
  const entries = Object.entries(value)
  if (entries.length === 0) return renderValue(words, undefined)
  return markup`<ul class="values">${entries.map(([part, member]) =>
    markup`<li dir="auto">${namePart(words, shown.name, part)}: ${renderPart(words, member, shown, part)}</li>`)}</ul>`
}

function renderRows (words: Words, rows: readonly Members[], shown: Shown): Markup {
  const { name, kinds = {}, isLong } = shown
  const columns = [...new Set(rows.flatMap(row => Object.keys(row)))].map(part => {
    const cells = rows.map(({ [part]: cell }) => cell)
    const kind = kinds[`${name}.${part}`]
    const isNumber = kind === undefined
      ? cells.every(cell => typeof cell === 'number' || cell === undefined)
      : isAmount({ kind })
    const sum = isNumber && isLong === true ? sumExactly(cells.filter(isGiven)) : undefined
    return { part, label: namePart(words, name, part), isNumber, sum }
  })
  const classOf = (isNumber: boolean): Content => isNumber && markup` class="number"`
  const hasSums = rows.length > 1 && columns.some(({ sum }) => sum !== undefined)
  return markup`<div class="wide"><table class="rows"><thead><tr>${columns.map(({ label, isNumber }) =>
    markup`<th scope="col"${classOf(isNumber)}>${label}</th>`)}</tr></thead>
<tbody>${rows.map(row => markup`<tr>${columns.map(({ part, label, isNumber }) =>
  markup`<td dir="auto" data-label="${label}"${classOf(isNumber)}>${
    row[part] !== undefined && renderPart(words, row[part], shown, part)}</td>`)}</tr>
`)}</tbody>${hasSums && renderSums(words, columns)}</table></div>`
}

const isGiven = (value: unknown): boolean => value !== undefined && value !== null

interface RowColumn {
  readonly label: string
  readonly isNumber: boolean
  readonly sum: string | undefined
}

/** The name of the row is in its first cell, beside the sum if there is one. */
function renderSums (words: Words, columns: readonly RowColumn[]): Markup {
  const { texts: { total } } = words
  return markup`<tfoot><tr>${columns.map(({ label, isNumber, sum }, index) => {
    const shown = sum === undefined ? undefined : formatExact(words, sum)
    const name = index === 0 && markup`<strong>${total}</strong>${shown !== undefined && ' '}`
    return markup`<td data-label="${label}"${isNumber && markup` class="number"`}>${name}${shown}</td>`
  })}</tr></tfoot>`
}

export function formatBoolean ({ texts: { yes, no } }: Words, value: boolean): string {
  return value ? yes : no
}

export function renderBadge (words: Words, { state, tone }: ShownState): Markup {
  return markup`<span class="badge ${tone}">${nameState(words, state)}</span>`
}
