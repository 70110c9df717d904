import { isAmount } from '../exports.js'
import type { ChildItem, ChildList, ChildOperation } from '../pages/affordances.js'
import { isVisible } from '../pages/titles.js'
import { renderOperation } from './form.js'
import { type Content, type Markup, markup, renderLink } from './markup.js'
import { renderBadge, renderShort } from './values.js'
import {
  formatCount, nameField, nameOperation, namePlural, withLabels, type Words
} from './words.js'

/** Items that belong to the item of a page, as tables with their operations. */
export function renderChildren (words: Words, lists: readonly ChildList[] = []): Content {
  return lists.map(list => renderTable(withLabels(words, list.labels), list))
}

// The page of each has the whole text.
const maxCell = 200

function renderTable (words: Words, list: ChildList): Markup {
  const { texts } = words
  const { name, field, href, items } = list
  const id = `children-${name}`
  const plural = namePlural(words, name)
  const heading = field === undefined ? plural : `${plural}, ${nameField(words, field)}`
  const hasStates = items.some(({ state }) => state !== undefined)
  return markup`<section class="children" aria-labelledby="${id}">
<h2 id="${id}">${heading}</h2>
<div class="wide" tabindex="0" role="group" aria-labelledby="${id}"><table class="list few">
<thead><tr>${renderHeadings(words, list)}${hasStates && markup`<th scope="col">${texts.state}</th>`}
<th scope="col">${texts.operations}</th></tr></thead>
<tbody>
${items.map(item => renderChild(words, list, item, hasStates))}</tbody>
</table></div>
<p><a href="${href}">${texts.relatedList(heading, formatCount(words, list))}</a></p>
</section>
`
}

function renderHeadings (words: Words, { columns, kinds }: ChildList): Content {
  return columns.map(column => {
    const className = isAmount({ kind: kinds[column] }) && markup` class="number"`
    return markup`<th scope="col"${className}>${nameField(words, column)}</th>`
  })
}

function renderChild (words: Words, list: ChildList, item: ChildItem, hasStates: boolean): Markup {
  const { columns, title } = list
  const { state, operations } = item
  const leading = columns.includes(title) ? title : columns[0]
  const badge = hasStates && markup`<td class="state">${state !== undefined && renderBadge(words, state)}</td>`
  return markup`<tr>${columns.map(column => renderCell(words, list, item, column, column === leading))}${badge}
<td class="actions">${operations.map(operation => renderChildOperation(words, operation))}</td></tr>
`
}

/** @param isLeading whether it links to the item itself, not to one that it refers to */
function renderCell (
  words: Words, { kinds, inRows }: ChildList, item: ChildItem, name: string, isLeading: boolean
): Markup {
  const { id, document, href, referred } = item
  const { [name]: value } = document
  const { [name]: its } = referred
  const shown = { kind: kinds[name], referred: isLeading && its ? { title: its.title } : its, name, kinds, inRows }
  const content = isLeading && !isVisible(value) ? id : renderShort(words, value, shown, maxCell)
  const className = isAmount(shown) ? 'number' : 'text'
  return markup`<td class="${className}" data-label="${nameField(words, name)}"><div dir="auto">${
    isLeading ? renderLink(href, content) : content}</div></td>`
}

function renderChildOperation (words: Words, operation: ChildOperation): Content {
  const { form, href } = operation
  return form === undefined
    ? markup`<a class="button" href="${href}">${nameOperation(words, operation)}</a> `
    : renderOperation(words, form)
}
