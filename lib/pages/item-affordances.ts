import {
  describeForm, findActionAddress, findChanges, type FormCommand, type FormPreview,
  type ItemOffer, type ListQuery, type LoadedCommand, type Members, prefillParams, type PreviewedItem, type Reading,
  type Stored
} from '../exports.js'
import type {
  ChangedItem, Feedback, FormAffordance, ItemAffordances, LogEntry, Referred, RowReferences, ShownMember, TakeBack
} from './affordances.js'
import { readFeedback } from './feedback.js'
import type { RefusedForm } from './fields.js'
import { explainRefusal, makeForm, makeSampleRequest } from './form-fields.js'
import { labelsOf, listKinds } from './labels.js'
import { checkFrom, findSite, linkItemFrom, linkList, linkOthers, trailToItem } from './links.js'
import {
  findNewestEntries, followItem, getAction, makeFeedback, makeLogEntry, nameForTexts, showChanges, showParams
} from './log-entries.js'
import type { PageForm } from './page-form.js'
import type { PageRequest } from './page-reads.js'
import { findReferredTitles, linkPage, nameInLog } from './references.js'
import { findRelated, type FoundRelated } from './related.js'
import { listStateFields, showState } from './states.js'
import { titleOf } from './titles.js'
import { itemUrl } from './urls.js'

/** What the page of an item is made of, as far as it depends on the item alone. */
export interface ItemParts {
  readonly item: Stored
  /** Everything up to this place in the log is on the page. */
  readonly cursor?: string | undefined
  /** With the items that it refers to. */
  readonly expanded: Stored | undefined
  readonly page: ItemAffordances
  readonly entries: readonly LogEntry[]
  /** Whether the item has been changed since it was read. */
  readonly isStale: boolean
  readonly feedback: Feedback | undefined
  readonly offers: readonly ItemOffer[]
  readonly referred: Readonly<Record<string, Referred>>
  readonly inRows: RowReferences
  readonly found: FoundRelated
}

/** What the page of an item may be asked for. */
export interface ItemPageQuery extends Pick<ListQuery, 'fields' | 'expand'> {
  readonly refused?: RefusedForm
  /** The query of the list from which it was opened. */
  readonly from?: string | undefined
}

/** All at once. */
export async function loadParts (
  responding: PageRequest, reading: Reading, item: Stored, { expand, refused }: ItemPageQuery
): Promise<ItemParts> {
  const { mount, mount: { model }, request } = responding
  const [expanded, page, log, feedback, offers, refer, found] = await Promise.all([
    expand && reading.expand(item, expand),
    startPage(responding, itemUrl(mount, request, item.id)),
    loadNewest(responding, reading, item),
    refused === undefined && model.isWritable ? findFeedback(responding, reading, item) : undefined,
    // The forms of a page are sent to the nouns.
    mount.forms.includes('noun') ? reading.offers(item) : [],
    findReferredTitles(responding, model.members, [item]),
    findRelated(responding, item)
  ])
  const referred = Object.fromEntries(Object.keys(model.references).flatMap(field => {
    const found = refer.of(item, field)
    return found === undefined ? [] : [[field, found]]
  }))
  return { item, expanded, page, ...log, feedback, offers, referred, inRows: refer.inRows, found }
}

async function loadNewest (
  responding: PageRequest, reading: Reading, item: Stored
): Promise<Pick<ItemParts, 'entries' | 'isStale'>> {
  if (!responding.mount.model.isWritable) return { entries: [], isStale: false }
  const { entries, isStale } = await findNewestEntries(reading, item)
  return { entries: await nameInLog(responding, entries.map(entry => makeLogEntry(responding, entry))), isStale }
}

/** The outcome of the command that was just sent. */
async function findFeedback (
  { mount, request }: PageRequest, reading: Reading, { id, revision }: Stored
): Promise<Feedback | undefined> {
  const command = readFeedback(request)
  const record = command === undefined ? undefined : await reading.entry(id, command)
  return record && { ...makeFeedback(mount, record), current: revision }
}

export async function makeAffordances (
  responding: PageRequest, parts: ItemParts, { refused, from }: ItemPageQuery
): Promise<ItemAffordances> {
  const { mount, mount: { model }, request } = responding
  const { item, cursor, page, entries, feedback, offers, referred, inRows, found } = parts
  const { since = Infinity } = refused ?? {}
  const meanwhile = entries.filter(({ revision, outcome }) => revision > since && outcome === 'done')
  const operations = await makeOperationForms(responding, item, offers, { refused, referred, meanwhile, from })
  return {
    ...page,
    trail: [linkList(mount, request, from)],
    state: showState(mount, item),
    technical: [...technicalFields, ...listStateFields(mount)],
    referred,
    inRows,
    ...found,
    operations,
    unavailable: offers.flatMap(({ action, reason, wrongState }) => reason === undefined
      ? []
      : [{
          name: nameForTexts(getAction(mount, action)),
          reason,
          wrongState: wrongState && { ...wrongState, singular: model.singular }
        }]),
    log: model.isWritable ? { href: itemUrl(mount, request, item.id, 'commands'), entries } : undefined,
    feedback: feedback && { ...feedback, undo: makeUndo(responding, item, feedback, offers) },
    live: cursor === undefined
      ? undefined
      : followItem(responding, item, cursor, linkItemFrom(mount, request, item.id, from)),
    refused: refused &&
      explainRefusal(mount, refused, operations.some(({ action }) => action === refused.action), meanwhile)
  }
}

/** Of the command that was just sent, if it is the last change. */
function makeUndo (
  { mount, request }: PageRequest, { id, revision }: Stored, feedback: Feedback, offers: readonly ItemOffer[]
): TakeBack | undefined {
  const revert = mount.model.actions.find(({ kind }) => kind === 'revert')
  const isAllowed = offers.some(({ action, reason }) => action === revert?.action && reason === undefined)
  // Before these, there was no item.
  const isBegin = ['create', 'restore'].includes(feedback.name)
  if (!isAllowed || isBegin || feedback.outcome !== 'done' || feedback.revision !== revision) return undefined
  return {
    action: itemUrl(mount, request, id, revert?.words.noun),
    entered: [['_key', mount.makeCommandId()], ['_revision', String(revision)], ['to', String(revision - 1)]]
  }
}

const technicalFields = ['id', 'revision', 'createdAt', 'updatedAt']

export async function startPage (responding: PageRequest, self: string): Promise<ItemAffordances> {
  const { mount, mount: { model: { title } }, request } = responding
  return {
    site: await findSite(responding),
    now: mount.now().getTime(),
    kinds: listKinds(mount),
    title,
    labels: labelsOf(mount),
    technical: technicalFields,
    trail: [linkList(mount, request)],
    others: linkOthers(mount, 'one', ({ name }) => `${self}?format=${name}`),
    operations: [],
    unavailable: [],
    referred: {},
    related: []
  }
}

interface OperationParts {
  readonly refused: RefusedForm | undefined
  readonly referred: ItemAffordances['referred']
  readonly meanwhile: readonly LogEntry[]
  readonly from: string | undefined
}

/** Those that it has. */
export function pickMembers (item: Members, names: readonly string[]): Members {
  const picked: Record<string, unknown> = {}
  for (const name of names) if (item[name] !== undefined) picked[name] = item[name]
  return picked
}

async function makeOperationForms (
  responding: PageRequest,
  stored: Stored,
  offers: readonly ItemOffer[],
  { refused, referred, meanwhile, from }: OperationParts
): Promise<FormAffordance[]> {
  const { mount, mount: { model }, request } = responding
  const { id, revision } = stored
  // Without what clients never read.
  const item = { ...pickMembers(stored, model.members), id, revision } as Stored
  const changed = meanwhile.flatMap(({ changes }) => changes).reverse()
  const theirs = new Map(changed.map(({ name, kind, kinds, to, referred, inRows }): [string, ShownMember] =>
    [name, { name, kind, kinds, value: to, referred: referred?.to, inRows }]))
  const allowed = offers.filter(({ reason }) => reason === undefined)
  const forms = await Promise.all(allowed.map(async ({ action }) => {
    const { words: { noun }, isPartial } = getAction(mount, action)
    const address = findActionAddress(responding, action, id)
    const url = itemUrl(mount, request, id, noun)
    // A form that only gets a row more is as old as its page.
    const shown = refused?.action === url ? Number(refused.revision ?? revision) : revision
    return await makeForm(responding, action, {
      action: url,
      // Sending the form twice has one effect; the next page may send the same again.
      key: mount.makeCommandId(),
      // Later changes of others are shown before anything is done.
      revision: shown,
      from,
      request: address && makeSampleRequest(mount, action, address, item)
    }, refused, {
      titles: referred,
      theirs,
      ...isPartial ? { item } : { prefilled: prefillParams(responding, action, item) }
    })
  }))
  return forms.filter(form => form !== undefined)
}

export async function makeEntryAffordances (
  responding: PageRequest,
  { entry: record, self, item }: LoadedCommand
): Promise<ItemAffordances> {
  const { mount, mount: { model: { entryFields } }, request } = responding
  const { target } = record
  const [entry] = await nameInLog(responding, [makeLogEntry(responding, record)])
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
  responding: PageRequest,
  item: Stored,
  { command: { action, params: given }, preview: { after, others }, sent }: Question
): Promise<ItemAffordances> {
  const { mount, mount: { model: { singular } }, request } = responding
  const self = itemUrl(mount, request, item.id)
  const from = checkFrom(mount, sent.from)
  const found = getAction(mount, action)
  const { references, summary: title } = describeForm(mount, action)
  const changes = after === undefined ? [] : showChanges(mount, findChanges(mount, item, after))
  const [page, [named], { of, inRows }] = await Promise.all([
    startPage(responding, self),
    nameInLog(responding, [{ changes, params: [] }]),
    findReferredTitles(responding, Object.keys(given), [given], references)
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
      params: showParams(mount, action, given).map((param): ShownMember => {
        const title = of(given, param.name)?.title
        return { ...param, inRows, ...title !== undefined && { referred: { title } } }
      }),
      changes: named?.changes ?? [],
      others: others.map(other => showPreviewed(responding, other))
    }
  }
}

function showPreviewed ({ request }: PageRequest, { mount, id, before, after }: PreviewedItem): ChangedItem {
  const { singular, title } = mount.model
  const labels = labelsOf(mount)
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
