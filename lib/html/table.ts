import type { Members } from '../core/values/json.js'
import { writeInTurns } from '../representations/in-turns.js'
import type { ShownKind } from '../representations/item-view.js'
import type { Kinds, PageAffordances } from '../representations/representation.js'
import type { Content, Markup } from './markup.js'
import { markup } from './markup.js'
import type { Texts } from './texts.js'
import { renderBadge, renderValue, shorten } from './values.js'

export interface Table {
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

export async function renderTable (table: Table): Promise<Markup> {
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
    const shown = isChoice ? renderBadge(texts, value) : renderCut(texts, value, kinds[column])
    const href = column === leading ? affordances?.address(index) : affordances?.refer?.(index, column)
    const content = href === undefined ? shown : renderLink(item, shown, value, href)
    const className = chooseClass(value, kinds[column], column === leading)
    return markup`<td class="${className}" data-label="${texts.label(column)}"><div dir="auto">${content}</div></td>`
  })
  return markup`<tr>${cells}</tr>
`
}

// A text that is not visible cannot be clicked.
function renderLink (item: Members, shown: Content, value: unknown, href: string): Markup {
  const isSeen = value !== undefined && value !== null && /[^\s\p{C}]/u.test(String(value))
  return markup`<a href="${href}">${isSeen || item.id === undefined ? shown : String(item.id)}</a>`
}

// In a list the beginning is enough; all of it is on the item's own page.
const maxText = 200

function renderCut (texts: Texts, value: unknown, kind: ShownKind | undefined): Content {
  const shown = renderValue(texts, value, kind)
  return typeof shown === 'string' ? shorten(shown, maxText) : shown
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
