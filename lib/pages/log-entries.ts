import {
  type ActionModel, type Condition, describeForm, type FamilyModel, type FamilyMount, type Field, type FieldChanges,
  findStateReason, type Id, type LogRecord, type Members, type Reading, type Stored
} from '../exports.js'
import type {
  ActionChoice, Feedback, Kinds, Live, LogEntry, ShownChange, ShownKind, ShownMember, WrongState
} from './affordances.js'
import { linkPage, titleOf } from './references.js'
import { commandUrl, type Here, itemUrl } from './urls.js'
import { hasPages } from './views.js'

const shownChanges = 10
const shownRefusals = 5

/** Changes and later refusals, newest first. Found by revision, so that the length of the log does not matter. */
export async function findNewest (reading: Reading, { id, revision }: Stored): Promise<readonly LogRecord[]> {
  const order = ['revision', 'createdAt', 'id'].map(field => ({ field, descending: true }))
  const revisions = Array.from({ length: shownChanges }, (_, index) => revision - index)
  const find = async (outcome: string, limit: number): Promise<readonly LogRecord[]> => {
    const where: Condition[] =
      [{ field: 'revision', op: 'eq', values: revisions }, { field: 'outcome', op: 'eq', values: [outcome] }]
    return await reading.log(id, { where, order, offset: 0, limit, count: false })
  }
  const [changes, refusals] = await Promise.all([find('done', shownChanges), find('refused', shownRefusals)])
  // At one revision, refusals came after the change that made it.
  return [...refusals, ...changes].sort((a, b) => b.revision - a.revision)
}

/** The title of an item that is gone, if one of its last changes has it, and the caller may read its log. */
export async function findLastTitle (reading: Reading, id: Id): Promise<string | undefined> {
  const { mount, mount: { model: { title, actions } }, isNarrowed } = reading
  if (isNarrowed || title === 'id') return undefined
  const where: Condition[] = [{ field: 'outcome', op: 'eq', values: ['done'] }]
  const order = ['revision', 'createdAt', 'id'].map(field => ({ field, descending: true }))
  const entries = await reading.log(id, { where, order, offset: 0, limit: shownChanges, count: false })
  const creation = actions.find(({ kind }) => kind === 'create')
  for (const { action, params, changes } of entries) {
    const named = action === creation?.action ? params?.[title] : changes?.[title]?.to
    if (named !== undefined) return titleOf(mount, { id, [title]: named })
  }
  return undefined
}

export function showEntry ({ mount, request }: Here, record: LogRecord, noun?: string): LogEntry {
  const { name, singular } = mount.model
  const { id, target, action, params = {}, changes = {}, about, createdAt, principal, problem } = record
  const there = about && (about.family === name ? mount : mount.beside(about.family))
  const acting = there ?? mount
  return {
    ...makeFeedback(acting, record),
    singular,
    href: hasPages(mount) ? commandUrl(mount, request, target, id, noun) : undefined,
    at: createdAt,
    principal,
    about: about && {
      singular: there?.model.singular ?? about.family,
      labels: there?.model.labels,
      id: String(about.id),
      href: linkPage(there, request, about.id)
    },
    params: showParams(acting, action, params),
    changes: showChanges(mount, changes),
    reason: problem?.detail,
    wrongState: problem && readWrongState(mount, problem)
  }
}

export function makeFeedback (mount: FamilyMount, { action, outcome, revision }: LogRecord): Feedback {
  const found = findKnownAction(mount, action)
  return { name: found === undefined ? action : nameForTexts(found), singular: mount.model.singular, outcome, revision }
}

const actionsOf = new WeakMap<FamilyModel, ReadonlyMap<string, ActionModel>>()

/** Undefined if the family no longer has it, or never had. */
export function findKnownAction ({ model }: FamilyMount, action: string): ActionModel | undefined {
  const known = actionsOf.get(model) ?? new Map(model.actions.map(each => [each.action, each]))
  actionsOf.set(model, known)
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

export function showParams (mount: FamilyMount, action: string, params: Members): ShownMember[] {
  const isKnown = findKnownAction(mount, action) !== undefined
  const kinds = isKnown ? listKinds(mount, describeForm(mount, action).inputs) : {}
  return Object.entries(params).map(([name, value]) => ({ name, value, kind: kinds[name] }))
}

export function showChanges (mount: FamilyMount, changes: FieldChanges): ShownChange[] {
  const kinds = listKinds(mount)
  return Object.entries(changes).map(([name, change]) => ({ name, kind: kinds[name], ...change }))
}

/** An id is a name, not a number, and so is the title of an item. @param mount of the items that have the field */
export function showKind (mount: FamilyMount | undefined, field: Field): ShownKind {
  const { name, kind, values } = field
  if (values !== undefined) return 'choice'
  const { references = {}, title } = mount?.model ?? {}
  const isName = name === 'id' || Object.hasOwn(references, name) ||
    (name === title && (kind === 'integer' || kind === 'number'))
  return isName ? 'string' : kind
}

// A list of fields is that of one family, or of none.
const kindsOf = new WeakMap<readonly Field[], Kinds>()

export function listKinds (
  mount: FamilyMount | undefined, fields: readonly Field[] = mount?.model.fields ?? []
): Kinds {
  const known = kindsOf.get(fields)
  if (known !== undefined) return known
  const kinds = Object.fromEntries(fields.map(field => [field.name, showKind(mount, field)]))
  kindsOf.set(fields, kinds)
  return kinds
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
  return [...new Set(mount.neighbours().flatMap(({ model: { actions } }) => actions.map(({ action }) => action)))]
}

/** Data, so that pages use their texts; undefined where there is a different reason. */
export function readWrongState (
  mount: FamilyMount, refusal: Parameters<typeof findStateReason>[1]
): WrongState | undefined {
  const reason = findStateReason(mount, refusal)
  return reason && { ...reason, singular: mount.model.singular }
}
