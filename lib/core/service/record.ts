import { createHash } from 'node:crypto'
import { type FieldChanges, listChanges, listRemoved } from '../family/changes.js'
import type { Context } from '../family/context.js'
import { nameAction } from '../family/declared-operations.js'
import type { NounOperation } from '../family/definition.js'
import { type Family, listReferred } from '../family/family.js'
import { logFields } from '../family/fields.js'
import { principalName } from '../family/narrow.js'
import { hideSecrets } from '../family/params.js'
import { Problem, type ProblemCode, problemCodes, type ProblemOptions } from '../problems.js'
import type { OrderedList } from '../query/cursor.js'
import { matcher } from '../storage/conditions.js'
import type { Change, Field, FieldCondition, Id, Storage, Stored } from '../storage/storage.js'
import { hashText } from '../values/ids.js'
import { type Members, writeSorted } from '../values/json.js'
import type { Makers } from './caller.js'
import { nameOtherRow } from './command-ids.js'
import type { Command, Decision, DoneDecision } from './decide.js'
import { nameOther, type NeededItem } from './open-others.js'
import type { GuardedStorage } from './storage-access.js'

export interface KeptProblem extends Pick<ProblemOptions, 'status' | 'errors' | 'headers'> {
  readonly code: ProblemCode
  readonly detail: string
  readonly members: Members
}

/** A command in the log. Its revision is that of the item after it. */
export interface CommandRecord extends Stored {
  readonly id: string
  /** The id that its principal chose, if it differs from that of the row. */
  readonly chosenId?: string
  readonly family: string
  readonly target: string
  /** In the log of another item that it changed: the item of the command. */
  readonly about?: { readonly family: string, readonly id: Id }
  readonly action: string
  readonly params?: Members
  /** Identifies its parameters, if they are not all in the log, or the content that was interpreted. */
  readonly digest?: string
  readonly outcome: 'done' | 'unchanged' | 'refused'
  /** What it changed of an existing item: all of it if that was deleted. Undefined in old entries. */
  readonly changes?: FieldChanges
  readonly principal?: string
  readonly problem?: KeptProblem
  readonly result?: Stored
  /** A hash of the item that was created, unless its id is a new UUID. No two entries have the same. */
  readonly createdHigh?: number
  readonly createdLow?: number
}

export function isSameCommand (
  record: CommandRecord,
  { name }: Family,
  command: Command,
  principal: string | undefined
): boolean {
  const { action, target, params, content } = command
  if (record.family !== name || (target !== undefined && record.target !== String(target))) return false
  // Its key belongs to its principal, whom `authorize` need not have named before the action was known.
  if (content !== undefined) return record.digest === content()
  return record.action === action && record.principal === principal &&
    (record.digest ?? digestParams(record.params ?? {})) === digestParams(params)
}

export function digestParams (params: Members): string {
  return hashText(writeSorted(params))
}

export interface Decided {
  readonly command: Command
  readonly context: Context
  /** Undefined for a creation and a restoration. */
  readonly current: Stored | undefined
  /** Of a restoration: the item as it was, with the revision of its deletion. */
  readonly deleted?: Stored | undefined
  readonly others: readonly NeededItem[]
  readonly decision: Decision
}

/** How a command is logged. */
export interface LogSettings {
  /** That of the log, if the client gave an id or a key. */
  readonly row?: string | undefined
  readonly makers: Makers
  readonly storage: Pick<GuardedStorage, 'maxLogged' | 'secretsOf'>
}

/** Commands that change nothing are unlimited in number and size, so only what a replay needs is stored. */
export function makeRecord (family: Family, decided: Decided, settings: LogSettings): CommandRecord {
  const { row, makers } = settings
  const { command, context, current, deleted, decision } = decided
  const before = current ?? deleted
  const after = decision.outcome === 'done' ? decision.after : before
  const item = after ?? before as Stored
  return {
    id: row ?? context.command,
    ...(row === undefined || row === context.command ? {} : { chosenId: context.command }),
    family: family.name,
    target: String(item.id),
    action: command.action ?? nameAction('Update', family.singular),
    ...recordParams(family, decided),
    outcome: decision.outcome,
    ...recordChanges(family, decided, settings),
    // A deletion is a change too, though no item has its revision.
    revision: after === undefined ? item.revision + 1 : item.revision,
    createdAt: context.now,
    updatedAt: context.now,
    ...(context.principal === undefined ? {} : { principal: context.principal }),
    ...(decision.outcome === 'refused' ? { problem: keepProblem(decision.problem) } : {}),
    ...(hasIdentity(command) && isShownAgain(decided) ? { result: hideSecrets(family.ownFields, item) } : {}),
    ...(before === undefined && markCreation(family, item.id, makers, command.params.id !== undefined)),
    ...(deleted !== undefined && decision.outcome === 'done' && markRestoration(family, item))
  }
}

/** The parameters of a change, and a digest if what was sent is not among them. */
function recordParams (family: Family, { command, decision }: Decided): Pick<CommandRecord, 'params' | 'digest'> {
  const content = hasIdentity(command) ? command.content : undefined
  if (decision.outcome !== 'done') return { digest: content?.() ?? digestParams(command.params) }
  const { fields } = (family.operations.get(command.action ?? '') ?? family.lifecycle)?.params ?? { fields: [] }
  const params = hideSecrets(fields, command.params)
  if (params === command.params && content === undefined) return { params }
  return { params, digest: content?.() ?? digestParams(command.params) }
}

function recordChanges (
  { name, ownFields }: Family, { current, deleted, decision }: Decided, { storage }: LogSettings
): Pick<CommandRecord, 'changes'> {
  if ((current ?? deleted) === undefined || decision.outcome !== 'done') return {}
  const { maxLogged } = storage
  const { after } = decision
  return {
    changes: after === undefined
      ? listRemoved(ownFields, current as Stored, storage.secretsOf(name), maxLogged)
      : listChanges(ownFields, current ?? {}, after, maxLogged)
  }
}

/** Whether a replay, if there may be one, needs the item as it was after the command. */
function isShownAgain ({ command, current, deleted, decision }: Decided): boolean {
  return ((current ?? deleted) === undefined || command.keepsItem === true) && decision.outcome !== 'refused'
}

function hasIdentity ({ key, id }: Command): boolean {
  return (key ?? id) !== undefined
}

/** Between the choice of an id and the commit, another process may create and delete an item with it. */
function markCreation (
  { name, idKind }: Family, id: Id, makers: Makers | undefined, isChosen = false
): Pick<CommandRecord, 'createdHigh' | 'createdLow'> {
  if (!isChosen && idKind === 'string' && makers?.makeId === undefined) return {}
  return markOnce(`${name}/${id}`)
}

/** Two processes may find the same deletion, and the item may be restored and deleted again in between. */
function markRestoration ({ name }: Family, { id, revision }: Stored): ReturnType<typeof markCreation> {
  return markOnce(JSON.stringify([name, id, revision]))
}

function markOnce (content: string): Pick<CommandRecord, 'createdHigh' | 'createdLow'> {
  const hash = createHash('sha256').update(content).digest()
  // An index of two integers costs every entry of the log much less than one of texts.
  return { createdHigh: hash.readUIntBE(0, 6), createdLow: hash.readUIntBE(6, 6) }
}

/** `current` is undefined for a created item, which has its id. */
type Other = Omit<NeededItem, 'current'> & {
  readonly id?: Id
  readonly current?: Stored | undefined
  readonly caller?: { readonly makers: Makers }
}

export interface ChangedOther<O extends Other = Other> {
  readonly other: O
  readonly after: Stored
  readonly record: CommandRecord
}

/** Another item after a decision; undefined if it is not changed, or not created. */
export function findAfter (decision: DoneDecision, other: Other): Stored | undefined {
  const { current, id = current?.id } = other
  return (current === undefined ? decision.created : decision.others)?.get(nameOther(other, id as Id))
}

export function listChangedOthers<O extends Other> (
  family: Family,
  decision: Decision,
  others: readonly O[],
  own: CommandRecord,
  { storage: { maxLogged } }: LogSettings
): ChangedOther<O>[] {
  if (decision.outcome !== 'done' || others.length === 0) return []
  const { result, id: row, changes, createdHigh, createdLow, ...entry } = own
  const about = { family: family.name, id: readTarget(family, own) }
  return others.flatMap(other => {
    const after = findAfter(decision, other)
    if (after === undefined) return []
    const target = String(after.id)
    const record = {
      chosenId: row,
      ...entry,
      id: nameOtherRow(row, other.family.name, target),
      family: other.family.name,
      target,
      about,
      ...(other.current === undefined
        ? markCreation(other.family, after.id, other.caller?.makers)
        : { changes: listChanges(other.family.ownFields, other.current, after, maxLogged) }),
      revision: after.revision
    }
    return { other, after, record }
  })
}

export function makeChanges (
  own: Family,
  { current, others, decision }: Decided,
  record: CommandRecord,
  changedOthers: readonly ChangedOther[]
): Change[] {
  const entry: Change = { type: 'insert', family: 'commands', item: record }
  if (decision.outcome !== 'done') return [entry]
  const { after } = decision
  const change = makeChange(own.name, current, after)
  if (others.length === 0 && changedOthers.length === 0) return [change, entry]
  // Items that were only read must not have changed since the decision.
  const written = new Set<unknown>(changedOthers.map(({ other }) => other))
  const read = others.filter(other => !written.has(other))
    .map(({ family: { name: family }, current, current: { id, revision: expected } }): Change =>
      ({ type: 'require', family, id, expected, current }))
  // An item may refer to those that are created with it, and those to an item that is new itself.
  const first: Change[] = []
  const rest: Change[] = []
  for (const { other: { family, current: before }, after, record } of changedOthers) {
    const refersToNew = current === undefined && listReferred(family).includes(own)
    const list = before === undefined && !refersToNew ? first : rest
    list.push(makeChange(family.name, before, after))
    rest.push({ type: 'insert', family: 'commands', item: record })
  }
  return [...first, change, ...rest, ...read, entry]
}

function makeChange (family: string, current: Stored | undefined, after: Stored | undefined): Change {
  if (current === undefined) return { type: 'insert', family, item: after as Stored }
  const { id, revision: expected } = current
  return after === undefined
    ? { type: 'delete', family, id, expected, current }
    : { type: 'replace', family, item: after, expected, current }
}

function keepProblem ({ code, message, statusCode, errors, members, headers }: Problem): KeptProblem {
  return {
    code,
    detail: message,
    members,
    ...(statusCode === problemCodes[code].status ? {} : { status: statusCode }),
    ...(errors === undefined ? {} : { errors }),
    ...(Object.keys(headers).length === 0 ? {} : { headers })
  }
}

export function restoreProblem ({ problem }: CommandRecord): Problem | undefined {
  if (problem === undefined) return undefined
  const { code, detail, ...options } = problem
  return new Problem(code, detail, { ...options, replayed: true })
}

export function readTarget (family: Family, { target }: CommandRecord): Id {
  return family.idKind === 'integer' ? Number(target) : target
}

/** Its principal finds an entry by the chosen id, other readers by that of the row. */
export function nameRecord ({ id, chosenId = id, principal }: CommandRecord, reader: string | undefined): string {
  return principal === reader ? chosenId : id
}

/** An entry of the log. The answer to a command does not have what it changed: its sender need not be a reader. */
export function showEntry (family: Family, record: CommandRecord, id: string): Members {
  return showCommand(family, record, id, record.changes)
}

/** @param id undefined if it is not in the log */
export function showCommand (
  family: Family, record: CommandRecord, id: string | undefined, changes?: FieldChanges
): Members {
  const { action, params, outcome, revision, createdAt, principal, chosenId = id, problem, about } = record
  // Spreading optional members into one literal takes ten times as long.
  const shown: Record<string, unknown> = {}
  if (id !== undefined) shown.id = id
  shown[family.singular] = readTarget(family, record)
  shown.action = action
  if (params !== undefined) shown.params = params
  if (changes !== undefined) shown.changes = changes
  shown.outcome = outcome
  shown.revision = revision
  shown.createdAt = createdAt
  if (principal !== undefined) shown.principal = principal
  if (chosenId !== id) shown.chosenId = chosenId
  if (problem !== undefined) shown.problem = restoreProblem(record)?.document()
  if (about !== undefined) shown.about = about
  return shown
}

/** The list of an operation's noun has no refused commands: a refused hold is not a hold. */
export function selectLog (
  { name }: Family, id: Id | readonly Id[], operation?: NounOperation
): FieldCondition[] {
  const where: FieldCondition[] =
    [{ field: 'family', op: 'eq', values: [name] }, { field: 'target', op: 'eq', values: [id].flat().map(String) }]
  if (operation !== undefined) {
    where.push({ field: 'action', op: 'eq', values: [operation.action] })
    where.push({ field: 'outcome', op: 'ne', values: ['refused'] })
  }
  return where
}

export function isInLog (record: CommandRecord, family: Family, id: Id, operation?: NounOperation): boolean {
  return matcher(selectLog(family, id, operation))(record)
}

/** Whether anything is in the log of an item, or of one of several. */
export async function hasLog (
  storage: Pick<Storage, 'find'>, family: Family, id: Id | readonly Id[], signal: AbortSignal | undefined
): Promise<boolean> {
  return await findFirst(storage, family, id, signal) !== undefined
}

/** The first entry of the log of an item: its creation, unless that was pruned. */
export async function findFirst (
  storage: Pick<Storage, 'find'>, family: Family, id: Id | readonly Id[], signal: AbortSignal | undefined
): Promise<CommandRecord | undefined> {
  const order = [...logOrder, { field: 'id', descending: false }]
  const query = { where: selectLog(family, id), order, offset: 0, limit: 1, count: false }
  return (await storage.find('commands', query, signal)).items[0] as CommandRecord | undefined
}

/** The change to a revision comes first: it is found quickly among commands that changed nothing. */
const logOrder = ['revision', 'outcome', 'createdAt'].map(field => ({ field, descending: false }))

/** The commands of many items, in the order in which they became visible. */
export const feedList: OrderedList = {
  name: 'commands',
  fields: [
    { name: 'position', kind: 'integer', optional: false }, { name: 'family', kind: 'string', optional: false },
    ...logFields
  ],
  order: [{ field: 'position', descending: false }]
}

/** The deletions that hold: the newest first. */
export const deletionList: OrderedList = { ...feedList, order: [{ field: 'position', descending: true }] }

/** The fields of a log for callers from whom it is hidden who sent the commands. */
export function omitPrincipal<L extends { readonly fields: readonly Field[] }> (list: L): L {
  return { ...list, fields: list.fields.filter(({ name }) => name !== principalName) }
}

export const logList = { name: 'commands', fields: logFields, order: logOrder }

/** The row with the position of the last pruned entry. No client can choose this id, and no family has the row. */
export const prunedId = '$pruned'

/** By family: the highest id of the items of which something was pruned, if ids are counted there. */
export function readHighest (row: Stored | undefined): Readonly<Record<string, number>> {
  return (row?.result ?? {}) as Record<string, number>
}
