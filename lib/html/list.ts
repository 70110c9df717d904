import { isDate } from '../core/values/formats.js'
import type { Members } from '../core/values/json.js'
import type {
  ActiveFilter, Count, FormAffordance, Home, HomeFamily, Kinds, PageAffordances, ShownKind
} from '../representations/affordances.js'
import type { PageView } from '../representations/representation.js'
import { writeInTurns } from '../representations/representation.js'
import { filterForm, nameForm, renderField, renderInputs, renderRequest } from './form.js'
import { renderMessage, renderTimeline } from './item.js'
import type { Content, Markup } from './markup.js'
import { formatBoolean, markup, renderBadge, renderShort } from './markup.js'
import { renderRefusal } from './refusal.js'
import type { Texts } from './texts.js'

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

/** Renders what narrows a list now, each with a way to do without it. */
function renderChips (texts: Texts, { active, clear }: PageAffordances): Markup | undefined {
  if (active.length === 0) return undefined
  return markup`<nav class="chips" aria-label="${texts.activeFilters}"><ul>
${active.map(filter => renderChip(texts, filter))}<li><a class="clear" href="${clear}">${texts.clearFilter}</a></li>
</ul></nav>`
}

/** Renders the fields to narrow a list by; they are sent as its query. */
function renderFilterForm (texts: Texts, affordances: PageAffordances): Markup | undefined {
  const { filters, kept } = affordances
  if (filters.length === 0) return undefined
  const action = affordances.url({}).replace(/\?.*$/s, '')
  const isWrong = filters.some(({ error }) => error !== undefined)
  return markup`<details class="filter"${isWrong && markup` open`}>
<summary>${texts.filter}</summary>
<form method="get" action="${action}">
${kept.map(([name, value]) => markup`<input type="hidden" name="${name}" value="${value}">`)}
<div class="filters">
${filters.map(field => renderField(texts, field, filterForm))}
<div class="field apply"><button type="submit">${texts.applyFilter}</button></div>
</div>
</form>
</details>`
}

// What is read aloud begins with what is seen.
function renderChip (texts: Texts, filter: ActiveFilter): Markup {
  const text = formatFilter(texts, filter)
  const label = texts.removeFilter(text)
  return markup`<li><a href="${filter.href}" aria-label="${label}"><bdi>${text}</bdi> <span>×</span></a></li>
`
}

function formatFilter (texts: Texts, filter: ActiveFilter): string {
  const { field, op, isAlternative } = filter
  const text = texts.condition(texts.label(field), op, formatOperand(texts, filter))
  return isAlternative ? texts.alternative(text) : text
}

// What is only a part of a value is shown as it was sent.
function formatOperand (texts: Texts, { kind, op, value }: ActiveFilter): string {
  if (op === 'regex' || op === 'has' || op === 'null') return value
  if (kind === 'boolean') return formatBoolean(texts, value === 'true')
  if (kind === 'choice') return texts.choice(value)
  return (kind === 'date' || kind === 'date-time') && isDate(value) ? texts.date(value) : value
}

interface Table {
  readonly texts: Texts
  readonly caption: string
  readonly items: readonly Members[]
  readonly columns: readonly string[]
  readonly kinds: Kinds
  /** With them, columns can be sorted by and rows lead to their items. */
  readonly affordances?: PageAffordances
}

// So few would be far apart in the whole width.
const fewColumns = 4

// In a list the beginning is enough; all of it is on the item's own page.
const maxText = 200

async function renderTable (table: Table): Promise<Markup> {
  const { caption, items, columns } = table
  const rows = await writeInTurns(items, (item, index) => renderRow(table, item, index))
  return markup`<section class="wide" aria-label="${caption}" tabindex="0">
<table${columns.length <= fewColumns && markup` class="few"`}>
<thead><tr>${columns.map(column => renderHeading(table, column))}</tr></thead>
<tbody>
${rows}</tbody>
</table>
</section>`
}

// The title leads to the item; where it is not shown, the first cell does. Others lead to what they refer to.
function renderRow ({ texts, columns, kinds, affordances }: Table, item: Members, index: number): Markup {
  const leading = affordances !== undefined && columns.includes(affordances.title) ? affordances.title : columns[0]
  const cells = columns.map(column => {
    const value = item[column]
    const isChoice = kinds[column] === 'choice' && typeof value === 'string'
    const shown = isChoice ? renderBadge(texts, value) : renderShort(texts, value, kinds[column], maxText)
    const href = column === leading ? affordances?.address(index) : affordances?.refer?.(index, column)
    const content = href === undefined ? shown : renderVisibleLink(item, shown, value, href)
    const className = chooseClass(value, kinds[column], column === leading)
    return markup`<td class="${className}" data-label="${texts.label(column)}"><div dir="auto">${content}</div></td>`
  })
  return markup`<tr>${cells}</tr>
`
}

// A text that is not visible cannot be clicked.
function renderVisibleLink (item: Members, shown: Content, value: unknown, href: string): Markup {
  const isSeen = value !== undefined && value !== null && /[^\s\p{C}]/u.test(String(value))
  return markup`<a href="${href}">${isSeen || item.id === undefined ? shown : String(item.id)}</a>`
}

// The first click sorts upwards, the second downwards.
function renderHeading ({ texts, kinds, affordances }: Table, column: string): Markup {
  const label = texts.label(column)
  const isNumber = kinds[column] === 'integer' || kinds[column] === 'number'
  const className = isNumber && markup` class="number"`
  if (affordances === undefined || !affordances.sortable.includes(column)) {
    return markup`<th scope="col"${className}>${label}</th>`
  }
  const { sort } = affordances
  const order = sort === column ? 'ascending' : sort === `-${column}` ? 'descending' : undefined
  const href = affordances.url({ sort: order === 'ascending' ? `-${column}` : column, page: undefined })
  const sorted = order !== undefined && markup` aria-sort="${order}"`
  const arrow = order !== undefined && (order === 'ascending' ? ' ↑' : ' ↓')
  return markup`<th scope="col"${className}${sorted}><a href="${href}">${label}${arrow}</a></th>`
}

function chooseClass (value: unknown, kind: ShownKind | undefined, isTitle: boolean): string {
  if (isTitle) return 'title'
  if (kind === 'integer' || kind === 'number') return 'number'
  if (kind === 'date' || kind === 'date-time') return 'moment'
  // Such as an id: its beginning is enough here.
  return typeof value === 'string' && /^\S{24,}$/.test(value) ? 'long' : 'text'
}

/** Renders the families at a prefix, with what is known of how many items they have. */
export function renderHome (texts: Texts, { families }: Home): Markup {
  return markup`<ul class="home">
${families.map(family => renderFamily(texts, family))}</ul>`
}

function renderFamily (texts: Texts, family: HomeFamily): Markup {
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
}

function formatCount (texts: Texts, { total, atLeast }: Count): string | undefined {
  if (total !== undefined) return texts.number(total)
  return atLeast === undefined ? undefined : texts.atLeast(texts.number(atLeast))
}
