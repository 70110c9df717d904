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
  return markup`<p>There are none${page > 1 ? ' on this page' : isFiltered && ' that match'}.</p>`
}

function renderPaging (affordances: PageAffordances, total: number | undefined): Markup {
  const { page, hasNext } = affordances
  // The first page has no number in its address.
  const previous = page > 1 && affordances.url({ page: page === 2 ? undefined : String(page - 1) })
  const next = hasNext && (affordances.next ?? affordances.url({ page: String(page + 1) }))
  return markup`<nav class="pages" aria-label="Pages">
${previous !== false && markup`<a rel="prev" href="${previous}">Previous</a>`}
<span>Page ${page}${total !== undefined && `, ${total} in all`}</span>
${next !== false && markup`<a rel="next" href="${next}">Next</a>`}
</nav>`
}
