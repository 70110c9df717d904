import type { FastifyRequest } from 'fastify'
import type { Problem } from '../../core/problems.js'
import type { Id, Stored } from '../../core/storage/storage.js'
import type { Crumb, Link, Site, SiteFamily } from '../../representations/affordances.js'
import { canShow, type ProblemView, type Representation } from '../../representations/representation.js'
import type { Exchange, Mount } from '../mount.js'
import { readWrongState } from './log-entries.js'
import { mayOffer } from './offers.js'

/** Only lists families that the reader may list. */
export async function findSite ({ mount, request }: Exchange): Promise<Site> {
  const neighbours = mount.neighbours.list()
  const isListed = await Promise.all(neighbours.map(each =>
    each === mount || mayOffer({ mount: each, request }, 'list')))
  const families = neighbours.filter((_, index) => isListed[index]).map(({ family: { name }, version, urls }) =>
    ({ name, version, href: urls.collection(request) }))
  return { home: findHome(mount, request), families: listLinks(families, mount.urls.collection(request)) }
}

/** Versions are shown where a family has several. `current` is the URL of the page's list. */
export function listLinks (families: readonly Omit<SiteFamily, 'isCurrent'>[], current?: string): SiteFamily[] {
  const isAlone = (name: string) => families.filter(family => family.name === name).length === 1
  return families.map(({ name, version, href }) =>
    ({ name, version: isAlone(name) ? undefined : version, href, isCurrent: href === current }))
}

function findHome ({ neighbours, urls }: Mount, request: FastifyRequest): string | undefined {
  return neighbours.hasHome ? urls.home(request) : undefined
}

/** What the page of a problem shows besides: the wrong state, and links to the home and to the list. */
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

export function linkList ({ family, urls }: Mount, request: FastifyRequest): Crumb {
  return { kind: 'list', href: urls.collection(request), name: family.name }
}

/** `item` is undefined where it is gone or unknown. */
export function trailToItem ({ mount, request }: Exchange, id: Id, item: Stored | undefined): Crumb[] {
  const name = String(item?.[mount.family.presentation.title] ?? id)
  return [linkList(mount, request), { kind: 'item', href: mount.urls.item(request, id), name }]
}

export function linkOthers (
  { representations }: Mount,
  kind: 'one' | 'page',
  address: (other: Representation) => string
): Link[] {
  return representations.filter(other => other.interactive !== true && canShow(other, kind))
    .map(other => ({ href: address(other), title: other.name }))
}
