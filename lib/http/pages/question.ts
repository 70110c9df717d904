import { hideSecrets } from '../../core/family/params.js'
import { Problem } from '../../core/problems.js'
import { splitQuery } from '../../core/query/query-string.js'
import type { Caller } from '../../core/service/caller.js'
import type { Command, Decision } from '../../core/service/decide.js'
import { type Preview, preview } from '../../core/service/execute.js'
import type { Reader } from '../../core/service/reader.js'
import type { Id } from '../../core/storage/storage.js'
import { FormBody, readFormParams, takeShort } from '../body.js'
import { makePrecondition } from '../conditional.js'
import type { Exchange, Mount } from '../mount.js'
import { maxUrl, refuseForeign } from '../request.js'
import type { RefusedForm } from './form-fields.js'
import { mayRepeat } from './offers.js'
import { listTargets } from './references.js'

// A form that asks first leads to an address of its question, so that a browser can reload it, and go back to it.

/** What a person is asked, before it is done. */
export interface Question {
  readonly command: Command
  readonly decision: Decision & { readonly outcome: 'done' }
  readonly others: Preview['others']
  readonly sent: FormBody
}

/** A question, as its address has it. */
export interface Asked {
  readonly operation: string
  readonly form: FormBody
}

/** Undefined if there is nothing to confirm. */
export async function findQuestion (
  mount: Mount,
  caller: Caller,
  command: Command,
  sent: FormBody
): Promise<Question | undefined> {
  const { decision, others } = await preview(mount.family, caller, command)
  return decision.outcome === 'done' ? { command, decision, others, sent } : undefined
}

/** What is sent with the confirmation: unchanged, so that a request from before it is recognized. */
export function listSent ({ formKey, revision, from, zone, language, resolved }: FormBody): [string, string][] {
  const own = { _key: formKey, _revision: revision, _from: from, _zone: zone, _language: language }
  return [...Object.entries(own).filter((entry): entry is [string, string] => (entry[1] ?? '') !== ''), ...resolved]
}

/** Undefined if it is too long, or has what must not be in an address. */
export function writeAsked (
  { mount: { family, urls }, request }: Pick<Exchange, 'mount' | 'request'>,
  { command: { action, target, params }, sent }: Question
): string | undefined {
  const asked = listTargets(family).find(({ operation }) => operation.action === action)
  if (asked === undefined || hideSecrets(asked.params.fields, params) !== params) return undefined
  const form = new URLSearchParams(listSent(sent)).toString()
  const query = `_confirm=${encodeURIComponent(asked.operation.name)}&_form=${encodeURIComponent(form)}`
  const url = `${urls.item(request, target as Id)}?${query}`
  return url.length > maxUrl ? undefined : url
}

export function readAsked (search: string): Asked | undefined {
  if (!search.includes('_confirm')) return undefined
  const given = new Map(splitQuery(search).flatMap(part => part.name === undefined ? [] : [[part.name, part.value]]))
  const operation = given.get('_confirm')
  if (operation === undefined) return undefined
  return { operation, form: new FormBody(Buffer.from(given.get('_form') ?? ''), { maxMembers: maxUrl }) }
}

/** The question of an address, or why it cannot be asked any more; undefined if it is done, or changes nothing. */
export async function askAgain (
  { mount, request, reader, caller }: Pick<Exchange, 'mount' | 'request'> & { reader: Reader, caller: Caller },
  id: Id,
  { operation: name, form }: Asked
): Promise<{ readonly question: Question } | { readonly refused: RefusedForm } | undefined> {
  // Otherwise any site could put a question to a person who is signed in here.
  refuseForeign(request, mount.trustedOrigins)
  const asked = listTargets(mount.family).find(({ operation }) => operation.name === name)
  if (asked === undefined) throw new Problem('bad-request', 'Choose an operation on the page of the item')
  const { key, revision } = form
  if (key !== undefined && (await reader.findByKeys([key])).size > 0) return undefined
  const { operation, params } = asked
  const conditions = revision === undefined ? undefined : { 'if-match': `"${revision}"` }
  try {
    const question = await findQuestion(mount, caller, {
      action: operation.action,
      target: id,
      params: readFormParams(params, form),
      key,
      precondition: conditions && makePrecondition(mount, conditions, true)
    }, form)
    return question && { question }
  } catch (error) {
    if (!(error instanceof Problem) || mayRepeat(error)) throw error
    const action = `${mount.urls.item(request, id)}/${operation.noun}`
    return { refused: explainForm(action, form, error) }
  }
}

/** A form that was refused, or that only gets more rows, with what was entered. */
export function explainForm (action: string, form: FormBody, problem: Problem | undefined): RefusedForm {
  const isStale = problem?.code === 'precondition-failed' && form.revision !== undefined
  return {
    action,
    entered: new Map(takeShort(form.entries)),
    language: form.language,
    problem,
    since: isStale ? Number(form.revision) : undefined,
    choices: (problem as { choices?: RefusedForm['choices'] } | undefined)?.choices
  }
}
