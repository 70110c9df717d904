import { listChanges } from '../family/changes.js'
import type { Family } from '../family/family.js'
import type { Context } from '../family/operation.js'
import { Problem, problemCodes } from '../problems.js'
import type { Change, Id, Stored } from '../storage/storage.js'
import type { Members } from '../values/json.js'
import type { Command, CommandRecord, KeptProblem } from './command.js'
import { digestParams } from './command.js'
import type { Decision } from './decide.js'

/** What was asked for, by whom and when, and the item that it was decided on. */
export interface Decided {
  readonly command: Command
  readonly context: Context
  /** Undefined where the command creates it. */
  readonly current: Stored | undefined
  readonly decision: Decision
}

/**
 * The entry of a command in the log. What changed nothing can be said by anybody at any length and any number of times,
 * so of that only as much is kept as is needed to answer it again.
 *
 * @param row its id in the storage; unless given, the one by which its caller knows it
 */
export function makeRecord (family: Family, decided: Decided, row?: string): CommandRecord {
  const { command, context, current, decision } = decided
  const after = decision.outcome === 'done' ? decision.after : current
  const item = after ?? current as Stored
  return {
    id: row ?? context.command,
    ...(row === undefined || row === context.command ? {} : { chosenId: context.command }),
    family: family.name,
    target: String(item.id),
    action: command.action ?? '',
    ...(decision.outcome === 'done' ? { params: command.params } : { digest: digestParams(command.params) }),
    outcome: decision.outcome,
    ...(decision.outcome === 'done' && current !== undefined && decision.after !== undefined
      ? { changes: listChanges(family.ownFields, current, decision.after) }
      : {}),
    // A deletion is a change like any other, though no item has its revision.
    revision: after === undefined ? item.revision + 1 : item.revision,
    createdAt: context.now,
    updatedAt: context.now,
    ...(context.principal === undefined ? {} : { principal: context.principal }),
    ...(decision.outcome === 'refused' ? { problem: keepProblem(decision.problem) } : {}),
    ...(current === undefined && command.key !== undefined ? { result: item } : {})
  }
}

/** What is committed: the item and the entry in one step. */
export function makeChanges (
  { name: family }: Family,
  { current, decision }: Decided,
  record: CommandRecord
): Change[] {
  const entry: Change = { type: 'insert', family: 'commands', item: record }
  if (decision.outcome !== 'done') return [entry]
  const { after } = decision
  if (current === undefined) return [{ type: 'insert', family, item: after as Stored }, entry]
  if (after === undefined) return [{ type: 'delete', family, id: current.id, expected: current.revision }, entry]
  return [{ type: 'replace', family, item: after, expected: current.revision, current }, entry]
}

function keepProblem ({ code, message, statusCode, errors, members, headers }: Problem): KeptProblem {
  return {
    code,
    detail: message,
    members,
    ...(statusCode === problemCodes[code].status ? {} : { status: statusCode }),
    ...(errors === undefined ? {} : { errors }),
    ...(Object.keys(headers).length === 0 ? {} : { headers })
  }
}

/** The refusal that was recorded, if it was one. */
export function restoreProblem ({ problem }: CommandRecord): Problem | undefined {
  if (problem === undefined) return undefined
  const { code, detail, ...options } = problem
  return new Problem(code, detail, options)
}

/** The id of the item that an entry is about, of the kind that the family's ids are. */
export function readTarget (family: Family, { target }: CommandRecord): Id {
  return family.idKind === 'integer' ? Number(target) : target
}

/** The id by which somebody finds an entry: the one that he chose himself, or that of its row. */
export function nameRecord ({ id, chosenId = id, principal }: CommandRecord, reader: string | undefined): string {
  return principal === reader ? chosenId : id
}

/** What clients see of a command. @param id by which it is found; undefined where it is not in the log */
export function showCommand (family: Family, record: CommandRecord, id: string | undefined): Members {
  const { action, params, outcome, revision, createdAt, principal, chosenId = id, problem } = record
  return {
    ...(id === undefined ? {} : { id }),
    [family.singular]: readTarget(family, record),
    action,
    ...(params === undefined ? {} : { params }),
    outcome,
    revision,
    createdAt,
    ...(principal === undefined ? {} : { principal }),
    ...(chosenId === id ? {} : { chosenId }),
    ...(problem === undefined ? {} : { problem: restoreProblem(record)?.document() })
  }
}
