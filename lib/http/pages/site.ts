import type { Crumb, Site, SiteFamily } from '../../representations/representation.js'
import type { Exchange, Mount } from '../mount.js'
import { mayOffer } from './may-offer.js'
import { keepSuffix } from './suffix.js'

/** Where a page leads besides its own: to the home of its prefix, and to the families there that who asks may list. */
export async function findSite (exchange: Pick<Exchange, 'mount' | 'request' | 'suffix'>): Promise<Site> {
  const { mount, request } = exchange
  const neighbours = mount.neighbours.list()
  const isListed = await Promise.all(neighbours.map(async each =>
    each === mount || await mayOffer({ mount: each, request }, 'list')))
  return {
    ...findHome(exchange),
    families: neighbours.filter((_, index) => isListed[index]).map(each => linkFamily(each, exchange, neighbours))
  }
}

// A version says something where there are several.
function linkFamily (
  each: Mount,
  exchange: Pick<Exchange, 'mount' | 'request' | 'suffix'>,
  neighbours: readonly Mount[]
): SiteFamily {
  const { family: { name }, version, urls } = each
  const isOnly = neighbours.filter(({ family }) => family.name === name).length === 1
  return {
    name,
    ...(version === undefined || isOnly ? {} : { version }),
    href: keepSuffix(exchange, urls.collection(exchange.request)),
    isCurrent: each === exchange.mount
  }
}

function findHome ({ mount, request }: Pick<Exchange, 'mount' | 'request'>): Pick<Site, 'home'> {
  return mount.neighbours.hasHome === true ? { home: mount.urls.home(request) } : {}
}

/** Where a problem leads on: home, and to the list, where it is not the list itself. Nobody is asked for that. */
export function findWayOn (exchange: Pick<Exchange, 'mount' | 'request'>): readonly Crumb[] {
  const { mount, request } = exchange
  const { home } = findHome(exchange)
  const list = mount.urls.collection(request)
  const isList = mount.urls.self(request).replace(/\/$/, '') === list
  return [
    ...(home === undefined ? [] : [{ kind: 'home', href: home, name: '' } as const]),
    ...(isList ? [] : [{ kind: 'list', href: list, name: mount.family.name } as const])
  ]
}
