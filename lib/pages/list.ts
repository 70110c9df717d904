import {
  type FamilyMount, type Id, invalidQuery, type ListQuery, type LoadedPage, loadList, loadQueryList, makePageUrl,
  openReading, Problem, type Reading, shorten, splitQuery, startParameters
} from '../exports.js'
import type { PageAffordances } from './affordances.js'
import { endFeedback, readFeedback } from './feedback.js'
import type { RefusedForm } from './fields.js'
import { linkList } from './links.js'
import { makeFeedback, makeRestoreForm } from './log-entries.js'
import { readSelection, type Selection, showSelection } from './many.js'
import { makeCollectionAffordances, makeRowAffordances } from './page-affordances.js'
import { finding } from './page-form.js'
import { type PageRequest, seenBy } from './page-reads.js'
import { lookUpAll } from './references.js'
import { parseSent, readSent } from './sent.js'
import { itemUrl, listUrl } from './urls.js'
import { redirectTo, sendView } from './views.js'

interface AskedList {
  readonly parsed: ListQuery
  readonly refused?: RefusedForm | undefined
  /** Items to find by a part of their titles, by the fields that refer to them. */
  readonly wanted?: readonly (readonly [field: string, text: string])[]
  /** If the query has amounts as a person typed them, the query for every language. */
  readonly common?: string | undefined
  /** Shown instead of the list. */
  readonly selection?: Selection | undefined
}

function readAsked (mount: FamilyMount, whole: string): AskedList {
  const { rest, wanted } = splitWanted(whole)
  // Pages show the newest first; the links of the page keep this order.
  const parse = (search: string) => parseSent(mount, search, 'items', mount.newestFirst)
  const selection = readSelection(rest)
  if (selection !== undefined) return { parsed: parse(''), selection }
  try {
    const { sent, isTyped } = readSent(mount, rest)
    return { parsed: parse(rest), wanted, common: isTyped ? sent : undefined }
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    const entered = new Map(new URLSearchParams(rest))
    // An invalid query is explained on the page without filters.
    const refused = { action: undefined, entered, language: entered.get('_language'), problem: error }
    return { parsed: parse(''), refused }
  }
}

/** The page of a list. */
export async function sendListPage (
  whole: PageRequest,
  search: string,
  also: Partial<AskedList> = {}
): Promise<boolean> {
  const { request, reply, reads } = whole
  const reading = await reads.openOwn(whole.mount)
  const responding = seenBy(whole, reading)
  const { mount } = responding
  const asked = { ...readAsked(mount, search), ...also }
  const { parsed, refused, selection, wanted = [], common } = asked
  if (selection !== undefined) return await showSelection(responding, reading, selection)
  if (wanted.length > 0) return await redirectToFound(responding, parsed, wanted)
  // So that the address can be sent to readers of other languages.
  if (common !== undefined && ['GET', 'HEAD'].includes(request.method)) {
    const url = `${mount.selfUrl(request)}${common === '' ? '' : `?${common}`}`
    return redirectTo(responding, url)
  }
  const page = await loadList(responding, reading, parsed)
  if (refused?.problem !== undefined) {
    const { statusCode, headers } = refused.problem
    reply.code(statusCode).headers(headers)
  }
  const affordances = async () => await makeListAffordances(responding, reading, asked, page)
  return await sendView(responding, { ...page.view, affordances })
}

async function makeListAffordances (
  responding: PageRequest,
  reading: Reading,
  { parsed, refused }: AskedList,
  { items, total, links }: LoadedPage
): Promise<PageAffordances> {
  const { mount, request, reply } = responding
  const command = refused === undefined ? readFeedback(request) : undefined
  const record = command === undefined ? undefined : await reading.ownEntry(command)
  const feedback = record && makeFeedback(mount, record)
  if (feedback !== undefined) endFeedback(reply, listUrl(mount, request))
  const hasLog = record !== undefined && feedback?.name === 'delete' && await reading.hasLog(record.target)
  const log = hasLog ? itemUrl(mount, request, record.target, 'commands') : undefined
  const whole = makePageUrl('', parsed, ['format']).slice(1)
  const shown = { items, total, reading, links, from: whole === `sort=${mount.newestFirst}` ? '' : whole }
  const undo = record && feedback?.name === 'delete' && feedback.outcome === 'done'
    ? await makeRestoreForm(responding, reading, record)
    : undefined
  return await makeCollectionAffordances(responding, parsed, shown, refused, feedback && { ...feedback, log, undo })
}

/** A filter by a part of a title becomes one by the ids of the items that fit. */
async function redirectToFound (
  responding: PageRequest,
  parsed: ListQuery,
  wanted: readonly (readonly [field: string, text: string])[]
): Promise<true> {
  const { mount, mount: { model: { references } }, request } = responding
  const fields = wanted.map(([field]) => field)
  const found = await Promise.all(wanted.map(async ([field, text]) => {
    const family = Object.hasOwn(references, field) ? references[field] : undefined
    const ids = family === undefined ? [] : await lookUpAll(responding, family, text)
    return ids.map(id => `${field}=${encodeURIComponent(id)}`)
  }))
  const missing = wanted.find((_, index) => found[index]?.length === 0)
  if (missing !== undefined) {
    throw invalidQuery([{ parameter: missing[0], detail: `has no match for "${shorten(missing[1])}"` }])
  }
  const url = makePageUrl(listUrl(mount, request), parsed, [...fields, ...startParameters], found.flat().join('&'))
  return redirectTo(responding, url)
}

function splitWanted (search: string): Required<Pick<AskedList, 'wanted'>> & { readonly rest: string } {
  if (!search.includes(finding)) return { rest: search, wanted: [] }
  const parts = splitQuery(search)
  const wanted = parts.filter(part => part.name !== undefined && part.name.startsWith(finding))
  return {
    rest: parts.filter(part => !wanted.includes(part)).map(({ raw }) => raw).join('&'),
    wanted: wanted.flatMap(part => part.name === undefined || part.value === ''
      ? []
      : [[part.name.slice(finding.length), part.value] as const])
  }
}

/** The list of a named query; undefined if it is empty. */
export async function sendQueryPage (
  whole: PageRequest,
  field: string,
  value: string,
  search: string
): Promise<boolean> {
  const { request } = whole
  const reading = await openReading(whole.mount, request, { action: 'list', params: { [field]: value } })
  const responding = seenBy(whole, reading)
  const { mount, mount: { model: { list, title } } } = responding
  const parsed = parseSent(mount, search)
  const page = await loadQueryList(responding, reading, parsed, field, value)
  if (page === undefined) return false
  const { view, items, links } = page
  const affordances = async () => await makeRowAffordances(responding, parsed, {
    listed: 'items',
    columns: list,
    title,
    isCountable: false,
    links,
    trail: [linkList(mount, request)],
    address: index => itemUrl(mount, request, items[index]?.id as Id),
    identify: index => ({ id: String(items[index]?.id), revision: items[index]?.revision as number })
  })
  return await sendView(responding, { ...view, affordances })
}
