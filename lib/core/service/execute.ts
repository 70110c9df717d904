import { setTimeout as pause } from 'node:timers/promises'
import type { Family } from '../family/family.js'
import { hideSecrets, listSecrets } from '../family/params.js'
import { renameKnown, toOwnItem } from '../family/rename.js'
import { Problem } from '../problems.js'
import { matcher } from '../storage/conditions.js'
import { ConflictError, ConstraintError, DuplicateError, type Id, type Stored } from '../storage/storage.js'
import { freeze, type Members } from '../values/json.js'
import type { Caller, Grant } from './caller.js'
import { type Command, type CommandId, type CommandRecord, identifyCommand } from './command.js'
import { decide, decideCreation, type Decision } from './decide.js'
import {
  type Asked, type IdentifiedItem, identifyNew, intendCommand, load, loadForCreation, makeContext, makeOwn, noOthers,
  noReach, prepare
} from './load.js'
import { authorizeOthers, hasReach, type LoadedOther, loadReach, needsOthers, refuseUnreadable } from './others.js'
import { Reader } from './reader.js'
import {
  isCounted, isUsed, listChangedOthers, makeChanges, makeNewId, makeRecord, nameRecord, readTarget, restoreProblem
} from './record.js'
import type { Reach } from './refusal.js'
import { callBase, toBaseCommand, toOwnProblem, toOwnRecord } from './renamed.js'
import { findConcurrentReplay, findReplay } from './replay.js'
import { explainConstraint, type GuardedStorage, refuseByConstraint } from './storage-access.js'

export interface Outcome {
  readonly record: CommandRecord
  /** Undefined if it is not in the log. */
  readonly id: string | undefined
  /** Undefined if it is deleted. Of a replay: only the item that it created. */
  readonly item: Stored | undefined
  /** Members that are only in the answer to the command that sets them. */
  readonly secrets?: Members | undefined
  /** Of a replay: the current item, if the caller may see it. */
  readonly loadItem?: () => Promise<Stored | undefined>
  readonly replayed: boolean
  readonly problem: Problem | undefined
}

export interface Execution extends Asked {
  /** Whether the caller may not see, or change, every item. */
  readonly isGuarded: boolean
  /** Undefined if the client gave neither id nor key: a retry then runs again. */
  readonly identity: CommandId | undefined
  /** The result of `prepare`, and the action that it was called for. */
  facts: unknown
  prepared: string | undefined
  isCommitting: boolean
  isAbandoned: boolean
}

/** A renamed family is executed as its base. */
export function execute (family: Family, caller: Caller, command: Command): Promise<Outcome> {
  if (family.renaming === undefined) return run(family, caller, command)
  const base = callBase({ family, caller })
  return renameOutcome(family, command, () => run(base.family, base.caller, toBaseCommand(family, command)))
}

/** Awaits an outcome of the base, and returns it with the names of the family. */
export async function renameOutcome (
  family: Family,
  { action }: Command,
  work: () => Promise<Outcome>
): Promise<Outcome> {
  try {
    const outcome = await work()
    if (family.renaming === undefined) return outcome
    const { record, item, secrets, loadItem, problem } = outcome
    return {
      ...outcome,
      record: toOwnRecord(family, record),
      item: toOwnItem(family, item),
      secrets: secrets && renameKnown(family.renaming.toOwn, secrets),
      ...(loadItem && { loadItem: async () => toOwnItem(family, await loadItem()) }),
      problem: toOwnProblem(family, record.action, problem)
    }
  } catch (error) {
    throw toOwnProblem(family, action, error)
  }
}

/** Authorizes a command, before anything is read. */
export async function open (family: Family, caller: Caller, command: Command): Promise<Execution> {
  freeze(command.params)
  // Only promises are awaited, so that a single command takes as few turns as possible.
  const granted = caller.authorize(intendCommand(family, command))
  const grant = granted instanceof Promise ? await granted : granted
  const grants: Asked['grants'] = []
  if (needsOthers(family, command)) await authorizeOthers(makeOwn({ family, caller, grants }), command)
  const opened = caller.storage()
  const storage = opened instanceof Promise ? await opened : opened
  return {
    family,
    caller,
    command,
    // Without `authorize`, no promise is returned.
    isGuarded: granted instanceof Promise && (command.interpret !== undefined || grant.where !== undefined),
    identity: identifyCommand(command, grant.principal),
    grant,
    storage,
    grants,
    facts: undefined,
    prepared: undefined,
    isCommitting: false,
    isAbandoned: false
  }
}

/** Runs a command once: authorize, replay, load, precondition, decide, commit. */
async function run (family: Family, caller: Caller, command: Command): Promise<Outcome> {
  const execution = await open(family, caller, command)
  const { storage, storage: { writers, counters } } = execution
  try {
    const ready = execution.isGuarded || needsOthers(family, command) || family.prepare !== undefined
      ? await findOrRefuse(execution)
      : noReach
    if ('record' in ready) return ready
    const keys = listKeys(execution, ready)
    const turn = writers.enter(keys, caller.waiting, caller.signal)
    if (turn !== undefined) await turn
    try {
      return await attemptUntilDone(storage, () => attempt(execution))
    } finally {
      writers.leave(keys)
    }
  } catch (error) {
    // If a commit outlasts its deadline, its outcome is counted when it ends.
    if (execution.isCommitting) execution.isAbandoned = true
    else counters.countFailure(error)
    throw error
  }
}

/** Before it waits: a caller must not block writers of items that it may not see or change. */
async function findOrRefuse (execution: Execution): Promise<Outcome | typeof noReach> {
  const { command: { target }, identity } = execution
  const findEarlier = async (): Promise<Outcome | undefined> => {
    const earlier = identity && await findReplay(execution, identity)
    return earlier && replay(execution, earlier)
  }
  const earlier = await findEarlier()
  if (earlier !== undefined) return earlier
  try {
    const loaded = target === undefined ? await loadForCreation(execution) : await load(execution, target)
    await prepareFor(execution, loaded)
    return loaded
  } catch (error) {
    // The same command may have been done meanwhile.
    const meanwhile = await findEarlier()
    if (meanwhile === undefined) throw error
    return meanwhile
  }
}

async function prepareFor (execution: Execution, loaded: Parameters<typeof prepare>[1]): Promise<void> {
  execution.facts = await prepare(execution, loaded, execution.identity)
  execution.prepared = loaded.command.action
}

// Writers of one item wait for each other, as do creations whose ids are counted, or that have the same id.
export function listKeys (
  { family, caller, command: { target, params }, identity }: Execution,
  { others, creating }: typeof noReach = noReach
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
      if (!(error instanceof ConflictError || error instanceof DuplicateError)) throw error
      counters.retries++
      if (failures > 2) await pause(Math.random() * Math.min(2 * failures, 20))
    }
  }
  const detail = 'Other clients kept changing it at the same time; nothing was done'
  throw new Problem('busy', detail, { headers: { 'retry-after': '1' } })
}

export async function attempt (execution: Execution): Promise<Outcome> {
  const { family, caller, storage, identity, command: { target, params } } = execution
  const { counters } = storage
  const chosenId = target === undefined ? params.id as Id | undefined : undefined
  // Before the replay: if the same creation was committed meanwhile, the replay is found.
  const isTaken = chosenId !== undefined && await isUsed(storage, family, chosenId, caller.signal)
  if (identity !== undefined) {
    const earlier = await findReplay(execution, identity)
    if (earlier !== undefined) return replay(execution, earlier)
  }
  const loaded = target === undefined ? await loadForCreation(execution) : await load(execution, target)
  const { command, grant, current, others, creating } = loaded
  // The same attributes may mean a different action since the item changed.
  if (family.prepare !== undefined && execution.prepared !== command.action) await prepareFor(execution, loaded)
  const newId = current === undefined
    ? chosenId ?? await makeNewId(family, caller.makers, storage, caller.signal)
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
  if (decision.outcome === 'refused' && current !== undefined && hasReach(family)) {
    reach = await loadReach(execution, current)
    decision = settle()
  }
  const item = decision.outcome === 'done' ? decision.after : current
  const decided = { command, context, current, others, decision }
  const record = makeRecord(family, decided, identity?.row)
  const changedOthers = listChangedOthers(family, decision, [...others, ...created], record)
  refuseUngranted(grant, item)
  for (const { other, after } of changedOthers) refuseUngranted(other.grant, after)
  if (family.references.size > 0 && decision.outcome === 'done' && item !== undefined) {
    await refuseUnreadable(execution, command.params, current, item)
  }
  if (isTaken) {
    throw refuseByConstraint(new ConstraintError(family.name, chosenId, 'unique', { fields: ['id'], declared: true }))
  }
  const problem = decision.outcome === 'refused' ? decision.problem : undefined
  // Without an id from the client there is nothing to replay, so only changes are recorded.
  if (decision.outcome !== 'done' && identity === undefined) {
    counters.outcomes[decision.outcome]++
    return { record, id: undefined, item, replayed: false, problem }
  }
  const ended = (error?: unknown): void => {
    execution.isCommitting = false
    if (error !== undefined) {
      if (execution.isAbandoned) counters.countFailure(error)
      return
    }
    counters.outcomes[decision.outcome]++
    if (decision.outcome !== 'done') return
    notifyCommitted(family, caller, record, current, item)
    for (const { other, after, record } of changedOthers) {
      notifyCommitted(other.family, other.caller, record, other.current, after)
    }
  }
  const changes = makeChanges(family, decided, record, changedOthers)
  const commit = (): Promise<void> => storage.commit(changes, caller.signal, ended)
  execution.isCommitting = true
  try {
    await (caller.trace === undefined ? commit() : caller.trace('commit', commit))
  } catch (error) {
    const families = [family, ...others.map(other => other.family), ...created.map(each => each.family)]
    return replay(execution, await findConcurrentReplay(explainConstraint(families, error), execution, identity))
  }
  const secrets = item && decision.outcome === 'done' ? listSecrets(family.ownFields, current ?? {}, item) : undefined
  return { record, id: context.command, item, secrets, replayed: false, problem }
}

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

function replay ({ family, caller, storage, grant }: Execution, record: CommandRecord): Outcome {
  storage.counters.replays++
  return {
    record,
    id: nameRecord(record, grant.principal),
    item: record.result,
    loadItem: () => new Reader(family, storage, grant, caller.signal).get(readTarget(family, record)),
    replayed: true,
    problem: restoreProblem(record)
  }
}

function refuseUngranted ({ where = [] }: Grant, item: Stored | undefined): void {
  if (item === undefined || matcher(where)(item)) return
  throw new Problem('forbidden', 'This change is not permitted')
}

/** The other items are those of the base. */
export interface Preview {
  readonly others: readonly (LoadedOther | IdentifiedItem)[]
  readonly decision: Decision
}

async function previewAsBase (family: Family, caller: Caller, command: Command): Promise<Preview> {
  const base = callBase({ family, caller })
  try {
    const { others, decision } = await preview(base.family, base.caller, toBaseCommand(family, command))
    if (decision.outcome !== 'done') return { others, decision }
    return { others, decision: { ...decision, after: toOwnItem(family, decision.after) } }
  } catch (error) {
    throw toOwnProblem(family, command.action, error)
  }
}

/** The decision that a command would get now. It is authorized like the command itself; nothing is done. */
export async function preview (family: Family, caller: Caller, command: Command): Promise<Preview> {
  if (family.renaming !== undefined) return await previewAsBase(family, caller, command)
  freeze(command.params)
  const grant = await caller.authorize(intendCommand(family, command))
  const storage = await caller.storage()
  const asked = { family, caller, command, grant, storage, grants: [] }
  const loaded = await load(asked, command.target as Id)
  const { current, others, creating } = loaded
  const created = await identifyNew(creating, storage)
  const identity = identifyCommand(command, grant.principal)
  const facts = await prepare(asked, loaded, identity)
  const context = makeContext(caller.makers, grant, identity?.id ?? caller.makers.makeCommandId(), created, facts)
  const decision = decide(family, current, command, context, others, undefined, created)
  return { others: [...others, ...created], decision }
}
