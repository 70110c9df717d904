import { isDate } from '../core/values/dates.js'
import type { ActiveFilter, PageAffordances } from '../representations/representation.js'
import { filterForm, renderField } from './form.js'
import type { Markup } from './markup.js'
import { markup } from './markup.js'
import type { Texts } from './texts.js'
import { formatBoolean } from './values.js'

/** Renders what narrows a list now, each with a way to do without it. */
export function renderChips (texts: Texts, { active, clear }: PageAffordances): Markup | undefined {
  if (active.length === 0) return undefined
  return markup`<nav class="chips" aria-label="${texts.activeFilters}"><ul>
${active.map(filter => renderChip(texts, filter))}<li><a class="clear" href="${clear}">${texts.clearFilter}</a></li>
</ul></nav>`
}

/** Renders the fields to narrow a list by; they are sent as its query. */
export function renderFilterForm (texts: Texts, affordances: PageAffordances): Markup | undefined {
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
