import type { Family, Lifecycle } from '../../core/family/family.js'
import { logFields, ServiceFields } from '../../core/family/fields.js'
import type { Params } from '../../core/family/params.js'
import { listChanges } from '../../core/family/params.js'
import { intendToRead } from '../../core/service/caller.js'
import type { Command, CommandRecord } from '../../core/service/command.js'
import type { Decision } from '../../core/service/decide.js'
import type { LoadedOther } from '../../core/service/others.js'
import { readTarget } from '../../core/service/record.js'
import { matcher } from '../../core/storage/conditions.js'
import type { Id, Stored } from '../../core/storage/storage.js'
import type {
  ChangedItem, Crumb, Feedback, FormAffordance, ItemAffordances, Link, ShownChange
} from '../../representations/affordances.js'
import type { Representation } from '../../representations/representation.js'
import { listKinds } from '../../representations/representation.js'
import type { FormBody } from '../body.js'
import type { Exchange } from '../mount.js'
import { toProblem } from '../reply.js'
import type { RefusedForm } from './form-fields.js'
import { explainRefusal, isText, makeForm, makeSampleRequest } from './form-fields.js'
import { findWrongState, showChanges, showEntry, showParams } from './log-entries.js'
import type { Offer } from './offers.js'
import { findAddress, keepGranted, listOffers } from './offers.js'
import { findSite } from './site.js'

/** What the page of an item shows besides it. */
export interface ItemPage {
  /** The newest entries of its log. */
  readonly entries: readonly CommandRecord[]
  /** The name of the reader, as in the log, and what the grant offers. */
  readonly principal: string | undefined
  readonly offers: readonly string[] | undefined
  /** The form that was refused. */
  readonly refused?: RefusedForm | undefined
  /** What has just been done. */
  readonly feedback?: Feedback | undefined
}

/** What people can do with an item now. */
export async function affordItem (
  exchange: Exchange,
  item: Stored,
  { entries, principal, offers: named, refused, feedback }: ItemPage
): Promise<ItemAffordances> {
  const { mount, request } = exchange
  const { family, urls } = mount
  const offers = await findOffers(exchange, item, named)
  const forms = offers.filter(({ reason }) => reason === undefined)
    .map(({ operation, params }) => makeOperationForm(exchange, item, operation, params, refused))
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
    refused: explainRefusal(mount, refused, forms)
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
async function placeItem (
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
function makeOperationForm (
  exchange: Exchange,
  item: Stored,
  operation: Offer['operation'],
  params: Params,
  refused: RefusedForm | undefined
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
  }, params, refused, params.isPartial ? item : undefined)
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

/** What a page asks before something is done to an item. */
export interface Question {
  readonly command: Command
  readonly decision: Decision & { readonly outcome: 'done' }
  /** The other items that it needs. */
  readonly others: readonly LoadedOther[]
  readonly sent: FormBody
}

export async function affordConfirmation (
  exchange: Exchange,
  item: Stored,
  { command, decision: { after, others: changed }, others, sent }: Question
): Promise<ItemAffordances> {
  const { mount: { family, urls }, request } = exchange
  const self = urls.item(request, item.id)
  const action = command.action as string
  const { name, noun, summary: title, final } =
    family.operations.get(action)?.operation ?? (family.lifecycle as Lifecycle).deletion.operation
  return {
    ...await placeItem(exchange, item.id),
    trail: trailToItem(exchange, item.id, item),
    operations: [],
    unavailable: [],
    confirm: {
      form: { name, singular: family.singular, title, final, action: `${self}/${noun}` },
      item: self,
      // As the page had them, so that what was sent before it asked is known again.
      entered: [
        ...(sent.formKey === undefined ? [] : [['_key', sent.formKey] as const]),
        ...(sent.revision === undefined ? [] : [['_revision', sent.revision.slice(1, -1)] as const]),
        ...sent.entries
      ],
      params: showParams(family, action, command.params),
      changes: after === undefined ? [] : showDifference(family, item, after),
      others: await showOthers(exchange, others, changed)
    }
  }
}

function showDifference (family: Family, before: Stored, after: Stored): ShownChange[] {
  return showChanges(family, listChanges(family.ownFields, before, after))
}

/** The others that change, as far as the caller may read them before and after it. */
async function showOthers (
  exchange: Exchange,
  others: readonly LoadedOther[],
  changed: ReadonlyMap<string, Stored> = new Map()
): Promise<ChangedItem[]> {
  const { mount, request } = exchange
  const shown = await Promise.all(others.map(async (other): Promise<ChangedItem[]> => {
    const { family, id, current } = other
    const after = changed.get(other.name)
    if (after === undefined || !await mayRead(exchange, other, [current, after])) return []
    const there = family === mount.family ? mount : mount.neighbours.find(family.name, mount)
    return [{
      singular: family.singular,
      title: String(current[family.presentation.title] ?? id),
      href: there?.urls.item(request, id),
      changes: showDifference(family, current, after)
    }]
  }))
  return shown.flat()
}

// Being allowed to change it is not enough.
async function mayRead (
  { request }: Exchange,
  { family, caller, id }: LoadedOther,
  items: readonly Stored[]
): Promise<boolean> {
  try {
    const { where = [] } = await caller.authorize(intendToRead(family, id))
    return items.every(matcher(where))
  } catch (error) {
    const { statusCode, cause } = toProblem(error)
    if (statusCode >= 500) request.log.error({ err: cause ?? error }, 'What else would change cannot be shown')
    return false
  }
}
