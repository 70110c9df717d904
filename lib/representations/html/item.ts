import type { Members } from '../../values/json.js'
import type { ItemAffordances, Kinds, OneView } from '../representation.js'
import { renderForm } from './form.js'
import type { Markup } from './markup.js'
import { markup } from './markup.js'
import { renderRefusal } from './refusal.js'
import { renderTable } from './table.js'
import { renderValue, toLabel } from './values.js'

/** Renders one resource: its members, what can be done with it now, and what was done. */
export async function renderItem (
  { document }: OneView,
  affordances: ItemAffordances | undefined
): Promise<Markup> {
  if (affordances === undefined) return renderMembers(document, {})
  const { operations, log, remove, refused, kinds } = affordances
  return markup`${renderRefusal(refused, operations)}
${renderMembers(document, kinds)}
${operations.length > 0 && markup`<h2>What can be done now</h2>
<div class="forms">
${operations.map(operation => renderForm(operation))}
</div>`}
${log && await renderLog(log)}
${remove && markup`<h2>Delete</h2>
<div class="forms">
${renderForm(remove, true)}
</div>`}`
}

async function renderLog ({ entries: items, kinds, href }: NonNullable<ItemAffordances['log']>): Promise<Markup> {
  const members = ['createdAt', 'action', 'params', 'revision']
  return markup`<h2>Log</h2>
${await renderTable({ caption: 'Log', items, members, kinds })}
<p><a href="${href}">The whole log</a></p>`
}

function renderMembers (document: Members, kinds: Kinds): Markup {
  const entries = Object.entries(document).filter(([name]) => name !== 'links')
  const links = Object.entries(document.links ?? {}) as [string, string][]
  return markup`<dl>
${entries.map(([name, value]) => markup`<dt>${toLabel(name)}</dt><dd>${renderValue(value, kinds[name])}</dd>
`)}${links.map(([rel, href]) => markup`<dt>${toLabel(rel)}</dt><dd><a href="${href}">${href}</a></dd>
`)}</dl>`
}
