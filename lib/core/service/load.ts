import { isDeepStrictEqual } from 'node:util'
import type { Context } from '../family/definition.js'
import type { Family } from '../family/family.js'
import { notFound } from '../problems.js'
import { matcher } from '../storage/conditions.js'
import type { Id, Stored } from '../storage/storage.js'
import { freeze } from '../values/json.js'
import type { Caller, Grant, Intent, Makers } from './caller.js'
import type { Command, CommandId } from './command.js'
import { addItems, type NewId, openOthers } from './decide.js'
import { prepareFacts } from './lookups.js'
import {
  authorizeNew, authorizeOthers, type LoadedOther, loadOthers, needsOthers, type NewItem, type Own
} from './others.js'
import type { Reader } from './reader.js'
import { makeNewId } from './record.js'
import type { GuardedStorage } from './storage-access.js'

/** A command and its grants. */
export interface Asked {
  readonly family: Family
  readonly caller: Caller
  readonly command: Command
  readonly grant: Grant
  readonly storage: GuardedStorage
  /** Later grants, so that nothing is authorized twice when the items are read again. */
  readonly grants: { readonly intent: Intent, readonly grant: Grant }[]
}

export const noOthers: readonly never[] = []
export const noReach: { readonly others: readonly LoadedOther[], readonly creating: readonly NewItem[] } =
  { others: noOthers, creating: noOthers }

export async function loadForCreation (asked: Asked) {
  const { family, command, grant, storage } = asked
  if (!needsOthers(family, command)) return { current: undefined, command, grant, others: noOthers, creating: noOthers }
  const needed = await authorizeOthers(makeOwn(asked), command, command.params)
  return { current: undefined, command, grant, others: await loadOthers(needed, storage), creating: noOthers }
}

/** An item that an operation creates, with the id that it will have. */
export type IdentifiedItem = NewItem & { readonly id: Id }

export async function identifyNew (items: readonly NewItem[], storage: GuardedStorage) {
  const identified: IdentifiedItem[] = []
  for (const item of items) {
    const { family, caller: { makers, signal } } = item
    identified.push({ ...item, id: await makeNewId(family, makers, storage, signal) })
  }
  return identified
}

const none = Object.freeze({})

export async function load (asked: Asked, target: Id) {
  const { family, caller, command, storage } = asked
  const refuseHidden = ({ where = [] }: Grant, item: Stored | undefined): Stored => {
    if (item === undefined || !matcher(where)(item)) throw notFound(family.singular, target)
    return item
  }
  const current = refuseHidden(asked.grant, await storage.get(family.name, target, caller.signal))
  command.precondition?.(current)
  const { action, params } = command.interpret?.(current) ?? command
  const { id, key } = command
  const meant: Command = command.interpret === undefined ? command : { action, target, params: freeze(params), id, key }
  if (action === undefined) return { current, command: meant, grant: asked.grant, others: noOthers, creating: noOthers }
  const own = makeOwn(asked)
  // So far, only reading was authorized; changing may be granted under different conditions.
  const grant = command.interpret === undefined
    ? asked.grant
    : await own.authorize(caller, intendCommand(family, meant))
  refuseHidden(grant, current)
  if (!needsOthers(family, meant)) return { current, command: meant, grant, others: noOthers, creating: noOthers }
  const needed = await authorizeOthers(own, meant, current)
  const creating = await authorizeNew(own, meant)
  return { current, command: meant, grant, others: await loadOthers(needed, storage), creating }
}

export function makeOwn ({ family, caller, grants }: Pick<Asked, 'family' | 'caller' | 'grants'>): Own {
  return {
    family,
    caller,
    async authorize (caller, intent) {
      const before = grants.find(each => isDeepStrictEqual(each.intent, intent))
      if (before !== undefined) return before.grant
      const grant = await caller.authorize(intent)
      grants.push({ intent, grant })
      return grant
    }
  }
}

/** @param command empty if an operation is only offered */
export function makeContext (
  { clock }: Makers,
  { principal, claims }: Pick<Reader, 'principal' | 'claims'> | Grant,
  command: string,
  created: readonly NewId[] = [],
  facts?: unknown
): Context {
  const own = claims === undefined ? none : freeze(JSON.parse(JSON.stringify(claims)) as object)
  const newIds = created.length === 0 ? none : freeze(Object.fromEntries(created.map(({ name, id }) => [name, id])))
  const now = clock().toISOString()
  return Object.freeze({ now, command, principal, claims: own, items: none, newIds, facts: facts ?? none })
}

type Loaded = Awaited<ReturnType<typeof load | typeof loadForCreation>>

export async function prepare (
  { family, caller }: Asked,
  loaded: Loaded,
  identity: CommandId | undefined
): Promise<unknown> {
  const { command: { action, params }, current: item, grant, others } = loaded
  if (family.prepare === undefined || action === undefined) return undefined
  if (action === family.lifecycle?.deletion?.operation.action) return undefined
  const context = addItems(makeContext(caller.makers, grant, identity?.id ?? ''), openOthers(others))
  return await prepareFacts({ family, caller, action, params, item, context })
}

// A command that depends on the item reads it first.
export function intendCommand ({ name }: Family, { action = 'read', target, params }: Command): Intent {
  return { family: name, action, id: target, params }
}
