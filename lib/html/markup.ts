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
    if (value instanceof Markup) text += value.text
    else if (typeof value === 'string' && !unsafe.test(value)) text += value
    else if (value !== undefined && value !== false) text += render(value)
    text += strings[index + 1] as string
  }
  return new Markup(text)
}

/** Of content that is not markup itself. */
function render (value: Exclude<Content, Markup>): string {
  if (value === undefined || value === false) return ''
  if (!Array.isArray(value)) return String(value).replace(special, character => references[character] ?? '\ufffd')
  let text = ''
  for (const each of value as readonly Content[]) text += each instanceof Markup ? each.text : render(each)
  return text
}

// Characters with a meaning in HTML, or forbidden in it: control characters, lone surrogates, noncharacters.
// eslint-disable-next-line no-control-regex
const special = /[&<>"'\u0000-\u0008\u000b-\u001f\u007f-\u009f\ud800-\udfff\p{Noncharacter_Code_Point}]/gu

// Most texts have none.
const unsafe = new RegExp(special.source, 'u')

const references: Readonly<Record<string, string>> =
  { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;', '\r': '&#13;' }

export function renderLink (href: string | undefined, content: Content): Content {
  return href === undefined ? content : markup`<a href="${href}">${content}</a>`
}

/** Inputs that a form sends without showing them. */
export function renderHidden (entries: readonly (readonly [name: string, value: Content])[]): Content {
  return entries.map(([name, value]) => markup`<input type="hidden" name="${name}" value="${value}">
`)
}

export function renderTerms (terms: readonly (readonly [name: string, content: Content])[], className = ''): Content {
  return terms.length > 0 && markup`<dl${className !== '' && markup` class="${className}"`}>
${terms.map(([name, content]) => markup`<dt>${name}</dt><dd dir="auto">${content}</dd>
`)}</dl>
`
}

export function cutText (text: string, maxLength: number): string {
  if (text.length <= maxLength) return text
  // By code points; the first slice keeps this cheap for long texts.
  return `${[...text.slice(0, 2 * maxLength)].slice(0, maxLength - 1).join('')}…`
}
