import type { Family } from '../family/family.js'
import type { Context } from '../family/operation.js'
import { notFound, Problem } from '../problems.js'
import { matcher } from '../storage/conditions.js'
import type { Id, Stored } from '../storage/storage.js'
import type { Caller, Grant, Intent } from './caller.js'
import type { Command, CommandRecord } from './command.js'
import type { CommandId } from './command-id.js'
import { identifyCommand } from './command-id.js'
import { getCounters } from './counters.js'
import type { Decision } from './decide.js'
import { decide, decideCreation } from './decide.js'
import { isCounted, makeNewId } from './new-id.js'
import type { LoadedOther, OtherTarget } from './others.js'
import { authorizeOthers, loadOthers } from './others.js'
import { Reader } from './reader.js'
import { listChangedOthers, makeChanges, makeRecord, nameRecord, readTarget, restoreProblem } from './record.js'
import { findOvertaker, findReplay } from './replay.js'
import { retryConflicts } from './retry.js'
import { BoundStorage } from './storage-access.js'
import { tellCaller } from './tell-caller.js'
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
  /** What it needs besides its own item. */
  readonly others: readonly OtherTarget[]
  readonly storage: BoundStorage
  readonly commit: CommitProgress
}

/** Does what a command says, once: authorize, replay, load, precondition, decide, commit. */
export async function execute (family: Family, caller: Caller, command: Command): Promise<Outcome> {
  const grant = await caller.authorize(intendCommand(family, command))
  const others = await authorizeOthers({ family, caller }, command)
  const storage = await caller.storage()
  const identity = identifyCommand(command, grant.principal)
  const commit: CommitProgress = { isUnderWay: false }
  const bound = new BoundStorage(storage, caller.signal)
  const execution = { family, caller, command, identity, grant, others, storage: bound, commit }
  const counters = getCounters(storage)
  const work = () => retryConflicts(() => attempt(execution), counters)
  try {
    const outcome = await getWriteLines(storage).run(nameLines(execution), caller.waiting, caller.signal, work)
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
function nameLines ({ family, caller, command: { target }, others, identity }: Execution): string[] {
  if (target === undefined) {
    const line = isCounted(family, caller.makers) ? family.name : identity?.row
    return line === undefined ? [] : [line]
  }
  const own = `${family.name}/${target}`
  return others.length === 0 ? [own] : [own, ...others.map(({ family, id }) => `${family.name}/${id}`)].sort()
}

async function attempt (execution: Execution): Promise<Outcome> {
  const { family, caller, storage, identity, command: { target } } = execution
  if (identity !== undefined) {
    const earlier = await findReplay(execution, identity)
    if (earlier !== undefined) return replay(execution, earlier)
  }
  const loaded: Loaded = target === undefined ? { ...execution, others: [] } : await load(execution, target)
  const { current, command, grant, others } = loaded
  const { makers } = caller
  const name = identity?.id ?? makers.makeCommandId()
  const now = makers.clock().toISOString()
  const context: Context = { now, command: name, principal: grant.principal, items: {} }
  const decision = await trace(caller, 'decide', async (): Promise<Decision> => current === undefined
    ? {
        outcome: 'done',
        after: decideCreation(family, await makeNewId(family, makers, storage), command.params, context)
      }
    : decide(family, current, command, context, others))
  const item = decision.outcome === 'done' ? decision.after : current
  const decided = { command, context, current, others, decision }
  const record = makeRecord(family, decided, identity?.row)
  const changedOthers = listChangedOthers(family, decided, record)
  refuseUngranted(family, grant, item)
  for (const { other, after } of changedOthers) refuseUngranted(other.family, other.grant, after)
  // Without an id of the client's there is nothing to be replayed, so only changes are recorded.
  const recorded = decision.outcome === 'done' || identity !== undefined
  const { commit } = execution
  const ended = (error?: unknown): void => {
    commit.isUnderWay = false
    commit.onEnded?.(decision.outcome, error)
    if (error !== undefined || decision.outcome !== 'done') return
    tellCaller(family, caller, record, { before: current, after: item })
    for (const { other, after, record } of changedOthers) {
      tellCaller(other.family, other.caller, record, { before: other.current, after })
    }
  }
  if (recorded) {
    const earlier = await trace(caller, 'commit', () => {
      const changes = makeChanges(family, decided, record, changedOthers)
      commit.isUnderWay = true
      return storage.commit(changes, ended)
    }).catch(error => findOvertaker(error, execution, identity))
    if (earlier !== undefined) return replay(execution, earlier)
  }
  const problem = decision.outcome === 'refused' ? decision.problem : undefined
  return { record, id: recorded ? context.command : undefined, item, replayed: false, problem }
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
  readonly others: readonly LoadedOther[]
}

async function load (execution: Execution, target: Id): Promise<Loaded> {
  const { family, caller, command, grant, others, storage } = execution
  const current = await storage.get(family.name, target)
  if (current === undefined || !isGranted(grant, current)) throw notFound(family.singular, target)
  command.precondition?.(current)
  if (command.interpret === undefined) return { current, command, grant, others: await loadOthers(others, storage) }
  const meant = { ...command, ...command.interpret(current) }
  if (meant.action === undefined) return { current, command: meant, grant, others: [] }
  // Reading was asked for at first; changing is another matter, with conditions of its own.
  const granted = await caller.authorize(intendCommand(family, meant))
  if (!isGranted(granted, current)) throw notFound(family.singular, target)
  const needed = await authorizeOthers({ family, caller }, meant)
  return { current, command: meant, grant: granted, others: await loadOthers(needed, storage) }
}

function isGranted ({ where }: Grant, item: Stored): boolean {
  return where === undefined || matcher(where)(item)
}

function refuseUngranted ({ singular }: Family, grant: Grant, item: Stored | undefined): void {
  if (item === undefined || isGranted(grant, item)) return
  throw new Problem('forbidden', `You may not make the ${singular} this`)
}

function trace<T> (caller: Caller, step: string, work: () => Promise<T>): Promise<T> {
  return caller.trace === undefined ? work() : caller.trace(step, work)
}

// A command whose meaning only the item shows is to read it first.
function intendCommand ({ name }: Family, { action = 'read', target, params }: Command): Intent {
  return { family: name, action, id: target, params }
}
