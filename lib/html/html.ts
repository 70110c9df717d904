import { createHash } from 'node:crypto'
import type { Members } from '../core/values/json.js'
import type { PageAffordances, Representation } from '../representations/representation.js'
import { renderConfirmation } from './confirmation.js'
import { renderHome } from './home.js'
import { renderItem } from './item.js'
import { itemStyle } from './item-style.js'
import { makeLayout } from './layout.js'
import { renderList } from './list.js'
import { listStyle } from './list-style.js'
import { describeResult } from './message.js'
import { nameForm } from './operation.js'
import type { HtmlOptions } from './options.js'
import { checkOptions, replaceTexts } from './options.js'
import { renderProblem } from './refusal.js'
import { script } from './script.js'
import { style } from './style.js'
import type { Texts } from './texts.js'

/**
 * The API as pages that people can use, with or without scripts: lists with filters, items with a form for each
 * operation that is allowed now.
 *
 * @example
 * const pages = html({ title: 'CRM', home: '/' })
 * app.register(deals, { storage, version: 'v1', representations: [json, xml, pages, csv, ndjson] })
 */
export function html (options: HtmlOptions = {}): Representation {
  checkOptions(options)
  // Browsers read every line end as a line feed, and hash what they read.
  const css = (style + listStyle + itemStyle + (options.css ?? '')).replace(/\r\n?/g, '\n')
  const texts = replaceTexts(options.texts)
  const renderPage = makeLayout(options, texts, css, script)
  return {
    name: 'html',
    extension: 'html',
    mediaTypes: ['text/html'],
    interactive: true,
    headers: { 'content-security-policy': makePolicy(css, script), 'referrer-policy': 'same-origin' },
    one: async view => {
      if (view.home !== undefined) {
        const { home } = view
        return renderPage({ heading: texts.home, content: renderHome(texts, home), site: home.site })
      }
      const affordances = await view.affordances?.()
      const title = makeHeading(texts, view.name, view.document, affordances?.title)
      return renderPage(affordances?.confirm === undefined
        ? {
            heading: title,
            state: affordances?.state,
            message: affordances && describeResult(texts, affordances),
            content: await renderItem(texts, view, affordances),
            site: affordances?.site,
            trail: affordances?.trail,
            others: affordances?.others
          }
        : {
            heading: texts.ask(nameForm(texts, affordances.confirm.form)),
            content: renderConfirmation(texts, title, affordances.confirm),
            site: affordances.site,
            trail: affordances.trail
          })
    },
    page: async view => {
      const affordances = await view.affordances?.()
      const around = affordances ?? await view.around?.()
      return renderPage({
        ...nameList(texts, view.name, affordances),
        message: affordances && describeResult(texts, affordances),
        content: await renderList(texts, view, affordances),
        site: around?.site,
        trail: around?.trail,
        others: affordances?.others
      })
    },
    problem: view => renderPage({
      heading: String(view.document.title),
      content: renderProblem(texts, view),
      trail: view.onward
    })
  }
}

function makePolicy (css: string, script: string): string {
  const hash = (text: string) => createHash('sha256').update(text).digest('base64')
  return `default-src 'none'; style-src 'sha256-${hash(css)}'; script-src 'sha256-${hash(script)}'; ` +
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
}

// A log, or a part of it, belongs to an item.
function nameList (
  texts: Texts,
  name: string,
  affordances: PageAffordances | undefined
): { readonly heading: string, readonly short?: string } {
  const item = affordances?.timeline && affordances.trail.at(-1)
  if (item === undefined) return { heading: texts.label(name) }
  const short = name === 'commands' ? texts.log : texts.label(name)
  return { heading: texts.partOf(short, item.name), short }
}

function makeHeading (texts: Texts, name: string, document: Members, titled = 'name'): string {
  const title = document[titled] ?? document.id
  return texts.item(texts.label(name), title === undefined || title === null ? undefined : String(title))
}
