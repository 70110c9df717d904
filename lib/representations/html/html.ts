import { createHash } from 'node:crypto'
import type { Document, ItemOffer, OneView, PageOffer, PageView, ProblemView, Representation } from '../representation.js'
import { filterForm, form, refusal } from './form.js'
import { label, layout, valueText } from './layout.js'
import type { HtmlOptions } from './layout.js'
import { markup } from './markup.js'
import type { Content, Markup } from './markup.js'
import { style } from './style.js'

/**
 * The API as pages that people can use, without scripts: lists with filters, items with a form for each operation that is
 * allowed now.
 *
 * @example
 * app.register(deals, { storage, version: 'v1', representations: [json, xml, html({ title: 'CRM', home: '/' }), csv, ndjson] })
 */
export function html (options: HtmlOptions = {}): Representation {
  const css = style + (options.css ?? '')
  const hash = createHash('sha256').update(css).digest('base64')
  return {
    name: 'html',
    extension: 'html',
    mediaTypes: ['text/html'],
    interactive: true,
    headers: {
      'content-security-policy': `default-src 'none'; style-src 'sha256-${hash}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`,
      'referrer-policy': 'same-origin'
    },
    one: async view => {
      const offer = await view.offer?.()
      return layout(options, css, headingOf(view), backLink(offer), onePage(view, offer))
    },
    page: view => layout(options, css, label(view.name), undefined, listPage(view, view.offer?.())),
    problem: ({ document }: ProblemView) => layout(options, css, String(document.title), undefined, problemPage(document))
  }
}

function headingOf ({ name, document }: OneView): string {
  const title = document.name ?? document.id
  return title === undefined ? label(name) : `${label(name)} ${String(title)}`
}

function backLink (offer: ItemOffer | undefined): Content {
  return offer && markup`<nav aria-label="Up"><a href="${offer.collection}">All of them</a></nav>`
}

function onePage ({ document }: OneView, offer: ItemOffer | undefined): Markup {
  return markup`${refusal(offer?.refused)}
${definition(document)}
${offer !== undefined && offer.operations.length > 0 && markup`<h2>What can be done now</h2>
<div class="forms">
${offer.operations.map(operation => form(operation))}
</div>`}
${offer?.log && markup`<h2>Log</h2>
${table('Log', offer.log.entries, ['createdAt', 'action', 'params', 'outcome', 'revision'])}
<p><a href="${offer.log.href}">The whole log</a></p>`}
${offer?.remove && markup`<h2>Delete</h2>
<div class="forms">
${form(offer.remove, true)}
</div>`}`
}

function definition (document: Document): Markup {
  const entries = Object.entries(document).filter(([name]) => name !== 'links')
  const links = Object.entries(document.links ?? {}) as [string, string][]
  return markup`<dl>
${entries.map(([name, value]) => markup`<dt>${label(name)}</dt><dd>${valueText(value)}</dd>
`)}${links.map(([rel, href]) => markup`<dt>${label(rel)}</dt><dd><a href="${href}">${href}</a></dd>
`)}</dl>`
}

function listPage (view: PageView, offer: PageOffer | undefined): Markup {
  if (offer === undefined) return table(label(view.name), view.items, view.members)
  const kept = offer.sort === undefined ? [] : [['sort', offer.sort] as const]
  return markup`${refusal(offer.refused)}
${filterForm(offer.filters, offer.url({}).replace(/\?.*$/s, ''), kept)}
${view.items.length === 0 ? markup`<p>There are none.</p>` : table(label(view.name), view.items, view.members, offer)}
<nav class="pages" aria-label="Pages">
${offer.page > 1 && markup`<a rel="prev" href="${offer.url({ page: offer.page === 2 ? undefined : String(offer.page - 1) })}">Previous</a>`}
<span>Page ${offer.page}</span>
${offer.hasNext && markup`<a rel="next" href="${offer.url({ page: String(offer.page + 1) })}">Next</a>`}
</nav>
${offer.create && markup`<h2>${offer.create.title}</h2>
<div class="forms">
${form({ ...offer.create, title: 'What it starts with' })}
</div>`}`
}

function table (caption: string, items: readonly Document[], members: readonly string[], offer?: PageOffer): Markup {
  return markup`<div class="wide" role="region" aria-label="${caption}" tabindex="0">
<table>
<thead><tr>${members.map(member => heading(member, offer))}</tr></thead>
<tbody>
${items.map((item, index) => markup`<tr>${members.map((member, column) => cell(item[member], column === 0 ? offer?.address(index) : undefined))}</tr>
`)}</tbody>
</table>
</div>`
}

// The first click sorts upwards, the second downwards.
function heading (member: string, offer: PageOffer | undefined): Markup {
  if (offer === undefined || !offer.sortable.includes(member)) return markup`<th scope="col">${label(member)}</th>`
  const order = offer.sort === member ? 'ascending' : offer.sort === `-${member}` ? 'descending' : undefined
  const next = order === 'ascending' ? `-${member}` : member
  return markup`<th scope="col"${order !== undefined && markup` aria-sort="${order}"`}><a href="${offer.url({ sort: next, page: undefined })}">${label(member)}${order === 'ascending' ? ' ↑' : order === 'descending' ? ' ↓' : ''}</a></th>`
}

function cell (value: unknown, href: string | undefined): Markup {
  const shown = valueText(value)
  const kind = typeof value === 'number' ? markup` class="number"` : undefined
  return markup`<td${kind}>${href === undefined ? shown : markup`<a href="${href}">${shown}</a>`}</td>`
}

function problemPage (document: Document): Markup {
  const errors = (document.errors ?? []) as { parameter?: string, pointer?: string, detail: string }[]
  return markup`<div class="refused" role="alert"><p>${String(document.detail)}</p></div>
${errors.length > 0 && markup`<ul>
${errors.map(({ parameter, pointer, detail }) => markup`<li><strong>${parameter ?? pointer}</strong>: ${detail}</li>
`)}</ul>`}
<p class="hint">Status ${Number(document.status)}</p>`
}
