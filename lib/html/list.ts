import { isDate } from '../core/values/formats.js'
import type { Members } from '../core/values/json.js'
import type {
  ActiveFilter, Count, FormAffordance, Home, PageAffordances, ShownKind
} from '../representations/affordances.js'
import { type PageView, writeInTurns } from '../representations/representation.js'
import { filterForm, nameForm, renderField, renderInputs, renderRefusal, renderRequest } from './form.js'
import { renderMessage, renderTimeline } from './item.js'
import { type Content, formatBoolean, type Markup, markup, renderBadge, renderLink, renderShort } from './markup.js'
import type { Texts } from './texts.js'

export async function renderList (texts: Texts, view: PageView, affordances?: PageAffordances): Promise<Markup> {
  if (affordances === undefined) return await renderTable(texts, view, {})
  const { create, filters, refused, feedback, timeline } = affordances
  const forms = [{ name: filterForm, fields: filters }, ...(create === undefined ? [] : [create])]
  const isEmpty = view.items.length === 0
  const isFirst = isEmpty && affordances.page === 1 && affordances.active.length === 0
  return markup`${feedback && renderMessage(texts, feedback)}
${renderRefusal(texts, refused, forms)}
<div class="tools">
${create && renderCreate(texts, create, isFirst)}
${filters.length > 0 && renderFilterForm(texts, affordances)}
</div>
${renderChips(texts, affordances)}
${isEmpty
  ? renderEmpty(texts, view, affordances)
  : timeline === undefined ? await renderTable(texts, view, affordances) : await renderTimeline(texts, timeline)}
${renderPaging(texts, view, affordances)}`
}

// Open if the list is empty, or if something was entered or wrong.
function renderCreate (texts: Texts, form: FormAffordance, isFirst: boolean): Markup {
  const title = texts.create(texts.label(form.singular))
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

function renderFilterForm (texts: Texts, { filters, kept, url }: PageAffordances): Markup {
  const isWrong = filters.some(({ error }) => error !== undefined)
  return markup`<details class="filter"${isWrong && markup` open`}>
<summary>${texts.filter}</summary>
<form method="get" action="${url({}).replace(/\?.*$/s, '')}">
${kept.map(([name, value]) => markup`<input type="hidden" name="${name}" value="${value}">`)}
<div class="filters">
${filters.map(field => renderField(texts, field, filterForm))}
<div class="field apply"><button type="submit">${texts.applyFilter}</button></div>
</div>
</form>
</details>`
}

function renderChips (texts: Texts, { active, clear }: PageAffordances): Content {
  return active.length > 0 && markup`<nav class="chips" aria-label="${texts.activeFilters}"><ul>
${active.map(filter => {
  const condition = texts.condition(texts.label(filter.field), filter.op, formatOperand(texts, filter))
  const text = filter.isAlternative ? texts.alternative(condition) : condition
  // Screen readers begin with the visible text.
  const label = texts.removeFilter(text)
  return markup`<li><a href="${filter.href}" aria-label="${label}"><bdi>${text}</bdi> <span>×</span></a></li>
`
})}<li><a class="clear" href="${clear}">${texts.clearFilter}</a></li>
</ul></nav>`
}

// A part of a value is shown as it was sent.
function formatOperand (texts: Texts, { kind, op, value }: ActiveFilter): string {
  if (op === 'regex' || op === 'has' || op === 'null') return value
  if (kind === 'boolean') return formatBoolean(texts, value === 'true')
  if (kind === 'choice') return texts.choice(value)
  return (kind === 'date' || kind === 'date-time') && isDate(value) ? texts.date(value) : value
}

function renderEmpty (texts: Texts, { name }: PageView, { page, clear, url }: PageAffordances): Markup {
  const plural = texts.label(name)
  const [text, href, onward] = page !== 1
    ? [texts.emptyPage(plural), url({ page: undefined }), texts.firstPage]
    : clear === undefined ? [texts.emptyList(plural)] : [texts.noMatches(plural), clear, texts.showAll]
  return markup`<p class="empty">${text}${href !== undefined && markup` <a href="${href}">${onward}</a>`}</p>`
}

function renderPaging (texts: Texts, { document }: PageView, affordances: PageAffordances): Markup {
  const { page, prev, next, url, isCountable, pageSize, pageSizes } = affordances
  const { total } = document as { total?: number }
  const sizes = pageSizes.map(size => size === pageSize
    ? markup`<strong aria-current="true">${texts.number(size)}</strong> `
    : markup`<a href="${url({ maxpagesize: String(size), page: undefined })}">${texts.number(size)}</a> `)
  return markup`<nav class="pages" aria-label="${texts.pages}">
${prev !== undefined && markup`<a rel="prev" href="${prev}">${texts.previous}</a>`}
${page !== undefined && markup`<span>${texts.pageNumber(page)}</span>`}
${next !== undefined && markup`<a rel="next" href="${next}">${texts.next}</a>`}
<span class="size">${total === undefined
  ? isCountable && markup`<a href="${url({ count: 'exact' })}">${texts.count}</a>`
  : texts.total(texts.number(total))}</span>
<span class="size">${texts.perPage} ${sizes}</span>
</nav>`
}

type Columns = Partial<PageAffordances>

// So few columns would be far apart in the full width.
const fewColumns = 4

async function renderTable (texts: Texts, view: PageView, shown: Columns): Promise<Markup> {
  const { columns = view.members } = shown
  const rows = await writeInTurns(view.items, (item, index) => renderRow(texts, columns, shown, item, index))
  return markup`<section class="wide" aria-label="${texts.label(view.name)}" tabindex="0">
<table${columns.length <= fewColumns && markup` class="few"`}>
<thead><tr>${columns.map(column => renderHeading(texts, column, shown))}</tr></thead>
<tbody>
${rows}</tbody>
</table>
</section>`
}

function renderHeading (texts: Texts, column: string, { kinds = {}, sortable = [], sort, url }: Columns): Markup {
  const label = texts.label(column)
  const className = isNumber(kinds[column]) && markup` class="number"`
  if (!sortable.includes(column)) return markup`<th scope="col"${className}>${label}</th>`
  const order = sort === column ? 'ascending' : sort === `-${column}` ? 'descending' : undefined
  const href = url?.({ sort: order === 'ascending' ? `-${column}` : column, page: undefined })
  const sorted = order !== undefined && markup` aria-sort="${order}"`
  const arrow = order !== undefined && (order === 'ascending' ? ' ↑' : ' ↓')
  return markup`<th scope="col"${className}${sorted}><a href="${href}">${label}${arrow}</a></th>`
}

// The page of the item shows the whole text.
const maxText = 200

// The title links to the item; without it, the first cell does. Other cells link to the items they refer to.
function renderRow (
  texts: Texts,
  columns: readonly string[],
  { kinds = {}, title = '', address, refer }: Columns,
  item: Members,
  index: number
): Markup {
  const leading = columns.includes(title) ? title : columns[0]
  return markup`<tr>${columns.map(column => {
    const value = item[column]
    const kind = kinds[column]
    const isChoice = kind === 'choice' && typeof value === 'string'
    const shown = isChoice ? renderBadge(texts, value) : renderShort(texts, value, kind, maxText)
    const href = column === leading ? address?.(index) : refer?.(index, column)
    // Invisible text cannot be clicked.
    const isSeen = href === undefined || item.id === undefined || /[^\s\p{C}]/u.test(String(value ?? ''))
    const content = renderLink(href, isSeen ? shown : String(item.id))
    const className = column === leading ? 'title' : chooseClass(value, kind)
    return markup`<td class="${className}" data-label="${texts.label(column)}"><div dir="auto">${content}</div></td>`
  })}</tr>
`
}

function chooseClass (value: unknown, kind: ShownKind | undefined): string {
  if (isNumber(kind)) return 'number'
  if (kind === 'date' || kind === 'date-time') return 'moment'
  // Such as an id: its beginning is enough here.
  return typeof value === 'string' && /^\S{24,}$/.test(value) ? 'long' : 'text'
}

function isNumber (kind: ShownKind | undefined): boolean {
  return kind === 'integer' || kind === 'number' || kind === 'decimal'
}

export function renderHome (texts: Texts, { families }: Home): Markup {
  return markup`<ul class="home">
${families.map(family => {
  const { name, version, href, states = [] } = family
  const count = formatCount(texts, family)
  return markup`<li>
<h2><a href="${href}">${texts.family(texts.label(name), version)}</a></h2>
${count !== undefined && markup`<p>${texts.items(count)}</p>
`}${states.length > 0 && markup`<ul class="states">
${states.map(each => markup`<li><a href="${each.href}">${renderBadge(texts, each.state)}</a> ${
  formatCount(texts, each)}</li>
`)}</ul>
`}</li>
`
})}</ul>`
}

function formatCount (texts: Texts, { total, atLeast }: Count): string | undefined {
  if (total !== undefined) return texts.number(total)
  return atLeast === undefined ? undefined : texts.atLeast(texts.number(atLeast))
}
