import { findTargets, isGranted, listTargets, type OpenTarget, type Target } from '../core/book/offers.js'
import type { Family } from '../core/family/family.js'
import { logFields, ServiceFields } from '../core/family/fields.js'
import { hideSecrets, listChanges } from '../core/family/params.js'
import { makeState } from '../core/family/states.js'
import { intendToRead } from '../core/service/caller.js'
import type { Command, Decision } from '../core/service/decide.js'
import type { Preview } from '../core/service/execute.js'
import type { Reader } from '../core/service/reader.js'
import { type CommandRecord, readTarget } from '../core/service/record.js'
import { explainState, readState } from '../core/service/refusal.js'
import { isAbsent } from '../core/storage/conditions.js'
import type { Stored } from '../exports.js'
import type { FormBody } from '../http/body.js'
import type { Exchange } from '../http/mount.js'
import { findAddress } from '../http/reads/item.js'
import type {
  ChangedItem, Feedback, FormAffordance, ItemAffordances, LogEntry, ShownMember, ShownState
} from './affordances.js'
import { explainRefusal, makeForm, makeSampleRequest, type RefusedForm } from './form-fields.js'
import { checkFrom, findSite, linkItemFrom, linkList, linkOthers, trailToItem } from './links.js'
import { followItem, listKinds, showChanges, showEntry, showParams } from './log-entries.js'
import {
  findReferred, findRelated, findTitle, linkPage, listReferences, nameInLog, titleOf
} from './references.js'

export interface ItemPage {
  readonly entries: readonly CommandRecord[]
  readonly feedback?: Feedback | undefined
  /** Everything up to this position of the feed is on the page. */
  readonly position?: number | undefined
  /** The query of the list from which it was opened. */
  readonly from?: string | undefined
}

export async function makeAffordances (
  exchange: Exchange,
  item: Stored,
  reader: Reader,
  { entries, feedback, position, from }: ItemPage,
  refused: RefusedForm | undefined
): Promise<ItemAffordances> {
  const { mount, request } = exchange
  const { family } = mount
  const self = mount.urls.item(request, item.id)
  const [page, offers, refer, related] = await Promise.all([
    startPage(exchange, self),
    // The forms of a page are sent to the nouns.
    mount.forms.has('noun') ? findTargets(reader.called, reader.grant, item) : [],
    findReferred(exchange, family.members, [item]),
    findRelated(exchange, item)
  ])
  const referred = Object.fromEntries([...family.references.keys()].flatMap(field => {
    const found = refer(item, field)
    return found === undefined ? [] : [[field, found]]
  }))
  const shown = await nameInLog(exchange, entries.map(entry => showEntry(exchange, entry, reader.grant.principal)))
  const { since = Infinity } = refused ?? {}
  const meanwhile = shown.filter(({ revision, outcome }) => revision > since && outcome === 'done')
  const operations = await makeOperationForms(exchange, item, offers, { refused, referred, meanwhile, from })
  const state = readState(family, item)
  return {
    ...page,
    trail: [linkList(mount, request, from)],
    state: showState(family, item),
    technical: [...technical, ...listStateFields(family)],
    referred,
    related,
    operations,
    unavailable: offers.flatMap(({ operation: { name: operation }, reason }) => {
      const isForState = reason === explainState(operation, family, state)
      const wrongState = isForState ? { operation, singular: family.singular, state, allowed: [] } : undefined
      return reason === undefined ? [] : [{ name: operation, reason, wrongState }]
    }),
    log: family.writable ? { href: `${self}/commands`, entries: shown } : undefined,
    feedback: feedback && { ...feedback, current: item.revision },
    live: position === undefined
      ? undefined
      : followItem(exchange, item, position, linkItemFrom(mount, request, item.id, from)),
    refused: refused &&
      explainRefusal(family, refused, operations.some(({ action }) => action === refused.action), meanwhile)
  }
}

/** Fields that the state shows already. */
export function listStateFields ({ presentation: { states } }: Family): string[] {
  return [...states.values()].flatMap(({ where = [] }) => where.map(({ field }) => field))
}

/** Undefined if the family has no states, or the item is in none of them. */
export function showState ({ state, presentation: { states } }: Family, item: Stored): ShownState | undefined {
  const name: unknown = (state ?? makeState(states))(item)
  if (typeof name !== 'string' || name === '') return undefined
  return { state: name, tone: states.get(name)?.tone ?? 'neutral' }
}

const technical = ['id', ...Object.keys(ServiceFields.properties)]

export async function startPage (exchange: Exchange, self: string): Promise<ItemAffordances> {
  const { mount, request } = exchange
  return {
    site: await findSite(exchange),
    now: mount.makers.clock().getTime(),
    kinds: listKinds(mount.family),
    title: mount.family.presentation.title,
    labels: mount.family.presentation.labels,
    technical,
    trail: [linkList(mount, request)],
    others: linkOthers(mount, 'one', ({ name }) => `${self}?format=${name}`),
    operations: [],
    unavailable: [],
    referred: {},
    related: []
  }
}

interface Shown {
  readonly refused: RefusedForm | undefined
  readonly referred: ItemAffordances['referred']
  readonly meanwhile: readonly LogEntry[]
  readonly from: string | undefined
}

async function makeOperationForms (
  exchange: Exchange,
  stored: Stored,
  offers: readonly OpenTarget[],
  { refused, referred, meanwhile, from }: Shown
): Promise<FormAffordance[]> {
  const { mount, request } = exchange
  const item = hideSecrets(mount.family.ownFields, stored)
  const changed = meanwhile.flatMap(({ changes }) => changes).reverse()
  const theirs = new Map(changed.map(({ name, kind, to, referred }): [string, ShownMember] =>
    [name, { name, kind, value: to, referred: referred?.to }]))
  const allowed = offers.filter(({ reason }) => reason === undefined)
  const forms = await Promise.all(allowed.map(async offer => {
    const { operation, params } = offer
    const address = findAddress(mount, request, item.id, operation)
    return await makeForm(exchange, offer, {
      action: `${mount.urls.item(request, item.id)}/${operation.noun}`,
      // Sending the form twice has one effect; the next page may send the same again.
      key: mount.makers.makeCommandId(),
      // Later changes of others are shown before anything is done.
      revision: item.revision,
      from,
      request: address && makeSampleRequest(mount, address, params, item)
    }, refused, { titles: referred, theirs, item: params.isPartial ? item : undefined })
  }))
  return forms.filter(form => form !== undefined)
}

export async function makeEntryAffordances (
  exchange: Exchange,
  self: string,
  record: CommandRecord,
  item: Stored | undefined
): Promise<ItemAffordances> {
  const { mount, request } = exchange
  const id = readTarget(mount.family, record)
  const [entry] = await nameInLog(exchange, [showEntry(exchange, record, undefined)])
  const log = { kind: 'log', href: `${mount.urls.item(request, id)}/commands`, name: 'commands' } as const
  return {
    ...await startPage(exchange, self),
    kinds: listKinds({ fields: logFields }),
    title: 'id',
    technical: [],
    trail: [...trailToItem(exchange, id, item), log],
    entry: { ...entry as LogEntry, href: self }
  }
}

export interface Question {
  readonly command: Command
  readonly decision: Decision & { readonly outcome: 'done' }
  readonly others: Preview['others']
  readonly sent: FormBody
}

export async function makeConfirmation (
  exchange: Exchange,
  item: Stored,
  { command, decision: { after, others: changed, created }, others, sent }: Question
): Promise<ItemAffordances> {
  const { mount, mount: { family, urls }, request } = exchange
  const self = urls.item(request, item.id)
  const from = checkFrom(mount, sent.from)
  const action = command.action as string
  const { operation: { name, noun, summary: title, final }, others: needed } =
    listTargets(family).find(({ operation }) => operation.action === action) as Target
  const names = listReferences(family, needed)
  const changes = after === undefined ? [] : showChanges(family, listChanges(family.ownFields, item, after))
  const [page, [named], params, ...shown] = await Promise.all([
    startPage(exchange, self),
    nameInLog(exchange, [{ changes, params: [] }]),
    Promise.all(showParams(family, action, command.params).map(async (param): Promise<ShownMember> => {
      const referred = names.get(param.name)
      const title = referred && await findTitle(exchange, referred, param.value)
      return title === undefined ? param : { ...param, referred: { title } }
    })),
    ...others.map(other =>
      showOther(exchange, other, (other.current === undefined ? created : changed)?.get(other.name)))
  ])
  return {
    ...page,
    trail: trailToItem(exchange, item.id, item, from),
    confirm: {
      form: { name, singular: family.singular, title, final, action: `${self}/${noun}` },
      item: linkItemFrom(mount, request, item.id, from),
      // Unchanged, so that a request from before the confirmation is recognized.
      entered: [
        ...(sent.formKey === undefined ? [] : [['_key', sent.formKey] as const]),
        ...(sent.revision === undefined ? [] : [['_revision', sent.revision] as const]),
        ...(from === '' ? [] : [['_from', from] as const]),
        ...(sent.zone === undefined ? [] : [['_zone', sent.zone] as const]),
        ...(sent.language === undefined ? [] : [['_language', sent.language] as const]),
        ...sent.resolved
      ],
      params,
      changes: named?.changes ?? [],
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
  if (!await isGranted(caller, intendToRead(family, id), both, false)) return []
  const there = family === mount.family ? mount : mount.neighbours.find(family.name, mount)
  // They are decided on under the names of the base.
  const shown = there?.family ?? family
  const { renaming } = shown
  const [before, now] = [current && (renaming?.show(current) ?? current), renaming?.show(after) ?? after]
  const { title, labels } = shown.presentation
  const changes = showChanges(shown, listChanges(shown.ownFields, before ?? {}, now))
  if (before === undefined) {
    // Its id is only known when it is created.
    const named = title === 'id' || isAbsent(now[title]) ? undefined : String(now[title])
    const others = changes.filter(({ name }) => name !== 'id')
    return [{ singular: shown.singular, labels, title: named, isNew: true, changes: others }]
  }
  const href = linkPage(there, request, id)
  return [{ singular: shown.singular, labels, title: titleOf(shown, before), href, isNew: false, changes }]
}
