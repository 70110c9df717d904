import { Type } from '@sinclair/typebox'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Family } from '../../core/family/family.js'
import { intendToList } from '../../core/service/caller.js'
import { authorizeReader, type Reader } from '../../core/service/reader.js'
import type { Condition } from '../../core/storage/storage.js'
import type { Count, HomeFamily } from '../../representations/affordances.js'
import type { Mount } from '../mount.js'
import { describeAnswer, describeProblems, describeQuerystring, describeSharedRoute } from '../openapi/routes.js'
import { linkSchema, nameSchema } from '../openapi/schemas.js'
import { listLinks } from '../pages/offers.js'
import { send, tryEach } from '../reply.js'
import { readRequestedFormat, refuseParameters, splitUrl } from '../request.js'
import { type Endpoint, mountRoot, retire, type RouteSchema, type RouteSettings } from '../routes.js'

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
    mountRoot(app, settings, { schema: describeHome(mount), handler })
  }
  neighbours.hasHome ||= wanted || hasOwn
}

async function sendHome (mount: Mount, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { search } = splitUrl(request)
  const choice = mount.chooser.choose('one', readRequestedFormat(request.headers, search))
  const here = mount.neighbours.list()
  // It ends with the last of the families.
  if (here.length === 0) retire(reply, mount.retirement)
  const families = await tryEach(here, async ({ family, version, urls, caller }): Promise<HomeFamily> => {
    const reader = await authorizeReader(family, caller(request), intendToList(family))
    const href = urls.collection(request)
    const counted = await countItems(family, reader, href)
    return { name: family.name, ...(version === undefined ? {} : { version }), href, ...counted }
  })
  refuseParameters(search)
  const written = families.map(({ href, states, ...family }) => ({
    ...family,
    ...(states && { states: states.map(({ href, ...state }) => ({ ...state, links: { list: href } })) }),
    links: { list: href }
  }))
  return await send({ reply, choice, mount }, {
    kind: 'one',
    name: 'home',
    document: { families: written, links: { self: mount.urls.home(request) } },
    home: { families, site: { families: listLinks(families, undefined) } }
  })
}

/** The maximum to count; no more items are read. */
const enough = 1000

async function countItems (
  family: Family,
  reader: Reader,
  list: string
): Promise<Pick<HomeFamily, keyof Count | 'states'>> {
  const total = await count(reader, [])
  const { states, hasState } = listCounted(family)
  if (states.length === 0) return total
  return {
    ...total,
    states: await Promise.all(states.map(async ({ state, where, filter }) => ({
      state,
      ...await count(reader, where),
      href: `${list}?${hasState ? filter : `state=${encodeURIComponent(state)}`}`
    })))
  }
}

function listCounted ({ fields, presentation }: Family) {
  return {
    states: Array.from(presentation.states, ([state, { where = [], filter = '' }]) => ({ state, where, filter }))
      .filter(({ where }) => where.length > 0),
    // Then its values are meant by the parameter.
    hasState: fields.some(({ name }) => name === 'state')
  }
}

async function count (reader: Reader, where: readonly Condition[]): Promise<Count> {
  const query = { where, order: [{ field: 'id', descending: false }] }
  const { items: [oneMore] } = await reader.find({ ...query, offset: enough, limit: 1, count: false })
  if (oneMore !== undefined) return { atLeast: enough }
  const { total } = await reader.find({ ...query, offset: 0, limit: 0, count: true })
  return { total: total as number }
}

function describeHome (mount: Mount): RouteSchema {
  const counts = {
    total: Type.Optional(Type.Integer({ minimum: 0 })),
    atLeast: Type.Optional(Type.Integer({ description: 'Instead of total, where there are more' }))
  }
  const links = Type.Object({ list: linkSchema })
  const state = Type.Object({ state: Type.String(), ...counts, links })
  const family = Type.Object({
    name: Type.String(),
    version: Type.Optional(Type.String()),
    ...counts,
    states: Type.Optional(Type.Array(state, { description: 'Of a family whose items are in one of a few states' })),
    links
  })
  const home = nameSchema(mount, 'Home', Type.Object({
    families: Type.Array(family), links: Type.Object({ self: linkSchema })
  }))
  return describeSharedRoute(mount, 'home', 'read-home', {
    summary: 'Read which families there are',
    description: 'Those that the caller may list, with how many items each has, and how many in each state.',
    querystring: describeQuerystring(mount, 'format'),
    response: {
      200: describeAnswer(mount, 'one', 'The families', home),
      ...describeProblems(mount, 'invalid-query', 'not-acceptable')
    }
  })
}
