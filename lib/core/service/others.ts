import { isDeepStrictEqual } from 'node:util'
import type { Family, NewDefinition, OtherDefinition } from '../family/family.js'
import { invalidBody } from '../problems.js'
import { isAbsent } from '../storage/conditions.js'
import { findByIds } from '../storage/pages.js'
import type { Id, Stored } from '../storage/storage.js'
import { freeze, type Members } from '../values/json.js'
import { type Caller, canSee, type Grant, intendToRead, type Intent } from './caller.js'
import type { Command } from './decide.js'
import { makeNewIds } from './new-ids.js'
import { type MadeItem, maxListed, type NeededItem } from './open-others.js'
import { tryReader } from './reader.js'
import { nameReferred, type ReferencedItems } from './refusal.js'
import { type Called, findOther } from './renamed.js'
import type { GuardedStorage } from './storage-access.js'

// The other items of a command: which they are, whether the caller may use them, and what is stored of them.

interface IntentGrant {
  readonly intent: Intent
  readonly grant: Grant
}

/** A command and its grants so far, so that nothing is authorized twice when the items are read again. */
export interface Authorizing extends Called {
  readonly grants: IntentGrant[]
}

export async function authorizeOnce ({ grants }: Authorizing, caller: Caller, intent: Intent): Promise<Grant> {
  const before = grants.find(each => isSameIntent(each.intent, intent))
  if (before !== undefined) return before.grant
  const grant = await caller.authorize(intent)
  grants.push({ intent, grant })
  return grant
}

// The parameters of a list are long, and so is the list of grants.
function isSameIntent (one: Intent, another: Intent): boolean {
  return one.id === another.id && one.family === another.family && isDeepStrictEqual(one, another)
}

const none: readonly never[] = []

export function listOthers (family: Family, action: string): readonly OtherDefinition[] {
  const { lifecycle } = family
  const creation = action === lifecycle?.createAction ? lifecycle : undefined
  return (family.changes.get(action) ?? creation)?.others ?? none
}

function listNew ({ operations, lifecycle }: Family, action: string): readonly NewDefinition[] {
  const creation = action === lifecycle?.createAction ? lifecycle : undefined
  return (operations.get(action) ?? creation)?.creates ?? none
}

/** An item, or a list of them, that a change creates. */
export interface NewItem extends Called {
  readonly current?: undefined
  readonly name: string
  readonly isList: boolean
  readonly grant: Grant
}

/** With the id that it will have. */
export type IdentifiedItem = NewItem & { readonly id: Id }

export async function authorizeNew (own: Authorizing, { action = '', params }: Command): Promise<NewItem[]> {
  const items: NewItem[] = []
  for (const { name, family: its, isList } of listNew(own.family, action)) {
    const { family, caller } = its.name === own.family.name ? own : findOther(own, its)
    const grant = await authorizeOnce(own, caller, { family: family.name, action, id: undefined, params })
    items.push({ name, isList, family, caller, grant })
    // The same storage, prepared for this family too.
    await caller.storage()
  }
  return items
}

/** The ids of those that are no lists. */
export async function identifyNew (items: readonly NewItem[], storage: GuardedStorage): Promise<IdentifiedItem[]> {
  const identified: IdentifiedItem[] = []
  for (const item of items) if (!item.isList) identified.push(...await identify(item, storage, [item]))
  return identified
}

/** The ids of the items that a rule made for lists. */
export async function identifyMade (
  items: readonly NewItem[], made: readonly MadeItem[], storage: GuardedStorage
): Promise<(IdentifiedItem & MadeItem)[]> {
  const identified: (IdentifiedItem & MadeItem)[] = []
  for (const list of items) {
    const its = made.filter(({ name }) => name === list.name)
    if (its.length > 0) identified.push(...await identify(list, storage, its.map(each => ({ ...list, ...each }))))
  }
  return identified
}

async function identify<T extends object> (
  { family, caller: { makers, signal } }: NewItem, storage: GuardedStorage, items: readonly T[]
): Promise<(T & { readonly id: Id })[]> {
  const ids = await makeNewIds(family, makers, storage, signal, items.length)
  return items.map((item, index) => ({ ...item, id: ids[index] as Id }))
}

interface OtherTarget extends Called {
  readonly name: string
  readonly isList: boolean
  readonly id: Id
  readonly pointer: string
}

type GrantedTarget = OtherTarget & { readonly grant: Grant }

export type LoadedOther = GrantedTarget & NeededItem

/** Each is authorized separately, before it is read. Without `item`, only those that do not depend on it. */
export async function authorizeOthers (
  own: Authorizing,
  { action = '', target, params }: Command,
  item?: Members
): Promise<GrantedTarget[]> {
  const granted: GrantedTarget[] = []
  const taken = new Set([`${own.family.name}/${target}`])
  const known = freeze({ ...item })
  for (const definition of listOthers(own.family, action)) {
    if (item === undefined && definition.needsItem) continue
    const targets = listOtherTargets(own, definition, params, known, taken)
    const asked = await Promise.allSettled(targets.map(async each =>
      await authorizeOnce(own, each.caller, { family: each.family.name, action, id: each.id, params })))
    for (const [index, target] of targets.entries()) {
      const answer = asked[index] as PromiseSettledResult<Grant>
      if (answer.status === 'rejected') throw answer.reason
      granted.push({ ...target, grant: answer.value })
    }
  }
  return granted
}

/** @param taken the items that are used already */
function listOtherTargets (
  own: Called, { name, isList, find, ...definition }: OtherDefinition, params: Members, item: Members,
  taken: Set<string>
): OtherTarget[] {
  const found = find(params, item)
  if (found.length === 0) return []
  const { family, caller } = findOther(own, definition.family)
  const invalid = found.filter(({ value }) => family.readId(String(value)) !== value)
  if (invalid.length > 0) throw refuseMissing(family, invalid)
  const listed = new Map<string, OtherTarget>()
  for (const { value, pointer } of found) {
    const id = value as Id
    const key = `${family.name}/${id}`
    // A list may name an item several times.
    if (listed.has(key)) continue
    if (taken.has(key)) {
      throw invalidBody([{ pointer, detail: `must be a different ${family.singular}: an item can be used only once` }])
    }
    if (listed.size === maxListed) {
      throw invalidBody([{ pointer, detail: `is one more than ${maxListed} different ${family.name}` }])
    }
    taken.add(key)
    listed.set(key, { name, isList, family, caller, id, pointer })
  }
  return [...listed.values()]
}

/** An item that does not exist for the caller makes the parameters invalid. */
export async function loadOthers (
  targets: readonly GrantedTarget[], storage: GuardedStorage
): Promise<LoadedOther[]> {
  const lists = new Map<Family, Promise<ReadonlyMap<Id, Stored>>>()
  const loaded = await Promise.all(targets.map(async target => {
    const { family, caller, id, isList, grant, pointer } = target
    let current: Stored | undefined
    if (isList) {
      const reading = lists.get(family) ?? readList(targets, family, caller, storage)
      lists.set(family, reading)
      current = (await reading).get(id)
    } else {
      // The same storage, prepared for this family too.
      await caller.storage()
      current = await storage.get(family.name, id, caller.signal)
    }
    if (canSee(grant, current)) return { ...target, current }
    if (!isList) throw refuseMissing(family, [{ pointer }])
    return target
  }))
  const missing = loaded.filter(each => !('current' in each))
  const [first] = missing
  if (first !== undefined) throw refuseMissing(first.family, missing.filter(({ family }) => family === first.family))
  return loaded as LoadedOther[]
}

/** Those of lists, in one read. */
async function readList (
  targets: readonly GrantedTarget[], family: Family, caller: Caller, storage: GuardedStorage
): Promise<ReadonlyMap<Id, Stored>> {
  await caller.storage()
  const ids = targets.flatMap(({ isList, family: its, id }) => isList && its === family ? id : [])
  return await storage.getMany(family.name, ids, caller.signal)
}

function refuseMissing ({ singular }: Family, missing: readonly { readonly pointer: string }[]): Error {
  return invalidBody(missing.map(({ pointer }) => ({ pointer, detail: `does not name an existing ${singular}` })))
}

/** The items that fields name for operations, by their fields, as far as the caller may read them. */
export async function loadReferencedItems (own: Called, item: Stored): Promise<ReferencedItems> {
  const { operations, lifecycle } = own.family
  const named = [...operations.values(), ...lifecycle?.deletion === undefined ? [] : [lifecycle.deletion]]
    .flatMap(({ others }) => others)
  const distinct = new Map(named.flatMap(other => other.field === undefined ? [] : [[nameReferred(other), other]]))
  return new Map(await Promise.all(Array.from(distinct, async ([name, other]) =>
    [name, await (other.isList ? readNamedList : readNamed)(own, other, item)] as const)))
}

async function readNamed (
  own: Called, { family: its, field }: OtherDefinition, item: Stored
): Promise<Stored | undefined> {
  const { family, caller } = findOther(own, its)
  const id = item[field as string] as Id | null | undefined
  if (isAbsent(id)) return undefined
  return await (await tryReader(family, caller, intendToRead(family, id)))?.forRules.get(id)
}

/** Undefined if the caller may not read all of them, or rules do not get so many. */
async function readNamedList (
  own: Called, { family: its, find }: OtherDefinition, item: Stored
): Promise<readonly Stored[] | undefined> {
  const { family, caller } = findOther(own, its)
  const ids = [...new Set(find({}, item).map(({ value }) => value as Id))]
  if (ids.length === 0) return []
  if (ids.length > maxListed) return undefined
  const readers = await Promise.all(ids.map(async id => await tryReader(family, caller, intendToRead(family, id))))
  const [first] = readers
  if (first === undefined || readers.includes(undefined)) return undefined
  const found = await findByIds(first.storage, family.name, ids, caller.signal)
  const items = ids.flatMap((id, index) => {
    const each = found.get(id)
    return each !== undefined && readers[index]?.holds(each) === true ? each : []
  })
  return items.length === ids.length ? items : undefined
}
