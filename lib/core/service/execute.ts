import type { Family } from '../family/family.js'
import { hideSecrets, listSecrets } from '../family/params.js'
import { renameKnown, toOwnItem } from '../family/rename.js'
import { admitEarlier, idReused, notFound, Problem } from '../problems.js'
import { delay, random } from '../runtime.js'
import { completer } from '../storage/shapes.js'
import { ConflictError, ConstraintError, type Id, type Stored } from '../storage/storage.js'
import type { Members } from '../values/json.js'
import { type Caller, canSee } from './caller.js'
import { type Command, decide, decideCreation, type Decision } from './decide.js'
import {
  type Execution, type IdentifiedItem, identifyNew, load, type Loaded, type LoadedOther, loadReach,
  makeContext, needsOthers, noOthers, open, prepareFacts, readItem, refuseUnreadable
} from './load.js'
import { Reader } from './reader.js'
import {
  type CommandId, type CommandRecord, hasLog, isCounted, isSameCommand, listChangedOthers, makeChanges, makeNewId,
  makeRecord, nameRecord, readTarget, restoreProblem
} from './record.js'
import { explainConstraint, type Reach, refuseByConstraint } from './refusal.js'
import { callBase, toBaseCommand, toOwnProblem, toOwnRecord } from './renamed.js'
import { toShown } from './shown.js'
import { countFailure, type GuardedStorage, isConflict } from './storage-access.js'

export interface Outcome {
  readonly record: CommandRecord
  /** Undefined if it is not in the log. */
  readonly id: string | undefined
  /** Undefined if it is deleted. Of a replay: only the item that is stored with it. */
  readonly item: Stored | undefined
  /** Members that are only in the answer to the command that sets them. */
  readonly secrets?: Members | undefined
  /** Of a replay: the current item, if the caller may see it. */
  readonly loadItem?: () => Promise<Stored | undefined>
  readonly replayed: boolean
  readonly problem: Problem | undefined
}

export function execute (family: Family, caller: Caller, command: Command): Promise<Outcome> {
  if (family.renaming === undefined) return run(family, caller, command)
  return runAsBase(family, caller, command, run, outcome => toOwnOutcome(family, outcome))
}

/** A command of a renamed family runs as one of its base, and its result gets the names of the family. */
async function runAsBase<T> (
  family: Family,
  caller: Caller,
  command: Command,
  run: (family: Family, caller: Caller, command: Command) => Promise<T>,
  toOwn: (result: T) => T
): Promise<T> {
  const base = callBase({ family, caller })
  try {
    return toOwn(await run(base.family, base.caller, toBaseCommand(family, command)))
  } catch (error) {
    throw toOwnProblem(family, command.action, error)
  }
}

export function toOwnOutcome (family: Family, outcome: Outcome): Outcome {
  if (family.renaming === undefined) return outcome
  const { record, item, secrets, loadItem, problem } = outcome
  return {
    ...outcome,
    record: toOwnRecord(family, record, family),
    item: toOwnItem(family, item),
    secrets: secrets && renameKnown(family.renaming.toOwn, secrets),
    ...(loadItem && { loadItem: async () => toOwnItem(family, await loadItem()) }),
    problem: toOwnProblem(family, record.action, problem)
  }
}

/** Runs a command once: authorize, replay, load, precondition, decide, commit. */
async function run (family: Family, caller: Caller, command: Command): Promise<Outcome> {
  const execution = await open(family, caller, command)
  const { storage, storage: { writers, counters } } = execution
  try {
    const ready = execution.isGuarded || needsOthers(family, command) || family.prepare !== undefined
      ? await attemptUntilDone(storage, () => findOrRefuse(execution))
      : undefined
    if (ready !== undefined && 'record' in ready) return ready
    const keys = listKeys(execution, ready)
    const turn = writers.enter(keys, caller.signal)
    if (turn !== undefined) await turn
    // What was read before is not read again, if it did not wait. If it is old, the commit is refused.
    let loaded = turn === undefined && isReusable(execution) ? ready : undefined
    try {
      return await attemptUntilDone(storage, () => {
        const first = loaded
        loaded = undefined
        return attempt(execution, first)
      })
    } finally {
      writers.leave(keys)
    }
  } catch (error) {
    // If a commit outlasts its deadline, its outcome is counted when it ends.
    if (execution.isCommitting) execution.isAbandoned = true
    else countFailure(counters, error)
    throw execution.identity === undefined ? error : admitEarlier(error)
  }
}

/** Before it waits: a caller must not block writers of items that it may not see or change. */
async function findOrRefuse (execution: Execution): Promise<Outcome | Loaded> {
  const loaded = await replayOrLoad(execution)
  if ('record' in loaded) return loaded
  try {
    await prepareFacts(execution, loaded)
    return loaded
  } catch (error) {
    await repeatIfDone(execution, error)
    throw error
  }
}

/** `prepare` takes its time, and an id that the client chose may be taken and free again meanwhile. */
function isReusable ({ family, command: { target, params } }: Execution): boolean {
  return family.prepare === undefined && (target !== undefined || params.id === undefined)
}

/** The item is read beside the record, but first: if the command is done in between, its record is found. */
async function replayOrLoad (execution: Execution): Promise<Outcome | Loaded> {
  const { identity } = execution
  if (identity === undefined) return await load(execution)
  const reading = readItem(execution)
  const earlier = await findReplay(execution, identity)
  if (earlier !== undefined) return replay(execution, earlier)
  try {
    return await load(execution, reading)
  } catch (error) {
    await repeatIfDone(execution, error)
    throw error
  }
}

/** Another process may have done the same command meanwhile, which is why it fails here. Then it is found now. */
export async function repeatIfDone (execution: Execution, error: unknown): Promise<void> {
  const { identity } = execution
  if (identity === undefined || isConflict(error) || (error instanceof Problem && error.statusCode >= 500)) return
  if (await getRecord(execution, identity) !== undefined) throw new ConflictError('commands', identity.row)
}

// Writers of one item wait for each other, as do creations whose ids are counted, or that have the same id.
export function listKeys (
  { family, caller, command: { target, params }, identity }: Execution,
  { others, creating }: Pick<Loaded, 'others' | 'creating'> = { others: noOthers, creating: noOthers }
): string[] {
  const chosen = target ?? params.id
  const made = isCounted(family, caller.makers) ? family.name : identity?.row
  const own = chosen === undefined ? made : `${family.name}/${String(chosen)}`
  const keys = own === undefined ? [] : [own]
  if (others.length === 0 && creating.length === 0) return keys
  const counted = creating.filter(({ family, caller: { makers } }) => isCounted(family, makers))
  keys.push(...others.map(({ family, id }) => `${family.name}/${id}`), ...counted.map(({ family }) => family.name))
  return [...new Set(keys)].sort()
}

// Each failed attempt means that another process succeeded; of sixteen that compete, each wins in time.
const maxAttempts = 150

export async function attemptUntilDone<T> (
  { counters }: Pick<GuardedStorage, 'counters'>,
  attempt: () => Promise<T>
): Promise<T> {
  for (let failures = 0; failures < maxAttempts; failures++) {
    try {
      return await attempt()
    } catch (error) {
      if (!isConflict(error)) throw error
      counters.retries_total++
      if (failures > 2) await delay(random() * Math.min(2 * failures, 20))
    }
  }
  const detail = 'Other clients kept changing it at the same time; nothing was done'
  throw new Problem('busy', detail, { headers: { 'retry-after': '1' } })
}

/** @param loaded what the decision needs, if it was just read */
export async function attempt (execution: Execution, loaded?: Loaded): Promise<Outcome> {
  const ready = loaded ?? await replayOrLoad(execution)
  if ('record' in ready) return ready
  if (execution.identity === undefined) return await carryOut(execution, ready)
  try {
    return await carryOut(execution, ready)
  } catch (error) {
    await repeatIfDone(execution, error)
    throw error
  }
}

async function carryOut (execution: Execution, loaded: Loaded): Promise<Outcome> {
  const { family, caller, storage, identity, command: { target, params } } = execution
  const { counters } = storage
  const considered = await consider(execution, loaded)
  const { current, others, created, context, decision } = considered
  const item = decision.outcome === 'done' ? decision.after : current
  const record = makeRecord(family, considered, identity?.row, caller.makers)
  const changedOthers = listChangedOthers(family, decision, [...others, ...created], record)
  await refuseUngranted(execution, considered)
  const chosenId = target === undefined ? params.id as Id | undefined : undefined
  if (chosenId !== undefined && await isTaken(execution, chosenId)) {
    throw refuseByConstraint(new ConstraintError(family.name, chosenId, 'unique', { fields: ['id'], declared: true }))
  }
  const problem = decision.outcome === 'refused' ? decision.problem : undefined
  // Without an id from the client there is nothing to replay, so only changes are recorded.
  if (decision.outcome !== 'done' && identity === undefined) {
    counters[`commands_${decision.outcome}_total`]++
    return { record, id: undefined, item, replayed: false, problem }
  }
  const ended = (error?: unknown): void => {
    execution.isCommitting = false
    if (error !== undefined) {
      if (execution.isAbandoned) countFailure(counters, error)
      return
    }
    counters[`commands_${decision.outcome}_total`]++
    if (decision.outcome !== 'done') return
    notifyCommitted(family, caller, record, current, item)
    for (const { other, after, record } of changedOthers) {
      notifyCommitted(other.family, other.caller, record, other.current, after)
    }
  }
  const changes = makeChanges(family, considered, record, changedOthers)
  const commit = (): Promise<void> => storage.commit(changes, caller.signal, ended)
  execution.isCommitting = true
  try {
    await (caller.trace === undefined ? commit() : caller.trace('commit', commit))
  } catch (error) {
    const families = [family, ...others.map(other => other.family), ...created.map(each => each.family)]
    throw explainConstraint(families, error)
  }
  const secrets = family.hasSecrets && item !== undefined && decision.outcome === 'done'
    ? listSecrets(family.ownFields, current ?? {}, item)
    : undefined
  return { record, id: context.command, item, secrets, replayed: false, problem }
}

/** The log of an item is kept when it is deleted. */
async function isTaken ({ family, caller: { signal }, storage }: Execution, id: Id): Promise<boolean> {
  return await storage.get(family.name, id, signal) !== undefined || await hasLog(storage, family, id, signal)
}

async function consider (execution: Execution, loaded: Loaded) {
  const { family, caller, storage, identity, command: { params } } = execution
  const { command, grant, current, others, creating } = loaded
  if (family.prepare !== undefined) await prepareFacts(execution, loaded)
  const newId = current === undefined
    ? params.id as Id | undefined ?? await makeNewId(family, caller.makers, storage, caller.signal)
    : undefined
  const created = creating.length === 0 ? noOthers : await identifyNew(creating, storage)
  const id = identity?.id ?? caller.makers.makeCommandId()
  const context = makeContext(caller.makers, grant, id, created, execution.facts)
  const settle = (): Decision => current === undefined
    ? decideCreation(family, newId as Id, command.params, context, others)
    : decide(family, current, command, context, others, reach, created)
  let reach: Reach | undefined
  let decision = caller.trace === undefined ? settle() : await caller.trace('decide', async () => settle())
  // A refusal lists the allowed operations, which may depend on the items that this one refers to.
  if (decision.outcome === 'refused' && current !== undefined) {
    reach = await loadReach(execution, current)
    if (reach.size > 0) decision = settle()
  }
  return { command, grant, current, others, created, context, decision }
}

type Considered = Awaited<ReturnType<typeof consider>>

function notifyCommitted (
  family: Family,
  caller: Caller,
  record: CommandRecord,
  before: Stored | undefined,
  after: Stored | undefined
): void {
  if (caller.committed === undefined) return
  const { action, params = {}, principal, revision, createdAt: at } = record
  const id = readTarget(family, record)
  const command = nameRecord(record, principal)
  const show = (item: Stored | undefined) => item && hideSecrets(family.ownFields, item)
  const items = { before: show(before), after: show(after) }
  caller.committed({ family: family.name, action, id, command, params, principal, revision, at, ...items })
}

function replay ({ family, caller, storage, grant }: Execution, found: CommandRecord): Outcome {
  storage.counters.replays_total++
  // A version with more fields may have run it.
  const record = toShown(family, found, family)
  return {
    record,
    id: nameRecord(record, grant.principal),
    // It may have been created before the family had all its fields.
    item: record.result && completer(family.shape)(record.result),
    loadItem: () => new Reader({ family, caller }, storage, grant).get(readTarget(family, record)),
    replayed: true,
    problem: restoreProblem(record)
  }
}

/** An id that was used for a different command is a problem. */
async function findReplay (execution: Execution, identity: CommandId): Promise<CommandRecord | undefined> {
  const { family, command, grant, storage } = execution
  const found = await getRecord(execution, identity)
  if (found === undefined) return undefined
  const record = storage.confirm === undefined ? found : await confirmRecord(execution, identity, found)
  const { target, key } = command
  // The id of an item of another family may not be valid here.
  const isVisible = record.family !== family.name || await canSeeReplay(execution, record)
  // To the caller, an invisible item does not exist; a guessed key reveals nothing.
  if (!isVisible && target !== undefined && record.target === String(target)) throw notFound(family.singular, target)
  if (!isVisible || !isSameCommand(record, family, command, grant.principal)) {
    throw idReused(key === undefined ? identity.id : undefined)
  }
  return record
}

/** Before it is confirmed, a failover may take it back, and another attempt may make a different one. */
async function confirmRecord (
  execution: Execution, identity: CommandId, { id }: CommandRecord
): Promise<CommandRecord> {
  await execution.storage.confirm?.('commands', id, execution.caller.signal)
  const record = await getRecord(execution, identity)
  if (record === undefined) throw new ConflictError('commands', id)
  return record
}

async function getRecord (
  { storage, caller: { signal }, grant: { principal } }: Execution,
  { id, row }: CommandId
): Promise<CommandRecord | undefined> {
  if (row === id) return await storage.get('commands', row, signal) as CommandRecord | undefined
  // In old databases, the row is the id itself, for every principal.
  const [own, shared] = await Promise.all([storage.get('commands', row, signal), storage.get('commands', id, signal)])
  return (own ?? (shared?.principal === principal ? shared : undefined)) as CommandRecord | undefined
}

// The conditions of a grant hold for replays too; if the item is deleted, only its principal sees the replay.
async function canSeeReplay (
  { storage, family, caller: { signal }, grant }: Execution,
  record: CommandRecord
): Promise<boolean> {
  if ((grant.where ?? []).length === 0) return true
  const item = await storage.get(family.name, readTarget(family, record), signal)
  return item === undefined ? record.principal !== undefined : canSee(grant, item)
}

/** The conditions of grants hold for what is changed, too. */
async function refuseUngranted (execution: Execution, considered: Considered): Promise<void> {
  const { command, grant, current, others, created, decision } = considered
  const isDone = decision.outcome === 'done'
  const item = isDone ? decision.after : current
  const changed = isDone
    ? [...others, ...created].map(({ name, grant, current }) =>
        ({ grant, after: (current === undefined ? decision.created : decision.others)?.get(name) }))
    : []
  for (const { grant: its, after } of [{ grant, after: item }, ...changed]) {
    if (after !== undefined && !canSee(its, after)) throw new Problem('forbidden', 'This change is not permitted')
  }
  if (execution.family.references.size > 0 && isDone && item !== undefined) {
    await refuseUnreadable(execution, command.params, current, item)
  }
}

/** The other items are those of the base. */
export interface Preview {
  readonly others: readonly (LoadedOther | IdentifiedItem)[]
  readonly decision: Decision
}

/** The decision that a command would get now. It is authorized like the command itself; nothing is done. */
export async function preview (family: Family, caller: Caller, command: Command): Promise<Preview> {
  if (family.renaming !== undefined) {
    return await runAsBase(family, caller, command, preview, ({ others, decision }) => {
      if (decision.outcome === 'refused') {
        const problem = toOwnProblem(family, command.action, decision.problem)
        return { others, decision: { ...decision, problem } }
      }
      if (decision.outcome !== 'done') return { others, decision }
      return { others, decision: { ...decision, after: toOwnItem(family, decision.after) } }
    })
  }
  const execution = await open(family, caller, command)
  const considered = await consider(execution, await load(execution))
  await refuseUngranted(execution, considered)
  const { others, created, decision } = considered
  return { others: [...others, ...created], decision }
}
