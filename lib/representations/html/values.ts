import type { Kind } from '../../storage/storage.js'
import type { Content } from './markup.js'
import { markup } from './markup.js'

/** createdAt -> Created at, min-age -> Min age */
export function toLabel (name: string): string {
  const words = name
    .replace(/([a-z0-9])([A-Z])/g, (_, end: string, start: string) => `${end} ${start.toLowerCase()}`)
    .replace(/[-_.]/g, ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}

/** Makes a sentence of what is wrong with a field. */
export function toSentence (subject: string, detail: string): string {
  return `${subject} ${detail}${/[.?!]$/.test(detail) ? '' : '.'}`
}

/** Renders a value as people read it. */
export function renderValue (value: unknown, kind?: Kind): Content {
  if (value === undefined || value === null) return markup`<span class="absent">none</span>`
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (typeof value === 'object') return renderObject(value)
  const text = String(value)
  if (kind === 'date') return markup`<time datetime="${text}">${toDay(text)}</time>`
  if (kind === 'date-time') return markup`<time datetime="${text}">${toDay(text)}, ${text.slice(11, 19)} UTC</time>`
  return text
}

// One member after another if they are plain; what is deeper is for programs.
function renderObject (value: object): Content {
  const entries = Object.entries(value)
  if (Array.isArray(value) || entries.some(([, member]) => typeof member === 'object')) return JSON.stringify(value)
  if (entries.length === 0) return renderValue(undefined)
  return entries.map(([name, member]) => `${toLabel(name)}: ${String(member)}`).join('; ')
}

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

// 2026-03-31 -> 31 Mar 2026, which no country reads as another day.
function toDay (text: string): string {
  return `${Number(text.slice(8, 10))} ${months[Number(text.slice(5, 7)) - 1]} ${text.slice(0, 4)}`
}
