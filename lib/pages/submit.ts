import type { FastifyReply, FastifyRequest } from 'fastify'
import { listTargets } from '../core/book/offers.js'
import type { Params } from '../core/family/params.js'
import { notFound } from '../core/problems.js'
import type { Command } from '../core/service/decide.js'
import { type Outcome, preview } from '../core/service/execute.js'
import { mayRead } from '../core/service/reader.js'
import { readTarget } from '../core/service/record.js'
import { type Id, invalidBody, Problem, type SentForm, type SubmitTarget } from '../exports.js'
import { FormBody, readKey, readSentParams, takeShort } from '../http/body.js'
import { answerCreated } from '../http/forms/forms.js'
import { answerEntry, makeCommand, runCommand } from '../http/forms/write.js'
import { type Exchange, type Mount, mountOf } from '../http/mount.js'
import { toProblem } from '../http/reply.js'
import { readItemId } from '../http/request.js'
import { setFeedback } from './feedback.js'
import type { RefusedForm } from './form-fields.js'
import { sendItemPage } from './item.js'
import { checkFrom, linkFrom, linkItemFrom, mayRepeat } from './links.js'
import { sendListPage } from './list.js'
import { answerSelection } from './many.js'
import { listReferences, type ReferenceNames, resolveEntries } from './references.js'
import { redirectTo } from './views.js'

/** Answers a form of a page: by a redirect, by the page that it is on, or by a question. */
export async function submit (
  { mount, representation, mediaType, action }: SubmitTarget,
  sent: SentForm,
  request: FastifyRequest,
  reply: FastifyReply
): Promise<void> {
  const exchange: Exchange = { mount: mountOf(mount), request, reply, choice: { representation, mediaType } }
  const form = sent as FormBody
  try {
    if (form.operation !== undefined) await answerSelection(exchange, form, readKey(request))
    else if (form.addsRows) await showAgain(exchange, form)
    else await run(exchange, findWrite(exchange.mount, action), form)
  } catch (error) {
    if (!(error instanceof Problem) || mayRepeat(error)) throw error
    await showAgain(exchange, form, error)
  }
}

/** What a form is sent for: a new item, or an operation of one. */
interface Write {
  readonly action: string
  readonly params: Params
  readonly references: ReferenceNames
  /** Undefined for a new item. */
  readonly noun?: string
}

function findWrite ({ family }: Mount, action: string): Write {
  const { lifecycle } = family
  if (lifecycle?.createAction === action) {
    return { action, params: lifecycle.params, references: listReferences(family, lifecycle.others) }
  }
  for (const { operation, params, others } of listTargets(family)) {
    if (operation.action === action) {
      return { action, params, references: listReferences(family, others), noun: operation.noun }
    }
  }
  throw new Error(`${family.name} has no action "${action}"`)
}

async function run (exchange: Exchange, write: Write, form: FormBody): Promise<void> {
  const { mount, request } = exchange
  const { action, params, references, noun } = write
  await resolveEntries(exchange, references, form)
  const target = noun === undefined ? undefined : readItemId(mount.family, request)
  const command = makeCommand(exchange, { action, target, params: readSentParams(params, request) })
  if (form.asksFirst) {
    if (await askForConfirmation(exchange, command, form)) return
  }
  const outcome = await runCommand(exchange, command)
  // A page cannot show later what is only in this answer.
  if (outcome.secrets === undefined) await redirect(exchange, outcome, form)
  else if (noun === undefined) await answerCreated(exchange, outcome)
  else await answerEntry(exchange, outcome, outcome.record.outcome === 'done', noun)
}

/** To the item, or to the list if it was deleted or may not be read. */
async function redirect (exchange: Exchange, outcome: Outcome, form: FormBody): Promise<void> {
  const { mount, mount: { family, caller }, request, reply } = exchange
  const { record } = outcome
  const isDeleted = record.action === family.lifecycle?.deletion?.operation.action
  const location = isDeleted || !await mayRead({ family, caller: caller(request) }, outcome)
    ? linkFrom(mount, request, form.from)
    : linkItemFrom(mount, request, readTarget(family, record), checkFrom(mount, form.from))
  // A form that is not ours gets no message.
  if (form.key !== undefined && outcome.id !== undefined) setFeedback(reply, location, outcome.id)
  redirectTo(exchange, location)
}

/** Returns whether there was anything to confirm. */
async function askForConfirmation (
  exchange: Exchange,
  command: Command,
  sent: FormBody
): Promise<boolean> {
  const { mount, request } = exchange
  const { target } = command
  if (target === undefined) {
    throw invalidBody([{ pointer: '/_confirm', detail: 'is only for pages that ask before they change an item' }])
  }
  const { decision, others } = await preview(mount.family, mount.caller(request), command)
  if (decision.outcome !== 'done') return false
  const question = { command, decision, others, sent }
  if (await sendItemPage(exchange, target, '', { question, from: checkFrom(mount, sent.from) })) return true
  throw notFound(mount.family.singular, target)
}

/** The page of the form, with what was entered; without a problem, with more rows. */
async function showAgain (exchange: Exchange, form: FormBody, problem?: Problem): Promise<void> {
  const { mount, request, reply } = exchange
  const { id: text } = request.params as { id?: string }
  const isStale = problem?.code === 'precondition-failed' && form.revision !== undefined
  const refused: RefusedForm = {
    // Selected items belong to no other form.
    action: form.operation === undefined ? mount.urls.self(request).replace(/\/$/, '') : '',
    entered: new Map(takeShort(form.entries)),
    language: form.language,
    problem,
    since: isStale ? Number(form.revision) : undefined,
    choices: (problem as { choices?: RefusedForm['choices'] } | undefined)?.choices
  }
  if (problem !== undefined) reply.code(problem.statusCode).headers(problem.headers)
  try {
    if (await sendAround(exchange, text, checkFrom(mount, form.from), refused)) return
  } catch (error) {
    // A person who may not see the page still sees the problem; failures are logged for the host.
    const { statusCode, cause, log } = toProblem(error)
    if (log !== undefined || problem === undefined) throw error
    if (statusCode >= 500) request.log.error({ err: cause ?? error }, 'The page of a refused form cannot be shown')
  }
  throw problem ?? notFound(mount.family.singular, text ?? '')
}

/** The page that has the form: of an item, or of the list. */
async function sendAround (
  exchange: Exchange,
  text: string | undefined,
  from: string,
  refused: RefusedForm
): Promise<boolean> {
  if (text === undefined) return await sendListPage(exchange, from, { refused })
  const id: Id | undefined = exchange.mount.family.readId(text)
  return id !== undefined && await sendItemPage(exchange, id, '', { refused, from })
}
