import type { Kind } from '../../storage/storage.js'
import type { Content } from './markup.js'
import { markup } from './markup.js'
import type { Texts } from './texts.js'

/** Renders a value as people read it. */
export function renderValue (texts: Texts, value: unknown, kind?: Kind): Content {
  if (value === undefined || value === null) return markup`<span class="absent">${texts.absent}</span>`
  if (typeof value === 'boolean') return value ? texts.yes : texts.no
  if (typeof value === 'number') return markup`<data class="number" value="${value}">${texts.number(value)}</data>`
  if (typeof value === 'object') return renderObject(texts, value)
  const text = String(value)
  if (kind === 'date') return markup`<time datetime="${text}">${texts.date(text)}</time>`
  if (kind === 'date-time') return markup`<time datetime="${text}">${texts.moment(text)}</time>`
  return text
}

// One member after another if they are plain; what is deeper is for programs.
function renderObject (texts: Texts, value: object): Content {
  const entries = Object.entries(value)
  if (Array.isArray(value) || entries.some(([, member]) => typeof member === 'object')) return JSON.stringify(value)
  if (entries.length === 0) return renderValue(texts, undefined)
  return entries.map(([name, member]) => `${texts.label(name)}: ${String(member)}`).join('; ')
}
