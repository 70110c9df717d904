import type { FastifyReply, FastifyRequest } from 'fastify'
import {
  describeForm, explainError, type FormCommand, invalidBody, notFound, previewForm, Problem, type RanCommand,
  readFormParams, readIdempotencyKey, runForm, type SentForm, type SubmitTarget
} from '../exports.js'
import { setFeedback } from './feedback.js'
import type { RefusedForm } from './fields.js'
import { sendConfirmation, sendItemPage } from './item.js'
import { checkFrom, linkFrom, linkItemFrom, mayRepeat } from './links.js'
import { sendListPage } from './list.js'
import { findKnownAction, getAction } from './log-entries.js'
import { answerSelection } from './many.js'
import { listShownAgain, type PageForm, readPageForm } from './page-form.js'
import { PageReads, type PageRequest } from './page-reads.js'
import { resolveEntries } from './references.js'
import { ownUrl } from './urls.js'
import { redirectTo } from './views.js'

/** Answers a form of a page: by a redirect, by the page that it is on, or by a question. */
export async function submit (
  { mount, representation, mediaType, action }: SubmitTarget,
  sent: SentForm,
  request: FastifyRequest,
  reply: FastifyReply
): Promise<void> {
  const reads = new PageReads(request)
  const responding: PageRequest = { mount, representation, mediaType, request, reply, reads }
  const form = readPageForm(sent)
  try {
    if (form.operation !== undefined) {
      await answerSelection(responding, form, readIdempotencyKey(request.headers) ?? form.key)
    } else if (form.rowChange !== undefined) await showAgain(responding, form)
    else await run(responding, action, form)
  } catch (error) {
    if (!(error instanceof Problem) || mayRepeat(error)) throw error
    // A deleted item has no page that could show it.
    if (form.operation === undefined && findKnownAction(mount, action)?.kind === 'restore') throw error
    await showAgain(responding, form, error)
  }
}

async function run (responding: PageRequest, action: string, form: PageForm): Promise<void> {
  const { mount } = responding
  await resolveEntries(responding, describeForm(mount, action).references, form)
  const id = getAction(mount, action).kind === 'create' ? undefined : readTargetId(responding)
  const command = { action, id, params: readFormParams(mount, action, form, form.resolved) }
  if (form.asksFirst) {
    if (await askForConfirmation(responding, command, form)) return
  }
  const ran = await runForm(responding, command)
  // A page cannot show later what is only in this answer.
  if (ran.hasSecrets) await ran.answer()
  else await redirect(responding, command, ran, form)
}

function readTargetId ({ mount, request }: PageRequest) {
  const { id: text = '' } = request.params as { readonly id?: string }
  const id = mount.readId(text)
  if (id === undefined) throw notFound(mount.model.singular, text)
  return id
}

/** To the item, or to the list if it was deleted or may not be read. */
async function redirect (
  responding: PageRequest, { action }: FormCommand, ran: RanCommand, form: PageForm
): Promise<void> {
  const { mount, request, reply } = responding
  const isDeleted = getAction(mount, action).kind === 'remove'
  const location = isDeleted || !await ran.mayShow()
    ? linkFrom(mount, request, form.from)
    : linkItemFrom(mount, request, ran.entry.target, checkFrom(mount, form.from))
  // A form that is not ours gets no message.
  if (form.key !== undefined && ran.isLogged) setFeedback(reply, location, ran.entry.id)
  redirectTo(responding, location)
}

/** Returns whether there was anything to confirm. */
async function askForConfirmation (
  responding: PageRequest,
  command: FormCommand,
  sent: PageForm
): Promise<boolean> {
  const { mount } = responding
  const { id } = command
  if (id === undefined) {
    throw invalidBody([{ pointer: '/_confirm', detail: 'is only for pages that ask before they change an item' }])
  }
  const preview = await previewForm(responding, command)
  if (preview === undefined) return false
  const question = { command, preview, sent }
  if (await sendConfirmation(responding, id, question)) return true
  throw notFound(mount.model.singular, id)
}

/** The page of the form, with what was entered; without a problem, with a row more or less. */
async function showAgain (responding: PageRequest, form: PageForm, problem?: Problem): Promise<void> {
  const { mount, request, reply } = responding
  const { id: text } = request.params as { id?: string }
  if (problem !== undefined) reply.code(problem.statusCode).headers(problem.headers)
  try {
    if (await sendAround(responding, text, checkFrom(mount, form.from), showRefused(responding, form, problem))) return
  } catch (error) {
    // A person who may not see the page still sees the problem; failures are logged for the host.
    const { statusCode, cause, log } = explainError(error)
    if (log !== undefined || problem === undefined) throw error
    if (statusCode >= 500) request.log.error({ err: cause ?? error }, 'The page of a refused form cannot be shown')
  }
  throw problem ?? notFound(mount.model.singular, text ?? '')
}

function showRefused (responding: PageRequest, form: PageForm, problem: Problem | undefined): RefusedForm {
  const { operation, revision, language, rowChange } = form
  const shared = {
    // Selected items belong to no other form.
    action: operation === undefined ? ownUrl(responding) : '',
    entered: listShownAgain(form),
    language,
    problem
  }
  if (problem === undefined) return { ...shared, rowChange, revision }
  const isStale = problem.code === 'precondition-failed' && revision !== undefined
  const { choices } = problem as { choices?: RefusedForm['choices'] }
  return { ...shared, since: isStale ? Number(revision) : undefined, choices }
}

/** The page that has the form: of an item, or of the list. */
async function sendAround (
  responding: PageRequest,
  text: string | undefined,
  from: string,
  refused: RefusedForm
): Promise<boolean> {
  if (text === undefined) return await sendListPage(responding, from, { refused })
  const id = responding.mount.readId(text)
  return id !== undefined && await sendItemPage(responding, id, '', { refused, from })
}
