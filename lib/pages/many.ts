import { createHash } from 'node:crypto'
import {
  type ActionModel, describeForm, explainError, type FamilyMount, type Id, invalidBody, invalidQuery, type LogRecord,
  type Members, openReading, Problem, type ProblemCode, problemCodes, readFormParams, type Reading,
  runOneOf, shorten, splitQuery
} from '../exports.js'
import type { ManyItem } from './affordances.js'
import type { RefusedForm } from './fields.js'
import { explainRefusal, makeForm } from './form-fields.js'
import { startPage } from './item-affordances.js'
import { checkFrom, linkFrom, linkItemFrom, linkList } from './links.js'
import { findLastTitle, isForMany, nameForTexts, readWrongState } from './log-entries.js'
import { listShownAgain, type PageForm } from './page-form.js'
import type { PageRequest } from './page-reads.js'
import { resolveEntries } from './references.js'
import { titleOf } from './titles.js'
import { listUrl } from './urls.js'
import { redirectTo, sendView, type ShownOne } from './views.js'

/** The maximum for one form; they run one after the other. */
const maxItems = 100

/** An operation for several items of a list, as the address of its page has it. */
export interface Selection {
  readonly operation: string
  /** By their ids: the revisions that the list showed or, in a result, the codes of refusals that no log has. */
  readonly items: ReadonlyMap<string, string>
  /** The query of the list. */
  readonly from: string | undefined
  /** The key of the form, or of the form that was sent: the log has its outcomes. */
  readonly key?: string | undefined
  readonly result?: string | undefined
}

export function readSelection (search: string): Selection | undefined {
  if (!search.includes('_operation')) return undefined
  const given = new Map(splitQuery(search).flatMap(part => part.name === undefined ? [] : [[part.name, part.value]]))
  const operation = given.get('_operation')
  if (operation === undefined) return undefined
  const items = (given.get('_items') ?? '').split(',').filter(text => text !== '')
  return {
    operation,
    items: new Map(items.map(text => [text.replace(/:.*$/s, ''), text.replace(/^[^:]*:?/, '')])),
    from: given.get('_from'),
    key: given.get('_key'),
    result: given.get('_result')
  }
}

// Proxies refuse headers that are much longer.
const maxUrl = 3000

/** Undefined if it is too long. */
function writeSelection ({ mount, request }: PageRequest, selection: Selection): string | undefined {
  const { operation, items, from, key, result } = selection
  const named = { _operation: operation, _key: key, _result: result, _from: from }
  const parts = Object.entries(named).flatMap(([name, text]) =>
    text === undefined || text === '' ? [] : [`${name}=${encodeURIComponent(text)}`])
  const listed = Array.from(items, ([id, text]) => `${encodeURIComponent(id)}:${encodeURIComponent(text)}`)
  const url = `${listUrl(mount, request)}?${parts.join('&')}&_items=${listed.join(',')}`
  return url.length > maxUrl ? undefined : url
}

function findTarget (
  { model: { actions } }: FamilyMount, { operation, items }: Pick<Selection, 'operation' | 'items'>
): ActionModel {
  const target = actions.find(each => nameForTexts(each) === operation && isForMany(each))
  if (target !== undefined && items.size > 0 && items.size <= maxItems) return target
  throw new Problem('bad-request', items.size > maxItems
    ? `Select at most ${maxItems} rows`
    : 'Select at least one row and an operation')
}

/** Leads to the form of an operation for the selected items, or runs it for each and leads to their outcomes. */
export async function answerSelection (
  responding: PageRequest,
  form: PageForm,
  key: string | undefined
): Promise<true> {
  const { mount, reply } = responding
  const { items, from } = form
  const selection = { operation: form.operation as string, items, from }
  const { action } = findTarget(mount, selection)
  const flaw = findFlawInIds(mount, items)
  if (flaw !== undefined) {
    throw invalidBody([{ pointer: `/_item.${flaw}`, detail: 'must end with an id, such as _item.1' }])
  }
  const leadTo = (selection: Selection): true | undefined => {
    const url = writeSelection(responding, selection)
    return url === undefined ? undefined : redirectTo(responding, url)
  }
  if (!form.isReady) {
    const chosen = { ...selection, key: mount.makeCommandId() }
    const found = leadTo(chosen)
    if (found !== undefined) return found
    const shown = await showItems(responding, selection)
    return await sendMany(seenByAny(responding, shown), chosen, shown, false)
  }
  const shown = await showItems(responding, selection)
  const seen = seenByAny(responding, shown)
  if (form.rowChange !== undefined) {
    return await sendMany(seen, { ...selection, key: form.formKey }, shown, false, refuseMany(responding, form))
  }
  try {
    await resolveEntries(responding, describeForm(mount, action).references, form)
    const sent = readFormParams(mount, action, form, form.resolved)
    const done: ManyOutcome[] = []
    for (const item of shown) done.push(await runOne(responding, key, action, sent, item))
    const marked = new Map(done.map(({ item: { id, revision }, code }) => [id, code ?? revision]))
    const outcomes = done.map(({ item }) => item)
    // Without a key, the log does not have all outcomes.
    const isInLog = key !== undefined && await canShowLater(responding, done)
    const result = isInLog ? { ...selection, items: marked, result: key } : selection
    return (isInLog ? leadTo(result) : undefined) ?? await sendMany(seen, result, outcomes, true)
  } catch (error) {
    if (!(error instanceof Problem) || error.statusCode >= 500) throw error
    const { choices } = error as { choices?: RefusedForm['choices'] }
    const refused = { ...refuseMany(responding, form), rowChange: undefined, problem: error, choices }
    reply.code(error.statusCode)
    return await sendMany(seen, { ...selection, key: form.formKey }, shown, false, refused)
  }
}

/** The form with what was entered. */
function refuseMany ({ mount, request }: PageRequest, form: PageForm): RefusedForm {
  const { language, rowChange } = form
  return { action: listUrl(mount, request), entered: listShownAgain(form), problem: undefined, rowChange, language }
}

/** Whether the page of the outcomes, which is one of the list, finds them in the log. */
async function canShowLater (
  { mount, request }: PageRequest,
  done: readonly ManyOutcome[]
): Promise<boolean> {
  try {
    const reading = await openReading(mount, request, { action: 'list' })
    return ownsLog(reading) && done.every(({ entry }) => entry === undefined || entry.principal === reading.principal)
  } catch (error) {
    const { statusCode, cause = error } = explainError(error)
    if (statusCode >= 500) request.log.error({ err: cause }, 'authorize failed for the outcomes of several commands')
    return false
  }
}

// Without a name, anyone who has the address would see what was done to items that they may not see.
function ownsLog ({ principal, isNarrowed }: Reading): boolean {
  return principal !== undefined || !isNarrowed
}

/** The page of a selection: a form, or the outcomes that the log has. */
export async function showSelection (
  responding: PageRequest,
  reading: Reading,
  selection: Selection
): Promise<true> {
  const { mount } = responding
  findTarget(mount, selection)
  const { items, result } = selection
  const flaw = findFlawInIds(mount, items)
  if (flaw !== undefined) {
    const detail = `_items has "${shorten(flaw)}", which is not an id; it must have ids and revisions, such as 1:7,2:3`
    throw invalidQuery([{ parameter: '_items', detail }])
  }
  const shown = await showItems(responding, selection)
  if (result === undefined) return await sendMany(responding, selection, shown, false)
  const keyOf = ({ id }: ManyItem) => deriveKey(result, id)
  const entries = await reading.findByKeys(shown.map(keyOf))
  const isOwn = ownsLog(reading)
  const done = shown.map(item => {
    const entry = isOwn || item.isVisible ? entries.get(keyOf(item)) : undefined
    return entry === undefined ? explainCode(item) : explainEntry(mount, item, entry)
  })
  return await sendMany(responding, selection, done, true)
}

async function sendMany (
  responding: PageRequest,
  selection: Selection,
  items: readonly ManyItem[],
  isDone: boolean,
  refused?: RefusedForm
): Promise<true> {
  const { mount, mount: { model: { name, singular } }, request } = responding
  const { key = mount.makeCommandId(), from = '' } = selection
  const url = listUrl(mount, request)
  const form = await makeForm(responding, findTarget(mount, selection).action, { action: url, key }, refused)
  if (form === undefined) throw new Problem('bad-request', 'This operation has no form')
  const around = { ...await startPage(responding, url), trail: [linkList(mount, request, from)] }
  const view: ShownOne = {
    kind: 'one',
    name: singular,
    document: { name },
    mount,
    many: {
      form,
      name,
      items,
      isDone,
      refused: refused && explainRefusal(mount, refused, true),
      list: linkFrom(mount, request, from),
      from
    },
    affordances: async () => around
  }
  return await sendView(responding, view)
}

interface LoadedItem extends ManyItem {
  readonly isVisible: boolean
  /** As the caller sees the family by it; undefined if the caller may not read the item. */
  readonly seen: FamilyMount | undefined
}

/** With the family as the caller sees it by one of the items. */
function seenByAny (here: PageRequest, items: readonly LoadedItem[]): PageRequest {
  const { seen = here.mount } = items.find(({ seen }) => seen !== undefined) ?? {}
  return { ...here, mount: seen }
}

function findFlawInIds ({ readId }: FamilyMount, items: Selection['items']): string | undefined {
  return [...items.keys()].find(text => readId(text) === undefined)
}

/** Items that the caller may not read are shown by their ids, and those that are gone by their last titles. */
async function showItems (
  { mount, request }: PageRequest,
  { items, from: query }: Pick<Selection, 'items' | 'from'>
): Promise<LoadedItem[]> {
  const from = checkFrom(mount, query)
  return await Promise.all([...items].map(async ([text, revision]): Promise<LoadedItem> => {
    const id = mount.readId(text) as Id
    const reading = await tryReading({ mount, request }, id)
    const item = await reading?.get(id)
    const last = reading === undefined || item !== undefined ? undefined : await findLastTitle(reading, id)
    const title = item === undefined ? last ?? text : titleOf(mount, item)
    const href = linkItemFrom(mount, request, id, from)
    return { id: text, revision, title, href, isVisible: item !== undefined, seen: reading?.mount }
  }))
}

/** Undefined if the caller may not read the item. */
async function tryReading ({ mount, request }: Pick<PageRequest, 'mount' | 'request'>, id: Id) {
  try {
    return await openReading(mount, request, { action: 'read', id })
  } catch (error) {
    if (explainError(error).statusCode >= 500) throw error
    return undefined
  }
}

// One form has one effect on each item.
function deriveKey (key: string, id: string): string {
  return createHash('sha256').update(JSON.stringify([key, id])).digest('base64url')
}

interface ManyOutcome {
  readonly item: ManyItem
  readonly entry?: LogRecord
  /** Of a refusal that is not recorded. */
  readonly code?: ProblemCode
}

async function runOne (
  { mount, request }: PageRequest,
  key: string | undefined,
  action: string,
  params: Members,
  item: ManyItem
): Promise<ManyOutcome> {
  const { revision } = item
  const own = key === undefined ? undefined : deriveKey(key, item.id)
  try {
    const { entry } =
      await runOneOf({ mount, request }, { action, id: mount.readId(item.id), params, key: own, revision })
    return { item: explainEntry(mount, item, entry), entry }
  } catch (error) {
    const { statusCode, code, message: detail, members, cause = error } = explainError(error)
    if (statusCode >= 500) request.log.error({ err: cause }, 'One of several commands failed')
    return { item: explainRefused(mount, item, { code, detail, members }), code }
  }
}

function explainEntry (mount: FamilyMount, item: ManyItem, { outcome, problem }: LogRecord): ManyItem {
  return problem === undefined ? { ...item, outcome } : explainRefused(mount, item, problem)
}

function explainRefused (
  mount: FamilyMount,
  item: ManyItem,
  problem: NonNullable<LogRecord['problem']>
): ManyItem {
  const { code, detail } = problem
  const wrongState = readWrongState(mount, problem)
  return { ...item, outcome: 'refused', reason: detail, isStale: code === 'precondition-failed', wrongState }
}

/** Only by its title: an address must not make a page say anything. */
function explainCode (item: ManyItem): ManyItem {
  const code = item.revision as ProblemCode
  if (!Object.hasOwn(problemCodes, code)) return item
  return { ...item, outcome: 'refused', reason: problemCodes[code].title, isStale: code === 'precondition-failed' }
}
