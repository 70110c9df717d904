import { isAmount } from '../exports.js'
import type { Kinds, PageAffordances, Referred, RowReferences, ShownState } from '../pages/affordances.js'
import { isVisible } from '../pages/titles.js'
import { type Markup, markup, renderLink } from './markup.js'
import { renderBadge, renderShort } from './values.js'
import { nameField, type Words } from './words.js'

// The tables of items: of a list, and of the children of an item.

export function renderHeading (
  words: Words, column: string, { kinds = {}, sortable = [], sort, url }: Partial<PageAffordances>
): Markup {
  const label = nameField(words, column)
  const className = isAmount({ kind: kinds[column] }) && markup` class="number"`
  if (!sortable.includes(column)) return markup`<th scope="col"${className}>${label}</th>`
  const order = sort === column ? 'ascending' : sort === `-${column}` ? 'descending' : undefined
  const href = url?.({ sort: order === 'ascending' ? `-${column}` : column, page: undefined })
  const sorted = order !== undefined && markup` aria-sort="${order}"`
  const arrow = order !== undefined && (order === 'ascending' ? ' ↑' : ' ↓')
  return markup`<th scope="col"${className}${sorted}><a href="${href}">${label}${arrow}</a></th>`
}

/** The column that stands for the item: its title or, without it, the first. */
export function findLeading (columns: readonly string[], title = ''): string | undefined {
  return columns.includes(title) ? title : columns[0]
}

interface Cell {
  readonly name: string
  readonly value: unknown
  readonly kinds: Kinds
  readonly inRows: RowReferences | undefined
  readonly referred: Referred | undefined
  /** Set in the leading column: it links to the item of the row, not to one that this refers to. */
  readonly leadsTo?: { readonly id: unknown, readonly href: string | undefined } | undefined
}

// The page of the item shows the whole text.
const maxCell = 200

export function renderCell (words: Words, className: string, cell: Cell): Markup {
  const { name, value, kinds, inRows, referred, leadsTo } = cell
  const its = leadsTo && referred ? { title: referred.title } : referred
  const shown = renderShort(words, value, { kind: kinds[name], referred: its, name, kinds, inRows }, maxCell)
  // Invisible text cannot be clicked.
  const isSeen = leadsTo?.id === undefined || isVisible(value)
  const content = leadsTo === undefined ? shown : renderLink(leadsTo.href, isSeen ? shown : String(leadsTo.id))
  return markup`<td class="${className}" data-label="${nameField(words, name)}"><div dir="auto">${content}</div></td>`
}

export function renderState (words: Words, state: ShownState | undefined): Markup {
  return markup`<td class="state">${state !== undefined && renderBadge(words, state)}</td>`
}
