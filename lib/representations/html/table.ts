import type { Document, Kinds, PageOffer } from '../representation.js'
import { markup } from './markup.js'
import type { Markup } from './markup.js'
import { label, valueText } from './values.js'

/** @param offer where there is one, its columns can be sorted by and its rows lead to their items */
export function table (caption: string, items: readonly Document[], members: readonly string[], kinds: Kinds, offer?: PageOffer): Markup {
  return markup`<section class="wide" aria-label="${caption}" tabindex="0">
<table>
<thead><tr>${members.map(member => heading(member, offer))}</tr></thead>
<tbody>
${items.map((item, index) => markup`<tr>${members.map((member, column) => cell(item[member], kinds[member], column === 0 ? offer?.address(index) : undefined))}</tr>
`)}</tbody>
</table>
</section>`

  function cell (value: unknown, kind: Kinds[string] | undefined, href: string | undefined): Markup {
    const shown = valueText(value, kind)
    const look = lookOf(value, kind)
    return markup`<td${look !== undefined && markup` class="${look}"`}>${href === undefined ? shown : markup`<a href="${href}">${shown}</a>`}</td>`
  }
}

// The first click sorts upwards, the second downwards.
function heading (member: string, offer: PageOffer | undefined): Markup {
  if (offer === undefined || !offer.sortable.includes(member)) return markup`<th scope="col">${label(member)}</th>`
  const order = offer.sort === member ? 'ascending' : offer.sort === `-${member}` ? 'descending' : undefined
  const next = order === 'ascending' ? `-${member}` : member
  return markup`<th scope="col"${order !== undefined && markup` aria-sort="${order}"`}><a href="${offer.url({ sort: next, page: undefined })}">${label(member)}${order === 'ascending' ? ' ↑' : order === 'descending' ? ' ↓' : ''}</a></th>`
}

function lookOf (value: unknown, kind: Kinds[string] | undefined): string | undefined {
  if (typeof value === 'number') return 'number'
  if (kind === 'date' || kind === 'date-time') return 'moment'
  if (typeof value === 'object' || (typeof value === 'string' && /\s/.test(value))) return 'text'
  // Such as an id: its beginning is enough here, and all of it is on its own page.
  return typeof value === 'string' && /^\S{24,}$/.test(value) ? 'long' : undefined
}
