import type { FastifyReply } from 'fastify'
import { FormBody } from '../../http/form.js'
import type { Problem } from '../../problems.js'
import { targetOf } from '../model/record.js'
import { visible } from '../mount/access.js'
import { showPage, viewOfItem } from '../read/items.js'
import { send } from '../read/send.js'
import type { Exchange } from './exchange.js'
import type { Result } from './execute.js'

/** Whether a person entered this in a form of a page, and is to see a page again. */
export function isEntered ({ request, choice }: Exchange): boolean {
  return request.body instanceof FormBody && choice.representation.interactive === true
}

/** To the item, or to those that are left where it was deleted. */
export function redirect ({ mount: { family, urls }, request, reply }: Exchange, { record }: Result): FastifyReply {
  const deleted = record.action === family.lifecycle?.deletion.operation.action
  return reply.code(303).header('location', deleted ? urls.collection(request) : urls.item(request, targetOf(family, record))).send()
}

/** The page that the form stands on, with what was entered and what was wrong with it. */
export async function showAgain (exchange: Exchange, problem: Problem): Promise<FastifyReply> {
  const { mount, request, reply, choice } = exchange
  const { family } = mount
  const { entries } = request.body as FormBody
  const submission = { action: mount.urls.self(request).replace(/\/$/, ''), entered: entries, problem }
  const { id: text } = request.params as { id?: string }
  reply.code(problem.statusCode).headers(problem.headers)
  if (text === undefined) return await showPage(mount, request, reply, choice, '', submission)

  const id = family.readId(text)
  const grant = await mount.authorize(request, { family: family.name, action: 'read', id, params: {} })
  const item = id === undefined ? undefined : await visible(await mount.storage(request), family.name, id, grant)
  if (item === undefined) throw problem
  return await send(reply, choice, viewOfItem(mount, request, choice, item, '', submission))
}
