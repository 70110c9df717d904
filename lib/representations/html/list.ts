import type { PageOffer, PageView } from '../representation.js'
import { filterForm, form } from './form.js'
import { markup } from './markup.js'
import type { Markup } from './markup.js'
import { refusal } from './refusal.js'
import { table } from './table.js'
import { label } from './values.js'

/** A page of a collection: filters, rows, the pages around it, and what a new item starts with. */
export function listPage (view: PageView, offer: PageOffer | undefined): Markup {
  if (offer === undefined) return table(label(view.name), view.items, view.members, {})
  const { create, filters, kept, kinds, page, hasNext, refused } = offer
  const { total } = view.document as { total?: number }
  return markup`${refusal(refused, [{ name: 'filter', fields: filters }, ...(create === undefined ? [] : [create])])}
${filterForm(filters, offer.url({}).replace(/\?.*$/s, ''), kept)}
${view.items.length === 0 ? markup`<p>There are none${page > 1 ? ' on this page' : filters.some(({ value }) => value !== undefined) ? ' that match' : ''}.</p>` : table(label(view.name), view.items, view.members, kinds, offer)}
<nav class="pages" aria-label="Pages">
${page > 1 && markup`<a rel="prev" href="${offer.url({ page: page === 2 ? undefined : String(page - 1) })}">Previous</a>`}
<span>Page ${page}${total !== undefined && `, ${total} in all`}</span>
${hasNext && markup`<a rel="next" href="${offer.url({ page: String(page + 1) })}">Next</a>`}
</nav>
${create && markup`<h2>${create.title}</h2>
<div class="forms">
${form({ ...create, title: 'What it starts with' })}
</div>`}`
}
