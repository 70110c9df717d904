import { loadDeleted, openReading } from '../exports.js'
import { showEntries } from './activity.js'
import { listLogFilters } from './filter-fields.js'
import { labelsOf } from './labels.js'
import { linkList } from './links.js'
import { makeRowAffordances } from './page-affordances.js'
import { type PageRequest, seenBy } from './page-reads.js'
import { parseSent } from './sent.js'
import { sendView } from './views.js'

/** The page of what is deleted now: who deleted it, when, and a button that restores it. */
export async function sendDeletedPage (whole: PageRequest, search: string): Promise<true> {
  const { request } = whole
  const reading = await openReading(whole.mount, request, { action: 'read' })
  const responding = seenBy(whole, reading)
  const { mount } = responding
  const parsed = parseSent(mount, search, 'deleted')
  const { view, items: entries, links, restorable } = await loadDeleted(responding, reading, parsed)
  const affordances = async () => {
    const shown = await showEntries(responding, { entries, readings: [reading] }, false, restorable)
    return await makeRowAffordances(responding, parsed, {
      listed: 'deleted',
      columns: view.members,
      title: 'id',
      isCountable: false,
      links,
      labels: labelsOf(mount),
      // All of them are done, and deletions.
      filters: listLogFilters([mount], parsed).filter(({ label }) => label !== 'action' && label !== 'outcome'),
      recent: 'createdAt',
      timeline: shown,
      isActivity: true,
      isDeleted: true,
      trail: [linkList(mount, request)],
      address: index => shown[index]?.href ?? '',
      identify: index => ({ id: String(entries[index]?.id), revision: 0 }),
      page: undefined,
      sort: '-position'
    })
  }
  return await sendView(responding, { ...view, affordances })
}
