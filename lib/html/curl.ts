import type { SampleRequest } from '../representations/item-view.js'
import type { Markup } from './markup.js'
import { markup } from './markup.js'
import type { Texts } from './texts.js'

/** Renders the request that does the same as the button of a form, as a command line for a POSIX shell. */
export function renderRequest (texts: Texts, { method, url, headers, body }: SampleRequest): Markup {
  let line = `curl -X ${method} ${quote(url)}`
  for (const [name, value] of Object.entries(headers)) line += ` -H ${quote(`${name}: ${value}`)}`
  if (body !== undefined) line += ` -d ${quote(writeJson(body))}`
  const start = url.startsWith('/') ? line.indexOf("'") + 1 : 0
  return markup`<details class="request">
<summary>${texts.asRequest}</summary>
<p class="hint">${texts.asRequestHint}</p>
<code class="curl">${line.slice(0, start)}${start > 0 && origin}${line.slice(start)}</code>
</details>`
}

// Where the address has no host, the script puts in that of the page.
const origin = markup`<span class="origin"></span>`

/** One word of a shell, whatever is in it. */
export function quote (text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}

// What cannot be seen, or turns around what is seen, is written as what it is.
const unseen = /[\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g

function writeJson (body: object): string {
  return JSON.stringify(body)
    .replace(unseen, character => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
