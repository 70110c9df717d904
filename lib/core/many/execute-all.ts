import { type Family, listRelated } from '../family/family.js'
import { invalidBody, Problem } from '../problems.js'
import { attempt } from '../service/attempt.js'
import type { Caller } from '../service/caller.js'
import {
  attemptUntilDone, type Commit, commitDecided, type CommitState, type DecidedCommand, type Outcome, runToCommit
} from '../service/commit.js'
import { execute, listWriterKeys } from '../service/execute.js'
import { showGrantedError } from '../service/granted.js'
import { authorizeCommand, type Execution } from '../service/load.js'
import { explainConstraint } from '../service/refusal.js'
import { enter, type EnteredCommand, type Sent } from '../service/renamed.js'
import { repeatIfDone } from '../service/replay.js'
import { type GuardedStorage, isConflict } from '../service/storage-access.js'
import { ConstraintError, getId } from '../storage/storage.js'
import { endLongTurn } from '../storage/turns.js'
import { Draft, nameChanged } from './draft.js'
import { SideBySide } from './side-by-side.js'

/** Makes an error name its command. @param isRead whether `read` threw it */
type Explain = (error: unknown, index: number, isRead?: boolean) => unknown

/**
 * Runs many commands as if one came after the other, each for itself, or all in one commit.
 *
 * @param read returns a command that was sent, or throws a problem
 */
export async function executeAll<T> (
  sent: readonly T[],
  read: (each: T, index: number) => Sent,
  isAtomic: boolean,
  explain: Explain
): Promise<PromiseSettledResult<Outcome>[]> {
  // All before the first is run: the caller may change the list later.
  const list = await Promise.allSettled(sent.map(async (each, index) => read(each, index)))
  if (isAtomic) {
    return (await executeTogether(list.map(take), explain)).map(value => ({ status: 'fulfilled', value }))
  }
  const sideBySide = new SideBySide()
  return await Promise.allSettled(list.map(async (each, index) =>
    await sideBySide.run(each.status === 'fulfilled' ? each.value : undefined, () => executeOne(each, index))))

  function take (each: PromiseSettledResult<Sent>, index: number): Sent {
    if (each.status === 'rejected') throw explain(each.reason, index, true)
    return each.value
  }

  async function executeOne (each: PromiseSettledResult<Sent>, index: number): Promise<Outcome> {
    const { family, caller, command } = take(each, index)
    try {
      const outcome = await execute(family, caller, command)
      const { problem } = outcome
      return { ...outcome, problem: problem && explain(problem, index) as Problem }
    } catch (error) {
      throw explain(error, index)
    }
  }
}

/** Commands that are decided one after the other and committed as one. */
interface Together {
  readonly list: readonly EnteredCommand[]
  readonly executions: readonly Execution[]
  readonly storage: GuardedStorage
  /** Those whose items may be changed. */
  readonly families: readonly Family[]
  explain (error: unknown, index: number): unknown
}

/** Each sees the effect of those before it. */
async function executeTogether (list: readonly Sent[], explain: Explain): Promise<Outcome[]> {
  if (list.length === 0) return []
  const together = await authorizeAll(list.map(enter), explain)
  const { list: entered, executions, storage, storage: { writers } } = together
  const hasIdentity = executions.some(({ identity }) => identity !== undefined)
  return await runToCommit(storage, hasIdentity, async state => {
    // Before it waits: a caller must not block writers of items that it may not see or change.
    let first: Commit | undefined = await attemptUntilDone(storage, () => decideAll(together))
    const keys = listAllKeys(executions, first)
    await writers.enter(keys, executions[0]?.caller.signal)
    try {
      return await attemptUntilDone(storage, async () => {
        const commit = first ?? await decideAll(together)
        first = undefined
        await commitAll(together, state, commit)
        return commit.decided.map(({ outcome }, index) => (entered[index] as EnteredCommand).showOutcome(outcome))
      })
    } finally {
      writers.leave(keys)
    }
  })
}

function listAllKeys (executions: readonly Execution[], { changes }: Commit): string[] {
  const changed = changes.filter(({ family }) => family !== 'commands').map(nameChanged)
  return [...new Set([...changed, ...executions.flatMap(each => listWriterKeys(each))])].sort()
}

async function authorizeAll (list: readonly EnteredCommand[], explain: Explain): Promise<Together> {
  const explainOwn = (error: unknown, index: number): unknown =>
    explain((list[index] as EnteredCommand).showProblem(showOwn(error, index)), index)
  const opened = await Promise.allSettled(list.map(async ({ family, caller, command }) =>
    await authorizeCommand(family, caller, command)))
  const showOwn = (error: unknown, index: number): unknown => {
    const { status, value } = opened[index] as PromiseFulfilledResult<Execution>
    return status === 'fulfilled' ? showGrantedError(value, error) : error
  }
  const executions = opened.map((each, index): Execution => {
    if (each.status === 'rejected') throw explainOwn(each.reason, index)
    return each.value
  })
  const [{ storage }] = executions as [Execution]
  const foreign = executions.findIndex(each => each.storage !== storage)
  if (foreign > 0) {
    throw explain(invalidBody([{ pointer: '', detail: 'is in a different storage; one commit is in one' }]), foreign)
  }
  const families = [...new Set(executions.flatMap(({ family }) => listRelated(family)))]
  return { list, executions, storage, families, explain: explainOwn }
}

async function decideAll ({ executions, storage, families, explain }: Together): Promise<Commit> {
  const draft = new Draft(storage, families)
  await draft.preload(executions.flatMap(({ family: { name }, command: { target }, identity }) => [
    ...target === undefined ? [] : [[name, target] as const],
    ...identity === undefined ? [] : [['commands', identity.row] as const]
  ]), executions[0]?.caller.signal)
  const decided: DecidedCommand[] = []
  for (const [index, execution] of executions.entries()) {
    await endLongTurn()
    try {
      decided.push(await decideOnDraft(execution, draft))
    } catch (error) {
      if (isConflict(error)) throw error
      if ((error as Problem).code === 'wrong-state') storage.counters.commands_refused_total++
      throw explain(error, index)
    }
  }
  return { decided, changes: draft.changes }
}

/** Throws why it is refused, since all are done or none. */
async function decideOnDraft (execution: Execution, draft: Draft): Promise<DecidedCommand> {
  const caller = useDraft(execution.caller, draft.storage)
  const decided = await attempt({ ...execution, storage: draft.storage, caller }, async ({ changes }) => {
    for (const change of changes) await draft.add(change, caller.signal)
  })
  const { problem, replayed } = decided.outcome
  if (problem === undefined) return decided
  if (!replayed) await repeatIfDone(execution, problem)
  throw problem
}

async function commitAll (together: Together, state: CommitState, commit: Commit): Promise<void> {
  const { executions: [first], storage } = together
  try {
    await commitDecided(storage, (first as Execution).caller, state, commit)
  } catch (error) {
    throw await explainFailure(together, commit, error)
  }
}

/** Names the command whose item breaks a rule of the database. */
async function explainFailure (
  { executions, families, explain }: Together, { decided }: Commit, error: unknown
): Promise<unknown> {
  const { cause } = error as { cause?: unknown }
  if (!(cause instanceof ConstraintError)) return error
  for (const [index, { outcome }] of decided.entries()) {
    if (!outcome.replayed) await repeatIfDone(executions[index] as Execution, error)
  }
  // Several may have changed the item.
  const index = decided.findLastIndex(({ changes }) =>
    changes.some(change => change.family === cause.family && getId(change) === cause.id))
  if (index !== -1) return explain(decided[index]?.explain(error), index)
  return executions.reduce((shown, execution) => showGrantedError(execution, shown), explainConstraint(families, error))
}

/** The same caller, who reads the draft. */
function useDraft (caller: Caller, draft: GuardedStorage): Caller {
  return {
    ...caller,
    async storage () {
      // It is prepared for the family too.
      await caller.storage()
      return draft
    },
    other (family) {
      const other = caller.other(family)
      return other && { ...other, caller: useDraft(other.caller, draft) }
    }
  }
}
