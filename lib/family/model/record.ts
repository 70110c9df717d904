import { Problem } from '../../problems.js'
import type { Change, Id, Stored } from '../../storage/storage.js'
import type { Command, CommandRecord } from './command.js'
import type { Decision } from './decide.js'
import type { Family } from './family.js'
import type { Context } from './operation.js'
import type { Members } from './params.js'

/** The entry of a command in the log. */
export function recordOf (family: Family, command: Command, context: Context, current: Stored | undefined, decision: Decision): CommandRecord {
  const after = decision.outcome === 'done' ? decision.after : current
  const item = after ?? current as Stored
  return {
    id: context.command,
    family: family.name,
    target: String(item.id),
    action: command.action ?? '',
    params: command.params,
    outcome: decision.outcome,
    // A deletion is a change like any other, though no item has its revision.
    revision: after === undefined ? item.revision + 1 : item.revision,
    createdAt: context.now,
    updatedAt: context.now,
    ...(context.principal === undefined ? {} : { principal: context.principal }),
    ...(decision.outcome === 'refused' ? { problem: { code: decision.problem.code, detail: decision.problem.message, members: decision.problem.members } } : {}),
    ...(current === undefined && command.key !== undefined ? { result: item } : {})
  }
}

/** What is committed: the item and the entry in one step. */
export function changesOf (family: Family, current: Stored | undefined, decision: Decision, record: CommandRecord): Change[] {
  const entry: Change = { type: 'insert', family: 'commands', item: record }
  if (decision.outcome !== 'done') return [entry]
  const { after } = decision
  if (current === undefined) return [{ type: 'insert', family: family.name, item: after as Stored }, entry]
  if (after === undefined) return [{ type: 'delete', family: family.name, id: current.id, expected: current.revision }, entry]
  return [{ type: 'replace', family: family.name, item: after, expected: current.revision }, entry]
}

/** The refusal that was recorded. */
export function problemOf ({ problem }: CommandRecord, replayed: boolean): Problem {
  const { code, detail, members } = problem as NonNullable<CommandRecord['problem']>
  return new Problem(code, detail, { members, ...(replayed ? { headers: { 'idempotent-replayed': 'true' } } : {}) })
}

/** The id of the item that an entry is about, of the kind that the family's ids are. */
export function targetOf (family: Family, { target }: CommandRecord): Id {
  return family.idKind === 'integer' ? Number(target) : target
}

/** What clients see of a command; one that is not in the log has no id to be found by. */
export function commandDocument (family: Family, record: CommandRecord, recorded = true): Members {
  const { id, action, params, outcome, revision, createdAt, principal, problem } = record
  return {
    ...(recorded ? { id } : {}),
    [family.singular]: targetOf(family, record),
    action,
    params,
    outcome,
    revision,
    createdAt,
    ...(principal === undefined ? {} : { principal }),
    ...(problem === undefined ? {} : { problem: problemOf(record, false).document() })
  }
}
