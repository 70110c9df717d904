import type { Past } from '../pages/affordances.js'
import { type Content, type Markup, markup } from './markup.js'
import { renderShort } from './values.js'
import { formatMoment, type Words } from './words.js'

// The item has the whole value.
const maxNow = 200

/** Says when an item was as the page shows it, and leads to what it was before and after. */
export function renderPast (words: Words, { revision, at, current, prev, next }: Past): Markup {
  const { texts } = words
  const moment = at === undefined ? undefined : formatMoment(words, at)
  const links = [[prev, texts.earlier, 'prev'], [next, texts.later, 'next'], [current, texts.showCurrent, '']] as const
  return markup`<div class="message past" role="status">
<p>${texts.wasThen(texts.revision(revision), moment)}${current === undefined && ` ${texts.wasDeleted}`}</p>
<p>${links.map(([href, text, rel]) => href !== undefined &&
  markup`<a href="${href}"${rel !== '' && markup` rel="${rel}"`}>${text}</a> `)}</p>
</div>`
}

/** The value that it has now, beside that of then. */
export function renderNow (words: Words, past: Past, name: string, then: Content, shown: object): Content {
  const { texts } = words
  const content = past.missing.includes(name) ? texts.notLogged : then
  const now = Object.hasOwn(past.now, name) ? past.now[name] : undefined
  if (now === undefined) return content
  const { value } = now
  const isTable = typeof value === 'object' && value !== null && JSON.stringify(value).length > maxNow
  const current = isTable ? texts.changed : renderShort(words, value, shown, maxNow)
  return markup`<span class="then">${content}</span> <span class="hint">${texts.nowIs} ${current}</span>`
}
