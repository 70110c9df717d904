import { createHash } from 'node:crypto'
import { errorCodes } from '../../errors.js'
import type { Members } from '../../values/json.js'
import type { Representation } from '../representation.js'
import { renderItem } from './item.js'
import type { HtmlOptions } from './layout.js'
import { makeLayout } from './layout.js'
import { renderList } from './list.js'
import { renderProblem } from './refusal.js'
import { style } from './style.js'
import { toLabel } from './values.js'

/**
 * The API as pages that people can use, without scripts: lists with filters, items with a form for each operation that
 * is allowed now.
 *
 * @example
 * const pages = html({ title: 'CRM', home: '/' })
 * app.register(deals, { storage, version: 'v1', representations: [json, xml, pages, csv, ndjson] })
 */
export function html (options: HtmlOptions = {}): Representation {
  checkOptions(options)
  // Browsers read every line end as a line feed, and hash what they read.
  const css = (style + (options.css ?? '')).replace(/\r\n?/g, '\n')
  const layOut = makeLayout(options, css)
  return {
    name: 'html',
    extension: 'html',
    mediaTypes: ['text/html'],
    interactive: true,
    headers: { 'content-security-policy': makePolicy(css), 'referrer-policy': 'same-origin' },
    one: async view => {
      const affordances = await view.affordances?.()
      return layOut({
        heading: makeHeading(view.name, view.document),
        content: await renderItem(view, affordances),
        up: affordances?.up,
        others: affordances?.others
      })
    },
    page: async view => {
      const affordances = await view.affordances?.()
      return layOut({
        heading: toLabel(view.name),
        content: await renderList(view, affordances),
        up: affordances?.up,
        others: affordances?.others
      })
    },
    problem: ({ document }) => layOut({ heading: String(document.title), content: renderProblem(document) })
  }
}

function makePolicy (css: string): string {
  const hash = createHash('sha256').update(css).digest('base64')
  return "default-src 'none'; " +
    `style-src 'sha256-${hash}'; ` +
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
}

function makeHeading (name: string, { name: own, id }: Members): string {
  const title = own ?? id
  return title === undefined ? toLabel(name) : `${toLabel(name)} ${String(title)}`
}

const optionNames: readonly string[] = ['title', 'home', 'css'] satisfies (keyof HtmlOptions)[]

function checkOptions (options: HtmlOptions): void {
  for (const [name, value] of Object.entries(options)) {
    if (!optionNames.includes(name)) fail(`unknown option "${name}"; there are ${optionNames.join(', ')}`)
    if (value !== undefined && typeof value !== 'string') fail(`the option "${name}" must be a string`)
  }
  // It would end the style element, and the rest would be markup.
  if (/<\/style/i.test(options.css ?? '')) fail('the option "css" must not contain "</style"')
}

function fail (flaw: string): never {
  throw new errorCodes.FST_DEALBOOK_INVALID_HTML_OPTION(flaw)
}
