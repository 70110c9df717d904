import type { PageAffordances, PageView } from '../representation.js'
import { renderFilterForm, renderForm } from './form.js'
import type { Markup } from './markup.js'
import { markup } from './markup.js'
import { renderRefusal } from './refusal.js'
import { renderTable } from './table.js'
import { toLabel } from './values.js'

/** Renders a page of a collection: filters, rows, the pages around it, and a form for a new item. */
export async function renderList (view: PageView, affordances: PageAffordances | undefined): Promise<Markup> {
  const { items, members } = view
  const table = { caption: toLabel(view.name), items, members }
  if (affordances === undefined) return await renderTable({ ...table, kinds: {} })
  const { create, filters, kept, kinds, refused } = affordances
  const forms = [{ name: 'filter', fields: filters }, ...(create === undefined ? [] : [create])]
  const { total } = view.document as { total?: number }
  return markup`${renderRefusal(refused, forms)}
${renderFilterForm(filters, affordances.url({}).replace(/\?.*$/s, ''), kept)}
${items.length === 0 ? renderEmpty(affordances) : await renderTable({ ...table, kinds, affordances })}
${renderPaging(affordances, total)}
${create && markup`<h2>${create.title}</h2>
<div class="forms">
${renderForm({ ...create, title: 'What it starts with' })}
</div>`}`
}

function renderEmpty ({ page, filters }: PageAffordances): Markup {
  const isFiltered = filters.some(({ value }) => value !== undefined)
  return markup`<p>There are none${page !== 1 ? ' on this page' : isFiltered && ' that match'}.</p>`
}

function renderPaging (affordances: PageAffordances, total: number | undefined): Markup {
  const { page, prev, next } = affordances
  const said = [...(page === undefined ? [] : [`Page ${page}`]), ...(total === undefined ? [] : [`${total} in all`])]
  return markup`<nav class="pages" aria-label="Pages">
${prev !== undefined && markup`<a rel="prev" href="${prev}">Previous</a>`}
${said.length > 0 && markup`<span>${said.join(', ')}</span>`}
${next !== undefined && markup`<a rel="next" href="${next}">Next</a>`}
</nav>`
}
