import type { Document } from '../representation.js'
import { markup } from './markup.js'
import type { Markup } from './markup.js'
import { sentencesOf } from './refusal.js'

/** Why a request was refused. */
export function problemPage (document: Document): Markup {
  const sentences = sentencesOf(document)
  return markup`<div class="refused" role="alert"><p>${sentences.length === 1 ? sentences[0]?.text : String(document.detail)}</p></div>
${sentences.length > 1 && markup`<ul>
${sentences.map(({ text }) => markup`<li>${text}</li>
`)}</ul>`}
<p class="hint">Status ${Number(document.status)}</p>`
}
