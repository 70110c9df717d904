import type { FastifyRequest } from 'fastify'
import { mayOffer } from '../core/book/offers.js'
import { canShow, type Id, type Problem, type ProblemView, type Representation, type Stored } from '../exports.js'
import { FormBody, takeShort } from '../http/body.js'
import { callOf, type Exchange, type Mount, mountOf } from '../http/mount.js'
import type { Crumb, Link, Site, SiteFamily } from './affordances.js'
import { readWrongState } from './log-entries.js'
import { titleOf } from './references.js'
import { hasPages, type ProblemParts } from './views.js'

/** Only lists families that the reader may list. */
export async function findSite ({ mount, request }: Pick<Exchange, 'mount' | 'request'>): Promise<Site> {
  const neighbours = mount.neighbours.list().filter(hasPages)
  const isListed = await Promise.all(neighbours.map(each =>
    each === mount || mayOffer(callOf(each, request), 'list')))
  const families = neighbours.filter((_, index) => isListed[index]).map(({ family, version, urls }) =>
    ({ name: family.name, labels: family.presentation.labels, version, href: urls.collection(request) }))
  const home = mount.neighbours.hasHome ? mount.urls.home(request) : undefined
  return { home, families: listLinks(families, mount.urls.collection(request)) }
}

/** Versions are shown if a family has several. `current` is the URL of the page's list. */
export function listLinks (families: readonly Omit<SiteFamily, 'isCurrent'>[], current?: string): SiteFamily[] {
  const isAlone = (name: string) => families.filter(family => family.name === name).length === 1
  return families.map(({ name, labels, version, href }) =>
    ({ name, labels, version: isAlone(name) ? undefined : version, href, isCurrent: href === current }))
}

/** Whether the same form may succeed later: it is the same command, which is done once. */
export function mayRepeat ({ statusCode }: Problem): boolean {
  return statusCode === 401 || statusCode === 429 || statusCode >= 500
}

/** The parts of a problem's page besides the problem: navigation, the wrong state, and what was entered. */
export async function findProblemParts (
  { mount: shown, problem }: Pick<ProblemView, 'mount' | 'problem'>,
  request: FastifyRequest
): Promise<ProblemParts> {
  const mount = mountOf(shown)
  const self = mount.urls.self(request).replace(/\/$/, '')
  const isBelow = (each: Mount) => `${self}/`.startsWith(`${each.urls.collection(request)}/`)
  // One handler answers for all families at the prefix.
  const owner = mount.neighbours.list().find(isBelow)
  const { family } = owner ?? mount
  const form = request.body instanceof FormBody ? request.body : undefined
  const { code, message, members } = problem
  const site = await findSite({ mount, request })
  const list = owner && linkList(owner, request)
  const sent = form === undefined ? [] : takeShort(form.sent)
  return {
    // An unknown address belongs to no family.
    site: { ...site, families: site.families.map(family => ({ ...family, isCurrent: family.href === list?.href })) },
    labels: family.presentation.labels,
    onward: list === undefined || self === list.href ? [] : [list],
    wrongState: readWrongState(family, code, message, members),
    entered: form && takeShort(form.entries),
    again: form?.sent.length === sent.length && mayRepeat(problem) ? { action: self, sent } : undefined
  }
}

/** @param from as in `linkFrom` */
export function linkList (mount: Mount, request: FastifyRequest, from?: string): Crumb {
  const { name, presentation: { labels } } = mount.family
  return { kind: 'list', href: linkFrom(mount, request, from), name, labels }
}

/** The query of a list that a page returns to; empty if it is none. Only a query, so that it leads nowhere else. */
export function checkFrom ({ grammar }: Mount, from = ''): string {
  return /^[!-~]*$/.test(from) && !from.includes('#') && !('flaws' in grammar.parse(from)) ? from : ''
}

export function linkFrom (mount: Mount, request: FastifyRequest, from: string | undefined): string {
  const query = checkFrom(mount, from)
  return mount.urls.collection(request) + (query === '' ? '' : `?${query}`)
}

// In characters: a list has such a link in every row.
const maxFrom = 1000

/** The page of an item, which leads back to the list that has this query. @param from as checked by `checkFrom` */
export function linkItemFrom ({ urls }: Mount, request: FastifyRequest, id: Id, from = ''): string {
  const url = urls.item(request, id)
  return from === '' || from.length > maxFrom ? url : `${url}?from=${encodeURIComponent(from)}`
}

/** `item` is undefined if it is gone or unknown. */
export function trailToItem (
  { mount, request }: Exchange,
  id: Id,
  item: Stored | undefined,
  from?: string
): Crumb[] {
  const name = item === undefined ? String(id) : titleOf(mount.family, item)
  return [linkList(mount, request, from), { kind: 'item', href: linkItemFrom(mount, request, id, from), name }]
}

export function linkOthers (
  { representations }: Mount,
  kind: 'one' | 'page',
  address: (other: Representation) => string
): Link[] {
  return representations.filter(other => other.respond === undefined && canShow(other, kind))
    .map(other => ({ href: address(other), title: other.name }))
}
