import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Family } from '../../core/family/family.js'
import { hideIn } from '../../core/family/narrow.js'
import { invalidBody, preconditionFailed, preconditionRequired } from '../../core/problems.js'
import type { Caller } from '../../core/service/caller.js'
import type { Command } from '../../core/service/decide.js'
import { execute, type Outcome } from '../../core/service/execute.js'
import { findReadable } from '../../core/service/reader.js'
import type { Stored } from '../../core/storage/storage.js'
import { FormBody, readKey } from '../body.js'
import { checkWriteConditions, explainTags, markItem } from '../conditional.js'
import { type Exchange, logOutcome, type Mount, showItem } from '../mount.js'
import { linkCommand } from '../reads/log.js'
import { seenHeader } from '../reads/read.js'
import { sendPreferred } from '../reply.js'
import {
  readParameter, readPreference, readRequestedFormat, refuseCrossSite, refuseParameters, splitUrl
} from '../request.js'
import type { Endpoint } from '../routes.js'

export interface Write {
  /** What a form can be sent for: the action. */
  readonly submits?: string
  /** Whether the item is the answer, so that a replay needs it as it was. */
  readonly keepsItem?: true
  read (request: FastifyRequest): SentCommand
  answer (exchange: Exchange, outcome: Outcome): FastifyReply | Promise<FastifyReply>
}

type SentCommand = Omit<Command, 'key' | 'precondition' | 'keepsItem'>

/** The pipeline of every write. */
export function writeHandler (mount: Mount, write: Write): Endpoint['handler'] {
  return async (request, reply) => {
    const exchange = startWrite(mount, request, reply)
    const { body } = request
    const form = body instanceof FormBody ? body : undefined
    const { submits } = write
    const { representation: { submit } } = exchange.choice
    if (form !== undefined && submits !== undefined && submit !== undefined) {
      const id = mount.family.readId(readParameter(request))
      const target = { action: submits, mount: mount.shown, ...exchange.choice, ...id !== undefined && { id } }
      await submit(target, form, request, reply)
      return reply
    }
    const command = makeCommand(exchange, write.read(request), write.keepsItem)
    if (form?.asksFirst === true) {
      throw invalidBody([{ pointer: '/_confirm', detail: 'is only for pages that ask before they change an item' }])
    }
    return await write.answer(exchange, await runCommand(exchange, command))
  }
}

/** With what the headers, or the members that our forms have, say about it. */
export function makeCommand (
  { mount, request }: Pick<Exchange, 'mount' | 'request'>, sent: SentCommand, keepsItem?: true
): Command {
  const { headers, body } = request
  const { action, target, params, id, interpret, content, named, at } = sent
  // Our forms have the revision that they were shown with.
  const revision = body instanceof FormBody ? body.revision : undefined
  const conditions = revision === undefined ? headers : { ...headers, 'if-match': `"${revision}"` }
  const isConditional = mount.preconditions === 'required' || conditions['if-match'] !== undefined ||
    conditions['if-none-match'] !== undefined || conditions['if-unmodified-since'] !== undefined
  const precondition = isConditional ? makePrecondition(mount, conditions, id === undefined) : undefined
  // An id in the path counts, whatever the header has.
  const key = id === undefined ? readKey(request) : undefined
  return { action, target, params, id, key, interpret, content, named, at, keepsItem, precondition }
}

/** Sets the headers that say how it went. */
export async function runCommand (exchange: Exchange, command: Command): Promise<Outcome> {
  const { mount, request, reply } = exchange
  const caller = mount.caller(request)
  const outcome = await execute(mount.family, caller, command)
  logOutcome(exchange, outcome)
  if (outcome.replayed) reply.header('idempotent-replayed', 'true')
  const sending = sendSeen(reply, caller)
  if (sending !== undefined) await sending
  if (outcome.problem !== undefined) throw outcome.problem
  return outcome
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

/** A form of operations: its routes, and how they are read and answered. */
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
  { path, method, documented, consumes, word, accepts, ...write }: Write & Omit<FormEndpoint, 'handler'>
): FormEndpoint {
  return {
    method,
    path: mount.home + path,
    handler: writeHandler(mount, write),
    ...(documented && { documented }),
    ...(consumes && { consumes }),
    ...(word && { word }),
    ...(accepts && { accepts })
  }
}

/** In the form that is described in full, each operation has a path in documents; the others show one for all words. */
export function documentWord (
  { recommendedForm }: Mount, form: string, action: string, word: string
): Pick<Endpoint, 'documented' | 'word'> {
  return { documented: { kind: 'operation', forms: [form], action }, ...form !== recommendedForm && { word } }
}

function answerItem (exchange: Exchange, outcome: Outcome): FastifyReply | Promise<FastifyReply> {
  const { item, loadItem, ...done } = outcome
  // A replay of a command that was first sent in a form which is not answered by the item.
  if (item === undefined && loadItem !== undefined) {
    return loadItem().then(item => answerItem(exchange, { ...done, item }))
  }
  if (item === undefined) return sendPreferred(exchange, 200, '', undefined)
  exchange.reply.header('content-location', exchange.mount.urls.item(exchange.request, item.id))
  return sendItem(exchange, 200, { ...outcome, item })
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
  outcome: Outcome & { readonly item: Stored },
  setHeaders?: (mount: Mount) => void
): FastifyReply | Promise<FastifyReply> {
  const { mount: { family, isGuarded, caller }, request } = exchange
  if (!isGuarded || readPreference(request.headers) === 'minimal') return sendShown(family)
  return findReadable({ family, caller: caller(request) }, outcome).then(sendShown)

  /** @param shown the family as the caller may see it */
  function sendShown (shown: Family | undefined): FastifyReply | Promise<FastifyReply> {
    const mount = exchange.mount.as(shown ?? family)
    setHeaders?.(mount)
    const { item, secrets } = outcome
    const document = shown && { ...showItem(mount, request, hideIn(shown, item)), ...hideIn(shown, secrets ?? {}) }
    const seen = mount === exchange.mount ? exchange : { ...exchange, mount }
    return sendPreferred(seen, status, family.singular, document)
  }
}
