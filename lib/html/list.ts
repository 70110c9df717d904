import { isAmount, isDate, type Members, type PageView, writeAmount, writeInTurns } from '../exports.js'
import type { ActiveFilter, FormAffordance, FormField, Home, PageAffordances, ShownKind } from '../pages/affordances.js'
import { findLeading, renderCell, renderHeading, renderState } from './cells.js'
import { filterForm, hasAmount, listChoices, renderField, renderInputs, renderLanguage } from './fields.js'
import { renderMany, renderRefusal, renderRequests } from './form.js'
import { type Content, cutText, type Markup, markup, renderHidden } from './markup.js'
import { renderDays, renderLive, renderMessage, renderRecent, renderTimeline } from './timeline.js'
import { formatBoolean, renderBadge } from './values.js'
import {
  findDay, formatCount, formatDate, formatNumber, nameCreate, nameField, nameOperation, namePlural, nameState,
  withLabels, type Words
} from './words.js'

export async function renderList (words: Words, view: PageView, affordances?: PageAffordances): Promise<Markup> {
  if (affordances === undefined) return await renderTable(words, view, {})
  const { create, filters, refused, feedback, timeline, many, live, isActivity } = affordances
  const forms = [{ name: filterForm, fields: filters }, ...(create === undefined ? [] : [create])]
  const isEmpty = view.items.length === 0
  const isFirst = isEmpty && affordances.page === 1 && affordances.active.length === 0
  return markup`${feedback && renderMessage(words, feedback)}
${renderRefusal(words, refused, forms)}
${live && renderLive(words, live)}
${create && renderCreate(words, create, isFirst)}
${renderStates(words, affordances)}
${(filters.length > 0 || affordances.search !== undefined) && renderFind(words, affordances)}
${renderChips(words, affordances)}
${isEmpty
  ? renderEmpty(words, view, affordances)
  : timeline === undefined
    ? await renderTable(words, view, affordances)
    : await (isActivity === true ? renderDays : renderTimeline)(words, timeline)}
${many && renderMany(words, many)}
${renderPaging(words, view, affordances)}
${create && renderRequests(words, [create])}`
}

// Open if the list is empty, or if something was entered or wrong.
function renderCreate (words: Words, form: FormAffordance, isFirst: boolean): Markup {
  const title = nameCreate(words, form.singular)
  return markup`<details class="create"${(isFirst || form.isRefused) && markup` open`}>
<summary>${title}</summary>
<form method="post" action="${form.action}" aria-label="${title}">
<div class="inputs">
${renderInputs(words, form)}
</div>
<button type="submit">${nameOperation(words, form)}</button>
</form>
</details>`
}

function renderStates (words: Words, { states, everyState, deleted }: PageAffordances): Content {
  if (states.length === 0 && deleted === undefined) return undefined
  const isAll = states.every(({ isCurrent }) => !isCurrent)
  return markup`<nav class="states" aria-label="${words.texts.state}"><ul>
<li><a href="${everyState}"${isAll && markup` aria-current="true"`}>${words.texts.all}</a></li>
${states.map(state => markup`<li><a href="${state.href}"${state.isCurrent && markup` aria-current="true"`}>
<span class="dot ${state.tone}"></span>${nameState(words, state.state)}
<span class="count">${formatCount(words, state)}</span></a></li>
`)}${deleted !== undefined && markup`<li><a href="${deleted}">${words.texts.deleted}</a></li>
`}</ul></nav>`
}

// The number of filters that are always shown.
const mainFilters = 4

function renderFind (words: Words, affordances: PageAffordances): Markup {
  const { filters, kept, url, search, sort, sortable, active, exported, recent, timeline, activity } = affordances
  const { texts } = words
  const ordered = filters.map(field => ({ field, rank: rankFilter(field, search !== undefined) }))
    .sort((a, b) => a.rank - b.rank).map(({ field }) => field)
  const fields = ordered.map(field => renderField(words, field, filterForm))
  const isWrong = filters.some(({ error }) => error !== undefined)
  const isOpen = isWrong && markup` open`
  const needsZone = words.zone !== undefined && kept.every(([name]) => name !== 'time-zone') &&
    filters.some(({ kind, bound }) => kind === 'date' && bound !== undefined)
  const main = timeline === undefined ? mainFilters : fields.length
  const rest = fields.slice(main)
  return markup`<div class="bar">
<form method="get" action="${url({}).replace(/\?.*$/s, '')}" class="find" role="search">
${hasAmount(filters) && renderLanguage(words)}${renderHidden(kept)}${
  needsZone && renderHidden([['time-zone', words.zone]])}${
  search !== undefined && markup`<input type="search" name="search" value="${search}" aria-label="${texts.search}">
<button type="submit">${texts.search}</button>
`}${fields.length > 0 && markup`<details class="filter"${isOpen}>
<summary>${texts.filter}${active.length > 0 && ` (${active.length})`}</summary>
<div class="panel">
<div class="inputs">
${fields.slice(0, main)}
${timeline === undefined && renderSort(words, sortable, sort)}
</div>
${rest.length > 0 && markup`<details class="more"${isOpen}><summary>${texts.moreFilters}</summary>
<div class="inputs">
${rest}
</div>
</details>`}
<button type="submit">${texts.applyFilter}</button>
</div>
</details>
`}</form>
${renderColumns(words, affordances)}
${recent !== undefined && renderLastDays(words, recent, affordances)}
<span class="export">${activity !== undefined && markup`<a class="button" href="${activity}">${texts.activity}</a> `}${
  exported !== undefined && markup`<a class="button" href="${exported}">${texts.export}</a>`}</span>
</div>`
}

// Others, choices, days, numbers; parts of texts last, where one box searches them.
function rankFilter (field: FormField, isSearched: boolean): number {
  const { reference, actions, families, values, kind, bound } = field
  if (reference !== undefined || actions !== undefined || families !== undefined) return 0
  if (values !== undefined || kind === 'boolean') return 1
  if (bound === 'has') return isSearched ? 4 : 2
  return kind === 'date' ? 2 : 3
}

function renderSort (words: Words, sortable: readonly string[], sort: string | undefined): Markup {
  const { texts } = words
  const orders = sortable.flatMap(name => {
    const label = nameField(words, name)
    return [[name, texts.ascending(label)], [`-${name}`, texts.descending(label)]] as const
  })
  return markup`<div class="field"><label for="sort">${texts.sortBy}</label>
<select id="sort" name="sort"><option value="">${texts.sortDefault}</option>${orders.map(([value, label]) =>
  markup`<option value="${value}"${value === sort && markup` selected`}>${label}</option>`)}</select></div>`
}

/** The last days, in the zone of the page; the script knows that of the reader. */
function renderLastDays (words: Words, field: string, { url }: PageAffordances): Markup {
  const { texts } = words
  return markup`<span class="recent">${nameField(words, field)}: ${[1, 7, 30].map(days => {
    const from = findDay(words, days - 1)
    const href = url({ [`min-${field}`]: from, 'time-zone': words.zone ?? 'UTC', page: undefined })
    const own = words.zone === undefined && markup` data-days="${days}" data-field="min-${field}"`
    return markup`<a href="${href}"${own}>${days === 1 ? texts.today : texts.lastDays(days)}</a> `
  })}</span>`
}

function renderColumns (words: Words, { members, columns, given, url }: PageAffordances): Content {
  return members.length > 0 && markup`<details class="columns"><summary>${words.texts.columns}</summary>
<form method="get" action="${url({}).replace(/\?.*$/s, '')}" class="panel">
${renderHidden(given)}<div class="checks">${
  members.map(name => markup`<label><input type="checkbox" name="fields" value="${name}"${
  columns.includes(name) && markup` checked`}> ${nameField(words, name)}</label>
`)}</div>
<button type="submit">${words.texts.applyFilter}</button>
</form>
</details>`
}

function renderChips (words: Words, { active, clear, filters }: PageAffordances): Content {
  const { texts } = words
  return active.length > 0 && markup`<nav class="chips" aria-label="${texts.activeFilters}"><ul>
${active.map(filter => {
  const { field } = filter
  const name = field === 'search' ? texts.search : field === 'state' ? texts.state : nameField(words, field)
  const condition = texts.condition(name, field === 'search' ? 'eq' : filter.op, formatOperand(words, filter, filters))
  const text = filter.isAlternative ? texts.alternative(condition) : condition
  // Screen readers begin with the visible text.
  const label = texts.removeFilter(text)
  return markup`<li><a href="${filter.href}" aria-label="${label}"><bdi>${text}</bdi> <span>×</span></a></li>
`
})}<li><a class="clear" href="${clear}">${texts.clearFilter}</a></li>
</ul></nav>`
}

function formatOperand (
  words: Words,
  { field, kind, isValue, value, referred }: ActiveFilter,
  filters: readonly FormField[]
): string {
  if (!isValue) return value
  const named = filters.find(({ name, actions, families }) => name === field && (actions ?? families) !== undefined)
  const choice = named && listChoices(words, named)?.find(([choice]) => choice === value)
  if (choice !== undefined) return choice[1]
  if (referred !== undefined) return referred.title
  if (kind === 'boolean') return formatBoolean(words, value === 'true')
  if (kind === 'choice') return nameState(words, value)
  if (isAmount({ kind })) return writeAmount(words.texts.locale, value)
  return (kind === 'date' || kind === 'date-time') && isDate(value) ? formatDate(words, value) : value
}

function renderEmpty (words: Words, { name }: PageView, affordances: PageAffordances): Markup {
  const { page, clear, url, create, isActivity, isDeleted } = affordances
  const { texts } = words
  const plural = namePlural(words, name)
  if (isActivity === true) {
    const nothing = isDeleted === true ? explainNone(words, affordances) : texts.noActivity
    return markup`<p class="empty">${nothing}${clear !== undefined && markup` <a href="${clear}">${
      texts.showAll}</a>`}</p>`
  }
  const [text, href, onward] = page !== 1
    ? [texts.emptyPage(plural), url({ page: undefined }), texts.firstPage]
    : clear === undefined ? [texts.emptyList(plural)] : [texts.noMatches(plural), clear, texts.showAll]
  const hint = clear === undefined && create !== undefined && page === 1 && ` ${texts.createFirst}`
  return markup`<p class="empty">${text}${hint}${href !== undefined && markup` <a href="${href}">${onward}</a>`}</p>`
}

/** The log is searched for deletions in parts. */
function explainNone (words: Words, { clear, next, trail }: PageAffordances): string {
  const { texts } = words
  if (next !== undefined) return texts.noneSoFar
  return clear === undefined ? texts.noneDeleted : texts.noMatches(namePlural(words, trail.at(-1)?.name ?? ''))
}

function renderPaging (words: Words, { items }: PageView, affordances: PageAffordances): Markup {
  const { prev, next, first, last, sort } = affordances
  const { texts } = words
  const [before, after] = sort === '-position' ? [texts.newer, texts.older] : [texts.previous, texts.next]
  return markup`<nav class="pages" aria-label="${texts.pages}">
${renderRange(words, items.length, affordances)}
${first !== undefined && markup`<a href="${first}">${texts.first}</a>`}
${prev !== undefined && markup`<a rel="prev" href="${prev}">${before}</a>`}
${next !== undefined && markup`<a rel="next" href="${next}">${after}</a>`}
${last !== undefined && markup`<a href="${last}">${texts.last}</a>`}
${renderSizes(words, affordances)}
</nav>`
}

function renderRange (words: Words, length: number, affordances: PageAffordances): Markup {
  const { page, url, isCountable, found, from } = affordances
  const { texts } = words
  const shown = (from ?? 1) + length - 1
  // Beyond the counted items, the bound is useless.
  const total = found.atLeast !== undefined && shown > found.atLeast ? undefined : formatCount(words, found)
  const range = from !== undefined && length > 0
    ? texts.range(formatNumber(words, from), formatNumber(words, shown), total)
    : total === undefined ? undefined : texts.items(total)
  const canCount = isCountable && found.total === undefined
  const count = canCount && markup` <a href="${url({ count: 'exact' })}">${texts.count}</a>`
  return markup`<span class="range">${
    range ?? (page !== undefined && texts.pageNumber(formatNumber(words, page)))}${count}</span>`
}

function renderSizes (words: Words, { url, pageSize, pageSizes }: PageAffordances): Markup {
  const sizes = pageSizes.map(size => size === pageSize
    ? markup`<strong aria-current="true">${formatNumber(words, size)}</strong> `
    : markup`<a href="${url({ maxpagesize: String(size), page: undefined })}">${formatNumber(words, size)}</a> `)
  return markup`<span class="size">${words.texts.perPage} ${sizes}</span>`
}

type Columns = Partial<PageAffordances>

// Enter in a checkbox presses the form's first button; outside of a dialog, this one sends nothing.
const noSubmit =
  markup`<td class="check"><button type="submit" form="many" formmethod="dialog" hidden></button></td>`

// With the full width, this few columns would be far apart.
const fewColumns = 3

async function renderTable (words: Words, view: PageView, shown: Columns): Promise<Markup> {
  const { columns = view.members, many, stateOf } = shown
  const isFew = columns.length <= fewColumns
  const leading = findLeading(columns, shown.title)
  const state = stateOf !== undefined && markup`<th scope="col">${words.texts.state}</th>`
  const rows = await writeInTurns(view.items, (item, index) => renderRow(words, columns, shown, item, index))
  return markup`<section class="wide" aria-label="${namePlural(words, view.name)}" tabindex="0">
<table class="list${isFew && ' few'}">
<thead><tr>${many !== undefined && noSubmit}${columns.map(column =>
  [renderHeading(words, column, shown), column === leading && state])}</tr></thead>
<tbody>
${rows}</tbody>
</table>
</section>`
}

function renderRow (
  words: Words,
  columns: readonly string[],
  shown: Columns,
  item: Members,
  index: number
): Markup {
  const { kinds = {}, inRows, address, refer, stateOf } = shown
  const leading = findLeading(columns, shown.title)
  const its = address && { id: item.id, href: address(index) }
  const state = stateOf && renderState(words, stateOf(index))
  return markup`<tr>${renderCheck(words, leading, shown, item, index)}${columns.map(name => {
    const { [name]: value } = item
    const isLeading = name === leading
    const className = isLeading ? 'title' : chooseClass(value, kinds[name])
    const referred = refer?.(index, name)
    const cell = { name, value, kinds, inRows, referred, leadsTo: isLeading ? its : undefined }
    return [renderCell(words, className, cell), isLeading && state]
  })}</tr>
`
}

/** The checkbox belongs to the form for several items. */
function renderCheck (
  words: Words, leading: string | undefined, { many, identify }: Columns, item: Members, index: number
): Content {
  const row = many === undefined ? undefined : identify?.(index)
  if (row === undefined) return undefined
  const name = String((leading === undefined ? undefined : item[leading]) ?? row.id)
  return markup`<td class="check"><input type="checkbox" form="many" name="_item.${row.id}"
value="${row.revision}" aria-label="${words.texts.select(cutText(name, 60))}"></td>`
}

function chooseClass (value: unknown, kind: ShownKind | undefined): string {
  if (isAmount({ kind })) return 'number'
  if (kind === 'date' || kind === 'date-time') return 'moment'
  // Such as an id: its beginning is enough here.
  return typeof value === 'string' && /^\S{24,}$/.test(value) ? 'long' : 'text'
}

export async function renderHome (words: Words, { families, activity }: Home): Promise<Markup> {
  const { texts } = words
  return markup`<ul class="home">
${families.map(family => {
  const { name, version, href, labels, states = [] } = family
  const its = withLabels(words, labels)
  const count = formatCount(words, family)
  return markup`<li>
<h2><a href="${href}">${texts.family(namePlural(its, name), version)}</a></h2>
${count !== undefined && markup`<p>${texts.items(count)}</p>
`}${states.length > 0 && markup`<ul class="counts">
${states.map(each => markup`<li><a href="${each.href}">${renderBadge(its, each)}</a> ${formatCount(words, each)}</li>
`)}</ul>
`}</li>
`
})}</ul>
${await renderRecent(words, activity)}`
}
