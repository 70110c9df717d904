import type { FastifyRequest } from 'fastify'
import {
  canShow, type FamilyMount, findForm, type Id, mayList, type Problem, type ProblemView, readListQuery,
  type Representation, type Stored
} from '../exports.js'
import type { Crumb, Link, Site, SiteFamily } from './affordances.js'
import { labelsOf } from './labels.js'
import { readWrongState } from './log-entries.js'
import { takeShort } from './page-form.js'
import { titleOf } from './titles.js'
import { type Here, itemUrl, listUrl, ownUrl } from './urls.js'
import { hasPages, listRepresentations, type ProblemParts } from './views.js'

/** Only lists families that the reader may list. */
export async function findSite ({ mount, request }: Here): Promise<Site> {
  const neighbours = mount.neighbours().filter(hasPages)
  const isListed = await Promise.all(neighbours.map(each => each === mount || mayList(each, request)))
  const families = neighbours.filter((_, index) => isListed[index]).map(each => {
    const { version, model: { name, labels } } = each
    return { name, labels, version, href: listUrl(each, request) }
  })
  return { home: mount.homeUrl(request), families: listLinks(families, listUrl(mount, request)) }
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
  { mount, problem }: Pick<ProblemView, 'mount' | 'problem'>,
  request: FastifyRequest
): Promise<ProblemParts> {
  const self = ownUrl({ mount, request })
  const isBelow = (each: FamilyMount) => `${self}/`.startsWith(`${listUrl(each, request)}/`)
  // One handler answers for all families at the prefix.
  const owner = mount.neighbours().find(isBelow)
  const asked = owner ?? mount
  const form = findForm(request)
  const { code, message, members } = problem
  const site = await findSite({ mount, request })
  const list = owner && linkList(owner, request)
  const sent = form === undefined ? [] : takeShort(form.sent)
  return {
    // An unknown address belongs to no family.
    site: { ...site, families: site.families.map(family => ({ ...family, isCurrent: family.href === list?.href })) },
    labels: labelsOf(asked),
    onward: list === undefined || self === list.href ? [] : [list],
    wrongState: readWrongState(asked, { code, detail: message, members }),
    entered: form && takeShort(form.entries),
    again: form?.sent.length === sent.length && mayRepeat(problem) ? { action: self, sent } : undefined
  }
}

/** @param from as in `linkFrom` */
export function linkList (mount: FamilyMount, request: FastifyRequest, from?: string): Crumb {
  const { name, labels } = mount.model
  return { kind: 'list', href: linkFrom(mount, request, from), name, labels }
}

/** The query of a list that a page returns to; empty if it is none. Only a query, so that it leads nowhere else. */
export function checkFrom (mount: FamilyMount, from = ''): string {
  return /^[!-~]*$/.test(from) && !from.includes('#') && !('flaws' in readListQuery(mount, from)) ? from : ''
}

export function linkFrom (mount: FamilyMount, request: FastifyRequest, from: string | undefined): string {
  const query = checkFrom(mount, from)
  return listUrl(mount, request) + (query === '' ? '' : `?${query}`)
}

// In characters: a list has such a link in every row.
const maxFrom = 1000

/** The page of an item, which leads back to the list that has this query. @param from as checked by `checkFrom` */
export function linkItemFrom (mount: FamilyMount, request: FastifyRequest, id: Id, from = ''): string {
  const url = itemUrl(mount, request, id)
  return from === '' || from.length > maxFrom ? url : `${url}?from=${encodeURIComponent(from)}`
}

/** `item` is undefined if it is gone or unknown. */
export function trailToItem (
  { mount, request }: Here,
  id: Id,
  item: Stored | undefined,
  from?: string
): Crumb[] {
  const name = item === undefined ? String(id) : titleOf(mount, item)
  return [linkList(mount, request, from), { kind: 'item', href: linkItemFrom(mount, request, id, from), name }]
}

export function linkOthers (
  mount: FamilyMount,
  kind: 'one' | 'page',
  address: (other: Representation) => string
): Link[] {
  return listRepresentations(mount).filter(other => other.respond === undefined && canShow(other, kind))
    .map(other => ({ href: address(other), title: other.name }))
}
