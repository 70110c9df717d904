import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { invalidBody, notFound, preconditionFailed, preconditionRequired, Problem } from '../../core/problems.js'
import type { Caller } from '../../core/service/caller.js'
import type { Command } from '../../core/service/decide.js'
import { execute, type Outcome, preview } from '../../core/service/execute.js'
import { mayRead } from '../../core/service/reader.js'
import { readTarget } from '../../core/service/record.js'
import type { Members } from '../../core/values/json.js'
import { FormBody, readKey, takeShort } from '../body.js'
import { checkWriteConditions, explainTags, markItem } from '../conditional.js'
import { type Exchange, logOutcome, type Mount, showItem } from '../mount.js'
import { describeForm, describeItemRoute, describeItemWrite, type Description } from '../openapi/routes.js'
import type { RefusedForm } from '../pages/form-fields.js'
import { answerSelection } from '../pages/many.js'
import { checkFrom, linkFrom, linkItemFrom, mayRepeat } from '../pages/offers.js'
import { type ReferenceNames, resolveEntries } from '../pages/references.js'
import { collectionRead } from '../reads/collection.js'
import { itemRead } from '../reads/item.js'
import { linkCommand } from '../reads/log.js'
import { admit, type Read, seenHeader, setFeedback } from '../reads/read.js'
import { sendPreferred, toProblem } from '../reply.js'
import { readPreference, readRequestedFormat, refuseCrossSite, refuseParameters, splitUrl } from '../request.js'
import type { Endpoint } from '../routes.js'

export interface Write {
  /** Members of a form that name items; people enter a part of their titles. */
  readonly references?: ReferenceNames
  /** Whether the item is the answer, so that a replay needs it as it was. */
  readonly keepsItem?: true
  read (request: FastifyRequest): Omit<Command, 'key' | 'precondition' | 'keepsItem'>
  answer (exchange: Exchange, outcome: Outcome): FastifyReply | Promise<FastifyReply>
}

/** The pipeline of every write. */
export function writeHandler (mount: Mount, write: Write): Endpoint['handler'] {
  return async (request, reply) => {
    const exchange = startWrite(mount, request, reply)
    const { choice } = exchange
    const { headers, body } = request
    const form = body instanceof FormBody ? body : undefined
    // A form of a page is answered by a page.
    const isFromPage = form !== undefined && choice.representation.interactive === true
    try {
      if (isFromPage && form.operation !== undefined) return await answerSelection(exchange, form, readKey(request))
      if (isFromPage && form.addsRows) return await showAgain(exchange, form)
      if (isFromPage && write.references !== undefined) await resolveEntries(exchange, write.references, form)
      const { action, target, params, id, interpret, content } = write.read(request)
      // Our forms have the revision that they were shown with.
      const conditions = form?.revision === undefined ? headers : { ...headers, 'if-match': `"${form.revision}"` }
      const isConditional = mount.preconditions === 'required' || conditions['if-match'] !== undefined ||
        conditions['if-none-match'] !== undefined || conditions['if-unmodified-since'] !== undefined
      const precondition = isConditional ? makePrecondition(mount, conditions, id === undefined) : undefined
      const command = {
        action,
        target,
        params,
        id,
        // An id in the path counts, whatever the header has.
        key: id === undefined ? readKey(request) : undefined,
        interpret,
        content,
        keepsItem: write.keepsItem,
        precondition
      }
      if (form?.asksFirst === true && await askForConfirmation(exchange, command, form)) return reply
      const caller = mount.caller(request)
      const outcome = await execute(mount.family, caller, command)
      logOutcome(exchange, outcome)
      if (outcome.replayed) reply.header('idempotent-replayed', 'true')
      const sending = sendSeen(reply, caller)
      if (sending !== undefined) await sending
      if (outcome.problem !== undefined) throw outcome.problem
      // A page cannot show later what is only in this answer.
      const isRedirected = isFromPage && outcome.secrets === undefined
      return await (isRedirected ? redirect(exchange, outcome, form) : write.answer(exchange, outcome))
    } catch (error) {
      if (!isFromPage || !(error instanceof Problem) || mayRepeat(error)) throw error
      return await showAgain(exchange, form, error)
    }
  }
}

export function startWrite (mount: Mount, request: FastifyRequest, reply: FastifyReply): Exchange {
  refuseCrossSite(request, mount.trustedOrigins)
  const { search } = splitUrl(request)
  refuseParameters(search)
  const choice = mount.chooser.choose('one', readRequestedFormat(request.headers, search))
  return { mount, request, reply, choice }
}

/** After a command, even one that was replayed: what replicas must have for this client. */
export function sendSeen (reply: FastifyReply, caller: Caller): Promise<void> | undefined {
  const storage = caller.storage()
  if (!(storage instanceof Promise) && storage.seen === undefined) return undefined
  return Promise.resolve(storage).then(async ({ seen }) => {
    const token = await seen?.()
    if (token !== undefined) reply.header(seenHeader, token)
  })
}

/** `isTarget`: the target of the request is the item itself. */
function makePrecondition (
  { family, preconditions }: Mount,
  conditions: IncomingHttpHeaders,
  isTarget: boolean
): Command['precondition'] {
  return current => {
    if (preconditions === 'required' && conditions['if-match'] === undefined) {
      throw preconditionRequired(family.singular)
    }
    if (checkWriteConditions(conditions, current, isTarget, markItem(family, current))) return
    const { revision } = current
    throw preconditionFailed(family.singular, revision, explainTags(conditions, revision))
  }
}

/** A form of operations: its routes, how they are read and answered, and their descriptions. */
export interface Form<N extends string = string> {
  readonly name: N
  endpoints (mount: Mount): FormEndpoint[]
}

export interface FormEndpoint extends Endpoint {
  /** Whether a body is in this form; if no form accepts it, the last is used. Forms may share a path and method. */
  accepts? (body: unknown): boolean
}

/** `path` is relative to the collection. */
export function makeWriteEndpoint (
  mount: Mount,
  { path, method, schema, word, accepts, ...write }: Write & Omit<FormEndpoint, 'handler'>
): FormEndpoint {
  const handler = writeHandler(mount, write)
  return { method, path: mount.home + path, schema, handler, ...(word && { word }), ...(accepts && { accepts }) }
}

export function makeItemEndpoint (
  mount: Mount,
  form: string,
  name: string,
  endpoint: Pick<Write, 'read'> & Pick<FormEndpoint, 'path' | 'method' | 'accepts'>,
  description: Description
): FormEndpoint {
  const full = { ...description, ...describeItemWrite(mount, form) }
  const schema = describeForm(mount, form, describeItemRoute(mount, 'operations', name, full))
  return makeWriteEndpoint(mount, { ...endpoint, ...answeredByItem, schema })
}

function answerItem (exchange: Exchange, outcome: Outcome): FastifyReply | Promise<FastifyReply> {
  const { item, loadItem, ...done } = outcome
  // A replay of a command that was first sent in a form which is not answered by the item.
  if (item === undefined && loadItem !== undefined) {
    return loadItem().then(item => answerItem(exchange, { ...done, item }))
  }
  if (item === undefined) return sendPreferred(exchange, 200, '', undefined)
  const document = showItem(exchange.mount, exchange.request, item)
  exchange.reply.header('content-location', document.links.self)
  return sendItem(exchange, 200, outcome, { ...document, ...outcome.secrets })
}

/** Of writes whose answer is the item. */
export const answeredByItem: Pick<Write, 'keepsItem' | 'answer'> = { keepsItem: true, answer: answerItem }

export function answerEntry (
  exchange: Exchange,
  outcome: Outcome,
  isNew = !outcome.replayed,
  noun?: string
): FastifyReply | Promise<FastifyReply> {
  const document = linkCommand(exchange, outcome, noun)
  if (isNew) exchange.reply.header('location', document.links.self)
  return sendPreferred(exchange, isNew ? 201 : 200, 'command', { ...document, ...outcome.secrets })
}

export function sendItem (
  exchange: Exchange,
  status: 200 | 201,
  outcome: Outcome,
  document: Members
): FastifyReply | Promise<FastifyReply> {
  const { mount: { family, family: { singular }, isGuarded, caller }, request } = exchange
  if (!isGuarded || readPreference(request.headers) === 'minimal') {
    return sendPreferred(exchange, status, singular, document)
  }
  return mayRead({ family, caller: caller(request) }, outcome)
    .then(isShown => sendPreferred(exchange, status, singular, isShown ? document : undefined))
}

/** To the item, or to the list if it was deleted or may not be read. */
async function redirect (exchange: Exchange, outcome: Outcome, form: FormBody): Promise<FastifyReply> {
  const { mount, mount: { family, caller }, request, reply } = exchange
  const { record } = outcome
  const isDeleted = record.action === family.lifecycle?.deletion?.operation.action
  const location = isDeleted || !await mayRead({ family, caller: caller(request) }, outcome)
    ? linkFrom(mount, request, form.from)
    : linkItemFrom(mount, request, readTarget(family, record), checkFrom(mount, form.from))
  // A form that is not ours gets no message.
  if (form.key !== undefined && outcome.id !== undefined) setFeedback(reply, location, outcome.id)
  return reply.code(303).header('location', location).send()
}

/** Returns whether there was anything to confirm. */
async function askForConfirmation (exchange: Exchange, command: Command, sent: FormBody): Promise<boolean> {
  const { mount, request, choice: { representation } } = exchange
  const { target } = command
  if (representation.interactive !== true || target === undefined) {
    throw invalidBody([{ pointer: '/_confirm', detail: 'is only for pages that ask before they change an item' }])
  }
  const { decision, others } = await preview(mount.family, mount.caller(request), command)
  if (decision.outcome !== 'done') return false
  const question = { command, decision, others, sent }
  const from = checkFrom(mount, sent.from)
  if (await showRead(exchange, itemRead(mount), String(target), { question, from })) return true
  throw notFound(mount.family.singular, target)
}

/** The page of the form, with what was entered; without a problem, with more rows. */
async function showAgain (exchange: Exchange, form: FormBody, problem?: Problem): Promise<FastifyReply> {
  const { mount, request, reply } = exchange
  const { id } = request.params as { id?: string }
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
    const isShown = id === undefined
      ? await showRead(exchange, collectionRead(mount), '', { refused }, checkFrom(mount, form.from))
      : await showRead(exchange, itemRead(mount), id, { refused, from: checkFrom(mount, form.from) })
    if (isShown) return reply
  } catch (error) {
    // A person who may not see the page still sees the problem; failures are logged for the host.
    const { statusCode, cause, log } = toProblem(error)
    if (log !== undefined || problem === undefined) throw error
    if (statusCode >= 500) request.log.error({ err: cause ?? error }, 'The page of a refused form cannot be shown')
  }
  throw problem ?? notFound(mount.family.singular, id ?? '')
}

/** Returns whether the page exists. */
async function showRead<Q extends object> (
  exchange: Exchange,
  read: Read<Q>,
  name: string,
  also: Partial<Q>,
  search = ''
): Promise<boolean> {
  const loading = await admit(read, exchange.request, name, search, exchange.choice.representation)
  const answer = loading && await read.load({ ...loading, query: { ...loading.query, ...also } })
  if (answer === undefined) return false
  await answer(exchange)
  return true
}
