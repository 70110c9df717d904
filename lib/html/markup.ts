/** Text that is markup already. */
export class Markup {
  // Only declared: to define it would cost a further call for every object.
  declare readonly text: string

  constructor (text: string) {
    (this as { text: string }).text = text
  }
}

export type Content = Markup | string | number | boolean | undefined | readonly Content[]

/**
 * A template whose values are escaped unless they are markup themselves; `undefined` and `false` are nothing, lists are
 * put one after another. By hand: it is shorter than what a package would need to be configured.
 */
export function markup (strings: TemplateStringsArray, ...values: readonly Content[]): Markup {
  let text = strings[0] as string
  for (let index = 0; index < values.length; index++) {
    const value = values[index]
    text += (value instanceof Markup ? value.text : render(value)) + (strings[index + 1] as string)
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

// What means something in HTML, and what it forbids: control characters, halves of pairs, what is no character.
// eslint-disable-next-line no-control-regex
const special = /[&<>"'\u0000-\u0008\u000b-\u001f\u007f-\u009f\ud800-\udfff\p{Noncharacter_Code_Point}]/gu

const references: Readonly<Record<string, string>> =
  { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;', '\r': '&#13;' }
