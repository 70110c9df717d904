import { Type } from '@sinclair/typebox'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { authorizeReader } from '../../core/service/reader.js'
import type { HomeFamily, Site } from '../../representations/representation.js'
import type { Mount } from '../mount.js'
import { describeAnswer } from '../openapi/answers.js'
import { describeLink } from '../openapi/items.js'
import { nameSchema } from '../openapi/mark.js'
import { describeFormat } from '../openapi/parameters.js'
import { describeProblems } from '../openapi/problems.js'
import { describeCommonRoute } from '../openapi/route.js'
import { findSite } from '../pages/site.js'
import { send } from '../reply.js'
import { readWish, refuseParameters, splitUrl } from '../request.js'
import { retire } from '../retirement.js'
import type { RouteSchema, RouteSettings } from '../routes.js'
import { mountRoot } from '../routes.js'
import { toProblem } from '../to-problem.js'
import { countItems } from './count-items.js'

/**
 * `GET {prefix}/`: the families at the prefix, once for all of them, and only where the host has nothing there.
 *
 * @param wanted what the host says; where it says nothing, the root of the server itself is left alone
 */
export function mountHome (
  app: FastifyInstance,
  mount: Mount,
  settings: RouteSettings,
  wanted = mount.prefix !== ''
): void {
  const { neighbours, prefix } = mount
  const hasOwn = [prefix, `${prefix}/`].some(url => url !== '' && app.hasRoute({ method: 'GET', url }))
  if (wanted && !hasOwn) {
    const handler = (request: FastifyRequest, reply: FastifyReply) => sendHome(mount, request, reply)
    mountRoot(app, { method: 'GET', path: '/', schema: describeHome(mount), handler }, settings)
  }
  neighbours.hasHome ||= wanted || hasOwn
}

async function sendHome (mount: Mount, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const choice = mount.chooser.choose('one', readWish(request))
  const here = mount.neighbours.list()
  // All have ended, and so has this.
  if (here.length === 0) retire(reply, mount.retirement)
  const families = await listFamilies(here, request)
  refuseParameters(splitUrl(request).search)
  const self = mount.urls.home(request)
  return await send({ reply, choice, mount }, {
    kind: 'one',
    name: 'home',
    document: { families: families.map(writeFamily), links: { self } },
    home: { families, site: await findSiteOfHome(mount, request, families) }
  })
}

// It belongs to no family, not even to the one that mounts it, which is led to only where it is listed.
async function findSiteOfHome (mount: Mount, request: FastifyRequest, listed: readonly HomeFamily[]): Promise<Site> {
  const { families } = await findSite({ mount, request })
  return {
    families: families
      .filter(({ href }) => listed.some(family => family.href === href))
      .map(family => ({ ...family, isCurrent: false }))
  }
}

/** The families that who asks may list; where that is none, the refusal is the answer. */
async function listFamilies (mounts: readonly Mount[], request: FastifyRequest): Promise<HomeFamily[]> {
  let refusal: unknown
  const families = await Promise.all(mounts.map(async each => {
    try {
      return await describeFamily(each, request)
    } catch (error) {
      if (toProblem(error).statusCode >= 500) throw error
      refusal ??= error
      return undefined
    }
  }))
  const shown = families.filter(family => family !== undefined)
  if (shown.length === 0) throw refusal
  return shown
}

async function describeFamily (mount: Mount, request: FastifyRequest): Promise<HomeFamily> {
  const { family, version, urls } = mount
  const caller = mount.caller(request)
  const intent = { family: family.name, action: 'list', id: undefined, params: {} }
  const reader = await authorizeReader(family, caller, intent)
  return {
    name: family.name,
    ...(version === undefined ? {} : { version }),
    href: urls.collection(request),
    ...await countItems(family, reader, urls.collection(request))
  }
}

/** A family as programs see it. */
function writeFamily ({ href, states, ...family }: HomeFamily): object {
  return {
    ...family,
    ...(states && { states: states.map(({ href, ...state }) => ({ ...state, links: { list: href } })) }),
    links: { list: href }
  }
}

function describeHome (mount: Mount): RouteSchema {
  const { prefix, home } = mount
  const list = prefix + home
  const counts = {
    total: Type.Optional(Type.Integer({ minimum: 0, examples: [3] })),
    atLeast: Type.Optional(Type.Integer({ description: 'In the place of total, where there are more' }))
  }
  const state = Type.Object({
    state: Type.String({ examples: ['open'] }),
    ...counts,
    links: Type.Object({ list: describeLink(`${list}?status=open`) })
  })
  const family = Type.Object({
    name: Type.String({ examples: [mount.family.name] }),
    version: Type.Optional(Type.String()),
    ...counts,
    states: Type.Optional(Type.Array(state, { description: 'Of a family whose items are in one of a few states' })),
    links: Type.Object({ list: describeLink(list) })
  })
  return describeCommonRoute(mount, 'home', 'What there is', 'read-home', {
    summary: 'Read which families there are',
    description: 'Those that the caller may list, with how many items each has, and how many in each state.',
    params: Type.Object({}),
    querystring: describeFormat(mount),
    response: {
      200: describeAnswer(mount, 'one', {
        description: 'The families',
        schema: nameSchema(mount, 'Home', Type.Object({
          families: Type.Array(nameSchema(mount, 'HomeFamily', family)),
          links: Type.Object({ self: describeLink(`${prefix}/`) })
        }))
      }),
      ...describeProblems(mount, 'invalid-query', 'not-acceptable')
    }
  })
}
