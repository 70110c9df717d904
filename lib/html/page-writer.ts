import type { FastifyRequest } from 'fastify'
import Negotiator from 'negotiator'
import { findForm, type PageView, type ProblemView } from '../exports.js'
import type { ItemAffordances, Many, PageAffordances } from '../pages/affordances.js'
import { findProblemParts } from '../pages/links.js'
import { readPageForm } from '../pages/page-form.js'
import { isVisible } from '../pages/titles.js'
import type { ShownOne, ShownPage, ShownProblem } from '../pages/views.js'
import { renderManyItems, renderProblem } from './form.js'
import { renderConfirmation, renderItem } from './item.js'
import { type Frame, type PageParts, type PageUser, renderPage } from './layout.js'
import { renderHome, renderList } from './list.js'
import type { HtmlOptions } from './options.js'
import { english, type Texts } from './texts.js'
import {
  makeTranslator, nameField, nameOperation, namePlural, nameSingular, noLabels, withLabels, withLogLabels, type Words
} from './words.js'

type WrittenParts = Omit<PageParts, 'user' | 'place'> & Partial<Pick<PageParts, 'place'>>

/** Writes pages in the reader's language. */
export class PageWriter {
  readonly #frame: Frame
  readonly #user: HtmlOptions['user']
  readonly #chooseWords: ReturnType<typeof makeWordChooser>

  constructor (options: HtmlOptions, frame: Frame) {
    this.#frame = frame
    const { user } = options
    this.#user = user
    this.#chooseWords = makeWordChooser(options)
  }

  /** A single resource: an item, a command, the home, a question, or an operation for several items. */
  async writeOne (view: ShownOne, request: FastifyRequest): Promise<string> {
    const { home, many } = view
    const affordances = await view.affordances?.()
    const words = this.#chooseWords(request, affordances ?? home)
    if (home !== undefined) {
      const content = await renderHome(words, home)
      return await this.#write(words, request, { heading: words.texts.home, content, site: home.site })
    }
    if (many !== undefined) return await this.#write(words, request, { ...showMany(words, many), ...affordances })
    const heading = titleItem(words, view, affordances)
    if (affordances?.confirm === undefined) {
      const content = await renderItem(words, view, affordances)
      // A form that is answered by what it made, with what is never shown again.
      const parts = affordances ?? { isDone: request.method === 'POST' }
      return await this.#write(words, request, { heading, content, ...parts })
    }
    const { site, trail, confirm } = affordances
    const content = renderConfirmation(words, heading, confirm)
    const question = words.texts.ask(nameOperation(words, confirm.form))
    return await this.#write(words, request, { heading: question, content, site, trail })
  }

  async writeList (view: ShownPage, request: FastifyRequest): Promise<string> {
    const affordances = await view.affordances?.()
    const around = affordances ?? await view.around?.()
    const spoken = this.#chooseWords(request, affordances)
    const words = affordances?.timeline === undefined ? spoken : withLogLabels(spoken)
    const heading = nameList(words, view, affordances)
    const content = await renderList(words, view, affordances)
    return await this.#write(words, request, { heading, content, ...around })
  }

  async writeProblem (plain: ProblemView, request: FastifyRequest): Promise<string> {
    const view: ShownProblem = { ...plain, ...await findProblemParts(plain, request) }
    const words = this.#chooseWords(request, view)
    const signIn = view.document.status === 401 ? (await this.#findUser(request))?.signIn : undefined
    return await this.#write(words, request, {
      heading: words.translate(String(view.document.title)),
      content: renderProblem(words, view, signIn),
      site: view.site,
      trail: view.onward,
      // It may not be for who asked.
      place: undefined
    })
  }

  async #write (words: Words, request: FastifyRequest, parts: WrittenParts): Promise<string> {
    const user = await this.#findUser(request)
    return renderPage(words, this.#frame, { place: findPlace(request), ...parts, user })
  }

  // A promise of its own: what the host returns may only have a `then`.
  async #findUser (request: FastifyRequest): Promise<PageUser | undefined> {
    const user = this.#user
    return await callHost(request, 'user', async () => await user?.(request)) ?? undefined
  }
}

function titleItem (words: Words, { name, document }: ShownOne, affordances: ItemAffordances | undefined): string {
  const member = affordances?.title ?? 'name'
  const { [member]: named, id } = document
  return member !== 'id' && isVisible(named)
    ? String(named)
    : words.texts.item(nameSingular(words, name), id === undefined ? undefined : String(id))
}

function showMany (words: Words, many: Many): Pick<WrittenParts, 'heading' | 'content' | 'isDone'> {
  return {
    heading: nameOperation(words, many.form),
    content: renderManyItems(words, many),
    // What was refused may be sent again.
    isDone: many.isDone && many.items.some(({ outcome }) => outcome !== 'refused')
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
  const { isActivity, isDeleted, trail } = affordances
  const part = isActivity === true ? texts.activity : name === 'commands' ? texts.log : nameField(words, name)
  const whole = trail.at(-1)
  if (whole === undefined) return part
  if (isDeleted === true) return texts.deletedItems(namePlural(words, whole.name))
  return texts.partOf(part, isActivity === true ? namePlural(words, whole.name) : whole.name)
}

type Spoken = Partial<Pick<PageAffordances, 'labels' | 'zone' | 'now'>>

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
  return (request: FastifyRequest, { labels, zone, now = Date.now() }: Spoken = {}): Words =>
    withLabels({ ...choose(request), labels: noLabels, zone: timeZone ?? zone, now }, labels)
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
