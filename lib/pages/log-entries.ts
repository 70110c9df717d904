import {
  type ActionModel, type Condition, describeForm, type FamilyModel, type FamilyMount, type FieldChanges,
  findStateReason, type Id, type LogRecord, type Members, type Reading, type Stored
} from '../exports.js'
import type {
  ActionChoice, Feedback, Live, LogEntry, ShownChange, ShownMember, TakeBack, WrongState
} from './affordances.js'
import { labelsOf, listKinds } from './labels.js'
import { linkPage } from './references.js'
import { titleOf } from './titles.js'
import { commandUrl, type Here, itemUrl } from './urls.js'
import { hasPages } from './views.js'

const shownChanges = 10
const shownRefusals = 5

interface NewestEntries {
  readonly entries: readonly LogRecord[]
  /** Whether the item has been changed since it was read. */
  readonly isStale: boolean
}

/** Changes and later refusals, newest first. Found by revision, so that the length of the log does not matter. */
export async function findNewestEntries (reading: Reading, { id, revision }: Stored): Promise<NewestEntries> {
  const order = ['revision', 'createdAt', 'id'].map(field => ({ field, descending: true }))
  const revisions = Array.from({ length: shownChanges }, (_, index) => revision - index)
  const find = async (outcome: string, revisions: readonly number[], limit: number): Promise<readonly LogRecord[]> => {
    const where: Condition[] =
      [{ field: 'revision', op: 'eq', values: revisions }, { field: 'outcome', op: 'eq', values: [outcome] }]
    return await reading.log(id, { where, order, offset: 0, limit, count: false })
  }
  const [found, refusals] = await Promise.all([
    find('done', [revision + 1, ...revisions], shownChanges + 1),
    find('refused', revisions, shownRefusals)
  ])
  const changes = found.filter(entry => entry.revision <= revision)
  // At one revision, refusals came after the change that made it.
  const entries = [...refusals, ...changes.slice(0, shownChanges)].sort((a, b) => b.revision - a.revision)
  return { entries, isStale: changes.length < found.length }
}

/** The title of an item that is gone, if one of its last changes has it, and the caller may read its log. */
export async function findLastTitle (reading: Reading, id: Id): Promise<string | undefined> {
  const { mount, mount: { model: { title, actions } }, isNarrowed } = reading
  if (title === 'id' || (isNarrowed && !await reading.hasLog(id))) return undefined
  const where: Condition[] = [{ field: 'outcome', op: 'eq', values: ['done'] }]
  const order = ['revision', 'createdAt', 'id'].map(field => ({ field, descending: true }))
  const entries = await reading.log(id, { where, order, offset: 0, limit: shownChanges, count: false })
  const creation = actions.find(({ kind }) => kind === 'create')
  for (const { action, params, changes } of entries) {
    const named = action === creation?.action ? params?.[title] : changes?.[title]?.to ?? changes?.[title]?.from
    if (named !== undefined) return titleOf(mount, { id, [title]: named })
  }
  return undefined
}

export function makeLogEntry ({ mount, request }: Here, record: LogRecord, noun?: string): LogEntry {
  const { name, singular } = mount.model
  const { id, target, action, params = {}, changes = {}, about, createdAt, principal, problem, outcome } = record
  const there = about && (about.family === name ? mount : mount.beside(about.family))
  const acting = there ?? mount
  const isRemoval = findKnownAction(acting, action)?.kind === 'remove'
  const then = isRemoval && about === undefined ? record.revision - 1 : record.revision
  return {
    ...makeFeedback(acting, record),
    singular,
    href: hasPages(mount) ? commandUrl(mount, request, target, id, noun) : undefined,
    then: hasPages(mount) && outcome === 'done' ? `${itemUrl(mount, request, target)}?revision=${then}` : undefined,
    at: createdAt,
    principal,
    about: about && {
      singular: there?.model.singular ?? about.family,
      labels: there && labelsOf(there),
      id: String(about.id),
      href: linkPage(there, request, about.id)
    },
    params: showParams(acting, action, params),
    // The item as it was says what went with it.
    changes: isRemoval && about === undefined ? [] : showChanges(mount, pickOwn(changes)),
    reason: problem?.detail,
    wrongState: problem && readWrongState(mount, problem)
  }
}

/** What came back has everything that it had. */
function pickOwn ({ id, createdAt, updatedAt, ...changes }: FieldChanges): FieldChanges {
  return changes
}

export function makeFeedback (mount: FamilyMount, { action, outcome, revision }: LogRecord): Feedback {
  const found = findKnownAction(mount, action)
  const { singular, eraseAction } = mount.model
  const unknown = action === eraseAction ? 'erase' : action
  return { name: found === undefined ? unknown : nameForTexts(found), singular, outcome, revision }
}

const knownActions = new WeakMap<FamilyModel, ReadonlyMap<string, ActionModel>>()

/** Undefined if the family no longer has it, or never had. */
export function findKnownAction ({ model }: FamilyMount, action: string): ActionModel | undefined {
  const known = knownActions.get(model) ?? new Map(model.actions.map(each => [each.action, each]))
  knownActions.set(model, known)
  return known.get(action)
}

/** Of a family that has it. */
export function getAction (mount: FamilyMount, action: string): ActionModel {
  return findKnownAction(mount, action) as ActionModel
}

/** The name that texts have for it. */
export function nameForTexts ({ kind, name }: ActionModel): string {
  return kind === 'remove' ? 'delete' : name
}

/** Whether it means the same for several items of a list. */
export function isForMany ({ kind, isPartial }: ActionModel): boolean {
  return !['create', 'restore', 'revert'].includes(kind) && !isPartial
}

/** A form that restores an item, unless it has been restored since; undefined if the caller may not. */
export async function makeRestoreForm (
  { mount, request }: Here, reading: Reading, { target, revision }: Pick<LogRecord, 'target' | 'revision'>
): Promise<TakeBack | undefined> {
  const { model: { actions }, forms } = mount
  const restore = actions.find(({ kind }) => kind === 'restore')
  if (restore === undefined || !forms.includes('noun') || !await reading.mayOffer(restore.action)) return undefined
  return {
    action: itemUrl(mount, request, target, restore.words.noun),
    entered: [['_key', mount.makeCommandId()], ['_revision', String(revision)]]
  }
}

export function showParams (mount: FamilyMount, action: string, params: Members): ShownMember[] {
  const inputs = findKnownAction(mount, action) === undefined ? [] : describeForm(mount, action).inputs
  const kinds = listKinds(mount, inputs)
  return Object.entries(params).map(([name, value]) => {
    const title = inputs.find(input => input.name === name)?.title
    return { name, ...title !== undefined && { title }, value, kind: kinds[name], kinds }
  })
}

export function showChanges (mount: FamilyMount, changes: FieldChanges): ShownChange[] {
  const kinds = listKinds(mount)
  return Object.entries(changes).map(([name, change]) => ({ name, kind: kinds[name], kinds, ...change }))
}

/** The operations of a family, by their actions. */
export function listActionChoices ({ model: { actions, singular, labels } }: FamilyMount): ActionChoice[] {
  return actions.map(each => ({ value: each.action, name: nameForTexts(each), singular, labels }))
}

/** Tells the script of an item's page of changes after a position. */
export function followItem (
  { mount, request }: Here,
  { id, revision }: Stored,
  cursor: string,
  show: string
): Live {
  const href = `${itemUrl(mount, request, id, 'commands')}?after=${cursor}`
  return { href, actions: listEvents(mount), show, revision }
}

/** A browser must know the names of events, and operations of other families may change an item too. */
export function listEvents (mount: FamilyMount): readonly string[] {
  const models = mount.neighbours().map(({ model }) => model)
  const known = models.flatMap(({ actions, eraseAction }) => [...actions.map(({ action }) => action), eraseAction])
  return [...new Set(known)]
}

/** Data, so that pages use their texts; undefined where there is a different reason. */
export function readWrongState (
  mount: FamilyMount, refusal: Parameters<typeof findStateReason>[1]
): WrongState | undefined {
  const reason = findStateReason(mount, refusal)
  return reason && { ...reason, singular: mount.model.singular }
}
