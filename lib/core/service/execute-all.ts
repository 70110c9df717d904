import { type Family, listRelated } from '../family/family.js'
import { invalidBody, Problem } from '../problems.js'
import { ConflictError, ConstraintError, DuplicateError } from '../storage/storage.js'
import type { Caller } from './caller.js'
import type { Command } from './command.js'
import { type Draft, makeDraft, nameItem, useDraft } from './draft.js'
import {
  attempt, attemptUntilDone, execute, type Execution, listKeys, open, type Outcome, renameOutcome
} from './execute.js'
import { hasReach, needsOthers } from './others.js'
import { callBase, toBaseCommand, toOwnProblem } from './renamed.js'
import { explainConstraint } from './storage-access.js'

/** One of several commands. */
export interface Ordered {
  readonly family: Family
  readonly caller: Caller
  readonly command: Command
}

/** Makes an error name its command. @param isRead whether `read` threw it */
type Explain = (error: unknown, index: number, isRead?: boolean) => unknown

/**
 * Runs many commands in this order, each for itself, or all in one commit.
 *
 * @param read returns a command that was sent, or throws a problem
 */
export async function executeAll<T> (
  sent: readonly T[],
  read: (each: T, index: number) => Ordered,
  isAtomic: boolean,
  explain: Explain
): Promise<PromiseSettledResult<Outcome>[]> {
  const list = sent.map((each, index) => {
    try {
      return read(each, index)
    } catch (error) {
      const reason = explain(error, index, true)
      if (isAtomic) throw reason
      return { reason }
    }
  })
  if (!isAtomic) return await executeEach(list, explain)
  return (await executeTogether(list as Ordered[], explain)).map(value => ({ status: 'fulfilled', value }))
}

// More would only wait for each other.
const maxRunning = 100

/** Those that do not depend on each other run at the same time, and share a commit. */
async function executeEach (
  list: readonly (Ordered | { readonly reason: unknown })[],
  explain: Explain
): Promise<PromiseSettledResult<Outcome>[]> {
  const settled: PromiseSettledResult<Outcome>[] = []
  let running: Promise<Outcome>[] = []
  const taken = new Set<unknown>()
  const settle = async (): Promise<void> => {
    settled.push(...await Promise.allSettled(running))
    running = []
    taken.clear()
  }
  for (const [index, ordered] of list.entries()) {
    if ('reason' in ordered) {
      running.push(Promise.reject(ordered.reason))
      continue
    }
    const { family, command: { target = '', id, key = id } } = ordered
    const isAlone = !isIndependent(ordered)
    const keys = [nameItem(family.name, target), ...key === undefined ? [] : [`#${key}`]]
    if (isAlone || running.length >= maxRunning || keys.some(key => taken.has(key))) await settle()
    for (const key of keys) taken.add(key)
    running.push(executeOne(ordered, error => explain(error, index)))
    if (isAlone) await settle()
  }
  await settle()
  return settled
}

async function executeOne ({ family, caller, command }: Ordered, explain: (error: unknown) => unknown) {
  try {
    const outcome = await execute(family, caller, command)
    return outcome.problem === undefined ? outcome : { ...outcome, problem: explain(outcome.problem) as Problem }
  } catch (error) {
    throw explain(error)
  }
}

/** Whether it depends on its item alone, and changes no other. */
function isIndependent ({ family: named, command }: Ordered): boolean {
  const family = named.renaming?.base ?? named
  const { prepare, references, shape: { unique = [] }, lifecycle } = family
  return command.target !== undefined && command.action !== lifecycle?.deletion?.operation.action &&
    prepare === undefined && references.size === 0 && unique.length === 0 &&
    !needsOthers(family, command) && !hasReach(family)
}

/** Each sees the effect of those before it. */
async function executeTogether (list: readonly Ordered[], explain: Explain): Promise<Outcome[]> {
  if (list.length === 0) return []
  const explainOwn = (error: unknown, index: number): unknown => {
    const { family, command: { action } } = list[index] as Ordered
    return explain(toOwnProblem(family, action, error), index)
  }
  const opened = await Promise.allSettled(list.map(async ({ family, caller, command }) => {
    const base = callBase({ family, caller })
    return await open(base.family, base.caller, toBaseCommand(family, command))
  }))
  const executions = opened.map((each, index): Execution => {
    if (each.status === 'rejected') throw explainOwn(each.reason, index)
    return each.value
  })
  const [{ storage, caller, caller: { signal } }] = executions as [Execution]
  const foreign = executions.findIndex(each => each.storage !== storage)
  if (foreign > 0) {
    throw explain(invalidBody([{ pointer: '', detail: 'is in a different storage; one commit is in one' }]), foreign)
  }
  const families = [...new Set(executions.flatMap(({ family }) => listRelated(family)))]
  const state = { isCommitting: false, isAbandoned: false, isRepeated: false }
  try {
    // Before it waits: a caller must not block writers of items that it may not see or change.
    let drafted: Drafted | undefined = await attemptUntilDone(storage, decideAll)
    const changed = [...drafted.draft.changes].flatMap(([name, { family }]) => family === 'commands' ? [] : name)
    const keys = [...new Set([...changed, ...executions.flatMap(each => listKeys(each))])].sort()
    await storage.writers.enter(keys, caller.waiting, signal)
    try {
      return await attemptUntilDone(storage, async () => {
        const decided = drafted ?? await decideAll()
        drafted = undefined
        await commit(decided)
        return decided.outcomes
      })
    } finally {
      storage.writers.leave(keys)
    }
  } catch (error) {
    if (state.isCommitting) state.isAbandoned = true
    else storage.counters.countFailure(error)
    throw error
  }

  async function decideAll (): Promise<Drafted> {
    const draft = makeDraft(storage, families)
    // A database reads them together. An error is that of the command that needs the item.
    await Promise.allSettled(executions.flatMap(({ family, command: { target }, identity }) => [
      target === undefined ? undefined : draft.get(family.name, target, signal),
      identity === undefined ? undefined : draft.get('commands', identity.row, signal)
    ]))
    const outcomes: Outcome[] = []
    for (const [index, execution] of executions.entries()) {
      const { family, command } = list[index] as Ordered
      const work = { ...execution, storage: draft, caller: useDraft(execution.caller, draft) }
      try {
        const outcome = await renameOutcome(family, command, () => attempt(work))
        if (outcome.problem !== undefined) throw outcome.problem
        outcomes.push(outcome)
      } catch (error) {
        if (error instanceof DuplicateError) throw error
        repeatOnce(error)
        if ((error as Problem).code === 'wrong-state') storage.counters.outcomes.refused++
        throw explain(error, index)
      }
    }
    return { draft, outcomes }
  }

  async function commit ({ draft, outcomes }: Drafted): Promise<void> {
    const finish = (): Promise<void> => draft.finish(signal, error => {
      state.isCommitting = false
      if (error !== undefined && state.isAbandoned) storage.counters.countFailure(error)
    })
    state.isCommitting = true
    try {
      await (caller.trace === undefined ? finish() : caller.trace('commit', finish))
    } catch (error) {
      const { cause } = error as { cause?: unknown }
      if (!(cause instanceof ConstraintError)) throw error
      repeatOnce(error)
      const explained = explainConstraint(families, error)
      const index = outcomes.findLastIndex(({ record: { family, target } }) =>
        family === cause.family && target === String(cause.id))
      throw index === -1 ? explained : explainOwn(explained, index)
    }
  }

  /** Another process may have run the same commands meanwhile; then they are found now. */
  function repeatOnce (error: unknown): void {
    const isRefusal = error instanceof Problem && error.statusCode < 500
    if (!isRefusal || state.isRepeated || executions.every(({ identity }) => identity === undefined)) return
    state.isRepeated = true
    throw new ConflictError('commands', '')
  }
}

interface Drafted {
  readonly draft: Draft
  readonly outcomes: Outcome[]
}
