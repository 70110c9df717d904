import type { Family } from '../family/family.js'
import { getWhole } from '../family/narrow.js'
import type { Problem } from '../problems.js'
import type { Id, Stored } from '../storage/storage.js'
import { attempt, type GrantedDecision, loadAndDecide, refuseUngranted, replayOrLoad } from './attempt.js'
import type { Caller } from './caller.js'
import { attemptUntilDone, commitDecided, type DecidedCommand, type Outcome, runToCommit } from './commit.js'
import type { Command, Decision, DoneDecision } from './decide.js'
import { showGrantedError, showGrantedItem } from './granted.js'
import { authorizeCommand, type Execution, load, type Loaded, noOthers, prepareFacts } from './load.js'
import { isCounted } from './new-ids.js'
import { findAfter } from './record.js'
import { type Called, enter, type Sent, showAs } from './renamed.js'
import { repeatIfDone } from './replay.js'
import { keyNextId } from './storage-access.js'

export type { Outcome } from './commit.js'

export function execute (family: Family, caller: Caller, command: Command): Promise<Outcome> {
  const sent = { family: getWhole(family), caller, command }
  return family.renaming === undefined ? executeOwn(sent) : executeAsBase(sent)
}

async function executeAsBase (sent: Sent): Promise<Outcome> {
  const { showOutcome, showProblem, ...own } = enter(sent)
  try {
    return showOutcome(await executeOwn(own))
  } catch (error) {
    throw showProblem(error)
  }
}

/** Runs a command once: authorize, replay, load, precondition, decide, commit. */
async function executeOwn ({ family, caller, command }: Sent): Promise<Outcome> {
  const execution = await authorizeCommand(family, caller, command)
  try {
    return await executeAuthorized(execution)
  } catch (error) {
    throw showGrantedError(execution, error)
  }
}

function executeAuthorized (execution: Execution): Promise<Outcome> {
  const { family, caller, command, storage, storage: { writers }, identity } = execution
  return runToCommit(storage, identity !== undefined, async state => {
    const commit = async (decided: DecidedCommand): Promise<void> => {
      await commitDecided(storage, caller, state, { decided: [decided], changes: decided.changes })
    }
    const ready = execution.isGuarded || family.withOthers.has(command.action ?? '') || family.prepare !== undefined
      ? await attemptUntilDone(storage, () => findOrRefuse(execution))
      : undefined
    if (ready !== undefined && 'outcome' in ready) {
      await commit(ready)
      return ready.outcome
    }
    const keys = listWriterKeys(execution, ready)
    const turn = writers.enter(keys, caller.signal)
    if (turn !== undefined) await turn
    // What was read before is not read again, if it did not wait. If it is old, the commit is refused.
    let loaded = turn === undefined && isReusable(execution) ? ready : undefined
    try {
      const { outcome } = await attemptUntilDone(storage, () => {
        const first = loaded
        loaded = undefined
        return attempt(execution, commit, first)
      })
      return outcome
    } finally {
      writers.leave(keys)
    }
  })
}

/** Before it waits: a caller must not block writers of items that it may not see or change. */
async function findOrRefuse (execution: Execution): Promise<DecidedCommand | Loaded> {
  const loaded = await replayOrLoad(execution)
  if ('outcome' in loaded) return loaded
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

// Writers of one item wait for each other, as do creations whose ids are counted, or that have the same id.
export function listWriterKeys (
  { family, caller, command: { target, params }, identity }: Execution,
  { others, creating }: Pick<Loaded, 'others' | 'creating'> = { others: noOthers, creating: noOthers }
): string[] {
  const chosen = target ?? params.id
  const own = chosen !== undefined
    ? `${family.name}/${String(chosen)}`
    : isCounted(family, caller.makers) ? keyNextId(family.name) : identity?.row
  const keys = own === undefined ? [] : [own]
  if (others.length === 0 && creating.length === 0) return keys
  for (const { family, id } of others) keys.push(`${family.name}/${id}`)
  for (const { family, caller } of creating) if (isCounted(family, caller.makers)) keys.push(keyNextId(family.name))
  return [...new Set(keys)].sort()
}

/** Another item that a command would change or create, and the caller of its family. */
export interface PreviewedOther extends Called {
  readonly id: Id
  /** Undefined for a new item. */
  readonly before: Stored | undefined
  readonly after: Stored
}

export interface PreviewedDecision {
  readonly decision: Decision
  /** Of families that are mounted. */
  readonly others: readonly PreviewedOther[]
}

/** The decision that a command would get now. It is authorized like the command itself; nothing is done. */
export async function preview (family: Family, caller: Caller, command: Command): Promise<PreviewedDecision> {
  const { showItem, showProblem, ...own } = enter({ family, caller, command })
  try {
    const execution = await authorizeCommand(own.family, own.caller, own.command)
    return await previewAuthorized(execution).catch((error: unknown) => { throw showGrantedError(execution, error) })
  } catch (error) {
    throw showProblem(error)
  }

  async function previewAuthorized (execution: Execution): Promise<PreviewedDecision> {
    const made = await loadAndDecide(execution, await load(execution))
    await refuseUngranted(execution, made)
    const { decision } = made
    if (decision.outcome === 'unchanged') return { decision, others: [] }
    if (decision.outcome === 'refused') {
      const problem = showProblem(showGrantedError(execution, decision.problem)) as Problem
      return { decision: { ...decision, problem }, others: [] }
    }
    const after = showItem(showGrantedItem(execution, decision.after))
    return { decision: { ...decision, after }, others: listOthers(made, decision) }
  }

  /** Under the names of the versions that the caller has. */
  function listOthers ({ others, created }: GrantedDecision, decision: DoneDecision): PreviewedOther[] {
    return [...others, ...created].flatMap(other => {
      const { family: { name: its }, id, current } = other
      const after = findAfter(decision, other)
      const there = its === family.name ? { family, caller } : caller.other(its)
      if (after === undefined || there === undefined) return []
      return { ...there, id, before: showAs(there.family, current), after: showAs(there.family, after) }
    })
  }
}
