import { findNewestCommands, loadFamilies, type Reading } from '../exports.js'
import { showEntries } from './activity.js'
import type { Home } from './affordances.js'
import { listLinks } from './links.js'
import type { PageRequest } from './page-reads.js'
import { hasPages, sendView, type ShownOne } from './views.js'

/** The page of the families at a prefix, with what happened lately. */
export async function sendHomePage (responding: PageRequest): Promise<true> {
  const { mount, request, reads } = responding
  const { families, document, readings } = await loadFamilies(responding)
  for (const each of mount.neighbours()) {
    const url = each.url(undefined, undefined, request)
    reads.keep(each, readings.find(({ mount }: Reading) => mount.url(undefined, undefined, request) === url))
  }
  const linked = mount.neighbours().filter(hasPages).map(({ url }) => url(undefined, undefined, request))
  const shown = families.filter(({ href }) => linked.includes(href))
  const view: ShownOne = {
    kind: 'one',
    name: 'home',
    document,
    mount,
    home: {
      families: shown,
      site: { families: listLinks(shown, undefined) },
      now: mount.now().getTime(),
      activity: await findRecent(responding)
    }
  }
  return await sendView(responding, view)
}

const shownAtHome = 10

/** The newest entries of all families that the caller may read; undefined where there are none of these. */
async function findRecent (responding: PageRequest): Promise<Home['activity']> {
  const { mount, request } = responding
  const found = await findNewestCommands(mount, request, shownAtHome)
  if (found.length === 0) return undefined
  const isShared = found.flatMap(({ readings }) => readings).length > 1
  const shown = (await Promise.all(found.map(each => showEntries(responding, each, isShared)))).flat()
  // One page shows the commands of one storage.
  if (found.length === 1) return { href: `${mount.homeUrl(request)}rest/commands`, entries: shown }
  const newest = shown.sort((a, b) => b.at.localeCompare(a.at))
  return { entries: newest.slice(0, shownAtHome) }
}
