import type { FastifyRequest } from 'fastify'
import type { Problem } from '../../core/problems.js'
import type { Id, Stored } from '../../core/storage/storage.js'
import type { Crumb, Link, Site, SiteFamily } from '../../representations/affordances.js'
import { canShow, type ProblemView, type Representation } from '../../representations/representation.js'
import type { Exchange, Mount } from '../mount.js'
import { readWrongState } from './log-entries.js'
import { mayOffer } from './offers.js'

/** Where a page leads: to the home of its prefix, and to the families there that its reader may list. */
export async function findSite ({ mount, request }: Exchange): Promise<Site> {
  const neighbours = mount.neighbours.list()
  const isListed = await Promise.all(neighbours.map(each =>
    each === mount || mayOffer({ mount: each, request }, 'list')))
  const families = neighbours.filter((_, index) => isListed[index]).map(({ family: { name }, version, urls }) =>
    ({ name, version, href: urls.collection(request) }))
  return { home: findHome(mount, request), families: listLinks(families, mount.urls.collection(request)) }
}

/** The links to families; a version is shown where there are several. @param current the list of the page */
export function listLinks (
  families: readonly Omit<SiteFamily, 'isCurrent'>[],
  current: string | undefined
): SiteFamily[] {
  const isAlone = (name: string) => families.filter(family => family.name === name).length === 1
  return families.map(({ name, version, href }) =>
    ({ name, version: isAlone(name) ? undefined : version, href, isCurrent: href === current }))
}

function findHome ({ neighbours, urls }: Mount, request: FastifyRequest): string | undefined {
  return neighbours.hasHome ? urls.home(request) : undefined
}

/** What a page shows of a problem besides its document, and links to the home and to the list. */
export function guideOn (
  { mount, request }: Pick<Exchange, 'mount' | 'request'>,
  { code, message, members }: Problem
): Pick<ProblemView, 'onward' | 'wrongState'> {
  const { family, urls } = mount
  const home = findHome(mount, request)
  const list = linkList(mount, request)
  const onward: Crumb[] = home === undefined ? [] : [{ kind: 'home', href: home, name: '' }]
  if (urls.self(request).replace(/\/$/, '') !== list.href) onward.push(list)
  return { onward, wrongState: readWrongState(family, code, message, members) }
}

/** A link to the list of the family. */
export function linkList ({ family, urls }: Mount, request: FastifyRequest): Crumb {
  return { kind: 'list', href: urls.collection(request), name: family.name }
}

/** The trail to an item, for a page that belongs to it. @param item undefined where it is gone, or not known */
export function trailToItem ({ mount, request }: Exchange, id: Id, item: Stored | undefined): Crumb[] {
  const name = String(item?.[mount.family.presentation.title] ?? id)
  return [linkList(mount, request), { kind: 'item', href: mount.urls.item(request, id), name }]
}

/** Links to the same in representations for programs. */
export function linkOthers (
  { representations }: Mount,
  kind: 'one' | 'page',
  address: (other: Representation) => string
): Link[] {
  return representations.filter(other => other.interactive !== true && canShow(other, kind))
    .map(other => ({ href: address(other), title: other.name }))
}
