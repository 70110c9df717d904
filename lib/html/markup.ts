import { replaceUnsupported } from '../core/values/json.js'

/** Text that is markup already. */
export class Markup {
  constructor (readonly text: string) {}
}

export type Content = Markup | string | number | boolean | undefined | readonly Content[]

/**
 * A template whose values are escaped unless they are markup themselves; `undefined` and `false` are nothing, lists are
 * put one after another. By hand: it is shorter than what a package would need to be configured.
 */
export function markup (strings: TemplateStringsArray, ...values: readonly Content[]): Markup {
  let text = strings[0] as string
  values.forEach((value, index) => { text += render(value) + (strings[index + 1] as string) })
  return new Markup(text)
}

function render (value: Content): string {
  if (value instanceof Markup) return value.text
  if (Array.isArray(value)) return (value as readonly Content[]).map(render).join('')
  return value === undefined || value === false ? '' : escape(String(value))
}

const references: Record<string, string> =
  { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;', '\r': '&#13;' }

// What HTML forbids besides: DEL, the C1 controls, and code points that are no characters.
const forbidden = /[\u007f-\u009f\p{Noncharacter_Code_Point}]/gu

function escape (text: string): string {
  return replaceUnsupported(text).replace(forbidden, '\ufffd')
    .replace(/[&<>"'\r]/g, character => references[character] as string)
}
