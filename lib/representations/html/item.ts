import type { Members } from '../../values/json.js'
import type { ItemAffordances, Kinds, OneView } from '../representation.js'
import { renderForm } from './form.js'
import type { Markup } from './markup.js'
import { markup } from './markup.js'
import { renderRefusal } from './refusal.js'
import { renderTable } from './table.js'
import type { Texts } from './texts.js'
import { renderValue } from './values.js'

/** Renders one resource: its members, what can be done with it now, and what was done. */
export async function renderItem (
  texts: Texts,
  { name, document }: OneView,
  affordances: ItemAffordances | undefined
): Promise<Markup> {
  if (affordances === undefined) return renderMembers(texts, document, {})
  const { operations, log, remove, refused, kinds } = affordances
  return markup`${renderRefusal(texts, refused, operations)}
${renderMembers(texts, document, kinds)}
${operations.length > 0 && markup`<h2>${texts.operations}</h2>
<div class="forms">
${operations.map(operation => renderForm(texts, operation, name))}
</div>`}
${log && await renderLog(texts, log)}
${remove && markup`<h2>${texts.deletion}</h2>
<div class="forms">
${renderForm(texts, { ...remove, title: texts.deleteItem(texts.label(name)) }, name, true)}
</div>`}`
}

async function renderLog (
  texts: Texts,
  { entries: items, kinds, href }: NonNullable<ItemAffordances['log']>
): Promise<Markup> {
  const columns = ['createdAt', 'action', 'params', 'revision']
  return markup`<h2>${texts.log}</h2>
${await renderTable({ texts, caption: texts.log, items, columns, kinds })}
<p><a href="${href}">${texts.wholeLog}</a></p>`
}

function renderMembers (texts: Texts, document: Members, kinds: Kinds): Markup {
  const entries = Object.entries(document).filter(([name]) => name !== 'links')
  const links = Object.entries(document.links ?? {}) as [string, string][]
  return markup`<dl>
${entries.map(([name, value]) => markup`<dt>${texts.label(name)}</dt><dd>${renderValue(texts, value, kinds[name])}</dd>
`)}${links.map(([rel, href]) => markup`<dt>${texts.label(rel)}</dt><dd><a href="${href}">${href}</a></dd>
`)}</dl>`
}
