import type { FastifyRequest } from 'fastify'
import type { Problem } from '../../core/problems.js'
import type { Crumb, Site, SiteFamily } from '../../representations/affordances.js'
import type { ProblemView } from '../../representations/representation.js'
import type { Exchange, Mount } from '../mount.js'
import { readWrongState } from './log-entries.js'
import { mayOffer } from './offers.js'

/** Where a page leads: to the home of its prefix, and to the families there that its reader may list. */
export async function findSite ({ mount, request }: Pick<Exchange, 'mount' | 'request'>): Promise<Site> {
  const neighbours = mount.neighbours.list()
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

/** What a page shows of a problem besides its document, and where it leads: home, and to the list. */
export function guideOn (
  { mount, request }: Pick<Exchange, 'mount' | 'request'>,
  { code, message, members }: Problem
): Pick<ProblemView, 'onward' | 'wrongState'> {
  const { family, urls } = mount
  const home = findHome(mount, request)
  const list = urls.collection(request)
  const isList = urls.self(request).replace(/\/$/, '') === list
  const onward: Crumb[] = []
  if (home !== undefined) onward.push({ kind: 'home', href: home, name: '' })
  if (!isList) onward.push({ kind: 'list', href: list, name: family.name })
  return { onward, wrongState: readWrongState(family, code, message, members) }
}
