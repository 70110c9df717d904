import type { FastifyRequest } from 'fastify'
import type { Crumb, Site, SiteFamily } from '../../representations/representation.js'
import type { Exchange, Mount } from '../mount.js'
import { mayOffer } from './offers.js'

/** Where a page leads: to the home of its prefix, and to the families there that its reader may list. */
export async function findSite ({ mount, request }: Pick<Exchange, 'mount' | 'request'>): Promise<Site> {
  const neighbours = mount.neighbours.list(mount)
  const isListed = await Promise.all(neighbours.map(async each =>
    each === mount || await mayOffer({ mount: each, request }, 'list')))
  const families = neighbours.filter((_, index) => isListed[index]).map(({ family: { name }, version, urls }) =>
    ({ name, version, href: urls.collection(request) }))
  return { home: findHome(mount, request), families: listLinks(families, mount.urls.collection(request)) }
}

/** The links to families; a version is shown where there are several. @param current the list of the page's own */
export function listLinks (
  families: readonly Omit<SiteFamily, 'isCurrent'>[],
  current: string | undefined
): SiteFamily[] {
  const isAlone = (name: string) => families.filter(family => family.name === name).length === 1
  return families.map(({ name, version, href }) =>
    ({ name, version: isAlone(name) ? undefined : version, href, isCurrent: href === current }))
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
