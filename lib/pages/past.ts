import { isDeepStrictEqual } from 'node:util'
import { type Id, type Moment, openReading, type PastItem } from '../exports.js'
import type { ItemAffordances, Past } from './affordances.js'
import { type ItemPageQuery, pickMembers, startPage } from './item-affordances.js'
import { linkList, linkOthers, trailToItem } from './links.js'
import type { PageRequest } from './page-reads.js'
import { findReferredTitles } from './references.js'
import { listStateFields, showState } from './states.js'
import { titleOf } from './titles.js'
import { itemUrl } from './urls.js'
import { sendView, type ShownOne } from './views.js'

/** The page of an item as it was, without forms; false if it did not exist then, or not for the reader. */
export async function sendPastPage (
  responding: PageRequest, id: Id, { fields, expand }: ItemPageQuery, when: Moment
): Promise<boolean> {
  const { mount, mount: { model }, request } = responding
  const reading = await openReading(mount, request, { action: 'read', id })
  const past = await reading.past(id, when)
  if (past === undefined) return false
  const { item, last, missing } = past
  const expanded = expand === undefined ? item : await reading.expand(item, expand)
  // Also what it did not have then.
  const names = fields ?? model.members
  const absent = names.filter(name => item[name] === undefined && (last[name] !== undefined || missing.includes(name)))
  const document = pickMembers({ ...Object.fromEntries(absent.map(name => [name, null])), ...expanded }, names)
  const affordances = async () => await makePast(responding, past)
  return await sendView(responding, { kind: 'one', name: model.singular, document, mount, affordances } as ShownOne)
}

async function makePast (responding: PageRequest, past: PastItem): Promise<ItemAffordances> {
  const { mount, mount: { model }, request } = responding
  const { item, last, isDeleted, prev, next, missing } = past
  const current = itemUrl(mount, request, item.id)
  const at = (revision: number | undefined): string | undefined =>
    revision === undefined ? undefined : `${current}?revision=${revision}`
  const [page, refer] = await Promise.all([
    startPage(responding, current), findReferredTitles(responding, model.members, [item])
  ])
  const referred = Object.fromEntries(Object.keys(model.references).flatMap(field => {
    const found = refer.of(item, field)
    return found === undefined ? [] : [[field, found]]
  }))
  const others = linkOthers(mount, 'one', ({ name }) => `${at(item.revision)}&format=${name}`)
  const shown: Past = {
    revision: item.revision,
    at: item.updatedAt as string | undefined,
    current: isDeleted ? undefined : current,
    prev: at(prev),
    next: at(next),
    missing,
    now: isDeleted
      ? {}
      : Object.fromEntries(model.members
        .filter(name => !technical.has(name) && !isDeepStrictEqual(item[name], last[name]))
        .map(name => [name, { value: last[name] }]))
  }
  return {
    ...page,
    others,
    trail: isDeleted
      ? [linkList(mount, request), { kind: 'item', href: `${current}/commands`, name: titleOf(mount, last) }]
      : trailToItem(responding, item.id, last),
    state: showState(mount, item),
    technical: [...page.technical, ...listStateFields(mount)],
    referred,
    inRows: refer.inRows,
    past: shown
  }
}

// They differ between any two revisions.
const technical = new Set(['revision', 'updatedAt'])
