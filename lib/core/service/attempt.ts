import { type Family, findPast, listReferred } from '../family/family.js'
import { hideSecrets, listSecrets } from '../family/params.js'
import { Problem } from '../problems.js'
import { ConflictError, ConstraintError, type Id, type Stored } from '../storage/storage.js'
import { type Caller, canSee, type Grant } from './caller.js'
import type { DecidedCommand } from './commit.js'
import { addPast, decide, decideCreated, decideCreation, decideRestoration, type Decision } from './decide.js'
import { showGranted } from './granted.js'
import {
  type Execution, load, type Loaded, makeContext, noOthers, prepareFacts, readItem
} from './load.js'
import { makeNewId } from './new-ids.js'
import { type IdentifiedItem, identifyMade, identifyNew, type LoadedOther, loadReferencedItems } from './others.js'
import {
  type CommandRecord, type Decided, findAfter, findFirst, listChangedOthers, makeChanges, makeRecord, nameRecord,
  readTarget
} from './record.js'
import { explainConstraint, explainPast, type ReferencedItems, refuseByConstraint } from './refusal.js'
import { repeatIfDone, replayIfDone } from './replay.js'
import { pointToParams } from './sent-values.js'
import { nameItem, refuseUnreadable, type WrittenItem } from './unreadable.js'

/**
 * Decides a command, unless it was done before, and hands over what is to be committed.
 *
 * @param loaded what the decision needs, if it was just read
 */
export async function attempt (
  execution: Execution, handOver: (decided: DecidedCommand) => Promise<void>, loaded?: Loaded
): Promise<DecidedCommand> {
  const ready = loaded ?? await replayOrLoad(execution)
  if ('outcome' in ready) {
    await handOver(ready)
    return ready
  }
  try {
    const decided = await decideCommand(execution, ready)
    await handOver(decided).catch(error => { throw decided.explain(error) })
    return decided
  } catch (error) {
    await repeatIfDone(execution, error)
    throw error
  }
}

/** The item is read beside the record, but first: if the command is done in between, its record is found. */
export async function replayOrLoad (execution: Execution): Promise<DecidedCommand | Loaded> {
  if (execution.identity === undefined) return await load(execution)
  const reading = readItem(execution)
  const earlier = await replayIfDone(execution)
  if (earlier !== undefined) return earlier
  try {
    return await load(execution, reading)
  } catch (error) {
    await repeatIfDone(execution, error)
    throw error
  }
}

async function decideCommand (execution: Execution, loaded: Loaded): Promise<DecidedCommand> {
  const { family, caller, storage, identity } = execution
  const made = await loadAndDecide(execution, loaded)
  const { command, current, deleted, others, created, context, decision } = made
  const item = decision.outcome === 'done' ? decision.after : current
  const settings = { row: identity?.row, makers: caller.makers, storage }
  const record = makeRecord(family, made, settings)
  const changedOthers = listChangedOthers(family, decision, [...others, ...created], record, settings)
  await refuseUngranted(execution, made)
  await refuseTaken(execution)
  // Without an id from the client there is nothing to replay, so only changes are recorded.
  const isRecorded = decision.outcome === 'done' || identity !== undefined
  const families = [family, ...others.map(other => other.family), ...created.map(each => each.family)]
  const secrets = family.hasSecrets && item !== undefined && decision.outcome === 'done'
    ? listSecrets(family.ownFields, current ?? deleted ?? {}, item)
    : undefined
  const problem = decision.outcome === 'refused' ? decision.problem : undefined
  return {
    outcome: showGranted(execution, {
      record, id: isRecorded ? context.command : undefined, item, secrets, replayed: false, problem
    }),
    changes: isRecorded ? makeChanges(family, made, record, changedOthers) : [],
    explain (error) {
      const ofOthers = changedOthers.map(({ other, after }) => ({ family: other.family, after }))
      const explained = explainConstraint(families, pointToParams(error, ofOthers, command.params))
      return findPast(family, command.action) === undefined ? explained : explainPast(explained)
    },
    notify () {
      if (decision.outcome !== 'done') return
      notifyCommitted(family, caller, record, current, item)
      for (const { other, after, record } of changedOthers) {
        notifyCommitted(other.family, other.caller, record, other.current, after)
      }
    }
  }
}

/** The log of an item is kept when it is deleted, so an id that a client chose is only free without one. */
async function refuseTaken (
  { family, caller: { signal }, storage, identity, command: { target, params } }: Execution
): Promise<void> {
  const id = target === undefined ? params.id as Id | undefined : undefined
  if (id === undefined) return
  const item = await storage.get(family.name, id, signal)
  const first = await findFirst(storage, family, id, signal)
  if (item === undefined && first === undefined) return
  // By an earlier attempt, which a failover may take back before it is looked for.
  if (first !== undefined && first.id === identity?.row) throw new ConflictError('commands', first.id)
  throw refuseByConstraint(new ConstraintError(family.name, id, 'unique', { fields: ['id'], declared: true }))
}

/** A decision, and what it is about. */
export interface GrantedDecision extends Decided {
  readonly grant: Grant
  readonly others: readonly LoadedOther[]
  /** The items that it may create. */
  readonly created: readonly IdentifiedItem[]
}

export async function loadAndDecide (execution: Execution, loaded: Loaded): Promise<GrantedDecision> {
  const { family, caller, storage, identity, command: { params } } = execution
  const { command, grant, current, deleted, was, others, creating } = loaded
  if (family.prepare !== undefined) await prepareFacts(execution, loaded)
  const isNew = current === undefined && deleted === undefined
  const newId = isNew
    ? params.id as Id | undefined ?? await makeNewId(family, caller.makers, storage, caller.signal)
    : undefined
  let created: readonly IdentifiedItem[] = creating.length === 0 ? noOthers : await identifyNew(creating, storage)
  const id = identity?.id ?? caller.makers.makeCommandId()
  const context = addPast(family, was, makeContext(caller.makers, grant, id, created, execution.facts))
  const decideNow = (referenced?: ReferencedItems): Decision => {
    if (isNew) return decideCreation(family, newId as Id, command.params, context, { others, newIds: created })
    if (current !== undefined) return decide(family, current, command, context, others, referenced, created)
    return decideRestoration(family, deleted as Stored, command, context, others)
  }
  let decision = caller.trace === undefined ? decideNow() : await caller.trace('decide', async () => decideNow())
  // A refusal lists the allowed operations, which may depend on the items that this one refers to.
  if (decision.outcome === 'refused' && current !== undefined) {
    const referenced = await loadReferencedItems(execution, current)
    if (referenced.size > 0) decision = decideNow(referenced)
  }
  if (decision.outcome === 'done' && decision.unnamed !== undefined) {
    const made = await identifyMade(creating, decision.unnamed, storage)
    decision = decideCreated(current, decision, made, context)
    created = [...created, ...made]
  }
  return { command, grant, current, deleted, others, created, context, decision }
}

function notifyCommitted (
  family: Family,
  caller: Caller,
  record: CommandRecord,
  before: Stored | undefined,
  after: Stored | undefined
): void {
  if (caller.committed === undefined) return
  const { action, params = {}, principal, revision, createdAt: at } = record
  const id = readTarget(family, record)
  const command = nameRecord(record, principal)
  const show = (item: Stored | undefined) => item && hideSecrets(family.ownFields, item)
  const items = { before: show(before), after: show(after) }
  caller.committed({ family: family.name, action, id, command, params, principal, revision, at, ...items })
}

/** The conditions of grants hold for what is changed, too. */
export async function refuseUngranted (execution: Execution, made: GrantedDecision): Promise<void> {
  const { family, caller } = execution
  const { command: { params }, grant, current, others, created, decision } = made
  if (decision.outcome !== 'done') return
  const own = { family, caller, grant, current, after: decision.after, isOwn: true }
  const rest = others.length + created.length === 0
    ? noOthers
    : [...others, ...created].map(other => ({ ...other, after: findAfter(decision, other) }))
  const all = [own, ...rest].filter((each): each is typeof each & WrittenItem => each.after !== undefined)
  for (const { grant, after } of all) {
    if (!canSee(grant, after)) throw new Problem('forbidden', 'This change is not permitted')
  }
  const referring = all.filter(({ family }) => listReferred(family).length > 0)
  if (referring.length === 0) return
  const known = [...others.map(({ family, current }) => nameItem(family, current.id)),
    ...all.map(({ family, after }) => nameItem(family, after.id))]
  await refuseUnreadable(params, referring, new Set(known))
}
