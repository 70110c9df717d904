import { errorCodes } from '../errors.js'
import type { Family } from '../family/family.js'
import { invalidBody } from '../problems.js'
import { matcher } from '../storage/conditions.js'
import type { Id, Storage } from '../storage/storage.js'
import type { Caller, Grant } from './caller.js'
import type { Command } from './command.js'
import type { NeededItem } from './decide.js'

export interface OtherTarget {
  readonly name: string
  readonly family: Family
  readonly caller: Caller
  readonly id: Id
  readonly grant: Grant
  readonly pointer: string
}

export interface LoadedOther extends OtherTarget, NeededItem {}

export function needsOthers ({ operations }: Family, { action }: Command): boolean {
  return (operations.get(action ?? '')?.others.length ?? 0) > 0
}

/** Each is authorized separately, before anything is read. */
export async function authorizeOthers (
  own: { readonly family: Family, readonly caller: Caller },
  { action, target, params }: Command
): Promise<OtherTarget[]> {
  const declared = own.family.operations.get(action ?? '')?.others ?? []
  if (declared.length === 0) return []
  const targets: OtherTarget[] = []
  const taken = new Set([`${own.family.name}/${target}`])
  for (const { name, family: its, id: nameId } of declared) {
    const id = nameId(params)
    if (id === undefined) continue
    const found = its === undefined ? own : own.caller.other(its)
    if (found === undefined) throw new errorCodes.FST_DEALBOOK_NO_NEIGHBOUR(own.family.name, its?.name)
    const { family, caller } = found
    // Usually the parameter is named like the item; otherwise it is the one that has the id.
    const parameter = Object.hasOwn(params, name) ? name : Object.keys(params).find(each => params[each] === id) ?? name
    const pointer = `/${parameter}`
    if (family.readId(String(id)) !== id) throw refuseMissing(family, pointer)
    const key = `${family.name}/${id}`
    if (taken.has(key)) {
      throw invalidBody([{ pointer, detail: `must be another ${family.singular}: each item has one part in it` }])
    }
    taken.add(key)
    const grant = await caller.authorize({ family: family.name, action: action as string, id, params })
    targets.push({ name, family, caller, id, grant, pointer })
  }
  return targets
}

/** An item that does not exist for the caller is a flaw of the parameters. */
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
  return invalidBody([{ pointer, detail: `names no ${singular} that exists` }])
}
