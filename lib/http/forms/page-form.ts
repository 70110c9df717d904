import type { FastifyReply } from 'fastify'
import type { Problem } from '../../core/problems.js'
import { invalidBody, notFound } from '../../core/problems.js'
import type { Command } from '../../core/service/command.js'
import type { Outcome } from '../../core/service/execute.js'
import { preview } from '../../core/service/execute.js'
import { readTarget } from '../../core/service/record.js'
import type { FormBody } from '../body.js'
import type { Exchange } from '../mount.js'
import { collectionRead } from '../reads/collection.js'
import { itemRead } from '../reads/item.js'
import type { Read } from '../reads/read.js'
import { addFeedback, admit } from '../reads/read.js'
import { toProblem } from '../to-problem.js'
import { mayRead } from './answer.js'

/** To the item, or to the others where it was deleted or may not be read. */
export async function redirect (exchange: Exchange, outcome: Outcome): Promise<FastifyReply> {
  const { mount: { family, urls }, request, reply } = exchange
  const { record } = outcome
  const isDeleted = record.action === family.lifecycle?.deletion.operation.action
  const location = isDeleted || !await mayRead(exchange, outcome)
    ? urls.collection(request)
    : urls.item(request, readTarget(family, record))
  // A form that is not ours leads to the plain address.
  const isOurs = (request.body as FormBody).key !== undefined
  return reply.code(303).header('location', isOurs ? addFeedback(location, outcome.id) : location).send()
}

/** Asks whether it is meant, where something would be done; answers whether there was anything to ask. */
export async function askFirst (exchange: Exchange, command: Command): Promise<boolean> {
  const { mount, request, choice: { representation } } = exchange
  if (representation.interactive !== true || command.target === undefined) {
    throw invalidBody([{ pointer: '/_confirm', detail: 'is only for pages that ask before they change an item' }])
  }
  const { decision, others } = await preview(mount.family, mount.caller(request), command)
  if (decision.outcome !== 'done') return false
  const read = itemRead(mount)
  const loading = await admit(read, request, String(command.target), '', representation)
  const loaded = loading && await read.load(loading)
  if (loaded === undefined) throw notFound(mount.family.singular, command.target)
  const question = { command, decision, others, sent: request.body as FormBody }
  await read.represent(exchange, { fields: undefined, question }, loaded)
  return true
}

/** The page that the form stands on, with what was entered and what was wrong with it. */
export async function showAgain (exchange: Exchange, problem: Problem): Promise<FastifyReply> {
  const { mount, request, reply } = exchange
  const { id } = request.params as { id?: string }
  try {
    const isShown = id === undefined
      ? await showRead(exchange, collectionRead(mount), mount.family.name, problem)
      : await showRead(exchange, itemRead(mount), id, problem)
    if (isShown) return reply
  } catch (error) {
    // Who may not see the page is still told what was wrong with the form; what broke is for the host to know.
    const { statusCode, cause } = toProblem(error)
    if (statusCode >= 500) request.log.error({ err: cause ?? error }, 'The page of a refused form cannot be shown')
  }
  throw problem
}

async function showRead<Q extends object, L> (
  exchange: Exchange,
  read: Read<Q, L>,
  name: string,
  problem: Problem
): Promise<boolean> {
  const { mount, request, choice } = exchange
  const loading = await admit(read, request, name, '', choice.representation)
  if (loading === undefined) return false
  const entered = keepSome((request.body as FormBody).entries)
  const refused = { action: mount.urls.self(request).replace(/\/$/, ''), entered, problem }
  const query = { ...loading.query, refused }
  const loaded = await read.load({ ...loading, query })
  if (loaded === undefined) return false
  await read.represent(exchange, query, loaded)
  return true
}

// What nobody types by hand need not be shown again.
const maxEntered = 50_000

function keepSome (entries: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  let length = 0
  return new Map([...entries].filter(([name, text]) => (length += name.length + text.length) <= maxEntered))
}
