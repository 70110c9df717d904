import { isDeepStrictEqual } from 'node:util'
import { errorCodes } from '../errors.js'
import type { Context } from '../family/definition.js'
import type { Family, OtherDefinition } from '../family/family.js'
import { invalidBody, notFound } from '../problems.js'
import { isAbsent } from '../storage/conditions.js'
import { raceSignal } from '../storage/deadline.js'
import { ConstraintError, type Id, type Stored } from '../storage/storage.js'
import { freeze, isObject, type Members } from '../values/json.js'
import { makeLookups, pickReadable } from './arguments.js'
import { type Caller, canSee, type Grant, intendToRead, type Intent, type Makers } from './caller.js'
import { addItems, type Command, type NeededItem, type NewId, openOthers } from './decide.js'
import { isRefusal, tryReader } from './reader.js'
import { type CommandId, identifyCommand, makeNewId } from './record.js'
import { type ReferencedItems, refuseByConstraint } from './refusal.js'
import { type Called, findMounted, findOther } from './renamed.js'
import type { GuardedStorage } from './storage-access.js'

/** A command that is authorized, and what is known of it so far. */
export interface Execution extends Called {
  readonly command: Command
  readonly grant: Grant
  readonly storage: GuardedStorage
  /** Later grants, so that nothing is authorized twice when the items are read again. */
  readonly grants: { readonly intent: Intent, readonly grant: Grant }[]
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
  if (needsOthers(family, command)) await authorizeOthers({ family, caller, grants }, command)
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
  for (const action of operations.keys()) {
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

type Authorizing = Pick<Execution, 'family' | 'caller' | 'grants'>

async function authorizeOnce ({ grants }: Authorizing, caller: Caller, intent: Intent): Promise<Grant> {
  const before = grants.find(each => isDeepStrictEqual(each.intent, intent))
  if (before !== undefined) return before.grant
  const grant = await caller.authorize(intent)
  grants.push({ intent, grant })
  return grant
}

/** What a decision needs. */
export interface Loaded {
  /** Undefined for a creation. */
  readonly current: Stored | undefined
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
  const { target, interpret, ...others } = command
  let current: Stored | undefined
  if (target !== undefined) {
    const refuseHidden = (grant: Grant, item: Stored | undefined): Stored => {
      if (!canSee(grant, item)) throw notFound(family.singular, target)
      return item
    }
    current = refuseHidden(grant, await (reading ?? storage.get(family.name, target, caller.signal)))
    command.precondition?.(current)
    if (interpret !== undefined) {
      const { action, params } = interpret(current)
      command = { ...others, action, target, params: freeze(params) }
      // So far, only reading was authorized; changing may be granted under different conditions.
      if (action !== undefined) grant = await authorizeOnce(execution, caller, intendCommand(family, command))
      refuseHidden(grant, current)
    }
  }
  if (!needsOthers(family, command)) return { current, command, grant, others: noOthers, creating: noOthers }
  const needed = await authorizeOthers(execution, command, current ?? command.params)
  const creating = await authorizeNew(execution, command)
  return { current, command, grant, others: await loadOthers(needed, storage), creating }
}

export function needsOthers (family: Family, { action = '' }: Command): boolean {
  return listOthers(family, action).length > 0 || (family.operations.get(action)?.creates.length ?? 0) > 0
}

function listOthers ({ operations, lifecycle }: Family, action: string): readonly OtherDefinition[] {
  const creation = action === lifecycle?.createAction ? lifecycle : undefined
  return (operations.get(action) ?? creation)?.others ?? []
}

/** An item that an operation creates. */
export interface NewItem extends Called {
  readonly current?: undefined
  readonly name: string
  readonly grant: Grant
}

/** With the id that it will have. */
export type IdentifiedItem = NewItem & { readonly id: Id }

async function authorizeNew (own: Authorizing, { action = '', params }: Command): Promise<NewItem[]> {
  const items: NewItem[] = []
  for (const { name, family: its } of own.family.operations.get(action)?.creates ?? []) {
    const { family, caller } = its.name === own.family.name ? own : findOther(own, its)
    const grant = await authorizeOnce(own, caller, { family: family.name, action, id: undefined, params })
    items.push({ name, family, caller, grant })
    // The same storage, prepared for this family too.
    await caller.storage()
  }
  return items
}

export async function identifyNew (items: readonly NewItem[], storage: GuardedStorage): Promise<IdentifiedItem[]> {
  const identified: IdentifiedItem[] = []
  for (const item of items) {
    const { family, caller: { makers, signal } } = item
    identified.push({ ...item, id: await makeNewId(family, makers, storage, signal) })
  }
  return identified
}

interface OtherTarget extends Called {
  readonly name: string
  readonly id: Id
  readonly grant: Grant
  readonly pointer: string
}

export type LoadedOther = OtherTarget & NeededItem

/** Each is authorized separately, before it is read. Without `item`, only those that do not depend on it. */
async function authorizeOthers (
  own: Authorizing,
  { action = '', target, params }: Command,
  item?: Members
): Promise<OtherTarget[]> {
  const targets: OtherTarget[] = []
  const taken = new Set([`${own.family.name}/${target}`])
  for (const { name, family: its, field, id: nameId } of listOthers(own.family, action)) {
    if (item === undefined && (field !== undefined || nameId.length > 1)) continue
    const id = nameId(params, freeze({ ...item }))
    if (id === undefined) continue
    const { family, caller } = findOther(own, its)
    // Usually the parameter is named like the item; otherwise it is the one that has the id.
    const parameter = Object.hasOwn(params, name) ? name : Object.keys(params).find(each => params[each] === id)
    const pointer = `/${field ?? parameter ?? name}`
    if (family.readId(String(id)) !== id) throw refuseMissing(family, pointer)
    const key = `${family.name}/${id}`
    if (taken.has(key)) {
      throw invalidBody([{ pointer, detail: `must be a different ${family.singular}: an item can be used only once` }])
    }
    taken.add(key)
    const grant = await authorizeOnce(own, caller, { family: family.name, action, id, params })
    targets.push({ name, family, caller, id, grant, pointer })
  }
  return targets
}

/** An item that does not exist for the caller makes the parameters invalid. */
async function loadOthers (targets: readonly OtherTarget[], storage: GuardedStorage): Promise<LoadedOther[]> {
  return await Promise.all(targets.map(async target => {
    const { family, caller, id, grant, pointer } = target
    // The same storage, prepared for this family too.
    await caller.storage()
    const current = await storage.get(family.name, id, caller.signal)
    if (!canSee(grant, current)) throw refuseMissing(family, pointer)
    return { ...target, current }
  }))
}

function refuseMissing ({ singular }: Family, pointer: string): Error {
  return invalidBody([{ pointer, detail: `does not name an existing ${singular}` }])
}

/** Calls `prepare`, unless it was called for this action. It ends with the deadline of the request. */
export async function prepareFacts (execution: Execution, loaded: Loaded): Promise<void> {
  const { family, family: { prepare, lifecycle }, caller, identity } = execution
  const { command: { action, params }, current, grant, others } = loaded
  // The same attributes may mean a different action since the item changed.
  if (prepare === undefined || action === undefined || action === execution.prepared) return
  execution.prepared = action
  execution.facts = undefined
  if (action === lifecycle?.deletion?.operation.action) return
  const context = addItems(makeContext(caller.makers, grant, identity?.id ?? ''), openOthers(others))
  const asked = { action, item: (current && freeze(pickReadable(family, current))) as never, params, context }
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

/** The items that fields name for operations, by their fields, as far as the caller may read them. */
export async function loadReferencedItems (own: Called, item: Stored): Promise<ReferencedItems> {
  const named = [...own.family.operations.values()].flatMap(({ others }) => others)
  const fields = new Map(named.flatMap(({ field, family }) => field === undefined ? [] : [[field, family]]))
  return new Map(await Promise.all(Array.from(fields, async ([field, its]) => {
    const { family, caller } = findOther(own, its)
    const id = item[field] as Id | null | undefined
    if (id === undefined || id === null) return [field, undefined] as const
    return [field, await (await tryReader(family, caller, intendToRead(family, id)))?.get(id)] as const
  })))
}

/** A client must not refer to items that it may not read. */
export async function refuseUnreadable (
  { family, caller }: Execution,
  params: Members,
  current: Stored | undefined,
  after: Stored
): Promise<void> {
  for (const [field, its] of family.references) {
    const id = after[field] as Id | null | undefined
    if (isAbsent(id) || id === current?.[field] || !includesValue(params, id)) continue
    const other = findMounted({ family, caller }, its === family ? undefined : its)
    if (other === undefined) continue
    const reader = await tryReader(other.family, other.caller, intendToRead(its, id))
    // If nothing is hidden, the storage itself refuses a missing item.
    if (reader !== undefined && (!reader.isNarrowed || await reader.get(id) !== undefined)) continue
    const rule = { fields: [field], other: its.name, declared: true }
    throw refuseByConstraint(new ConstraintError(family.name, after.id, 'reference', rule))
  }
}

function includesValue (value: unknown, wanted: Id): boolean {
  if (typeof value !== 'object' || value === null) return value === wanted
  return Object.values(value).some(each => includesValue(each, wanted))
}
