import { admitEarlier, Problem } from '../problems.js'
import { delay, random } from '../runtime.js'
import type { Change, Stored } from '../storage/storage.js'
import type { Members } from '../values/json.js'
import type { Caller } from './caller.js'
import type { CommandRecord } from './record.js'
import { type Counters, countFailure, type GuardedStorage, isConflict } from './storage-access.js'

export interface Outcome {
  readonly record: CommandRecord
  /** Undefined if it is not in the log. */
  readonly id: string | undefined
  /** Undefined if it is deleted. A replay only has the item that is stored with it. */
  readonly item: Stored | undefined
  /** Members that are only in the answer to the command that sets them. */
  readonly secrets?: Members | undefined
  /** Loads the current item for a replay, if the caller may see it. */
  readonly loadItem?: () => Promise<Stored | undefined>
  readonly replayed: boolean
  readonly problem: Problem | undefined
}

/** A command that is decided, and what is to be committed for it. */
export interface DecidedCommand {
  readonly outcome: Outcome
  /** Empty for a replay, and if it changes nothing and need not be found again. */
  readonly changes: readonly Change[]
  /** Explains to the client why a rule of the storage refuses the changes. */
  explain (error: unknown): unknown
  /** Notifies the host of the changes, once they are durable. */
  notify (): void
}

/** What is committed at once: the changes of one command, or of many. */
export interface Commit {
  readonly decided: readonly DecidedCommand[]
  readonly changes: readonly Change[]
}

export interface CommitState {
  isCommitting: boolean
  /** Whether the commit has outlasted its deadline. */
  isAbandoned: boolean
}

/** Runs what ends in a commit. If that outlasts its deadline, its outcome is counted when it ends. */
export async function runToCommit<T> (
  { counters }: GuardedStorage, hasIdentity: boolean, work: (state: CommitState) => Promise<T>
): Promise<T> {
  const state: CommitState = { isCommitting: false, isAbandoned: false }
  try {
    return await work(state)
  } catch (error) {
    if (state.isCommitting) state.isAbandoned = true
    else countFailure(counters, error)
    throw hasIdentity ? admitEarlier(error) : error
  }
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

/** All or nothing. Commands are counted, and the host is notified of their changes, when these are durable. */
export async function commitDecided (
  storage: GuardedStorage, { signal, trace }: Caller, state: CommitState, { decided, changes }: Commit
): Promise<void> {
  const { counters } = storage
  const end = (error?: unknown): void => {
    state.isCommitting = false
    if (error === undefined) for (const each of decided) endCommand(each, counters)
    else if (state.isAbandoned) countFailure(counters, error)
  }
  if (changes.length === 0) return end()
  const commit = (): Promise<void> => storage.commit(changes, signal, end)
  state.isCommitting = true
  await (trace === undefined ? commit() : trace('commit', commit))
}

function endCommand ({ outcome: { replayed, record }, notify }: DecidedCommand, counters: Counters): void {
  if (replayed) counters.replays_total++
  else counters[`commands_${record.outcome}_total`]++
  notify()
}
