import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Family } from '../../core/family/family.js'
import type { Tone } from '../../core/family/presentation.js'
import { intendToList } from '../../core/service/caller.js'
import { authorizeReader, type Reader } from '../../core/service/reader.js'
import type { Condition } from '../../core/storage/storage.js'
import type { Members } from '../../core/values/json.js'
import type { Mount } from '../mount.js'
import { send, tryEach } from '../reply.js'
import { readRequestedFormat, refuseParameters, splitUrl } from '../request.js'
import { type Endpoint, mountRoot, retire, type RouteSettings } from '../routes.js'

/** `GET {prefix}/`, once for all families, and only if the host has no such route. By default not at the root. */
export function mountHome (
  app: FastifyInstance,
  mount: Mount,
  settings: RouteSettings,
  wanted = mount.prefix !== ''
): void {
  const { neighbours, prefix } = mount
  const hasOwn = [prefix, `${prefix}/`].some(url => url !== '' && app.hasRoute({ method: 'GET', url }))
  if (wanted && !hasOwn) {
    const handler: Endpoint['handler'] = (request, reply) => sendHome(mount, request, reply)
    mountRoot(app, settings, { kind: 'home', isShared: true }, handler)
  }
  neighbours.hasHome ||= wanted || hasOwn
}

async function sendHome (mount: Mount, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { search } = splitUrl(request)
  const choice = mount.chooser.choose('one', readRequestedFormat(request.headers, search))
  const { representation: { respond } } = choice
  const { shown } = mount
  if (await respond?.({ kind: 'home', mount: shown, ...choice, search }, request, reply) === true) return reply
  const { document } = await loadHome(mount, request, reply)
  return await send({ reply, choice, mount }, { kind: 'one', name: 'home', document, mount: shown })
}

/** What a home shows: its families, and the document of other representations. */
export interface CountedHome {
  readonly families: readonly CountedFamily[]
  readonly document: Members
  /** By which the items were counted. */
  readonly readers: readonly (readonly [Mount, Reader])[]
}

/** The families that the caller may list. */
export async function loadHome (mount: Mount, request: FastifyRequest, reply: FastifyReply): Promise<CountedHome> {
  const here = mount.neighbours.list()
  // It ends with the last of the families.
  if (here.length === 0) retire(reply, mount.retirement)
  const found = await tryEach(here, async whole => {
    const { version, urls, caller } = whole
    const reader = await authorizeReader(whole.family, caller(request), intendToList(whole.family))
    const { family, family: { name, presentation: { labels } } } = reader
    const mount = whole.as(family)
    const href = urls.collection(request)
    const counted = await countItems(family, reader, href)
    const shown: CountedFamily = { name, labels, ...(version === undefined ? {} : { version }), href, ...counted }
    return { shown, by: [mount, reader] as const }
  })
  const families = found.map(({ shown }) => shown)
  refuseParameters(splitUrl(request).search)
  const written = families.map(({ href, states, labels, ...family }) => ({
    ...family,
    ...(states && { states: states.map(({ href, tone, ...state }) => ({ ...state, links: { list: href } })) }),
    links: { list: href }
  }))
  const document = { families: written, links: { self: mount.urls.home(request) } }
  return { families, document, readers: found.map(({ by }) => by) }
}

/** The number of items: exact or, if there are very many, a lower bound. */
export interface Count {
  readonly total?: number | undefined
  readonly atLeast?: number | undefined
}

/** A family with its items. */
export interface CountedFamily extends Count {
  readonly name: string
  readonly labels: Family['presentation']['labels']
  readonly version?: string
  readonly href: string
  readonly states?: readonly (Count & { readonly state: string, readonly tone: Tone, readonly href: string })[]
}

/** The maximum to count; no more items are read. */
const enough = 1000

async function countItems (
  family: Family,
  reader: Reader,
  list: string
): Promise<Pick<CountedFamily, keyof Count | 'states'>> {
  const total = await countUpTo(reader, [], enough)
  const states = Array.from(family.presentation.states, ([state, { where = [], filter = '', tone }]) =>
    ({ state, tone, where, filter })).filter(({ where }) => where.length > 0)
  // Then its values are meant by the parameter.
  const hasState = family.fields.some(({ name }) => name === 'state')
  if (states.length === 0) return total
  return {
    ...total,
    states: await Promise.all(states.map(async ({ state, tone, where, filter }) => ({
      state,
      tone,
      ...await countUpTo(reader, where, enough),
      href: `${list}?${hasState ? filter : `state=${encodeURIComponent(state)}`}`
    })))
  }
}

/** No more than `most` items are counted. */
export async function countUpTo (reader: Reader, where: readonly Condition[], most: number): Promise<Count> {
  const query = { where, order: [{ field: 'id', descending: false }] }
  const { items: [oneMore] } = await reader.find({ ...query, offset: most, limit: 1, count: false })
  if (oneMore !== undefined) return { atLeast: most }
  const { total } = await reader.find({ ...query, offset: 0, limit: 0, count: true })
  return { total: total as number }
}
