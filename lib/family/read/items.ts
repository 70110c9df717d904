import type { FastifyReply, FastifyRequest } from 'fastify'
import { judgeRead } from '../../http/conditional.js'
import { writeHttpDate } from '../../http/dates.js'
import { etagOf } from '../../http/etag.js'
import type { Choice } from '../../http/negotiate.js'
import { Problem } from '../../problems.js'
import type { Endpoint } from '../../http/routes.js'
import type { OneView } from '../../representations/representation.js'
import type { Query, Storage, Stored } from '../../storage/storage.js'
import { visible } from '../mount/access.js'
import type { Mount } from '../mount/mount.js'
import { splitUrl } from '../mount/urls.js'
import { describeList, describeOne } from '../openapi/reads.js'
import { withoutSuffix } from './links.js'
import { offerOfItem, offerOfPage } from './offers.js'
import type { Submission } from './offers.js'
import { pick, sendPage } from './pages.js'
import { send, wishOf } from './send.js'
import { readSuffixed, understand, understandOne } from './understand.js'

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
  const choice = mount.chooser.choose('page', wishOf(request, suffix))
  const { search } = splitUrl(request)
  try {
    return await showPage(mount, request, reply, choice, search)
  } catch (error) {
    if (choice.representation.interactive !== true || !(error instanceof Problem) || error.code !== 'invalid-query') throw error
    // To a person: the page before anything was filtered, and what was wrong beside what was entered.
    const entered = new Map(new URLSearchParams(search))
    return await showPage(mount, request, reply.code(error.statusCode), choice, '', { action: undefined, entered, problem: error })
  }
}

/** Answers with a page of the family, or shows it again around a form that was refused. */
export async function showPage (mount: Mount, request: FastifyRequest, reply: FastifyReply, choice: Choice, search: string, submission?: Submission): Promise<FastifyReply> {
  const { family, urls, emptyList } = mount
  const reading = understand(mount.grammar, search, choice.representation)
  const { where = [] } = await mount.authorize(request, { family: family.name, action: 'list', id: undefined, params: {} })
  const storage = await mount.storage(request)
  const members = reading.fields ?? family.members
  const narrowed = (query: Query) => where.length === 0 ? query : { ...query, where: [...query.where, ...where] }
  return await sendPage(request, reply, choice, reading, {
    name: family.name,
    singular: family.singular,
    path: urls.self(request),
    members,
    emptyList,
    find: query => storage.find(family.name, narrowed(query)),
    findText: storage.findText && (query => (storage as Required<Storage>).findText(family.name, narrowed(query), members)),
    show: pick(members),
    offer: (items, hasNext) => offerOfPage(mount, request, {
      fields: family.fields,
      path: withoutSuffix(urls.self(request), (request.params as { extension?: string }).extension),
      reading,
      hasNext,
      representations: mount.representations,
      address: index => urls.item(request, (items[index] as Stored).id)
    }, submission)
  })
}

async function readOne (mount: Mount, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { family } = mount
  const text = (request.params as { id: string }).id
  const { item, suffix } = await readSuffixed(text, async name => {
    const id = family.readId(name)
    if (id === undefined) return undefined
    const grant = await mount.authorize(request, { family: family.name, action: 'read', id, params: {} })
    return await visible(await mount.storage(request), family.name, id, grant)
  }) ?? {}
  if (item === undefined) throw new Problem('not-found', `There is no ${family.singular} "${text}"`)
  const choice = mount.chooser.choose('one', wishOf(request, suffix))
  return await sendOne(request, reply, choice, item, viewOfItem(mount, request, choice, item, splitUrl(request).search))
}

/** An item as it is shown, also again around a form that was refused. */
export function viewOfItem (mount: Mount, request: FastifyRequest, { representation }: Choice, item: Stored, search: string, submission?: Submission): OneView {
  const { fields = mount.family.members } = search === '' ? {} : understandOne(mount.grammar, search, representation)
  return {
    kind: 'one',
    name: mount.family.singular,
    document: pick(fields)(item),
    affordances: () => offerOfItem(mount, request, item, submission)
  }
}

/** Answers with one resource, or with what the request's conditions ask for in its place. */
export async function sendOne (request: FastifyRequest, reply: FastifyReply, choice: Choice, item: Stored, view: OneView): Promise<FastifyReply> {
  const etag = etagOf(item, view.document, choice.representation)
  const verdict = judgeRead(request.headers, { etag, updatedAt: item.updatedAt })
  if (verdict === 'failed') throw new Problem('precondition-failed', `The ${view.name} is not what the precondition says; it is at revision ${item.revision}`)
  reply.header('etag', etag).header('last-modified', writeHttpDate(item.updatedAt))
  if (verdict === 'go') return await send(reply, choice, view)
  return reply.code(304).header('vary', 'Accept').header('cache-control', 'no-cache').send()
}
