import { type Family, listRelated } from '../family/family.js'
import { invalidBody, Problem } from '../problems.js'
import { ConflictError, ConstraintError, DuplicateError } from '../storage/storage.js'
import type { Caller } from './caller.js'
import type { Command } from './command.js'
import { type Draft, makeDraft, useDraft } from './draft.js'
import {
  attempt, attemptUntilDone, execute, type Execution, listKeys, open, type Outcome, renameOutcome
} from './execute.js'
import { hasReach, needsOthers } from './others.js'
import { callBase, toBaseCommand, toOwnProblem } from './renamed.js'
import { explainConstraint } from './storage-access.js'

/** One of several commands, and its caller. */
export interface Ordered {
  readonly family: Family
  readonly caller: Caller
  readonly command: Command
}

/** Makes the error of one of several commands name it. @param isRead whether `read` has thrown it */
type Explain = (error: unknown, index: number, isRead?: boolean) => unknown

/**
 * Runs many commands in this order, each for itself or all in one commit.
 *
 * @param read returns a command that was sent, or throws a problem
 */
export async function executeAll<T> (
  sent: readonly T[],
  read: (each: T, index: number) => Ordered,
  isAtomic: boolean,
  explain: Explain
): Promise<PromiseSettledResult<Outcome>[]> {
  if (isAtomic) {
    const list = sent.map((each, index) => {
      try {
        return read(each, index)
      } catch (error) {
        throw explain(error, index, true)
      }
    })
    return (await executeTogether(list, explain)).map(value => ({ status: 'fulfilled', value }))
  }
  const unread = new Set<number>()
  return (await executeEach(sent, read, unread)).map((result, index) => {
    if (result.status === 'rejected') return { ...result, reason: explain(result.reason, index, unread.has(index)) }
    const { problem } = result.value
    if (problem === undefined) return result
    return { ...result, value: { ...result.value, problem: explain(problem, index) as Problem } }
  })
}

// As many run at once; more would only wait for each other.
const maxRunning = 100

/** Runs each as if it came alone. Those that do not depend on each other share a commit. */
async function executeEach<T> (
  sent: readonly T[],
  read: (each: T, index: number) => Ordered,
  unread: Set<number>
): Promise<PromiseSettledResult<Outcome>[]> {
  const settled: PromiseSettledResult<Outcome>[] = []
  let running: Promise<Outcome>[] = []
  const taken = new Set<string>()
  const settle = async (): Promise<void> => {
    settled.push(...await Promise.allSettled(running))
    running = []
    taken.clear()
  }
  for (const [index, each] of sent.entries()) {
    let ordered: Ordered
    try {
      ordered = read(each, index)
    } catch (error) {
      running.push(Promise.reject(error))
      unread.add(index)
      continue
    }
    const { family, caller, command, command: { target, id, key } } = ordered
    const isAlone = !isIndependent(ordered)
    const keys = [`${family.name}/${target}`, ...id === undefined && key === undefined ? [] : [`#${id ?? key}`]]
    if (isAlone || running.length >= maxRunning || keys.some(key => taken.has(key))) await settle()
    for (const key of keys) taken.add(key)
    running.push(execute(family, caller, command))
    if (isAlone) await settle()
  }
  await settle()
  return settled
}

/** Whether it depends on its item alone, and changes no other. */
function isIndependent ({ family: named, command }: Ordered): boolean {
  const family = named.renaming?.base ?? named
  const { prepare, references, shape: { unique = [] }, lifecycle } = family
  return command.target !== undefined && command.action !== lifecycle?.deletion?.operation.action &&
    prepare === undefined && references.size === 0 && unique.length === 0 &&
    !needsOthers(family, command) && !hasReach(family)
}

/** Runs all in one commit, or none; each sees the effect of those before it. */
async function executeTogether (list: readonly Ordered[], explain: Explain): Promise<Outcome[]> {
  if (list.length === 0) return []
  const opening = await Promise.allSettled(list.map(async ({ family, caller, command }) => {
    const base = callBase({ family, caller })
    return await open(base.family, base.caller, toBaseCommand(family, command))
  }))
  const executions = opening.map((opened, index): Execution => {
    if (opened.status === 'fulfilled') return opened.value
    throw explainOwn(opened.reason, index)
  })
  const [{ storage, caller }] = executions as [Execution]
  const strange = executions.findIndex(each => each.storage !== storage)
  if (strange > 0) {
    const detail = 'is in a different storage from the first; commands of one commit need the same storage'
    throw explain(invalidBody([{ pointer: '', detail }]), strange)
  }
  const state = { isCommitting: false, isAbandoned: false, isRepeated: false }
  try {
    // Before it waits: a caller must not block writers of items that it may not see or change.
    let drafted: Drafted | undefined = await attemptUntilDone(storage, draft)
    const changed = drafted.draft.listChanges().flatMap(change =>
      change.family === 'commands' ? [] : `${change.family}/${'item' in change ? change.item.id : change.id}`)
    const keys = [...new Set([...changed, ...executions.flatMap(each => listKeys(each))])].sort()
    await storage.writers.enter(keys, caller.waiting, caller.signal)
    try {
      return await attemptUntilDone(storage, async () => {
        const { draft: made, outcomes } = drafted ?? await draft()
        drafted = undefined
        await finish(made)
        return outcomes
      })
    } finally {
      storage.writers.leave(keys)
    }
  } catch (error) {
    if (state.isCommitting) state.isAbandoned = true
    else storage.counters.countFailure(error)
    throw error
  }

  async function draft (): Promise<Drafted> {
    const draft = makeDraft(storage)
    // Together, so that a database is asked once. Errors are those of the command that needs the item.
    await Promise.allSettled(executions.flatMap(({ family, command: { target }, identity, caller: { signal } }) => [
      target === undefined ? undefined : draft.get(family.name, target, signal),
      identity === undefined ? undefined : draft.get('commands', identity.row, signal)
    ]))
    const outcomes: Outcome[] = []
    for (const [index, execution] of executions.entries()) {
      const { family, command } = list[index] as Ordered
      draft.index = index
      const work = { ...execution, storage: draft, caller: useDraft(execution.caller, draft) }
      try {
        const outcome = await renameOutcome(family, command, () => attempt(work))
        if (outcome.problem !== undefined) {
          storage.counters.outcomes.refused++
          throw outcome.problem
        }
        outcomes.push(outcome)
      } catch (error) {
        if (error instanceof ConflictError || error instanceof DuplicateError) throw error
        throw explain(error, index)
      }
    }
    return { draft, outcomes }
  }

  async function finish (draft: Draft): Promise<void> {
    const commit = (): Promise<void> => draft.finish(caller.signal, error => {
      state.isCommitting = false
      if (error !== undefined && state.isAbandoned) storage.counters.countFailure(error)
    })
    state.isCommitting = true
    try {
      await (caller.trace === undefined ? commit() : caller.trace('commit', commit))
    } catch (error) {
      const { cause } = error as { cause?: unknown }
      if (!(error instanceof Problem && cause instanceof ConstraintError)) throw error
      // Another process may have run the same commands meanwhile; then they are found.
      if (!state.isRepeated) {
        state.isRepeated = true
        throw new ConflictError(cause.family, cause.id)
      }
      const families = executions.flatMap(({ family }) => listRelated(family))
      const index = draft.findOwner(cause.family, cause.id)
      const explained = explainConstraint(families, error)
      throw index === undefined ? explained : explainOwn(explained, index)
    }
  }

  function explainOwn (error: unknown, index: number): unknown {
    const { family, command: { action } } = list[index] as Ordered
    return explain(toOwnProblem(family, action, error), index)
  }
}

interface Drafted {
  readonly draft: Draft
  readonly outcomes: Outcome[]
}
