import { isDate, readDateTime } from '../core/values/dates.js'
import type { ShownKind } from '../representations/item-view.js'
import type { Content, Markup } from './markup.js'
import { markup } from './markup.js'
import type { Texts } from './texts.js'

/** Renders a value as people read it. */
export function renderValue (texts: Texts, value: unknown, kind?: ShownKind): Content {
  if (value === undefined || value === null) return markup`<span class="absent">${texts.absent}</span>`
  if (typeof value === 'boolean') return formatBoolean(texts, value)
  if (typeof value === 'number') return renderNumber(texts, value, kind)
  if (typeof value === 'object') return renderObject(texts, value)
  const text = String(value)
  if (kind === 'choice') return texts.choice(text)
  if (kind === 'date' && isDate(text)) return markup`<time datetime="${text}">${texts.date(text)}</time>`
  // What was sent may be of another zone.
  const moment = kind === 'date-time' ? readDateTime(text) : undefined
  return moment === undefined ? text : renderMoment(texts, moment)
}

// To the minute; the title has it exactly.
function renderMoment (texts: Texts, moment: string): Markup {
  return markup`<time datetime="${moment}" title="${moment}">${texts.moment(moment)}</time>`
}

// What is counted or measured, a script writes as the reader's system does.
function renderNumber (texts: Texts, value: number, kind: ShownKind | undefined): Content {
  if (kind !== 'integer' && kind !== 'number') return String(value)
  return markup`<data class="number" value="${value}">${texts.number(value)}</data>`
}

// One member after another if they are plain; what is deeper is for programs.
function renderObject (texts: Texts, value: object): Content {
  const entries = Object.entries(value)
  if (Array.isArray(value) || entries.some(([, member]) => typeof member === 'object')) return JSON.stringify(value)
  if (entries.length === 0) return renderValue(texts, undefined)
  const format = (member: unknown) => typeof member === 'boolean' ? formatBoolean(texts, member) : String(member)
  return entries.map(([name, member]) => `${texts.label(name)}: ${format(member)}`).join('; ')
}

/** Yes or no. */
export function formatBoolean ({ yes, no }: Texts, value: boolean): string {
  return value ? yes : no
}

/** Renders one of a few words, so that it is seen at a glance. */
export function renderBadge (texts: Texts, value: string): Markup {
  return markup`<span class="badge">${texts.choice(value)}</span>`
}

/** The beginning of a long text. */
export function shorten (text: string, maxLength: number): string {
  if (text.length <= maxLength) return text
  // Of a long one, no more is taken apart than may be shown.
  return `${[...text.slice(0, 2 * maxLength)].slice(0, maxLength - 1).join('')}…`
}
