import {
  describeForm, type FamilyMount, findActionAddress, findChanges, type FormCommand, type FormPreview,
  type ItemOffer, type LoadedCommand, type LogRecord, type PreviewedItem, type Reading, type Responding, type Stored
} from '../exports.js'
import type {
  ChangedItem, Feedback, FormAffordance, ItemAffordances, LogEntry, ShownMember, ShownState
} from './affordances.js'
import { explainRefusal, makeForm, makeSampleRequest, type RefusedForm } from './form-fields.js'
import { checkFrom, findSite, linkItemFrom, linkList, linkOthers, trailToItem } from './links.js'
import { followItem, getAction, listKinds, nameForTexts, showChanges, showEntry, showParams } from './log-entries.js'
import type { PageForm } from './page-form.js'
import { findReferred, findRelated, findTitle, linkPage, nameInLog, titleOf } from './references.js'
import { itemUrl } from './urls.js'

export interface ItemParts {
  readonly entries: readonly LogRecord[]
  readonly feedback?: Feedback | undefined
  /** Everything up to this place in the log is on the page. */
  readonly cursor?: string | undefined
  /** The query of the list from which it was opened. */
  readonly from?: string | undefined
}

export async function makeAffordances (
  responding: Responding,
  item: Stored,
  reading: Reading,
  { entries, feedback, cursor, from }: ItemParts,
  refused: RefusedForm | undefined
): Promise<ItemAffordances> {
  const { mount, mount: { model }, request } = responding
  const self = itemUrl(mount, request, item.id)
  const [page, offers, refer, related] = await Promise.all([
    startPage(responding, self),
    // The forms of a page are sent to the nouns.
    mount.forms.includes('noun') ? reading.offers(item) : [],
    findReferred(responding, model.members, [item]),
    findRelated(responding, item)
  ])
  const referred = Object.fromEntries(Object.keys(model.references).flatMap(field => {
    const found = refer(item, field)
    return found === undefined ? [] : [[field, found]]
  }))
  const shown = await nameInLog(responding, entries.map(entry => showEntry(responding, entry)))
  const { since = Infinity } = refused ?? {}
  const meanwhile = shown.filter(({ revision, outcome }) => revision > since && outcome === 'done')
  const operations = await makeOperationForms(responding, item, offers, { refused, referred, meanwhile, from })
  return {
    ...page,
    trail: [linkList(mount, request, from)],
    state: showState(mount, item),
    technical: [...technical, ...listStateFields(mount)],
    referred,
    related,
    operations,
    unavailable: offers.flatMap(({ action, reason, wrongState }) => reason === undefined
      ? []
      : [{
          name: nameForTexts(getAction(mount, action)),
          reason,
          wrongState: wrongState && { ...wrongState, singular: model.singular }
        }]),
    log: model.isWritable ? { href: `${self}/commands`, entries: shown } : undefined,
    feedback: feedback && { ...feedback, current: item.revision },
    live: cursor === undefined
      ? undefined
      : followItem(responding, item, cursor, linkItemFrom(mount, request, item.id, from)),
    refused: refused &&
      explainRefusal(mount, refused, operations.some(({ action }) => action === refused.action), meanwhile)
  }
}

/** Fields that the state shows already. */
export function listStateFields ({ model: { states } }: FamilyMount): string[] {
  return states.flatMap(({ where = [] }) => where.map(({ field }) => field))
}

/** Undefined if the family has no states, or the item is in none of them. */
export function showState (mount: FamilyMount, item: Stored): ShownState | undefined {
  const state = mount.stateOf(item)
  if (state === undefined) return undefined
  return { state, tone: mount.model.states.find(({ name }) => name === state)?.tone ?? 'neutral' }
}

const technical = ['id', 'revision', 'createdAt', 'updatedAt']

export async function startPage (responding: Responding, self: string): Promise<ItemAffordances> {
  const { mount, mount: { model: { title, labels } }, request } = responding
  return {
    site: await findSite(responding),
    now: mount.now().getTime(),
    kinds: listKinds(mount),
    title,
    labels,
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
  responding: Responding,
  stored: Stored,
  offers: readonly ItemOffer[],
  { refused, referred, meanwhile, from }: Shown
): Promise<FormAffordance[]> {
  const { mount, mount: { model }, request } = responding
  const { id, revision } = stored
  // Without what clients never read.
  const item = { ...Object.fromEntries(model.members.map(name => [name, stored[name]])), id, revision } as Stored
  const changed = meanwhile.flatMap(({ changes }) => changes).reverse()
  const theirs = new Map(changed.map(({ name, kind, to, referred }): [string, ShownMember] =>
    [name, { name, kind, value: to, referred: referred?.to }]))
  const allowed = offers.filter(({ reason }) => reason === undefined)
  const forms = await Promise.all(allowed.map(async ({ action }) => {
    const { words: { noun }, isPartial } = getAction(mount, action)
    const address = findActionAddress(responding, action, id)
    return await makeForm(responding, action, {
      action: itemUrl(mount, request, id, noun),
      // Sending the form twice has one effect; the next page may send the same again.
      key: mount.makeCommandId(),
      // Later changes of others are shown before anything is done.
      revision,
      from,
      request: address && makeSampleRequest(mount, action, address, item)
    }, refused, { titles: referred, theirs, item: isPartial ? item : undefined })
  }))
  return forms.filter(form => form !== undefined)
}

export async function makeEntryAffordances (
  responding: Responding,
  { entry: record, self, item }: LoadedCommand
): Promise<ItemAffordances> {
  const { mount, mount: { model: { entryFields } }, request } = responding
  const { target } = record
  const [entry] = await nameInLog(responding, [showEntry(responding, record)])
  const log = { kind: 'log', href: itemUrl(mount, request, target, 'commands'), name: 'commands' } as const
  return {
    ...await startPage(responding, self),
    kinds: listKinds(undefined, entryFields),
    title: 'id',
    technical: [],
    trail: [...trailToItem(responding, target, item), log],
    entry: { ...entry as LogEntry, href: self }
  }
}

export interface Question {
  readonly command: FormCommand
  readonly preview: FormPreview
  readonly sent: PageForm
}

export async function makeConfirmation (
  responding: Responding,
  item: Stored,
  { command: { action, params: given }, preview: { after, others }, sent }: Question
): Promise<ItemAffordances> {
  const { mount, mount: { model: { singular } }, request } = responding
  const self = itemUrl(mount, request, item.id)
  const from = checkFrom(mount, sent.from)
  const found = getAction(mount, action)
  const { references, summary: title } = describeForm(mount, action)
  const changes = after === undefined ? [] : showChanges(mount, findChanges(mount, item, after))
  const [page, [named], params] = await Promise.all([
    startPage(responding, self),
    nameInLog(responding, [{ changes, params: [] }]),
    Promise.all(showParams(mount, action, given).map(async (param): Promise<ShownMember> => {
      const family = Object.hasOwn(references, param.name) ? references[param.name] : undefined
      const title = family === undefined ? undefined : await findTitle(responding, family, param.value)
      return title === undefined ? param : { ...param, referred: { title } }
    }))
  ])
  return {
    ...page,
    trail: trailToItem(responding, item.id, item, from),
    confirm: {
      form: { name: nameForTexts(found), singular, title, final: found.final, action: `${self}/${found.words.noun}` },
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
      others: others.map(other => showPreviewed(responding, other))
    }
  }
}

function showPreviewed ({ request }: Responding, { mount, id, before, after }: PreviewedItem): ChangedItem {
  const { singular, labels, title } = mount.model
  const changes = showChanges(mount, findChanges(mount, before ?? {}, after))
  if (before === undefined) {
    // Its id is only known when it is created.
    const named = title === 'id' ? undefined : after[title] ?? undefined
    const others = changes.filter(({ name }) => name !== 'id')
    return { singular, labels, title: named === undefined ? undefined : String(named), isNew: true, changes: others }
  }
  const href = linkPage(mount, request, id)
  return { singular, labels, title: titleOf(mount, before), href, isNew: false, changes }
}
