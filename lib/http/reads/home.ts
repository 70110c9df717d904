import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { authorizeReader } from '../../core/service/reader.js'
import type { HomeFamily } from '../../representations/representation.js'
import type { Mount } from '../mount.js'
import { listLinks } from '../pages/site.js'
import { send } from '../reply.js'
import { readWish, refuseParameters, splitUrl } from '../request.js'
import { retire } from '../retirement.js'
import { hasOwnRoot, mountRoot } from '../root.js'
import type { RouteSettings } from '../routes.js'
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
  const { neighbours } = mount
  if (hasOwnRoot(app)) neighbours.hasHome = true
  if (!wanted || neighbours.hasHome !== undefined) return
  neighbours.hasHome = mountRoot(app, settings, (request, reply) => sendHome(mount, request, reply))
}

async function sendHome (mount: Mount, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const choice = mount.chooser.choose('one', readWish(request))
  const here = mount.neighbours.list(mount)
  // All have ended, and so has this.
  if (here.length === 0) retire(reply, mount.retirement)
  const families = await listFamilies(here, request)
  refuseParameters(splitUrl(request).search)
  const self = mount.urls.home(request)
  return await send({ reply, choice, mount }, {
    kind: 'one',
    name: 'home',
    document: { families: families.map(writeFamily), links: { self } },
    home: { families, site: { families: listLinks(families, undefined) } }
  })
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
