import { listTargets } from '../core/book/offers.js'
import type { Family } from '../core/family/family.js'
import type { FieldChanges } from '../core/family/params.js'
import { writePosition } from '../core/service/feed.js'
import type { Reader } from '../core/service/reader.js'
import { type CommandRecord, nameRecord, readTarget } from '../core/service/record.js'
import { explainInState, type InState } from '../core/service/refusal.js'
import type { Condition, Field, Id, Members, Stored } from '../exports.js'
import type { Exchange, Mount } from '../http/mount.js'
import type {
  ActionChoice, Feedback, Kinds, Live, LogEntry, ShownChange, ShownKind, ShownMember, WrongState
} from './affordances.js'
import { linkPage, titleOf } from './references.js'
import { hasPages } from './views.js'

type Here = Pick<Exchange, 'mount' | 'request'>

const shownChanges = 10
const shownRefusals = 5

/** Changes and later refusals, newest first. Found by revision, so that the length of the log does not matter. */
export async function findNewest (reader: Reader, { id, revision }: Stored): Promise<readonly CommandRecord[]> {
  const order = ['revision', 'createdAt', 'id'].map(field => ({ field, descending: true }))
  const revisions = Array.from({ length: shownChanges }, (_, index) => revision - index)
  const find = async (outcome: string, limit: number): Promise<CommandRecord[]> => {
    const where: Condition[] =
      [{ field: 'revision', op: 'eq', values: revisions }, { field: 'outcome', op: 'eq', values: [outcome] }]
    return (await reader.findLog(id, { where, order, offset: 0, limit, count: false })).items as CommandRecord[]
  }
  const [changes, refusals] = await Promise.all([find('done', shownChanges), find('refused', shownRefusals)])
  // At one revision, refusals came after the change that made it.
  return [...refusals, ...changes].sort((a, b) => b.revision - a.revision)
}

/** The title of an item that is gone, if one of its last changes has it, and the caller may read its log. */
export async function findLastTitle (reader: Reader, id: Id): Promise<string | undefined> {
  const { family, isNarrowed } = reader
  const { title } = family.presentation
  if (isNarrowed || title === 'id') return undefined
  const where: Condition[] = [{ field: 'outcome', op: 'eq', values: ['done'] }]
  const order = ['revision', 'createdAt', 'id'].map(field => ({ field, descending: true }))
  const { items } = await reader.findLog(id, { where, order, offset: 0, limit: shownChanges, count: false })
  for (const { action, params, changes } of items as CommandRecord[]) {
    const named = action === family.lifecycle?.createAction ? params?.[title] : changes?.[title]?.to
    if (named !== undefined) return titleOf(family, { id, [title]: named })
  }
  return undefined
}

export function showEntry (
  { mount, request }: Here,
  record: CommandRecord,
  principal: string | undefined,
  noun?: string
): LogEntry {
  const { family, urls } = mount
  const { action, params = {}, changes = {}, about, createdAt, problem } = record
  const there = about && (about.family === family.name ? mount : mount.neighbours.find(about.family, mount))
  const acting = there?.family ?? family
  return {
    ...makeFeedback(acting, record),
    singular: family.singular,
    href: hasPages(mount)
      ? urls.command(request, readTarget(family, record), nameRecord(record, principal), noun)
      : undefined,
    at: createdAt,
    principal: record.principal,
    about: about && {
      singular: there?.family.singular ?? about.family,
      labels: there?.family.presentation.labels,
      id: String(about.id),
      href: linkPage(there, request, about.id)
    },
    params: showParams(acting, action, params),
    changes: showChanges(family, changes),
    reason: problem?.detail,
    wrongState: problem && readWrongState(family, problem.code, problem.detail, problem.members)
  }
}

export function makeFeedback (family: Family, { action, outcome, revision }: CommandRecord): Feedback {
  const name = listActions(family).find(({ value }) => value === action)?.name ?? action
  return { name, singular: family.singular, outcome, revision }
}

export function showParams (family: Family, action: string, params: Members): ShownMember[] {
  const { lifecycle, operations } = family
  const declared = action === lifecycle?.createAction ? lifecycle.params : operations.get(action)?.params
  const kinds = listKinds({ ...family, fields: declared?.fields ?? [] })
  return Object.entries(params).map(([name, value]) => ({ name, value, kind: kinds[name] }))
}

export function showChanges (family: Family, changes: FieldChanges): ShownChange[] {
  const kinds = listKinds(family)
  return Object.entries(changes).map(([name, change]) => ({ name, kind: kinds[name], ...change }))
}

type Shown = Pick<Family, 'fields'> & Partial<Pick<Family, 'references' | 'presentation'>>

/** An id is a name, not a number, and so is the title of an item. */
export function showKind ({ references, presentation }: Omit<Shown, 'fields'>, field: Field): ShownKind {
  const { name, kind, values } = field
  if (values !== undefined) return 'choice'
  const isName = name === 'id' || references?.has(name) === true ||
    (name === presentation?.title && (kind === 'integer' || kind === 'number'))
  return isName ? 'string' : kind
}

export function listKinds (shown: Shown): Kinds {
  return Object.fromEntries(shown.fields.map(field => [field.name, showKind(shown, field)]))
}

/** The operations of a family, by their actions. */
export function listActions (family: Family): ActionChoice[] {
  const { lifecycle, singular, presentation: { labels } } = family
  const creation = lifecycle === undefined ? [] : [{ action: lifecycle.createAction, name: 'create' }]
  return [...creation, ...listTargets(family).map(({ operation }) => operation)]
    .map(({ action: value, name }) => ({ value, name, singular, labels }))
}

/** Tells the script of an item's page of changes after a position. */
export function followItem (
  { mount, request }: Exchange,
  { id, revision }: Stored,
  position: number,
  show: string
): Live {
  const href = `${mount.urls.item(request, id)}/commands?after=${writePosition(position)}`
  return { href, actions: listEvents(mount), show, revision }
}

/** A browser must know the names of events, and operations of other families may change an item too. */
export function listEvents ({ neighbours }: Mount): string[] {
  return [...new Set(neighbours.list().flatMap(({ family }) => listActions(family).map(({ value }) => value)))]
}

/** Data, so that pages use their texts; undefined where there is a different reason. */
export function readWrongState (family: Family, code: string, detail: string, known: Members): WrongState | undefined {
  if (code !== 'wrong-state' || !Array.isArray(known['allowed'])) return undefined
  const inState = known as unknown as InState
  return detail === explainInState(family, inState) ? { ...inState, singular: family.singular } : undefined
}
