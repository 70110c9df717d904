import { isDate, readDateTime } from '../core/values/formats.js'
import type { ShownKind } from '../representations/affordances.js'
import type { Texts } from './texts.js'

export class Markup {
  // Only declared: defining it would cost one more call for every object.
  declare readonly text: string

  constructor (text: string) {
    (this as { text: string }).text = text
  }
}

export type Content = Markup | string | number | boolean | undefined | readonly Content[]

/** Escapes values that are not markup; `undefined` and `false` render nothing. Shorter than configuring a package. */
export function markup (strings: TemplateStringsArray, ...values: readonly Content[]): Markup {
  let text = strings[0] as string
  for (let index = 0; index < values.length; index++) {
    const value = values[index]
    if (value !== undefined && value !== false) text += value instanceof Markup ? value.text : render(value)
    text += strings[index + 1] as string
  }
  return new Markup(text)
}

function render (value: Content): string {
  if (value instanceof Markup) return value.text
  if (value === undefined || value === false) return ''
  if (!Array.isArray(value)) return String(value).replace(special, character => references[character] ?? '\ufffd')
  let text = ''
  for (const each of value as readonly Content[]) text += render(each)
  return text
}

// Characters with a meaning in HTML, or forbidden in it: control characters, lone surrogates, noncharacters.
// eslint-disable-next-line no-control-regex
const special = /[&<>"'\u0000-\u0008\u000b-\u001f\u007f-\u009f\ud800-\udfff\p{Noncharacter_Code_Point}]/gu

const references: Readonly<Record<string, string>> =
  { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;', '\r': '&#13;' }

export function renderValue (texts: Texts, value: unknown, kind?: ShownKind): Content {
  if (value === undefined || value === null) return markup`<span class="absent">${texts.absent}</span>`
  if (typeof value === 'boolean') return formatBoolean(texts, value)
  if (typeof value === 'object') return renderObject(texts, value)
  // The script reformats numbers as the reader's system does.
  if (typeof value === 'number' && (kind === 'integer' || kind === 'number')) {
    return markup`<data class="number" value="${value}">${texts.number(value)}</data>`
  }
  const text = String(value)
  if (kind === 'decimal' && /^-?\d+(\.\d+)?$/.test(text)) {
    return markup`<data class="number" value="${text}">${texts.decimal(text)}</data>`
  }
  if (kind === 'choice') return texts.choice(text)
  if (kind === 'date' && isDate(text)) return markup`<time datetime="${text}">${texts.date(text)}</time>`
  // A moment that was sent may be in a different zone. It is shown to the minute; the title has it exactly.
  const moment = kind === 'date-time' ? readDateTime(text) : undefined
  if (moment === undefined) return text
  return markup`<time datetime="${moment}" title="${moment}">${texts.moment(moment)}</time>`
}

export function renderShort (texts: Texts, value: unknown, kind: ShownKind | undefined, maxLength: number): Content {
  const shown = renderValue(texts, value, kind)
  return typeof shown === 'string' ? shorten(shown, maxLength) : shown
}

function renderObject (texts: Texts, value: object): Content {
  const entries = Object.entries(value)
  if (Array.isArray(value) || entries.some(([, member]) => typeof member === 'object')) return JSON.stringify(value)
  if (entries.length === 0) return renderValue(texts, undefined)
  const format = (member: unknown) => typeof member === 'boolean' ? formatBoolean(texts, member) : String(member)
  return entries.map(([name, member]) => `${texts.label(name)}: ${format(member)}`).join('; ')
}

export function formatBoolean ({ yes, no }: Texts, value: boolean): string {
  return value ? yes : no
}

export function renderBadge (texts: Texts, value: string): Markup {
  return markup`<span class="badge">${texts.choice(value)}</span>`
}

export function renderLink (href: string | undefined, content: Content): Content {
  return href === undefined ? content : markup`<a href="${href}">${content}</a>`
}

export function renderTerms (terms: readonly (readonly [name: string, content: Content])[], className = ''): Content {
  return terms.length > 0 && markup`<dl${className !== '' && markup` class="${className}"`}>
${terms.map(([name, content]) => markup`<dt>${name}</dt><dd dir="auto">${content}</dd>
`)}</dl>
`
}

export function shorten (text: string, maxLength: number): string {
  if (text.length <= maxLength) return text
  // By code points; the first slice keeps this cheap for long texts.
  return `${[...text.slice(0, 2 * maxLength)].slice(0, maxLength - 1).join('')}…`
}
