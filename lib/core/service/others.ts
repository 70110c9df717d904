import { errorCodes } from '../errors.js'
import type { Family, OtherDefinition } from '../family/family.js'
import { invalidBody } from '../problems.js'
import { isAbsent, matcher } from '../storage/conditions.js'
import { ConstraintError, type Id, type Storage, type Stored } from '../storage/storage.js'
import { freeze, type Members } from '../values/json.js'
import { type Caller, type Grant, intendToRead, type Intent } from './caller.js'
import type { Command } from './command.js'
import type { NeededItem } from './decide.js'
import { Reader } from './reader.js'
import type { Reach } from './refusal.js'
import { callBase, type Called } from './renamed.js'
import { refuseByConstraint } from './storage-access.js'

export interface OtherTarget {
  readonly name: string
  readonly family: Family
  readonly caller: Caller
  readonly id: Id
  readonly grant: Grant
  readonly pointer: string
}

export interface LoadedOther extends OtherTarget, NeededItem {}

export function needsOthers (family: Family, { action = '' }: Command): boolean {
  return listOthers(family, action).length > 0 || (family.operations.get(action)?.creates.length ?? 0) > 0
}

function listOthers ({ operations, lifecycle }: Family, action: string): readonly OtherDefinition[] {
  const creation = action === lifecycle?.createAction ? lifecycle : undefined
  return (operations.get(action) ?? creation)?.others ?? []
}

/** An item that an operation creates. */
export interface NewItem {
  readonly current?: undefined
  readonly name: string
  readonly family: Family
  readonly caller: Caller
  readonly grant: Grant
}

export interface Own {
  readonly family: Family
  readonly caller: Caller
  authorize (caller: Caller, intent: Intent): Promise<Grant>
}

export async function authorizeNew (own: Own, { action = '', params }: Command): Promise<NewItem[]> {
  const items: NewItem[] = []
  for (const { name, family: its } of own.family.operations.get(action)?.creates ?? []) {
    const { family, caller } = its.name === own.family.name ? own : findOther(own, its)
    const grant = await own.authorize(caller, { family: family.name, action, id: undefined, params })
    items.push({ name, family, caller, grant })
    // The same storage, prepared for this family too.
    await caller.storage()
  }
  return items
}

/** Whether operations need items that fields name. */
export function hasReach ({ operations }: Family): boolean {
  return [...operations.values()].some(({ others }) => others.some(({ field }) => field !== undefined))
}

/** Each is authorized separately, before it is read. Without `item`, only those that do not depend on it. */
export async function authorizeOthers (
  own: Own,
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
    const grant = await own.authorize(caller, { family: family.name, action, id, params })
    targets.push({ name, family, caller, id, grant, pointer })
  }
  return targets
}

export function findOther (own: Called, its: Family | undefined): Called {
  const found = its === undefined ? own : own.caller.other(its)
  if (found === undefined) throw new errorCodes.FST_DEALBOOK_NO_NEIGHBOUR(own.family.name, its?.name)
  // Rules have the names of the base, even if a renamed version is mounted beside.
  return callBase(found)
}

/** The items that fields name for operations, by their fields, as far as the caller may read them. */
export async function loadReach (
  own: { readonly family: Family, readonly caller: Caller },
  item: Stored
): Promise<Reach> {
  const named = [...own.family.operations.values()].flatMap(({ others }) => others)
  const fields = new Map(named.flatMap(({ field, family }) => field === undefined ? [] : [[field, family]]))
  return new Map(await Promise.all(Array.from(fields, async ([field, its]) => {
    const { family, caller } = findOther(own, its)
    const id = item[field] as Id | null | undefined
    if (id === undefined || id === null) return [field, undefined] as const
    const grant = await authorizeRead(caller, intendToRead(family, id))
    return [field, grant && await new Reader(family, await caller.storage(), grant, caller.signal).get(id)] as const
  })))
}

/** Undefined if `authorize` refuses it. */
export async function authorizeRead (caller: Caller, intent: Intent): Promise<Grant | undefined> {
  try {
    return await caller.authorize(intent)
  } catch (error) {
    if (Number((error as { statusCode?: number }).statusCode) < 500) return undefined
    throw error
  }
}

/** A client must not refer to items that it may not read. */
export async function refuseUnreadable (
  { family, caller, storage }: { readonly family: Family, readonly caller: Caller, readonly storage: Storage },
  params: Members,
  current: Stored | undefined,
  after: Stored
): Promise<void> {
  for (const [field, its] of family.references) {
    const id = after[field] as Id | null | undefined
    if (isAbsent(id) || id === current?.[field] || !includesValue(params, id)) continue
    const other = its === family ? { family, caller } : caller.other(its)
    if (other === undefined) continue
    const grant = await authorizeRead(callBase(other).caller, intendToRead(its, id))
    // If nothing is hidden, the storage itself refuses a missing item.
    if (grant !== undefined && grant.where === undefined) continue
    const item = grant && await storage.get(its.name, id, caller.signal)
    if (item !== undefined && matcher(grant?.where ?? [])(item)) continue
    const rule = { fields: [field], other: its.name, declared: true }
    throw refuseByConstraint(new ConstraintError(family.name, after.id, 'reference', rule))
  }
}

function includesValue (value: unknown, wanted: Id): boolean {
  if (typeof value !== 'object' || value === null) return value === wanted
  return Object.values(value).some(each => includesValue(each, wanted))
}

/** An item that does not exist for the caller makes the parameters invalid. */
export async function loadOthers (targets: readonly OtherTarget[], storage: Storage): Promise<LoadedOther[]> {
  if (targets.length === 0) return []
  return await Promise.all(targets.map(async target => {
    const { family, caller, id, grant: { where = [] }, pointer } = target
    // The same storage, prepared for this family too.
    await caller.storage()
    const current = await storage.get(family.name, id, caller.signal)
    if (current === undefined || !matcher(where)(current)) throw refuseMissing(family, pointer)
    return { ...target, current }
  }))
}

function refuseMissing ({ singular }: Family, pointer: string): Error {
  return invalidBody([{ pointer, detail: `does not name an existing ${singular}` }])
}
