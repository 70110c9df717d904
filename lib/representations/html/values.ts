import type { Kind } from '../../storage/storage.js'
import { markup } from './markup.js'
import type { Content } from './markup.js'

/** createdAt -> Created at, min-age -> Min age */
export function label (name: string): string {
  const words = name.replace(/([a-z0-9])([A-Z])/g, (_, end: string, start: string) => `${end} ${start.toLowerCase()}`).replace(/[-_.]/g, ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}

/** A value as people read it. */
export function valueText (value: unknown, kind?: Kind): Content {
  if (value === undefined || value === null) return markup`<span class="absent">none</span>`
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (typeof value === 'object') return objectText(value)
  if (kind === 'date') return markup`<time datetime="${String(value)}">${day(String(value))}</time>`
  if (kind === 'date-time') return markup`<time datetime="${String(value)}">${day(String(value))}, ${String(value).slice(11, 19)} UTC</time>`
  return String(value)
}

// One member after another, as long as they are plain; what is deeper is for programs.
function objectText (value: object): Content {
  const entries = Object.entries(value)
  if (Array.isArray(value) || entries.some(([, member]) => typeof member === 'object')) return JSON.stringify(value)
  return entries.length === 0 ? valueText(undefined) : entries.map(([name, member]) => `${label(name)}: ${String(member)}`).join('; ')
}

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

// 2026-03-31 -> 31 Mar 2026, which is no other day in any country.
function day (text: string): string {
  return `${Number(text.slice(8, 10))} ${months[Number(text.slice(5, 7)) - 1]} ${text.slice(0, 4)}`
}

/** What is wrong with a field, as a sentence. */
export function sentence (subject: string, detail: string): string {
  return `${subject} ${detail}${/[.?!]$/.test(detail) ? '' : '.'}`
}
