import type { Family } from '../../core/family/family.js'
import type { Changes, Params } from '../../core/family/params.js'
import type { CommandRecord } from '../../core/service/command.js'
import type { Reader } from '../../core/service/reader.js'
import { nameRecord, readTarget } from '../../core/service/record.js'
import type { InState } from '../../core/service/refusal.js'
import { explainInState, explainState, readState } from '../../core/service/refusal.js'
import type { Field, Order, Stored } from '../../core/storage/storage.js'
import type { Members } from '../../core/values/json.js'
import type {
  Feedback, LogEntry, ShownChange, ShownKind, ShownMember, WrongState
} from '../../representations/affordances.js'
import { showKind } from '../../representations/representation.js'
import type { Exchange } from '../mount.js'

const shownChanges = 10
const shownRefusals = 5

/**
 * The newest entries of the log of an item, the last first: its changes, and what was refused since. Each revision is
 * one change, which is found by it among any number of other entries; what changed nothing is in the whole log.
 */
export async function findNewest (reader: Reader, { id, revision }: Stored): Promise<CommandRecord[]> {
  const revisions = Array.from({ length: shownChanges }, (_, index) => revision - index)
  const find = async (outcome: string, limit: number): Promise<CommandRecord[]> => {
    const { items } = await reader.findLog(id, {
      where: [{ field: 'revision', op: 'eq', values: revisions }, { field: 'outcome', op: 'eq', values: [outcome] }],
      order: newestFirst,
      offset: 0,
      limit,
      count: false
    })
    return items as CommandRecord[]
  }
  const [changes, refusals] = await Promise.all([find('done', shownChanges), find('refused', shownRefusals)])
  // At one revision, what was refused came after the change that made it.
  return [...refusals, ...changes].sort((a, b) => b.revision - a.revision)
}

const newestFirst: Order[] = ['revision', 'createdAt', 'id'].map(field => ({ field, descending: true }))

/** An entry of the log, for people. @param noun of the part of the log in which it is seen */
export function showEntry (
  exchange: Exchange,
  record: CommandRecord,
  principal: string | undefined,
  noun?: string
): LogEntry {
  const { mount: { family, urls }, request } = exchange
  const { params = {}, changes = {}, createdAt, problem } = record
  return {
    ...makeFeedback(family, record),
    href: urls.command(request, readTarget(family, record), nameRecord(record, principal), noun),
    at: createdAt,
    principal: record.principal,
    about: record.about && showAbout(exchange, record.about),
    params: showParams(family, record.action, params),
    changes: showChanges(family, changes),
    reason: problem?.detail,
    wrongState: problem && readWrongState(family, problem.code, problem.detail, problem.members)
  }
}

function showAbout (
  { mount, request }: Exchange,
  { family, id }: NonNullable<CommandRecord['about']>
): NonNullable<LogEntry['about']> {
  const there = family === mount.family.name ? mount : mount.neighbours.find(family, mount)
  return { singular: there?.family.singular ?? family, id: String(id), href: there?.urls.item(request, id) }
}

/** What was done by a command. */
export function makeFeedback (family: Family, { action, outcome, revision }: CommandRecord): Feedback {
  const { lifecycle, operations, singular } = family
  const operation = operations.get(action)?.operation
  const own = action === lifecycle?.createAction
    ? 'create'
    : action === lifecycle?.deletion.operation.action ? 'delete' : undefined
  return { name: own ?? operation?.name ?? action, singular, outcome, revision }
}

/** What was sent with a command, in words. */
export function showParams (family: Family, action: string, params: Members): ShownMember[] {
  const fields = findParams(family, action)?.fields ?? []
  return Object.entries(params).map(([name, value]) => ({ name, value, kind: findKind(fields, name) }))
}

function findParams ({ lifecycle, operations }: Family, action: string): Params | undefined {
  return action === lifecycle?.createAction ? lifecycle.params : operations.get(action)?.params
}

export function showChanges ({ ownFields }: Family, changes: Changes): ShownChange[] {
  return Object.entries(changes).map(([name, change]) => ({ name, kind: findKind(ownFields, name), ...change }))
}

function findKind (fields: readonly Field[], name: string): ShownKind | undefined {
  const field = fields.find(field => field.name === name)
  return field && showKind(field)
}

/** A refusal for the state alone, as data, so that pages use their own words; undefined where it has another reason. */
export function readWrongState (
  family: Family,
  code: string,
  detail: string,
  members: Members
): WrongState | undefined {
  if (code !== 'wrong-state' || !Array.isArray(members['allowed'])) return undefined
  const known = members as unknown as InState
  return detail === explainInState(family, known) ? { ...known, singular: family.singular } : undefined
}

/** The same of an operation that was not asked for yet. */
export function findWrongState (family: Family, item: Members, name: string, reason: string): WrongState | undefined {
  const { singular } = family
  const state = readState(family, item)
  return reason === explainState(name, family, state) ? { operation: name, singular, state, allowed: [] } : undefined
}
