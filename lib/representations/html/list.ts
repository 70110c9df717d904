import type { FormAffordance } from '../form-view.js'
import type { PageAffordances, PageView } from '../representation.js'
import { renderFilterForm, renderInputs } from './form.js'
import type { Markup } from './markup.js'
import { markup } from './markup.js'
import { renderMessage } from './message.js'
import { nameForm, renderRequests } from './operation.js'
import { renderRefusal } from './refusal.js'
import type { Table } from './table.js'
import { renderTable } from './table.js'
import type { Texts } from './texts.js'
import { renderTimeline } from './timeline.js'

/** Renders a page of a collection: filters, rows, the pages around it, and a form for a new item. */
export async function renderList (
  texts: Texts,
  view: PageView,
  affordances: PageAffordances | undefined
): Promise<Markup> {
  const { items, members } = view
  const table = { texts, caption: texts.label(view.name), items, members }
  if (affordances === undefined) return await renderTable({ ...table, kinds: {} })
  const { create, filters, kept, refused, feedback } = affordances
  const forms = [{ name: 'filter', fields: filters }, ...(create === undefined ? [] : [create])]
  const { total } = view.document as { total?: number }
  return markup`${feedback && renderMessage(texts, feedback)}
${renderRefusal(texts, refused, forms)}
${renderFilterForm(texts, filters, affordances.url({}).replace(/\?.*$/s, ''), kept)}
${await renderItems(table, affordances)}
${renderPaging(texts, affordances, total)}
${create && renderCreate(texts, create, view.singular, items.length === 0)}`
}

async function renderItems (table: Omit<Table, 'kinds'>, affordances: PageAffordances): Promise<Markup> {
  const { texts, items } = table
  const { kinds, timeline } = affordances
  if (items.length === 0) return renderEmpty(texts, affordances)
  return timeline === undefined
    ? await renderTable({ ...table, kinds, affordances })
    : await renderTimeline(texts, timeline)
}

// Open where there is nothing else to do, or something in it was wrong.
function renderCreate (texts: Texts, form: FormAffordance, singular: string, isFirst: boolean): Markup {
  const title = texts.create(texts.label(singular))
  const isWrong = form.fields.some(({ value, error }) => value !== undefined || error !== undefined)
  return markup`<details class="create"${(isFirst || isWrong) && markup` open`}>
<summary>${title}</summary>
<form method="post" action="${form.action}" aria-label="${title}">
${renderInputs(texts, form)}
<button type="submit">${nameForm(texts, form)}</button>
${renderRequests(texts, form.requests)}
</form>
</details>`
}

function renderEmpty (texts: Texts, { page, filters }: PageAffordances): Markup {
  const isFiltered = filters.some(({ value }) => value !== undefined)
  return markup`<p>${page !== 1 ? texts.emptyPage : isFiltered ? texts.noMatches : texts.emptyList}</p>`
}

function renderPaging (texts: Texts, affordances: PageAffordances, total: number | undefined): Markup {
  const { page, prev, next } = affordances
  const said = [
    ...(page === undefined ? [] : [texts.pageNumber(page)]),
    ...(total === undefined ? [] : [texts.total(total)])
  ]
  return markup`<nav class="pages" aria-label="${texts.pages}">
${prev !== undefined && markup`<a rel="prev" href="${prev}">${texts.previous}</a>`}
${said.length > 0 && markup`<span>${said.join(', ')}</span>`}
${next !== undefined && markup`<a rel="next" href="${next}">${texts.next}</a>`}
</nav>`
}
