import { createHash } from 'node:crypto'
import { errorCodes, type Representation } from '../exports.js'
import { respond } from '../pages/respond.js'
import { submit } from '../pages/submit.js'
import type { ShownOne, ShownPage } from '../pages/views.js'
import { findFlawInOptions, type HtmlOptions } from './options.js'
import { PageWriter } from './page-writer.js'
import { script } from './script.js'
import { adjustColor, findInk, papers, style } from './style.js'

/**
 * The API as pages for people, which work without scripts: lists with filters, items with a form per allowed operation.
 *
 * @example
 * const pages = html({ title: 'CRM', texts: [english, de], timeZone: 'Europe/Berlin' })
 * app.register(deals, { storage, version: 'v1', representations: [json, xml, pages, csv, ndjson] })
 */
export function html (options: HtmlOptions = {}): Representation {
  const flaw = findFlawInOptions(options)
  if (flaw !== undefined) throw new errorCodes.FST_DEALBOOK_INVALID_HTML_OPTION(flaw)
  const { title, logo, home, documentation, css = '', colors = {} } = options
  // Browsers read every line end as a line feed, and hash what they read.
  const whole = (style + writeColors(colors.accent) + css).replace(/\r\n?/g, '\n')
  const [styleHash, scriptHash] = [whole, script].map(text => createHash('sha256').update(text).digest('base64'))
  const policy = `default-src 'none'; style-src 'sha256-${styleHash}'; script-src 'sha256-${scriptHash}'; ` +
    `connect-src 'self'; ${logo === undefined ? '' : "img-src 'self' data:; "}` +
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
  const writer = new PageWriter(options, { title, logo, home, documentation, style: whole })
  return {
    name: 'html',
    extension: 'html',
    mediaTypes: ['text/html'],
    headers: {
      'content-security-policy': policy, 'referrer-policy': 'same-origin', vary: 'Accept, Accept-Language'
    },
    respond,
    submit,
    one: (view: ShownOne, request) => writer.writeOne(view, request),
    page: (view: ShownPage, request) => writer.writeList(view, request),
    problem: (view, request) => writer.writeProblem(view, request)
  }
}

function writeColors (accent: string | readonly string[] | undefined): string {
  if (accent === undefined) return ''
  const [light, dark = light] = [accent].flat() as [string, string?]
  const write = (color: string, paper: string): string =>
    `:root { --brand: ${color}; --on-brand: ${findInk(color)}; --accent: ${adjustColor(color, paper)} }`
  return `${write(light, papers[0])}
@media screen and (prefers-color-scheme: dark) { ${write(dark ?? light, papers[1])} }
`
}
