import { listTargets, type Target } from '../core/book/offers.js'
import type { NounOperation } from '../core/family/definition.js'
import { invalidQuery, preconditionFailed } from '../core/problems.js'
import { splitQuery } from '../core/query/query-string.js'
import { intendToList, intendToRead } from '../core/service/caller.js'
import { execute } from '../core/service/execute.js'
import { type Reader, tryReader } from '../core/service/reader.js'
import type { CommandRecord, KeptProblem } from '../core/service/record.js'
import { hashText } from '../core/values/ids.js'
import { shorten } from '../core/values/words.js'
import { type Grant, type Id, invalidBody, Problem, type ProblemCode, problemCodes } from '../exports.js'
import { type FormBody, readSentParams, takeShort } from '../http/body.js'
import type { Exchange, Mount } from '../http/mount.js'
import { toProblem } from '../http/reply.js'
import type { ManyItem } from './affordances.js'
import { explainRefusal, makeForm, type RefusedForm } from './form-fields.js'
import { startPage } from './item-affordances.js'
import { checkFrom, linkFrom, linkItemFrom, linkList } from './links.js'
import { findLastTitle, readWrongState } from './log-entries.js'
import { listReferences, resolveEntries, titleOf } from './references.js'
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
function writeSelection ({ mount: { urls }, request }: Exchange, selection: Selection): string | undefined {
  const { operation, items, from, key, result } = selection
  const named = { _operation: operation, _key: key, _result: result, _from: from }
  const parts = Object.entries(named).flatMap(([name, text]) =>
    text === undefined || text === '' ? [] : [`${name}=${encodeURIComponent(text)}`])
  const listed = Array.from(items, ([id, text]) => `${encodeURIComponent(id)}:${encodeURIComponent(text)}`)
  const url = `${urls.collection(request)}?${parts.join('&')}&_items=${listed.join(',')}`
  return url.length > maxUrl ? undefined : url
}

function findTarget ({ family }: Mount, { operation: name, items }: Pick<Selection, 'operation' | 'items'>): Target {
  const target = listTargets(family).find(({ operation, params }) => operation.name === name && !params.isPartial)
  if (target !== undefined && items.size > 0 && items.size <= maxItems) return target
  throw new Problem('bad-request', items.size > maxItems
    ? `Select at most ${maxItems} rows`
    : 'Select at least one row and an operation')
}

/** Leads to the form of an operation for the selected items, or runs it for each and leads to their outcomes. */
export async function answerSelection (
  exchange: Exchange,
  form: FormBody,
  key: string | undefined
): Promise<true> {
  const { mount, request, reply } = exchange
  const { items, from } = form
  const selection = { operation: form.operation as string, items, from }
  const target = findTarget(mount, selection)
  const flaw = findFlawInIds(mount, items)
  if (flaw !== undefined) {
    throw invalidBody([{ pointer: `/_item.${flaw}`, detail: 'must end with an id, such as _item.1' }])
  }
  const leadTo = async (selection: Selection, done?: readonly ManyItem[]): Promise<true> => {
    const url = writeSelection(exchange, selection)
    return url === undefined
      ? await sendMany(exchange, selection, done ?? await showItems(exchange, selection), done !== undefined)
      : redirectTo(exchange, url)
  }
  if (!form.isReady) return await leadTo({ ...selection, key: mount.makers.makeCommandId() })
  const shown = await showItems(exchange, selection)
  try {
    await resolveEntries(exchange, listReferences(mount.family, target.others), form)
    const sent = readSentParams(target.params, request)
    const done: Done[] = []
    for (const item of shown) done.push(await runOne(exchange, key, target.operation, sent, item))
    const marked = new Map(done.map(({ item: { id, revision }, code }) => [id, code ?? revision]))
    const outcomes = done.map(({ item }) => item)
    // Without a key, the log does not have all outcomes.
    const isInLog = key !== undefined && await canShowLater(exchange, done)
    return isInLog
      ? await leadTo({ ...selection, items: marked, result: key }, outcomes)
      : await sendMany(exchange, selection, outcomes, true)
  } catch (error) {
    if (!(error instanceof Problem) || error.statusCode >= 500) throw error
    const { choices } = error as { choices?: RefusedForm['choices'] }
    const entered = new Map(takeShort(form.entries))
    const action = mount.urls.collection(request)
    const refused = { action, entered, problem: error, choices, language: form.language }
    reply.code(error.statusCode)
    return await sendMany(exchange, { ...selection, key: form.formKey }, shown, false, refused)
  }
}

/** Whether the page of the outcomes, which is one of the list, finds them in the log. */
async function canShowLater (
  { mount: { family, caller }, request }: Exchange,
  done: readonly Done[]
): Promise<boolean> {
  try {
    const grant = await caller(request).authorize(intendToList(family))
    return ownsLog(grant) && done.every(({ record }) => record === undefined || record.principal === grant.principal)
  } catch (error) {
    const { statusCode, cause = error } = toProblem(error)
    if (statusCode >= 500) request.log.error({ err: cause }, 'authorize failed for the outcomes of several commands')
    return false
  }
}

// Without a name, anyone who has the address would see what was done to items that they may not see.
function ownsLog ({ principal, where = [] }: Grant): boolean {
  return principal !== undefined || where.length === 0
}

/** The page of a selection: a form, or the outcomes that the log has. */
export async function showSelection (
  exchange: Exchange,
  reader: Reader,
  selection: Selection
): Promise<true> {
  findTarget(exchange.mount, selection)
  const { items, result } = selection
  const flaw = findFlawInIds(exchange.mount, items)
  if (flaw !== undefined) {
    const detail = `_items has "${shorten(flaw)}", which is not an id; it must have ids and revisions, such as 1:7,2:3`
    throw invalidQuery([{ parameter: '_items', detail }])
  }
  const shown = await showItems(exchange, selection)
  if (result === undefined) return await sendMany(exchange, selection, shown, false)
  const keyOf = ({ id }: ManyItem) => deriveKey(result, id)
  const records = await reader.findByKeys(shown.map(keyOf))
  const isOwn = ownsLog(reader.grant)
  const done = shown.map(item => {
    const record = isOwn || item.isVisible ? records.get(keyOf(item)) : undefined
    return record === undefined ? explainCode(item) : explainRecord(exchange.mount, item, record)
  })
  return await sendMany(exchange, selection, done, true)
}

async function sendMany (
  exchange: Exchange,
  selection: Selection,
  items: readonly ManyItem[],
  isDone: boolean,
  refused?: RefusedForm
): Promise<true> {
  const { mount, mount: { family, urls, makers }, request } = exchange
  const { key = makers.makeCommandId(), from = '' } = selection
  const action = urls.collection(request)
  const form = await makeForm(exchange, findTarget(mount, selection), { action, key }, refused)
  if (form === undefined) throw new Problem('bad-request', 'This operation has no form')
  const around = { ...await startPage(exchange, action), trail: [linkList(mount, request, from)] }
  const view: ShownOne = {
    kind: 'one',
    name: family.singular,
    document: { name: family.name },
    mount: mount.shown,
    many: {
      form,
      name: family.name,
      items,
      isDone,
      refused: refused && explainRefusal(family, refused, true),
      list: linkFrom(mount, request, from),
      from
    },
    affordances: async () => around
  }
  return await sendView(exchange, view)
}

interface Shown extends ManyItem {
  readonly isVisible: boolean
}

function findFlawInIds ({ family }: Mount, items: Selection['items']): string | undefined {
  return [...items.keys()].find(text => family.readId(text) === undefined)
}

/** Items that the caller may not read are shown by their ids, and those that are gone by their last titles. */
async function showItems (
  { mount, request }: Exchange,
  { items, from: query }: Pick<Selection, 'items' | 'from'>
): Promise<Shown[]> {
  const { family, caller: makeCaller } = mount
  const from = checkFrom(mount, query)
  const caller = makeCaller(request)
  return await Promise.all([...items].map(async ([text, revision]): Promise<Shown> => {
    const id = family.readId(text) as Id
    const reader = await tryReader(family, caller, intendToRead(family, id))
    const item = await reader?.get(id)
    const last = reader === undefined || item !== undefined ? undefined : await findLastTitle(reader, id)
    const title = item === undefined ? last ?? text : titleOf(family, item)
    return { id: text, revision, title, href: linkItemFrom(mount, request, id, from), isVisible: item !== undefined }
  }))
}

// One form has one effect on each item.
function deriveKey (key: string, id: string): string {
  return hashText(JSON.stringify([key, id]))
}

interface Done {
  readonly item: ManyItem
  readonly record?: CommandRecord
  /** Of a refusal that is not recorded. */
  readonly code?: ProblemCode
}

async function runOne (
  { mount, request }: Exchange,
  key: string | undefined,
  { action }: NounOperation,
  params: Parameters<typeof execute>[2]['params'],
  item: ManyItem
): Promise<Done> {
  const { family } = mount
  try {
    const { record } = await execute(family, mount.caller(request), {
      action,
      target: family.readId(item.id) as Id,
      params,
      key: key === undefined ? undefined : deriveKey(key, item.id),
      precondition (current) {
        if (String(current.revision) === item.revision) return
        throw preconditionFailed(family.singular, current.revision, `; revision ${item.revision} was shown`)
      }
    })
    return { item: explainRecord(mount, item, record), record }
  } catch (error) {
    const problem = toProblem(error)
    const { statusCode, code, message: detail, members, cause = problem } = problem
    if (statusCode >= 500) request.log.error({ err: cause }, 'One of several commands failed')
    return { item: explainRefused(mount, item, { code, detail, members }), code }
  }
}

function explainRecord (mount: Mount, item: ManyItem, { outcome, problem }: CommandRecord): ManyItem {
  return problem === undefined ? { ...item, outcome } : explainRefused(mount, item, problem)
}

function explainRefused (
  { family }: Mount,
  item: ManyItem,
  { code, detail, members }: Pick<KeptProblem, 'code' | 'detail' | 'members'>
): ManyItem {
  const wrongState = readWrongState(family, code, detail, members)
  return { ...item, outcome: 'refused', reason: detail, isStale: code === 'precondition-failed', wrongState }
}

/** Only by its title: an address must not make a page say anything. */
function explainCode (item: ManyItem): ManyItem {
  const code = item.revision as ProblemCode
  if (!Object.hasOwn(problemCodes, code)) return item
  return { ...item, outcome: 'refused', reason: problemCodes[code].title, isStale: code === 'precondition-failed' }
}
