import type { Exchange } from '../http/mount.js'
import { loadHome } from '../http/reads/home.js'
import { findRecent } from './activity.js'
import { listLinks } from './links.js'
import { hasPages, sendView, type ShownOne } from './views.js'

/** The page of the families at a prefix, with what happened lately. */
export async function sendHomePage (exchange: Exchange): Promise<true> {
  const { mount, request, reply } = exchange
  const { families, document } = await loadHome(mount, request, reply)
  const linked = mount.neighbours.list().filter(hasPages).map(({ urls }) => urls.collection(request))
  const shown = families.filter(({ href }) => linked.includes(href))
  const view: ShownOne = {
    kind: 'one',
    name: 'home',
    document,
    mount: mount.shown,
    home: {
      families: shown,
      site: { families: listLinks(shown, undefined) },
      now: mount.makers.clock().getTime(),
      activity: await findRecent(mount, request)
    }
  }
  return await sendView(exchange, view)
}
