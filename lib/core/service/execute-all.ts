import { type Family, listRelated } from '../family/family.js'
import { admitEarlier, invalidBody, Problem } from '../problems.js'
import { numberDecimals } from '../query/filters.js'
import { isAbsent, matcher } from '../storage/conditions.js'
import { findByIds, pageOf, selectById } from '../storage/pages.js'
import {
  type Change, type Condition, ConstraintError, DuplicateError, getId, type Id, type Scalar, type Stored
} from '../storage/storage.js'
import { endLongTurn } from '../storage/turns.js'
import type { Caller } from './caller.js'
import type { Command } from './decide.js'
import { attempt, attemptUntilDone, execute, listKeys, type Outcome, repeatIfDone, toOwnOutcome } from './execute.js'
import { type Execution, open } from './load.js'
import { explainConstraint, refuseByConstraint } from './refusal.js'
import { callBase, toBaseCommand, toOwnProblem } from './renamed.js'
import { countFailure, type GuardedStorage, isConflict, makeCounters } from './storage-access.js'

interface Sent {
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
  read: (each: T, index: number) => Sent,
  isAtomic: boolean,
  explain: Explain
): Promise<PromiseSettledResult<Outcome>[]> {
  // All before the first is run: the caller may change the list later.
  const list = await Promise.allSettled(sent.map(async (each, index) => read(each, index)))
  if (isAtomic) {
    return (await executeTogether(list.map(take), explain)).map(value => ({ status: 'fulfilled', value }))
  }
  const settled: PromiseSettledResult<Outcome>[] = []
  for (const [index, each] of list.entries()) {
    await endLongTurn()
    settled.push(...await Promise.allSettled([executeOne(each, index)]))
  }
  return settled

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

/** Commands that are decided one after the other and committed as one. Those of a renamed family are its base's. */
interface Batch {
  readonly list: readonly Sent[]
  readonly executions: readonly Execution[]
  readonly storage: GuardedStorage
  /** Those whose items may be changed. */
  readonly families: readonly Family[]
  explain (error: unknown, index: number): unknown
  isCommitting: boolean
  /** Whether the commit has outlasted its deadline. */
  isAbandoned: boolean
}

/** Each sees the effect of those before it. */
async function executeTogether (list: readonly Sent[], explain: Explain): Promise<Outcome[]> {
  if (list.length === 0) return []
  const batch = await openAll(list, explain)
  const { executions, storage, storage: { writers, counters } } = batch
  const decide = (): Promise<Decided> => decideAll(batch)
  try {
    // Before it waits: a caller must not block writers of items that it may not see or change.
    let drafted: Decided | undefined = await attemptUntilDone(storage, decide)
    const changed = [...drafted.changes].flatMap(([name, { family }]) => family === 'commands' ? [] : name)
    const keys = [...new Set([...changed, ...executions.flatMap(each => listKeys(each))])].sort()
    await writers.enter(keys, executions[0]?.caller.signal)
    try {
      return await attemptUntilDone(storage, async () => {
        const decided = drafted ?? await decide()
        drafted = undefined
        await commitAll(batch, decided)
        return decided.outcomes
      })
    } finally {
      writers.leave(keys)
    }
  } catch (error) {
    if (batch.isCommitting) batch.isAbandoned = true
    else countFailure(counters, error)
    throw executions.every(({ identity }) => identity === undefined) ? error : admitEarlier(error)
  }
}

async function openAll (list: readonly Sent[], explain: Explain): Promise<Batch> {
  const explainOwn = (error: unknown, index: number): unknown => {
    const { family, command: { action } } = list[index] as Sent
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
  const [{ storage }] = executions as [Execution]
  const foreign = executions.findIndex(each => each.storage !== storage)
  if (foreign > 0) {
    throw explain(invalidBody([{ pointer: '', detail: 'is in a different storage; one commit is in one' }]), foreign)
  }
  const families = [...new Set(executions.flatMap(({ family }) => listRelated(family)))]
  return { list, executions, storage, families, explain: explainOwn, isCommitting: false, isAbandoned: false }
}

type Decided = Awaited<ReturnType<typeof decideAll>>

async function decideAll ({ list, executions, storage, families, explain }: Batch) {
  const draft = makeDraft(storage, families)
  await draft.preload(executions.flatMap(({ family: { name }, command: { target }, identity }) => [
    ...target === undefined ? [] : [[name, target] as const],
    ...identity === undefined ? [] : [['commands', identity.row] as const]
  ]), executions[0]?.caller.signal)
  const outcomes: Outcome[] = []
  for (const [index, execution] of executions.entries()) {
    await endLongTurn()
    try {
      const caller = useDraft(execution.caller, draft.storage)
      const outcome = await attempt({ ...execution, storage: draft.storage, caller })
      const { problem, replayed } = outcome
      if (problem !== undefined && !replayed) await repeatIfDone(execution, problem)
      if (problem !== undefined) throw problem
      outcomes.push(toOwnOutcome((list[index] as Sent).family, outcome))
    } catch (error) {
      if (isConflict(error)) throw error
      if ((error as Problem).code === 'wrong-state') storage.counters.commands_refused_total++
      throw explain(error, index)
    }
  }
  return { ...draft, outcomes }
}

async function commitAll (batch: Batch, { changes, endings, outcomes }: Decided): Promise<void> {
  const { executions, storage, storage: { counters } } = batch
  const [{ caller: { signal, trace } }] = executions as [Execution]
  const end = (error?: unknown): void => {
    batch.isCommitting = false
    if (error !== undefined) {
      if (batch.isAbandoned) countFailure(counters, error)
      return
    }
    for (const ended of endings) ended()
    for (const { replayed, record: { outcome } } of outcomes) {
      if (replayed) counters.replays_total++
      else counters[`commands_${outcome}_total`]++
    }
  }
  if (changes.size === 0) return end()
  const commit = (): Promise<void> => storage.commit([...changes.values()], signal, end)
  batch.isCommitting = true
  try {
    await (trace === undefined ? commit() : trace('commit', commit))
  } catch (error) {
    throw await explainFailure(batch, outcomes, error)
  }
}

/** Names the command whose item breaks a rule of the database. */
async function explainFailure (
  { executions, families, explain }: Batch, outcomes: readonly Outcome[], error: unknown
): Promise<unknown> {
  const { cause } = error as { cause?: unknown }
  if (!(cause instanceof ConstraintError)) return error
  for (const [index, { replayed }] of outcomes.entries()) {
    if (!replayed) await repeatIfDone(executions[index] as Execution, error)
  }
  const explained = explainConstraint(families, error)
  const index = outcomes.findLastIndex(({ record: { family, target } }) =>
    family === cause.family && target === String(cause.id))
  return index === -1 ? explained : explain(explained, index)
}

/**
 * A storage whose commits are made later, all as one. Its reads see them already.
 *
 * @param families those whose items may be changed
 */
function makeDraft (storage: GuardedStorage, families: readonly Family[]) {
  const { findText, confirm, ...own } = storage
  // By the names of items, as writers call them.
  const nameItem = (family: string, id: Id): string => `${family}/${id}`
  const changes = new Map<string, Change>()
  const reads = new Map<string, Promise<Stored | undefined>>()
  const endings: (() => void)[] = []
  const listItems = (family: string): Stored[] =>
    [...changes.values()].flatMap(change => change.family === family && 'item' in change ? change.item : [])
  const drafted: GuardedStorage = {
    ...own,
    // What is drafted is counted when it is committed.
    counters: makeCounters(),

    // Once, so that all decide on the same.
    get (family, id, signal) {
      const name = nameItem(family, id)
      const change = changes.get(name)
      if (change !== undefined && change.type !== 'require') {
        return Promise.resolve('item' in change ? change.item : undefined)
      }
      const reading = reads.get(name) ?? storage.get(family, id, signal)
      // A command that fails may have been done meanwhile.
      if (family === 'commands') reads.delete(name)
      else reads.set(name, reading)
      return reading
    },

    async find (family, query, signal) {
      const changed = [...changes.values()].filter(({ type, family: its }) => its === family && type !== 'require')
      if (changed.length === 0) return await storage.find(family, query, signal)
      const ids = new Set(changed.map(getId))
      const all = { ...query, offset: 0, limit: query.offset + query.limit + ids.size }
      const found = await storage.find(family, all, signal)
      const here = pageOf(listItems(family), { ...all, count: true })
      const page = pageOf([...found.items.filter(({ id }) => !ids.has(id)), ...here.items], { ...query, count: false })
      if (!query.count) return page
      const named: Condition[] = [...query.where, { field: 'id', op: 'eq', values: [...ids] }]
      const before = await storage.find(family, { ...all, where: named, limit: 0 }, signal)
      return { ...page, total: Number(found.total) - Number(before.total) + Number(here.total) }
    },

    ...(confirm !== undefined && {
      confirm: async (family, id, signal) => {
        if (!changes.has(nameItem(family, id))) await confirm.call(storage, family, id, signal)
      }
    }),

    async commit (more, signal, ended) {
      for (const change of more) {
        if ('item' in change) await refuseTaken(change, signal)
        const name = nameItem(change.family, getId(change))
        const combined = combine(changes.get(name), change)
        if (combined === undefined) changes.delete(name)
        else changes.set(name, combined)
      }
      if (ended !== undefined) endings.push(ended)
    }
  }
  return { storage: drafted, changes, endings, preload }

  /** Reads them together. If that fails, each is read when a command needs it. */
  async function preload (items: readonly (readonly [string, Id])[], signal: AbortSignal | undefined): Promise<void> {
    const names = new Set(items.map(([family]) => family))
    await Promise.allSettled(Array.from(names, async name => {
      const ids = new Set(items.flatMap(([family, id]) => family === name ? id : []))
      const found = await findByIds(storage, name, ids, signal)
      for (const id of ids) reads.set(nameItem(name, id), Promise.resolve(found.get(id)))
    }))
  }

  /** Not every database can move a unique value from one item to another in one commit, so none does. */
  async function refuseTaken (change: Extract<Change, { item: Stored }>, signal: AbortSignal | undefined) {
    const { item, item: { id } } = change
    const shape = families.find(({ name }) => name === change.family)?.shape
    const current = 'current' in change ? change.current : undefined
    for (const fields of shape?.unique ?? []) {
      if (fields.some(name => isAbsent(item[name])) || fields.every(name => item[name] === current?.[name])) continue
      const same = fields.map(field => ({ field, op: 'eq', values: [item[field] as Scalar] }) as const)
      const where = [...numberDecimals(shape?.fields ?? [], same), { field: 'id', op: 'ne', values: [id] } as const]
      const { items } = await storage.find(change.family, selectById(where, 1), signal)
      if (items.length === 0 && !listItems(change.family).some(matcher(where))) continue
      throw refuseByConstraint(new ConstraintError(change.family, id, 'unique', { fields, declared: true }))
    }
  }
}

/** One change with the effect of both; undefined if they have none. */
function combine (before: Change | undefined, change: Change): Change | undefined {
  if (before === undefined || before.type === 'require') return change
  const { type, family } = change
  if (type === 'require') return before
  // As if the first had been committed.
  if (type === 'insert' || before.type === 'delete') throw new DuplicateError(family, getId(change))
  if (before.type === 'insert') return type === 'delete' ? undefined : { type: 'insert', family, item: change.item }
  const { expected, current } = before
  return { ...change, expected, ...(type === 'replace' && current && { current }) } as Change
}

/** The same caller, who reads and writes the draft. */
function useDraft (caller: Caller, draft: GuardedStorage): Caller {
  const { trace } = caller
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
    },
    // The one commit is traced by itself.
    trace: trace && ((step, work) => step === 'commit' ? work() : trace(step, work))
  }
}
