import { isAmount } from '../exports.js'
import type { ChildItem, ChildList, ChildOperation } from '../pages/affordances.js'
import { findLeading, renderCell, renderHeading, renderState } from './cells.js'
import { renderOperation } from './form.js'
import { type Content, type Markup, markup } from './markup.js'
import {
  formatCount, nameField, nameOperation, namePlural, withLabels, type Words
} from './words.js'

/** Items that belong to the item of a page, as tables with their operations. */
export function renderChildren (words: Words, lists: readonly ChildList[] = []): Content {
  return lists.map(list => renderChildTable(withLabels(words, list.labels), list))
}

function renderChildTable (words: Words, list: ChildList): Markup {
  const { texts } = words
  const { name, field, href, items, columns, kinds } = list
  const id = `children-${name}`
  const plural = namePlural(words, name)
  const heading = field === undefined ? plural : `${plural}, ${nameField(words, field)}`
  const hasStates = items.some(({ state }) => state !== undefined)
  return markup`<section class="children" aria-labelledby="${id}">
<h2 id="${id}">${heading}</h2>
<div class="wide" tabindex="0" role="group" aria-labelledby="${id}"><table class="list few">
<thead><tr>${columns.map(column => renderHeading(words, column, { kinds }))}${
  hasStates && markup`<th scope="col">${texts.state}</th>`}
<th scope="col">${texts.operations}</th></tr></thead>
<tbody>
${items.map(item => renderChild(words, list, item, hasStates))}</tbody>
</table></div>
<p><a href="${href}">${texts.relatedList(heading, formatCount(words, list))}</a></p>
</section>
`
}

function renderChild (words: Words, list: ChildList, item: ChildItem, hasStates: boolean): Markup {
  const { columns, title, kinds, inRows } = list
  const { id, href, document, referred, state, operations } = item
  const leading = findLeading(columns, title)
  return markup`<tr>${columns.map(name => {
    const leadsTo = name === leading ? { id, href } : undefined
    const cell = { name, value: document[name], kinds, inRows, referred: referred[name], leadsTo }
    return renderCell(words, isAmount({ kind: kinds[name] }) ? 'number' : 'text', cell)
  })}${hasStates && renderState(words, state)}
<td class="actions">${operations.map(operation => renderChildOperation(words, operation))}</td></tr>
`
}

function renderChildOperation (words: Words, operation: ChildOperation): Content {
  const { form, href } = operation
  return form === undefined
    ? markup`<a class="button" href="${href}">${nameOperation(words, operation)}</a> `
    : renderOperation(words, form)
}
