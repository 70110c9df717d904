import { createHash } from 'node:crypto'
import type { Representation } from '../representation.js'
import { itemPage } from './item.js'
import { layout } from './layout.js'
import type { HtmlOptions } from './layout.js'
import { listPage } from './list.js'
import { problemPage } from './problem.js'
import { style } from './style.js'
import { label } from './values.js'

/**
 * The API as pages that people can use, without scripts: lists with filters, items with a form for each operation that is
 * allowed now.
 *
 * @example
 * app.register(deals, { storage, version: 'v1', representations: [json, xml, html({ title: 'CRM', home: '/' }), csv, ndjson] })
 */
export function html (options: HtmlOptions = {}): Representation {
  checkOptions(options)
  // Browsers read every line end as a line feed, and compare the hash with what they read.
  const css = (style + (options.css ?? '')).replace(/\r\n?/g, '\n')
  const hash = createHash('sha256').update(css).digest('base64')
  const page = layout(options, css)
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
      return page({ heading: headingOf(view.name, view.document), content: itemPage(view, offer), up: offer?.up, others: offer?.others })
    },
    page: view => {
      const offer = view.offer?.()
      return page({ heading: label(view.name), content: listPage(view, offer), up: offer?.up, others: offer?.others })
    },
    problem: ({ document }) => page({ heading: String(document.title), content: problemPage(document) })
  }
}

function headingOf (name: string, { name: own, id }: Readonly<Record<string, unknown>>): string {
  const title = own ?? id
  return title === undefined ? label(name) : `${label(name)} ${String(title)}`
}

const known: readonly string[] = ['title', 'home', 'css'] satisfies (keyof HtmlOptions)[]

function checkOptions (options: HtmlOptions): void {
  for (const [name, value] of Object.entries(options)) {
    if (!known.includes(name)) throw new TypeError(`html: unknown option "${name}"; there are ${known.join(', ')}`)
    if (value !== undefined && typeof value !== 'string') throw new TypeError(`html: the option "${name}" must be a string`)
  }
  // It would end the style element, and the rest would be markup.
  if (/<\/style/i.test(options.css ?? '')) throw new TypeError('html: the option "css" must not contain "</style"')
}
