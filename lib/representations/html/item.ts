import type { Document, ItemOffer, Kinds, OneView } from '../representation.js'
import { form } from './form.js'
import { markup } from './markup.js'
import type { Markup } from './markup.js'
import { refusal } from './refusal.js'
import { table } from './table.js'
import { label, valueText } from './values.js'

/** One resource: its members, what can be done with it now, and what was done. */
export function itemPage ({ document }: OneView, offer: ItemOffer | undefined): Markup {
  if (offer === undefined) return definition(document, {})
  const { operations, log, remove, refused, kinds } = offer
  return markup`${refusal(refused, operations)}
${definition(document, kinds)}
${operations.length > 0 && markup`<h2>What can be done now</h2>
<div class="forms">
${operations.map(operation => form(operation))}
</div>`}
${log && markup`<h2>Log</h2>
${table('Log', log.entries, ['createdAt', 'action', 'params', 'revision'], log.kinds)}
<p><a href="${log.href}">The whole log</a></p>`}
${remove && markup`<h2>Delete</h2>
<div class="forms">
${form(remove, true)}
</div>`}`
}

function definition (document: Document, kinds: Kinds): Markup {
  const entries = Object.entries(document).filter(([name]) => name !== 'links')
  const links = Object.entries(document.links ?? {}) as [string, string][]
  return markup`<dl>
${entries.map(([name, value]) => markup`<dt>${label(name)}</dt><dd>${valueText(value, kinds[name])}</dd>
`)}${links.map(([rel, href]) => markup`<dt>${label(rel)}</dt><dd><a href="${href}">${href}</a></dd>
`)}</dl>`
}
