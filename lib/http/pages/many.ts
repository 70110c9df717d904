import type { NounOperation } from '../../core/family/definition.js'
import { invalidBody, preconditionFailed, Problem } from '../../core/problems.js'
import { intendToRead } from '../../core/service/caller.js'
import { execute } from '../../core/service/execute.js'
import { tryReader } from '../../core/service/reader.js'
import { hashText } from '../../core/values/ids.js'
import type { Many, ManyItem } from '../../representations/affordances.js'
import { type FormBody, readSentParams, takeShort } from '../body.js'
import type { Exchange } from '../mount.js'
import { toProblem } from '../reply.js'
import { explainRefusal, makeForm, type RefusedForm } from './form-fields.js'
import { readWrongState } from './log-entries.js'
import { listReferences, listTargets, resolveEntries, titleOf } from './references.js'

/** The maximum for one form; they run one after the other. */
const maxItems = 100

/** Shows the form of an operation for the selected items, or runs it for each and shows the outcome. */
export async function runMany (exchange: Exchange, form: FormBody, key: string | undefined): Promise<Many> {
  const { mount: { family, urls, makers }, request } = exchange
  const target = listTargets(family).find(({ operation, params }) =>
    operation.name === form.operation && !params.isPartial)
  if (target === undefined || form.items.size === 0 || form.items.size > maxItems) {
    throw new Problem('bad-request', form.items.size > maxItems
      ? `Select at most ${maxItems} rows`
      : 'Select at least one row and an operation')
  }
  const { operation, params } = target
  const items = await showItems(exchange, form.items)
  let refused: RefusedForm | undefined
  let outcomes: ManyItem[] | undefined
  const action = urls.collection(request)
  try {
    if (form.isReady) {
      await resolveEntries(exchange, listReferences(family, target.others), form)
      const sent = readSentParams(params, request)
      outcomes = []
      for (const item of items) outcomes.push(await runOne(exchange, key, operation, sent, item))
    }
  } catch (error) {
    if (!(error instanceof Problem) || error.statusCode >= 500) throw error
    const { choices } = error as { choices?: RefusedForm['choices'] }
    refused = { action, entered: new Map(takeShort(form.entries)), problem: error, choices, language: form.language }
    exchange.reply.code(error.statusCode)
  }
  const made = await makeForm(exchange, target, { action, key: form.formKey ?? makers.makeCommandId() }, refused)
  if (made === undefined) throw new Problem('bad-request', 'This operation has no form')
  return {
    form: made,
    name: family.name,
    items: outcomes ?? items,
    isDone: outcomes !== undefined,
    refused: refused && explainRefusal(family, refused, true),
    list: action
  }
}

/** Items that the caller may not read are shown by their ids. */
async function showItems ({ mount, request }: Exchange, items: FormBody['items']): Promise<ManyItem[]> {
  const { family, caller: makeCaller, urls } = mount
  const caller = makeCaller(request)
  return await Promise.all([...items].map(async ([text, revision]): Promise<ManyItem> => {
    const id = family.readId(text)
    if (id === undefined) throw invalidBody([{ pointer: `/_item.${text}`, detail: 'is not an id' }])
    const item = await (await tryReader(family, caller, intendToRead(family, id)))?.get(id)
    const title = item === undefined ? text : titleOf(family, item)
    return { id: text, revision, title, href: urls.item(request, id) }
  }))
}

async function runOne (
  { mount, request }: Exchange,
  key: string | undefined,
  { action }: NounOperation,
  params: Parameters<typeof execute>[2]['params'],
  item: ManyItem
): Promise<ManyItem> {
  const { family } = mount
  try {
    const { record, problem } = await execute(family, mount.caller(request), {
      action,
      target: family.readId(item.id),
      params,
      // One form has one effect on each item.
      key: key === undefined ? undefined : hashText(JSON.stringify([key, item.id])),
      precondition (current) {
        if (String(current.revision) === item.revision) return
        throw preconditionFailed(family.singular, current.revision, `; revision ${item.revision} was shown`)
      }
    })
    if (problem !== undefined) throw problem
    return { ...item, outcome: record.outcome }
  } catch (error) {
    const problem = toProblem(error)
    const { statusCode, cause = problem } = problem
    if (statusCode >= 500) request.log.error({ err: cause }, 'One of several commands failed')
    const wrongState = readWrongState(family, problem.code, problem.message, problem.members)
    return { ...item, outcome: 'refused', reason: problem.message, wrongState }
  }
}
