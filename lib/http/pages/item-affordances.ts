import type { NounOperation } from '../../core/family/definition.js'
import { logFields, ServiceFields } from '../../core/family/fields.js'
import { listChanges } from '../../core/family/params.js'
import { toOwnItem } from '../../core/family/rename.js'
import { intendToRead } from '../../core/service/caller.js'
import type { Command, CommandRecord } from '../../core/service/command.js'
import type { Decision } from '../../core/service/decide.js'
import type { Preview } from '../../core/service/execute.js'
import type { Reader } from '../../core/service/reader.js'
import { readTarget } from '../../core/service/record.js'
import { explainState, readState } from '../../core/service/refusal.js'
import { isAbsent } from '../../core/storage/conditions.js'
import type { Stored } from '../../core/storage/storage.js'
import type { ChangedItem, Feedback, FormAffordance, ItemAffordances } from '../../representations/affordances.js'
import type { FormBody } from '../body.js'
import type { Exchange } from '../mount.js'
import { explainRefusal, isText, makeForm, makeSampleRequest, type RefusedForm } from './form-fields.js'
import { listKinds, showChanges, showEntry, showParams } from './log-entries.js'
import {
  findAddress, findOffers, findSite, isGranted, linkList, linkOthers, type Offer, trailToItem
} from './offers.js'

export interface ItemPage {
  readonly entries: readonly CommandRecord[]
  readonly feedback?: Feedback | undefined
}

export async function affordItem (
  exchange: Exchange,
  item: Stored,
  reader: Reader,
  { entries, feedback }: ItemPage,
  refused: RefusedForm | undefined
): Promise<ItemAffordances> {
  const { mount, request } = exchange
  const { family } = mount
  const self = mount.urls.item(request, item.id)
  // The forms of a page are sent to the nouns.
  const offers = mount.forms.has('noun') ? await findOffers(exchange, item, reader) : []
  const shown = offers.filter(({ params }) => !params.isPartial || params.fields.some(isText))
  const state = readState(family, item)
  const operations = shown.filter(({ reason }) => reason === undefined)
    .map(offer => makeOperationForm(exchange, item, offer, refused))
  return {
    ...await startPage(exchange, self),
    state: family.state?.(item),
    operations,
    unavailable: shown.flatMap(({ operation: { name: operation }, reason }) => {
      const isForState = reason === explainState(operation, family, state)
      const wrongState = isForState ? { operation, singular: family.singular, state, allowed: [] } : undefined
      return reason === undefined ? [] : [{ name: operation, reason, wrongState }]
    }),
    log: family.writable
      ? { href: `${self}/commands`, entries: entries.map(entry => showEntry(exchange, entry, reader.principal)) }
      : undefined,
    feedback: feedback && { ...feedback, current: item.revision },
    refused: refused &&
      explainRefusal(family, refused, operations.some(({ action }) => action === refused.action))
  }
}

const technical = ['id', ...Object.keys(ServiceFields.properties)]

async function startPage (exchange: Exchange, self: string): Promise<ItemAffordances> {
  const { mount, request } = exchange
  return {
    site: await findSite(exchange),
    kinds: listKinds(mount.family.fields),
    title: mount.family.presentation.title,
    technical,
    trail: [linkList(mount, request)],
    others: linkOthers(mount, 'one', ({ name }) => `${self}?format=${name}`),
    operations: [],
    unavailable: []
  }
}

function makeOperationForm (exchange: Exchange, item: Stored, offer: Offer, refused?: RefusedForm): FormAffordance {
  const { mount, request } = exchange
  const { operation, params } = offer
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
    // Sending the form twice has one effect; the next page may send the same again.
    key: mount.makers.makeCommandId(),
    // A form that is filled in must not undo the change of another person.
    revision: params.isPartial || mount.preconditions === 'required' ? item.revision : undefined,
    request: address && makeSampleRequest(mount, address, params, item)
  }, params, refused, params.isPartial ? item : undefined)
}

export async function affordEntry (
  exchange: Exchange,
  self: string,
  record: CommandRecord,
  item: Stored | undefined
): Promise<ItemAffordances> {
  const { mount, request } = exchange
  const id = readTarget(mount.family, record)
  const log = { kind: 'log', href: `${mount.urls.item(request, id)}/commands`, name: 'commands' } as const
  return {
    ...await startPage(exchange, self),
    kinds: listKinds(logFields),
    title: 'id',
    technical: [],
    trail: [...trailToItem(exchange, id, item), log],
    entry: { ...showEntry(exchange, record, undefined), href: self }
  }
}

export interface Question {
  readonly command: Command
  readonly decision: Decision & { readonly outcome: 'done' }
  readonly others: Preview['others']
  readonly sent: FormBody
}

export async function affordConfirmation (
  exchange: Exchange,
  item: Stored,
  { command, decision: { after, others: changed, created }, others, sent }: Question
): Promise<ItemAffordances> {
  const { mount: { family, urls }, request } = exchange
  const self = urls.item(request, item.id)
  const action = command.action as string
  const { name, noun, summary: title, final } =
    family.operations.get(action)?.operation ?? family.lifecycle?.deletion?.operation as NounOperation
  const [page, ...shown] = await Promise.all([
    startPage(exchange, self),
    ...others.map(other =>
      showOther(exchange, other, (other.current === undefined ? created : changed)?.get(other.name)))
  ])
  return {
    ...page,
    trail: trailToItem(exchange, item.id, item),
    confirm: {
      form: { name, singular: family.singular, title, final, action: `${self}/${noun}` },
      item: self,
      // As the page had them, so that a request from before the confirmation is recognized.
      entered: [
        ...(sent.formKey === undefined ? [] : [['_key', sent.formKey] as const]),
        ...(sent.revision === undefined ? [] : [['_revision', sent.revision] as const]),
        ...sent.entries
      ],
      params: showParams(family, action, command.params),
      changes: after === undefined ? [] : showChanges(family, listChanges(family.ownFields, item, after)),
      others: shown.flat()
    }
  }
}

/** Only if the caller may read the item before and after: permission to change it is not enough. */
async function showOther (
  { mount, request }: Exchange,
  { family, caller, id, current }: Preview['others'][number],
  after: Stored | undefined
): Promise<ChangedItem[]> {
  if (after === undefined) return []
  const both = current === undefined ? [after] : [current, after]
  if (!await isGranted(request, caller, intendToRead(family, id), both, false)) return []
  const there = family === mount.family ? mount : mount.neighbours.find(family.name, mount)
  // They are decided on under the names of the base.
  const shown = there?.family ?? family
  const [before, now] = [toOwnItem(shown, current), toOwnItem(shown, after)]
  const { title } = shown.presentation
  const changes = showChanges(shown, listChanges(shown.ownFields, before ?? {}, now))
  if (before === undefined) {
    // Its id is only known when it is created.
    const named = title === 'id' || isAbsent(now[title]) ? undefined : String(now[title])
    const others = changes.filter(({ name }) => name !== 'id')
    return [{ singular: shown.singular, title: named, isNew: true, changes: others }]
  }
  const href = there?.urls.item(request, id)
  return [{ singular: shown.singular, title: String(before[title] ?? id), href, isNew: false, changes }]
}
