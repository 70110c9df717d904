import type { NounOperation, Operation } from '../family/definition.js'
import { type Family, type OtherDefinition } from '../family/family.js'
import type { Params } from '../family/params.js'
import type { Caller, Grant, Intent } from '../service/caller.js'
import { makeContext } from '../service/load.js'
import { loadReferencedItems } from '../service/others.js'
import { isRefusal, readErrorStatus } from '../service/reader.js'
import { explainNow } from '../service/refusal.js'
import { asBase, type Called } from '../service/renamed.js'
import { matcher } from '../storage/conditions.js'
import type { Stored } from '../storage/storage.js'
import type { Members } from '../values/json.js'
import type { Offer } from './book.js'

// What a caller may do: the same for every page, form, tool and program.

/** An operation of the family, or the deletion, which has only a noun. */
export interface Target {
  readonly operation: NounOperation & Partial<Pick<Operation<Members>, 'verb' | 'participle' | 'allowed'>>
  readonly params: Params
  readonly others: readonly OtherDefinition[]
}

export interface OpenTarget extends Target {
  /** Why the state does not allow it now; undefined if it does. */
  readonly reason: string | undefined
}

/** Of an item that exists. */
export function listTargets ({ operations, lifecycle }: Family): Target[] {
  const all: Target[] = [...operations.values()].filter(({ past }) => past !== 'restore')
  return lifecycle?.deletion === undefined ? all : [...all, lifecycle.deletion]
}

/** Also of a deleted one. */
export function listAllTargets (family: Family): Target[] {
  const restore = [...family.operations.values()].filter(({ past }) => past === 'restore')
  return [...listTargets(family), ...restore]
}

/** What a caller may do. */
export interface Action {
  /** What does it: an operation may have the name of another method. */
  readonly kind: 'find' | 'get' | 'create' | 'edit' | 'operation' | 'remove' | 'restore' | 'revert'
  /** As a program names it. */
  readonly name: string
  /** As `authorize` does. */
  readonly action: string
  /** Undefined for a read. */
  readonly params?: Params
  /** What it changes of an item; undefined for a read and a creation. */
  readonly target?: Target
}

const actionsOf = new WeakMap<Family, readonly Action[]>()

/** Everything that a caller may do, reading first. */
export function listActions (family: Family): readonly Action[] {
  const known = actionsOf.get(family) ?? makeActions(family)
  actionsOf.set(family, known)
  return known
}

function makeActions (family: Family): Action[] {
  const { lifecycle, writable } = family
  const reading: Action[] =
    [{ kind: 'find', name: 'find', action: 'list' }, { kind: 'get', name: 'get', action: 'read' }]
  const { createAction: action = '', params } = lifecycle ?? {}
  const creation: Action[] = params === undefined ? [] : [{ kind: 'create', name: 'create', action, params }]
  return [...reading, ...creation, ...(writable ? listAllTargets(family) : []).map(target => toAction(family, target))]
}

export function toAction ({ operations, lifecycle, edit }: Family, target: Target): Action {
  const { operation: { name, action }, params } = target
  const isDeletion = target.operation === lifecycle?.deletion?.operation
  if (isDeletion) return { kind: 'remove', name: 'remove', action, params, target }
  const kind = target.operation === edit?.operation ? 'edit' : operations.get(action)?.past ?? 'operation'
  return { kind, name, action, params, target }
}

/** Whether it asks the caller to sign in, or for a further permission. */
function isChallenge (error: unknown): boolean {
  const { headers } = (error ?? {}) as { readonly headers?: object | null }
  const names = Object.keys(headers ?? {}).map(name => name.toLowerCase())
  return readErrorStatus(error) === 401 || names.includes('www-authenticate')
}

/**
 * Those that the caller may do, asked tentatively. Throws a failure of `authorize`, and its first refusal if it refuses
 * everything: one that asks it to sign in, if there is any.
 */
export async function askForAny ({ family, caller }: Called, actions: readonly Action[]): Promise<Action[]> {
  const grants = new Map<string, Promise<Grant>>()
  const ask = (action: string): Promise<Grant> => {
    const intent = { family: family.name, action, id: undefined, params: {}, tentative: true } as const
    const grant = grants.get(action) ?? (async () => await caller.authorize(intent))()
    grants.set(action, grant)
    return grant
  }
  const asked = await Promise.allSettled(actions.map(async each => {
    const { action } = each
    // The list may say what to offer.
    const { offers }: Grant = ['list', 'read'].includes(action) ? {} : await ask('list').catch(() => ({}))
    if (offers === undefined) await ask(action)
    return offers?.includes(action) === false ? [] : [each]
  }))
  const refusals = asked.flatMap(each => each.status === 'rejected' ? [each.reason as unknown] : [])
  const granted = asked.flatMap(each => each.status === 'fulfilled' ? each.value : [])
  const refusal = granted.length === 0 ? refusals.find(isChallenge) ?? refusals[0] : undefined
  const failure = refusals.find(error => !isRefusal(error)) ?? refusal
  if (failure !== undefined) throw failure
  return granted
}

/**
 * Operations that the caller may run on an item, if the state allows it.
 *
 * @param grant by which the item was read
 * @param only for those that the state allows: `authorize` is not asked for the others
 */
export async function findTargets (
  called: Called, grant: Grant, item: Stored, targets: readonly Target[] = listTargets(called.family), only?: 'allowed'
): Promise<OpenTarget[]> {
  const { family, caller } = called
  const context = makeContext(caller.makers, grant, '')
  const base = asBase(called)
  const known = family.renaming?.parse(item) ?? item
  const loading = loadReferencedItems(base, known)
  const explain = async (some: readonly Target[]): Promise<OpenTarget[]> => {
    const referenced = await loading
    return some.map(target => {
      const { action } = target.operation
      const { operation } = base.family.changes.get(action) as Target
      const reason = explainNow(base.family, operation, known, context, referenced, error => {
        caller.report?.(error, 'allowed failed for an offered operation', { action })
      })
      return { ...target, reason }
    })
  }
  if (only === undefined) {
    const [granted] = await Promise.all([filterGranted(called, grant, targets, item), loading])
    return await explain(granted)
  }
  const open = (await explain(targets)).filter(({ reason }) => reason === undefined)
  return await filterGranted(called, grant, open, item)
}

/** What the caller may do with an item. @param grant by which the item was read */
export async function findOffers (called: Called, grant: Grant, item: Stored): Promise<Offer[]> {
  const targets = await findTargets(called, grant, item)
  return [{ name: 'get', action: 'read', allowed: true }, ...targets.map((target): Offer => {
    const { reason } = target
    const { name, action } = toAction(called.family, target)
    return { name, action, allowed: reason === undefined, ...reason !== undefined && { reason } }
  })]
}

/** @param item undefined for any item of the family */
export async function filterGranted<T extends Target> (
  called: Called,
  grant: Grant,
  targets: readonly T[],
  item?: Stored
): Promise<T[]> {
  const granted = await Promise.all(targets.map(({ operation: { action } }) => mayOffer(called, action, grant, item)))
  return targets.filter((_, index) => granted[index])
}

/** @param item undefined for a creation or a list */
export async function mayOffer (
  { family, caller }: Called,
  action: string,
  { offers }: Grant = {},
  item?: Stored
): Promise<boolean> {
  if (offers !== undefined) return offers.includes(action)
  if (!caller.isGuarded) return true
  const intent = { family: family.name, action, id: item?.id, params: {}, tentative: true } as const
  // If `authorize` fails, it is offered: the command is authorized again, with its parameters.
  return await isGranted(caller, intent, item === undefined ? [] : [item], true)
}

/** @param otherwise the result if `authorize` itself fails */
export async function isGranted (
  caller: Caller,
  intent: Intent,
  items: readonly Stored[],
  otherwise: boolean
): Promise<boolean> {
  try {
    const { where = [] } = await caller.authorize(intent)
    return items.every(matcher(where))
  } catch (error) {
    if (isRefusal(error)) return false
    caller.report?.(error, 'authorize failed for something that is offered', { action: intent.action })
    return otherwise
  }
}
