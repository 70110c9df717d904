import type { Kind } from '../../storage/storage.js'
import type { Members } from '../../values/json.js'
import { writeInTurns } from '../in-turns.js'
import type { Kinds, PageAffordances } from '../representation.js'
import type { Markup } from './markup.js'
import { markup } from './markup.js'
import type { Texts } from './texts.js'
import { renderValue } from './values.js'

export interface Table {
  readonly texts: Texts
  readonly caption: string
  readonly items: readonly Members[]
  readonly members: readonly string[]
  readonly kinds: Kinds
  /** With them, columns can be sorted by and rows lead to their items. */
  readonly affordances?: PageAffordances
}

export async function renderTable (table: Table): Promise<Markup> {
  const { texts, caption, items, members, affordances } = table
  const rows = await writeInTurns(items, (item, index) => renderRow(table, item, affordances?.address(index)))
  return markup`<section class="wide" aria-label="${caption}" tabindex="0">
<table>
<thead><tr>${members.map(member => renderHeading(texts, member, affordances))}</tr></thead>
<tbody>
${rows}</tbody>
</table>
</section>`
}

// The first cell leads to the item.
function renderRow ({ texts, members, kinds }: Table, item: Members, href: string | undefined): Markup {
  const cells = members.map((member, column) =>
    renderCell(texts, item[member], kinds[member], column === 0 ? href : undefined))
  return markup`<tr>${cells}</tr>
`
}

function renderCell (texts: Texts, value: unknown, kind: Kind | undefined, href: string | undefined): Markup {
  const className = chooseClass(value, kind)
  const shown = renderValue(texts, value, kind)
  const content = href === undefined ? shown : markup`<a href="${href}">${shown}</a>`
  return markup`<td${className !== undefined && markup` class="${className}"`}>${content}</td>`
}

// The first click sorts upwards, the second downwards.
function renderHeading (texts: Texts, member: string, affordances: PageAffordances | undefined): Markup {
  const label = texts.label(member)
  if (affordances === undefined || !affordances.sortable.includes(member)) return markup`<th scope="col">${label}</th>`
  const { sort } = affordances
  const order = sort === member ? 'ascending' : sort === `-${member}` ? 'descending' : undefined
  const href = affordances.url({ sort: order === 'ascending' ? `-${member}` : member, page: undefined })
  const sorted = order !== undefined && markup` aria-sort="${order}"`
  const arrow = order !== undefined && (order === 'ascending' ? ' ↑' : ' ↓')
  return markup`<th scope="col"${sorted}><a href="${href}">${label}${arrow}</a></th>`
}

function chooseClass (value: unknown, kind: Kind | undefined): string | undefined {
  if (typeof value === 'number') return 'number'
  if (kind === 'date' || kind === 'date-time') return 'moment'
  if ((typeof value === 'object' && value !== null) || (typeof value === 'string' && /\s/.test(value))) return 'text'
  // Such as an id: its beginning is enough here, and all of it is on its own page.
  return typeof value === 'string' && /^\S{24,}$/.test(value) ? 'long' : undefined
}
