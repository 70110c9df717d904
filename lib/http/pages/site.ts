import type { FastifyRequest } from 'fastify'
import type { Crumb, Site } from '../../representations/representation.js'
import type { Exchange, Mount } from '../mount.js'
import { mayOffer } from './offers.js'

/** Where a page leads: to the home of its prefix, and to the families there that its reader may list. */
export async function findSite ({ mount, request }: Pick<Exchange, 'mount' | 'request'>): Promise<Site> {
  const neighbours = mount.neighbours.list(mount)
  const isListed = await Promise.all(neighbours.map(async each =>
    each === mount || await mayOffer({ mount: each, request }, 'list')))
  return {
    home: findHome(mount, request),
    families: neighbours.filter((_, index) => isListed[index]).map(each => ({
      name: each.family.name,
      // Only where there are several.
      version: neighbours.some(other => other !== each && other.family.name === each.family.name)
        ? each.version
        : undefined,
      href: each.urls.collection(request),
      isCurrent: each === mount
    }))
  }
}

function findHome ({ neighbours, urls }: Mount, request: FastifyRequest): string | undefined {
  return neighbours.hasHome === true ? urls.home(request) : undefined
}

/** Where a problem leads on: home, and to the list, where it is not the list itself. */
export function findWayOn ({ mount, request }: Pick<Exchange, 'mount' | 'request'>): readonly Crumb[] {
  const home = findHome(mount, request)
  const list = mount.urls.collection(request)
  const isList = mount.urls.self(request).replace(/\/$/, '') === list
  return [
    ...(home === undefined ? [] : [{ kind: 'home', href: home, name: '' } as const]),
    ...(isList ? [] : [{ kind: 'list', href: list, name: mount.family.name } as const])
  ]
}
