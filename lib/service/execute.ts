import type { Family } from '../family/family.js'
import type { Context } from '../family/operation.js'
import { notFound, Problem } from '../problems.js'
import { ConstraintError } from '../storage/constraint-error.js'
import { matcher } from '../storage/match.js'
import type { Id, Stored } from '../storage/storage.js'
import type { Caller, Grant, Intent } from './caller.js'
import type { Command, CommandRecord } from './command.js'
import type { CommandId } from './command-id.js'
import { identifyCommand } from './command-id.js'
import { getCounters } from './counters.js'
import type { Decision } from './decide.js'
import { decide, decideCreation } from './decide.js'
import { isCounted, makeNewId } from './new-id.js'
import { Reader } from './reader.js'
import { makeChanges, makeRecord, nameRecord, readTarget, restoreProblem } from './record.js'
import { findReplay } from './replay.js'
import { retryConflicts } from './retry.js'
import type { BoundStorage } from './storage-access.js'
import { bindSignal } from './storage-access.js'
import { getWriteLines } from './write-lines.js'

/** What became of a command. */
export interface Outcome {
  readonly record: CommandRecord
  /** The id by which the caller finds the record; undefined where it is not in the log. */
  readonly id: string | undefined
  /** The item after it; undefined where it is gone. Of an earlier answer that is given again, only what it created. */
  readonly item: Stored | undefined
  /** Where an earlier answer is given again: the item as it is now, if the caller may see it. */
  readonly loadItem?: () => Promise<Stored | undefined>
  readonly replayed: boolean
  /** Why it was refused. */
  readonly problem: Problem | undefined
}

interface CommitProgress {
  isUnderWay: boolean
  /** Called when it has ended, where nobody waits for it any more. */
  onEnded?: (outcome: CommandRecord['outcome'], error: unknown) => void
}

/** A command under way. */
interface Execution {
  readonly family: Family
  readonly caller: Caller
  readonly command: Command
  /** Under which it is done once, where the client has one for it. */
  readonly identity: CommandId | undefined
  readonly grant: Grant
  readonly storage: BoundStorage
  readonly commit: CommitProgress
}

/** Does what a command says, once: authorize, replay, load, precondition, decide, commit. */
export async function execute (family: Family, caller: Caller, command: Command): Promise<Outcome> {
  const grant = await caller.authorize(intendCommand(family, command))
  const storage = await caller.storage()
  const identity = identifyCommand(command, grant.principal)
  const commit: CommitProgress = { isUnderWay: false }
  const execution = { family, caller, command, identity, grant, storage: bindSignal(storage, caller.signal), commit }
  const counters = getCounters(storage)
  const work = () => retryConflicts(() => attempt(execution), counters)
  try {
    const outcome = await getWriteLines(storage).run(nameLine(execution), caller.waiting, caller.signal, work)
    if (outcome.replayed) counters.replays++
    else counters.outcomes[outcome.record.outcome]++
    return outcome
  } catch (error) {
    // Of a commit that outlasts its deadline nobody knows yet what becomes of it.
    if (commit.isUnderWay) {
      commit.onEnded = (outcome, error) => {
        if (error === undefined) counters.outcomes[outcome]++
        else counters.countFailure(error)
      }
    } else counters.countFailure(error)
    throw error
  }
}

// Writers of one item wait for each other, and so do creations whose ids are counted, or that have one id.
function nameLine ({ family, caller, command: { target }, identity }: Execution): string | undefined {
  if (target !== undefined) return `${family.name}/${target}`
  return isCounted(family, caller.makers) ? family.name : identity?.row
}

async function attempt (execution: Execution): Promise<Outcome> {
  const { family, caller, storage, identity, command: { target } } = execution
  if (identity !== undefined) {
    const earlier = await findReplay(storage, family, { ...execution.command, ...identity }, execution.grant)
    if (earlier !== undefined) return replay(execution, earlier)
  }
  const { current, command, grant }: Loaded = target === undefined ? execution : await load(execution, target)
  const { makers } = caller
  const name = identity?.id ?? makers.makeCommandId()
  const context: Context = { now: makers.clock().toISOString(), command: name, principal: grant.principal }
  const decision = await trace(caller, 'decide', async (): Promise<Decision> => current === undefined
    ? {
        outcome: 'done',
        after: decideCreation(family, await makeNewId(family, makers, storage), command.params, context)
      }
    : decide(family, current, command, context))
  const item = decision.outcome === 'done' ? decision.after : current
  if (item !== undefined && !isGranted(grant, item)) {
    throw new Problem('forbidden', `You may not make the ${family.singular} this`)
  }
  const decided = { command, context, current, decision }
  const record = makeRecord(family, decided, identity?.row)
  // Without an id of the client's there is nothing to be replayed, so only changes are recorded.
  const recorded = decision.outcome === 'done' || identity !== undefined
  const { commit } = execution
  const ended = (error?: unknown): void => {
    commit.isUnderWay = false
    commit.onEnded?.(decision.outcome, error)
    if (error !== undefined || decision.outcome !== 'done') return
    tellCaller(family, caller, record, { before: current, after: item })
  }
  if (recorded) {
    const earlier = await trace(caller, 'commit', () => {
      const changes = makeChanges(family, decided, record)
      commit.isUnderWay = true
      return storage.commit(changes, ended)
    }).catch(error => findOvertaker(execution, error))
    if (earlier !== undefined) return replay(execution, earlier)
  }
  const problem = decision.outcome === 'refused' ? decision.problem : undefined
  return { record, id: recorded ? context.command : undefined, item, replayed: false, problem }
}

/** Another process may have done this very command meanwhile: then it is its own doing that is in the way. */
async function findOvertaker (execution: Execution, error: unknown): Promise<CommandRecord> {
  const { family, storage, command, identity, grant } = execution
  const isConstraint = error instanceof Problem && error.cause instanceof ConstraintError
  const earlier = isConstraint && identity !== undefined
    ? await findReplay(storage, family, { ...command, ...identity }, grant)
    : undefined
  if (earlier === undefined) throw error
  return earlier
}

function replay ({ family, storage, grant }: Execution, record: CommandRecord): Outcome {
  return {
    record,
    id: nameRecord(record, grant.principal),
    item: record.result,
    loadItem: () => new Reader(family, storage, grant).get(readTarget(family, record)),
    replayed: true,
    problem: restoreProblem(record)
  }
}

/** The item as it is, what the command means for it, and what the caller may do with it. */
interface Loaded extends Pick<Execution, 'command' | 'grant'> {
  /** Undefined where the command creates it. */
  readonly current?: Stored
}

async function load ({ family, caller, command, grant, storage }: Execution, target: Id): Promise<Loaded> {
  const current = await storage.get(family.name, target)
  if (current === undefined || !isGranted(grant, current)) throw notFound(family.singular, target)
  command.precondition?.(current)
  if (command.interpret === undefined) return { current, command, grant }
  const meant = { ...command, ...command.interpret(current) }
  if (meant.action === undefined) return { current, command: meant, grant }
  // Reading was asked for at first; changing is another matter, with conditions of its own.
  const granted = await caller.authorize(intendCommand(family, meant))
  if (!isGranted(granted, current)) throw notFound(family.singular, target)
  return { current, command: meant, grant: granted }
}

function isGranted ({ where }: Grant, item: Stored): boolean {
  return where === undefined || matcher(where)(item)
}

async function trace<T> (caller: Caller, step: string, work: () => Promise<T>): Promise<T> {
  return await (caller.trace === undefined ? work() : caller.trace(step, work))
}

function tellCaller (
  family: Family,
  caller: Caller,
  record: CommandRecord,
  items: { readonly before: Stored | undefined, readonly after: Stored | undefined }
): void {
  if (caller.committed === undefined) return
  const { action, params = {}, principal, revision, createdAt: at } = record
  const id = readTarget(family, record)
  const command = nameRecord(record, principal)
  caller.committed({ family: family.name, action, id, command, params, principal, revision, at, ...items })
}

// A command whose meaning only the item shows is to read it first.
function intendCommand ({ name }: Family, { action = 'read', target, params }: Command): Intent {
  return { family: name, action, id: target, params }
}
