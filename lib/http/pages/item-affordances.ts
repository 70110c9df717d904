import { logFields } from '../../core/family/command-schema.js'
import { ServiceFields } from '../../core/family/fields.js'
import type { Params } from '../../core/family/params.js'
import type { CommandRecord } from '../../core/service/command.js'
import { readTarget } from '../../core/service/record.js'
import type { Id, Stored } from '../../core/storage/storage.js'
import type { FormAffordance } from '../../representations/form-view.js'
import type { Feedback } from '../../representations/item-view.js'
import type { Crumb, ItemAffordances, Link, Representation } from '../../representations/representation.js'
import { listKinds } from '../../representations/representation.js'
import type { Exchange } from '../mount.js'
import type { Submission } from './form-fields.js'
import { explainRefusal, isText, makeForm, makeSampleRequest } from './form-fields.js'
import { showEntry } from './log-entries.js'
import type { Offer } from './offers.js'
import { findAddress, keepGranted, listOffers } from './offers.js'
import { findSite } from './site.js'
import { findWrongState } from './wrong-state.js'

/** What the page of an item shows besides it. */
export interface ItemPage {
  /** The newest entries of its log. */
  readonly entries: readonly CommandRecord[]
  /** The name of the reader, as in the log, and what the grant offers. */
  readonly principal: string | undefined
  readonly offers: readonly string[] | undefined
  /** The form that was refused. */
  readonly submission?: Submission | undefined
  /** What has just been done. */
  readonly feedback?: Feedback | undefined
}

/** What people can do with an item now. */
export async function affordItem (
  exchange: Exchange,
  item: Stored,
  { entries, principal, offers: named, submission, feedback }: ItemPage
): Promise<ItemAffordances> {
  const { mount, request } = exchange
  const { family, urls } = mount
  const offers = await findOffers(exchange, item, named)
  const forms = offers.filter(({ reason }) => reason === undefined)
    .map(({ operation, params }) => makeOperationForm(exchange, item, operation, params, submission))
  return {
    ...await placeItem(exchange, item.id),
    state: family.state?.(item),
    operations: forms,
    unavailable: offers.flatMap(({ operation: { name }, reason }) =>
      reason === undefined ? [] : [{ name, reason, wrongState: findWrongState(family, item, name, reason) }]),
    log: family.writable
      ? {
          href: `${urls.item(request, item.id)}/commands`,
          entries: entries.map(entry => showEntry(exchange, entry, principal))
        }
      : undefined,
    feedback: feedback && { ...feedback, current: item.revision },
    refused: explainRefusal(mount, submission, forms)
  }
}

// What the caller may do, and why not now where it is not allowed.
async function findOffers (exchange: Exchange, item: Stored, named: ItemPage['offers']): Promise<Offer[]> {
  // The forms of a page are sent to the nouns.
  if (!exchange.mount.forms.has('noun')) return []
  const offers = listOffers(exchange, item).filter(({ params }) => !params.isPartial || params.fields.some(isText))
  return await keepGranted(exchange, item, offers, named)
}

const technical = ['id', ...Object.keys(ServiceFields.properties)]

/** Where an item is, and of which members it is made. */
export async function placeItem (
  exchange: Exchange,
  id: Id
): Promise<Pick<ItemAffordances, 'site' | 'kinds' | 'title' | 'technical' | 'trail' | 'others'>> {
  const { mount: { family, urls, representations }, request } = exchange
  return {
    site: await findSite(exchange),
    kinds: listKinds(family.fields),
    title: family.presentation.title,
    technical,
    trail: [{ kind: 'list', href: urls.collection(request), name: family.name }],
    others: linkOthers(representations, urls.item(request, id))
  }
}

/** The form of an operation, which is sent to its noun. */
export function makeOperationForm (
  exchange: Exchange,
  item: Stored,
  operation: Offer['operation'],
  params: Params,
  submission: Submission | undefined
): FormAffordance {
  const { mount, request } = exchange
  const { name, noun, summary: title, danger, final } = operation
  const action = `${mount.urls.item(request, item.id)}/${noun}`
  const address = findAddress(exchange, item.id, operation)
  return makeForm({
    name,
    singular: mount.family.singular,
    title,
    danger,
    final,
    action,
    // The same form of the same revision has the same key, so that what is sent twice is done once.
    key: `${action} ${item.revision}`,
    // A form that is filled in must not undo the change of another person.
    revision: params.isPartial || mount.preconditions === 'required' ? item.revision : undefined,
    request: address && makeSampleRequest(mount, address, params, item)
  }, params, submission, params.isPartial ? item : undefined)
}

/** What there is to do with an entry of the log: to go on from it. */
export async function affordEntry (
  exchange: Exchange,
  self: string,
  record: CommandRecord,
  item: Stored | undefined
): Promise<ItemAffordances> {
  const { mount: { family, urls, representations }, request } = exchange
  const id = readTarget(family, record)
  return {
    site: await findSite(exchange),
    kinds: listKinds(logFields),
    title: 'id',
    technical: [],
    trail: [
      ...trailToItem(exchange, id, item),
      { kind: 'log', href: `${urls.item(request, id)}/commands`, name: 'commands' }
    ],
    others: linkOthers(representations, self),
    entry: { ...showEntry(exchange, record, undefined), href: self },
    operations: [],
    unavailable: []
  }
}

/** The way to an item, for what belongs to it. @param item undefined where it is gone, or not known */
export function trailToItem (
  { mount: { family, urls }, request }: Exchange,
  id: Id,
  item: Stored | undefined
): Crumb[] {
  return [
    { kind: 'list', href: urls.collection(request), name: family.name },
    { kind: 'item', href: urls.item(request, id), name: String(item?.[family.presentation.title] ?? id) }
  ]
}

function linkOthers (representations: readonly Representation[], self: string): Link[] {
  return representations
    .filter(each => each.interactive !== true && each.one !== undefined)
    .map(({ name }) => ({ href: `${self}?format=${name}`, title: name }))
}
