import { createHash } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import Negotiator from 'negotiator'
import { errorCodes, findForm, type PageView, type Representation } from '../exports.js'
import type { PageAffordances } from '../pages/affordances.js'
import { findProblemParts } from '../pages/links.js'
import { readPageForm } from '../pages/page-form.js'
import { isVisible } from '../pages/references.js'
import { respond } from '../pages/respond.js'
import { submit } from '../pages/submit.js'
import type { ShownOne, ShownPage, ShownProblem } from '../pages/views.js'
import { renderManyItems, renderProblem } from './form.js'
import { renderConfirmation, renderItem } from './item.js'
import { type Frame, type PageParts, type PageUser, renderPage } from './layout.js'
import { renderHome, renderList } from './list.js'
import { findFlawInOptions, type HtmlOptions } from './options.js'
import { script } from './script.js'
import { adjustColor, findInk, papers, style } from './style.js'
import { english, type Texts } from './texts.js'
import {
  makeTranslator, nameField, nameOperation, namePlural, nameSingular, none, withLabels, withLogLabels, type Words
} from './words.js'

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
  const { title, logo, home, documentation, css = '', colors = {}, user } = options
  // Browsers read every line end as a line feed, and hash what they read.
  const whole = (style + writeColors(colors.accent) + css).replace(/\r\n?/g, '\n')
  const [styleHash, scriptHash] = [whole, script].map(text => createHash('sha256').update(text).digest('base64'))
  const policy = `default-src 'none'; style-src 'sha256-${styleHash}'; script-src 'sha256-${scriptHash}'; ` +
    `connect-src 'self'; ${logo === undefined ? '' : "img-src 'self' data:; "}` +
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
  const frame: Frame = { title, logo, home, documentation, style: whole }
  const chooseWords = makeWordChooser(options)

  // A promise of its own: what the host returns may only have a `then`.
  const findUser = async (request: FastifyRequest): Promise<PageUser | undefined> =>
    await callHost(request, 'user', async () => await user?.(request)) ?? undefined
  type Parts = Omit<PageParts, 'user' | 'place'> & Partial<Pick<PageParts, 'place'>>
  const write = async (words: Words, request: FastifyRequest, parts: Parts): Promise<string> =>
    renderPage(words, frame, { place: findPlace(request), ...parts, user: await findUser(request) })
  return {
    name: 'html',
    extension: 'html',
    mediaTypes: ['text/html'],
    headers: {
      'content-security-policy': policy, 'referrer-policy': 'same-origin', vary: 'Accept, Accept-Language'
    },
    respond,
    submit,
    one: async (view: ShownOne, request) => {
      const { home, many } = view
      const affordances = await view.affordances?.()
      const words = chooseWords(request, affordances ?? home)
      if (home !== undefined) {
        const content = await renderHome(words, home)
        return await write(words, request, { heading: words.texts.home, content, site: home.site })
      }
      if (many !== undefined) {
        const heading = nameOperation(words, many.form)
        // What was refused may be sent again.
        const isDone = many.isDone && many.items.some(({ outcome }) => outcome !== 'refused')
        return await write(words, request, { heading, content: renderManyItems(words, many), isDone, ...affordances })
      }
      const member = affordances?.title ?? 'name'
      const { [member]: named, id } = view.document
      const heading = member !== 'id' && isVisible(named)
        ? String(named)
        : words.texts.item(nameSingular(words, view.name), id === undefined ? undefined : String(id))
      if (affordances?.confirm === undefined) {
        const content = await renderItem(words, view, affordances)
        // A form that is answered by what it made, with what is never shown again.
        const parts = affordances ?? { isDone: request.method === 'POST' }
        return await write(words, request, { heading, content, ...parts })
      }
      const { site, trail, confirm } = affordances
      const content = renderConfirmation(words, heading, confirm)
      const question = words.texts.ask(nameOperation(words, confirm.form))
      return await write(words, request, { heading: question, content, site, trail })
    },
    page: async (view: ShownPage, request) => {
      const affordances = await view.affordances?.()
      const around = affordances ?? await view.around?.()
      const spoken = chooseWords(request, affordances)
      const words = affordances?.timeline === undefined ? spoken : withLogLabels(spoken)
      const heading = nameList(words, view, affordances)
      return await write(words, request, { heading, content: await renderList(words, view, affordances), ...around })
    },
    problem: async (plain, request) => {
      const view: ShownProblem = { ...plain, ...await findProblemParts(plain, request) }
      const words = chooseWords(request, view)
      const signIn = view.document.status === 401 ? (await findUser(request))?.signIn : undefined
      return await write(words, request, {
        heading: words.translate(String(view.document.title)),
        content: renderProblem(words, view, signIn),
        site: view.site,
        trail: view.onward,
        // It may not be for who asked.
        place: undefined
      })
    }
  }
}

/** The item or the list that a page in response to a form is about, relative to the address of the form. */
function findPlace (request: FastifyRequest): string | undefined {
  if (request.method !== 'POST') return undefined
  const { id } = request.params as { readonly id?: string }
  const form = findForm(request)
  const from = form && readPageForm(form).from
  const query = from !== undefined && /^[!-~]*$/.test(from) ? from : ''
  if (id === undefined) return `?${query}`
  return `../${encodeURIComponent(id)}${query === '' ? '' : `?from=${encodeURIComponent(query)}`}`
}

/** A log, or a part of it, belongs to an item; the activity to a family, or to all. */
function nameList (words: Words, { name }: PageView, affordances: PageAffordances | undefined): string {
  const { texts } = words
  if (affordances?.timeline === undefined) return namePlural(words, name)
  const { isActivity, trail } = affordances
  const part = isActivity === true ? texts.activity : name === 'commands' ? texts.log : nameField(words, name)
  const whole = trail.at(-1)
  if (whole === undefined) return part
  return texts.partOf(part, isActivity === true ? namePlural(words, whole.name) : whole.name)
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

type Shown = Partial<Pick<PageAffordances, 'labels' | 'zone' | 'now'>>

/** Chooses the language, and the labels in it. */
function makeWordChooser ({ texts = {}, language, timeZone }: HtmlOptions) {
  const tables = (Array.isArray(texts) ? texts as readonly Partial<Texts>[] : [texts as Partial<Texts>]).map(table => {
    const given = Object.fromEntries(Object.entries(table).filter(([, text]) => text !== undefined))
    const whole: Texts = { ...english, ...given }
    return { texts: whole, translate: makeTranslator(whole.messages) }
  })
  const [first] = tables as [typeof tables[number], ...typeof tables]
  const langs = tables.map(({ texts: { lang } }) => lang)
  const choose = (request: FastifyRequest): typeof first => {
    if (tables.length === 1) return first
    const wanted = callHost(request, 'language', language) ?? new Negotiator(request.raw).language(langs)
    return tables.find(({ texts: { lang } }) => lang === wanted) ?? first
  }
  return (request: FastifyRequest, { labels, zone, now = Date.now() }: Shown = {}): Words =>
    withLabels({ ...choose(request), labels: none, zone: timeZone ?? zone, now }, labels)
}

/** A failure of the host's function is logged, and shown as if it returned nothing. */
function callHost<T> (request: FastifyRequest, option: string, call: ((request: FastifyRequest) => T) | undefined) {
  const report = (error: unknown): undefined => {
    request.log.error({ err: error }, `The option "${option}" of the pages failed`)
  }
  try {
    const result = call?.(request)
    return result instanceof Promise ? result.catch(report) : result
  } catch (error) {
    return report(error)
  }
}
