import type { SampleRequest } from '../representations/item-view.js'
import type { Markup } from './markup.js'
import { markup } from './markup.js'

/** A request as a command line for a POSIX shell. Where the address has no host, a script puts in that of the page. */
export function renderCurl ({ method, url, headers, body }: SampleRequest): Markup {
  const address = quote(url)
  const place = url.startsWith('/') ? markup`'<span class="origin"></span>${address.slice(1)}` : address
  const options = [
    ...Object.entries(headers).map(([name, value]) => `-H ${quote(`${name}: ${value}`)}`),
    ...(body === undefined ? [] : [`-d ${quote(writeJson(body))}`])
  ]
  return markup`<code class="curl">curl -X ${method} ${place}${options.map(option => ` ${option}`)}</code>`
}

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
