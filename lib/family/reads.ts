import type { FastifyReply, FastifyRequest } from 'fastify'
import { judgeRead } from '../http/conditional.js'
import { writeHttpDate } from '../http/dates.js'
import { etagOf } from '../http/etag.js'
import type { Choice } from '../http/negotiate.js'
import { Problem } from '../http/problems.js'
import type { Endpoint } from '../http/routes.js'
import type { Reading } from '../query/grammar.js'
import type { OneView } from '../representations/representation.js'
import type { Id, Stored } from '../storage/storage.js'
import { visible } from './access.js'
import { send, wishOf } from './answer.js'
import { describeList, describeOne } from './describe.js'
import type { Mount } from './mount.js'
import { pick, sendPage, withOneMore } from './pages.js'
import { splitUrl } from './urls.js'

/** The endpoints that read a family: its pages and its items, each also with a path suffix that names the representation. */
export function readEndpoints (mount: Mount): Endpoint[] {
  const { home } = mount
  return [
    { method: 'GET', path: home, schema: describeList(mount), handler: (request, reply) => readPage(mount, request, reply) },
    {
      method: 'GET',
      path: `${home}.:extension`,
      schema: { hide: true },
      handler: (request, reply) => readPage(mount, request, reply, (request.params as { extension: string }).extension)
    },
    { method: 'GET', path: `${home}/:id`, schema: describeOne(mount), handler: (request, reply) => readOne(mount, request, reply) }
  ]
}

async function readPage (mount: Mount, request: FastifyRequest, reply: FastifyReply, suffix?: string): Promise<FastifyReply> {
  const { family, grammar, chooser, urls, emptyList } = mount
  const reading = understand(grammar.parse(splitUrl(request).search))
  const choice = chooser.choose('page', { ...wishOf(request), suffix, format: reading.format })
  const { where = [] } = await mount.authorize(request, { family: family.name, action: 'list', id: undefined, params: {} })
  const storage = await mount.storage(request)
  const query = withOneMore(reading)
  const found = await storage.find(family.name, { ...query, where: [...query.where, ...where] })
  return sendPage(reply, choice, reading, found, {
    name: family.name,
    singular: family.singular,
    path: urls.self(request),
    emptyList,
    show: pick(reading.fields ?? family.members)
  })
}

async function readOne (mount: Mount, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { family, chooser } = mount
  const reading = understand(mount.grammar.parse(splitUrl(request).search))
  refuseFilters(reading)
  const { item, suffix } = await locate(mount, request, (request.params as { id: string }).id)
  const choice = chooser.choose('one', { ...wishOf(request), suffix, format: reading.format })
  const document = pick(reading.fields ?? family.members)(item)
  return sendOne(request, reply, choice, item, { kind: 'one', name: family.singular, document })
}

/** Answers with one resource, or with what the request's conditions ask for in its place. */
export function sendOne (request: FastifyRequest, reply: FastifyReply, choice: Choice, item: Stored, view: OneView): FastifyReply {
  const etag = etagOf(item, view.document, choice.representation)
  const verdict = judgeRead(request.headers, { etag, updatedAt: item.updatedAt })
  if (verdict === 'failed') throw new Problem('precondition-failed', `The ${view.name} is not what the precondition says; it is at revision ${item.revision}`)
  reply.header('etag', etag).header('last-modified', writeHttpDate(item.updatedAt))
  if (verdict === 'go') return send(reply, choice, view)
  return reply.code(304).header('vary', 'Accept').header('cache-control', 'no-cache').send()
}

// An id may itself end like a path suffix, so the whole text is tried first.
async function locate (mount: Mount, request: FastifyRequest, text: string): Promise<{ item: Stored, suffix: string | undefined }> {
  const { family } = mount
  const dot = text.lastIndexOf('.')
  const readings: { id: Id | undefined, suffix: string | undefined }[] = [{ id: family.readId(text), suffix: undefined }]
  if (dot > 0) readings.push({ id: family.readId(text.slice(0, dot)), suffix: text.slice(dot + 1) })
  for (const { id, suffix } of readings) {
    if (id === undefined) continue
    const grant = await mount.authorize(request, { family: family.name, action: 'read', id, params: {} })
    const item = await visible(await mount.storage(request), family.name, id, grant)
    if (item !== undefined) return { item, suffix }
  }
  throw new Problem('not-found', `There is no ${family.singular} "${text}"`)
}

/** A query that was understood, or the problem that names all that is wrong with it. */
export function understand (parsed: ReturnType<Mount['grammar']['parse']>): Reading {
  if (!('flaws' in parsed)) return parsed
  const [first, ...others] = parsed.flaws
  throw new Problem('invalid-query', `${first?.detail}${others.length === 0 ? '' : ` (and ${others.length} more)`}`, { errors: parsed.flaws })
}

function refuseFilters ({ parameters }: Reading): void {
  const errors = parameters
    .filter(({ name }) => name !== 'fields' && name !== 'format')
    .map(({ name }) => ({ parameter: name, detail: 'One item is read here; allowed are fields and format' }))
  if (errors.length > 0) throw new Problem('invalid-query', errors[0]?.detail as string, { errors })
}
