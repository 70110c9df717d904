import type { FormAffordance } from '../representations/form-view.js'
import type { PageAffordances, PageView } from '../representations/representation.js'
import { renderRequest } from './curl.js'
import { renderChips, renderFilterForm } from './filter.js'
import { renderInputs } from './form.js'
import type { Markup } from './markup.js'
import { markup } from './markup.js'
import { renderMessage } from './message.js'
import { nameForm } from './operation.js'
import { renderRefusal } from './refusal.js'
import type { Table } from './table.js'
import { renderTable } from './table.js'
import type { Texts } from './texts.js'
import { renderTimeline } from './timeline.js'

/** Renders a page of a collection: a form for a new item, filters, rows, and the pages around it. */
export async function renderList (
  texts: Texts,
  view: PageView,
  affordances: PageAffordances | undefined
): Promise<Markup> {
  const { items, members: columns } = view
  const table = { texts, caption: texts.label(view.name), items }
  if (affordances === undefined) return await renderTable({ ...table, columns, kinds: {} })
  const { create, filters, refused, feedback } = affordances
  const forms = [{ name: 'filter', fields: filters }, ...(create === undefined ? [] : [create])]
  const { total } = view.document as { total?: number }
  const isEmpty = items.length === 0 && affordances.page === 1 && affordances.active.length === 0
  return markup`${feedback && renderMessage(texts, feedback)}
${renderRefusal(texts, refused, forms)}
<div class="tools">
${create && renderCreate(texts, create, view.singular, isEmpty)}
${renderFilterForm(texts, affordances)}
</div>
${renderChips(texts, affordances)}
${await renderItems(table, affordances)}
${renderPaging(texts, affordances, total)}`
}

async function renderItems (table: Omit<Table, 'kinds' | 'columns'>, affordances: PageAffordances): Promise<Markup> {
  const { texts, items } = table
  const { kinds, columns, timeline } = affordances
  if (items.length === 0) return renderEmpty(table, affordances)
  return timeline === undefined
    ? await renderTable({ ...table, columns, kinds, affordances })
    : await renderTimeline(texts, timeline)
}

// Open where there is nothing else to do, or something in it was wrong.
function renderCreate (texts: Texts, form: FormAffordance, singular: string, isFirst: boolean): Markup {
  const title = texts.create(texts.label(singular))
  const isSent = form.fields.some(({ value, error }) => value !== undefined || error !== undefined)
  return markup`<details class="create"${(isFirst || isSent) && markup` open`}>
<summary>${title}</summary>
<form method="post" action="${form.action}" aria-label="${title}">
<div class="inputs">
${renderInputs(texts, form)}
</div>
<button type="submit">${nameForm(texts, form)}</button>
${form.request && renderRequest(texts, form.request)}
</form>
</details>`
}

function renderEmpty (
  { texts, caption }: Pick<Table, 'texts' | 'caption'>,
  { page, clear, url }: PageAffordances
): Markup {
  const [text, href, onward] = page !== 1
    ? [texts.emptyPage(caption), url({ page: undefined }), texts.firstPage]
    : clear === undefined ? [texts.emptyList(caption)] : [texts.noMatches(caption), clear, texts.showAll]
  return markup`<p class="empty">${text}${href !== undefined && markup` <a href="${href}">${onward}</a>`}</p>`
}

function renderPaging (texts: Texts, affordances: PageAffordances, total: number | undefined): Markup {
  const { page, prev, next, url, isCountable } = affordances
  return markup`<nav class="pages" aria-label="${texts.pages}">
${prev !== undefined && markup`<a rel="prev" href="${prev}">${texts.previous}</a>`}
${page !== undefined && markup`<span>${texts.pageNumber(page)}</span>`}
${next !== undefined && markup`<a rel="next" href="${next}">${texts.next}</a>`}
<span class="size">${total === undefined
  ? isCountable && markup`<a href="${url({ count: 'exact' })}">${texts.count}</a>`
  : texts.total(texts.number(total))}</span>
<span class="size">${texts.perPage} ${affordances.pageSizes.map(size => renderSize(texts, affordances, size))}</span>
</nav>`
}

function renderSize (texts: Texts, { pageSize, url }: PageAffordances, size: number): Markup {
  const text = texts.number(size)
  if (size === pageSize) return markup`<strong aria-current="true">${text}</strong> `
  return markup`<a href="${url({ maxpagesize: String(size), page: undefined })}">${text}</a> `
}
