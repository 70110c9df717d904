import { errorCodes } from '../errors.js'
import type { Context } from '../family/context.js'
import { type Family, findPast } from '../family/family.js'
import { notFound } from '../problems.js'
import { isAbsent } from '../storage/conditions.js'
import { raceSignal } from '../storage/deadline.js'
import type { Id, Stored } from '../storage/storage.js'
import { freeze, isObject } from '../values/json.js'
import { makeLookups, pickReadable } from './arguments.js'
import { type Caller, canSee, type Grant, type Intent, type Makers } from './caller.js'
import { type CommandId, identifyCommand } from './command-ids.js'
import type { Command } from './decide.js'
import { keepHidden, refuseHidden } from './granted.js'
import { isPruned } from './log-reads.js'
import { addItems, type NewId, openOthers } from './open-others.js'
import {
  authorizeNew, authorizeOnce, authorizeOthers, type Authorizing, listOthers, type LoadedOther, loadOthers, type NewItem
} from './others.js'
import { findDeleted, findEarlier } from './past.js'
import { isRefusal } from './reader.js'
import type { GuardedStorage } from './storage-access.js'

/** A command that is authorized, and what is known of it so far. */
export interface Execution extends Authorizing {
  readonly command: Command
  readonly grant: Grant
  readonly storage: GuardedStorage
  /** Whether the caller may not see, or change, every item. */
  readonly isGuarded: boolean
  /** Undefined if the client gave neither id nor key: a retry then runs again. */
  readonly identity: CommandId | undefined
  /** The result of `prepare`, and the action that it was called for. */
  facts: unknown
  prepared: string | undefined
}

/** Authorizes a command, before anything is read. */
export async function authorizeCommand (family: Family, caller: Caller, command: Command): Promise<Execution> {
  freeze(command.params)
  // Only promises are awaited, so that a single command takes as few turns as possible.
  const granted = caller.authorize(intendCommand(family, command))
  const grant = granted instanceof Promise ? await granted : granted
  const grants: Execution['grants'] = []
  if (family.withOthers.has(command.action ?? '')) await authorizeOthers({ family, caller, grants }, command)
  const opened = caller.storage()
  const storage = opened instanceof Promise ? await opened : opened
  // Without `authorize`, no promise is returned.
  const isAsked = granted instanceof Promise
  return {
    family,
    caller,
    command,
    isGuarded: isAsked && (command.interpret !== undefined || grant.where !== undefined),
    identity: identifyCommand(command, isAsked ? await findPrincipal(family, caller, command, grant) : grant.principal),
    grant,
    storage,
    grants,
    facts: undefined,
    prepared: undefined
  }
}

/** To whom a key belongs. A host may name its callers only if they change something, which may not be known yet. */
async function findPrincipal (
  { name: family, operations }: Family,
  caller: Caller,
  { interpret, key, target: id }: Command,
  { principal }: Grant
): Promise<string | undefined> {
  if (principal !== undefined || interpret === undefined || key === undefined) return principal
  for (const [action, { past }] of operations) {
    if (past !== undefined) continue
    try {
      const grant = await caller.authorize({ family, action, id, params: {}, tentative: true })
      if (grant.principal !== undefined) return grant.principal
    } catch (error) {
      // Another action may be granted. After a failure, the key would not be found again.
      if (!isRefusal(error)) throw error
    }
  }
  return undefined
}

// A command that depends on the item reads it first.
function intendCommand ({ name }: Family, { action = 'read', target, params }: Command): Intent {
  return { family: name, action, id: target, params }
}

/** What a decision needs. */
export interface Loaded {
  /** Undefined for a creation, and for a deleted item. */
  readonly current: Stored | undefined
  /** The item of a restoration as it was, with the revision of its deletion. */
  readonly deleted?: Stored | undefined
  /** The item of a reversion as it was at the revision. */
  readonly was?: Stored | undefined
  readonly command: Command
  readonly grant: Grant
  readonly others: readonly LoadedOther[]
  readonly creating: readonly NewItem[]
}

export const noOthers: readonly never[] = []

/** The item of a command. A failure is that of who waits for it. */
export function readItem ({ family, caller, storage, command: { target } }: Execution): Promise<Stored | undefined> {
  const reading = target === undefined ? nothing : storage.get(family.name, target, caller.signal)
  reading.catch(() => {})
  return reading
}

const nothing = Promise.resolve(undefined)

/** @param reading the item, if it is being read */
export async function load (execution: Execution, reading?: Promise<Stored | undefined>): Promise<Loaded> {
  const { family, caller, storage } = execution
  let { command, grant } = execution
  const { target } = command
  let current: Stored | undefined
  refuseHidden(family, grant, command)
  let deleted: Stored | undefined
  if (target !== undefined) {
    const refuseUnseen = (grant: Grant, item: Stored | undefined): Stored => {
      if (!canSee(grant, item)) throw notFound(family.singular, target)
      return item
    }
    current = await (reading ?? storage.get(family.name, target, caller.signal))
    if (current === undefined && findPast(family, command.action) === 'restore') {
      deleted = await readDeletedItem(execution, target)
      // Another process may have restored it after the first read.
      if (deleted === undefined) current = await storage.get(family.name, target, caller.signal)
    }
    const known = refuseUnseen(grant, current ?? deleted)
    command.precondition?.(known)
    if (command.interpret !== undefined) {
      const { interpret, named: _named, sent: _sent, ...rest } = command
      const { action, params } = interpret(known, grant.hide)
      command = { ...rest, action, params: freeze(params) }
      // So far, only reading was authorized; changing may be granted under different conditions.
      if (action !== undefined) grant = await authorizeOnce(execution, caller, intendCommand(family, command))
      refuseUnseen(grant, known)
      refuseHidden(family, grant, command)
    }
  }
  const past = findPast(family, command.action)
  const was = past === 'revert' && current !== undefined
    ? keepHidden(family, grant, current,
      await findEarlier({ family, storage, signal: caller.signal }, current, command.params.to as number))
    : undefined
  const own = { current, deleted, was, command, grant }
  // An item that is there need not be restored.
  if (!family.withOthers.has(command.action ?? '') || (past === 'restore' && current !== undefined)) {
    return { ...own, others: noOthers, creating: noOthers }
  }
  const needed = await authorizeOthers(execution, command, deleted ?? current ?? command.params)
  const creating = await authorizeNew(execution, command)
  return { ...own, others: await loadOthers(needed, storage), creating }
}

/** That a log is incomplete is no concern of a caller who may not see every item. */
async function readDeletedItem (
  { family, caller, storage, grant }: Execution, id: Id
): Promise<Stored | undefined> {
  try {
    return await findDeleted({ family, storage, signal: caller.signal }, id)
  } catch (error) {
    if (isPruned(error) && grant.where !== undefined) return undefined
    throw error
  }
}

/** Calls `prepare`, unless it was called for this action. It ends with the deadline of the request. */
export async function prepareFacts (execution: Execution, loaded: Loaded): Promise<void> {
  const { family, family: { prepare, lifecycle }, caller, identity } = execution
  const { command: { action, params }, current, deleted, grant, others } = loaded
  // The same attributes may mean a different action since the item changed.
  if (prepare === undefined || action === undefined || action === execution.prepared) return
  execution.prepared = action
  execution.facts = undefined
  const deletion = lifecycle?.deletion?.operation
  // A deletion without rules needs no facts.
  if (action === deletion?.action && (deletion.allowed ?? deletion.apply) === undefined) return
  const before = current ?? deleted
  const opened = openOthers(others, listOthers(family, action))
  const context = addItems(makeContext(caller.makers, grant, identity?.id ?? ''), opened)
  const asked = { action, item: (before && freeze(pickReadable(family, before))) as never, params, context }
  const facts: unknown =
    await raceSignal(caller.signal, (async () => await prepare(asked, makeLookups({ family, caller })))())
  if (!isAbsent(facts) && !isObject(facts)) {
    throw new errorCodes.FST_DEALBOOK_INVALID_FACTS(family.name, Array.isArray(facts) ? 'list' : typeof facts)
  }
  execution.facts = facts
}

const noMembers = Object.freeze({})

/** @param command empty if an operation is only offered */
export function makeContext (
  { clock }: Makers,
  { principal, claims }: Grant,
  command: string,
  created: readonly NewId[] = [],
  facts?: unknown
): Context {
  const own = claims === undefined ? noMembers : freeze(JSON.parse(JSON.stringify(claims)) as object)
  const ids = created.map(({ name, id }) => [name, id] as const)
  const newIds = ids.length === 0 ? noMembers : freeze(Object.fromEntries(ids))
  const now = clock().toISOString()
  return Object.freeze({ now, command, principal, claims: own, items: noMembers, newIds, facts: facts ?? noMembers })
}
