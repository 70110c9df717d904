import type { NounOperation, Operation } from '../family/definition.js'
import { type Family, getBase, type OtherDefinition } from '../family/family.js'
import { getWholeItem, holdsWhole, narrowFamily } from '../family/narrow.js'
import type { Params } from '../family/params.js'
import type { Grant, Intent } from '../service/caller.js'
import type { State } from '../service/history.js'
import { makeContext } from '../service/load.js'
import { loadReferencedItems } from '../service/others.js'
import { isRefusal, Reader, readErrorStatus } from '../service/reader.js'
import { explainNow, explainState, readState } from '../service/refusal.js'
import { asBase, type Called } from '../service/renamed.js'
import type { Stored } from '../storage/storage.js'
import type { Members } from '../values/json.js'
import type { Offer } from './book.js'

// What a caller may do: the same for every page, form, tool and program.

/** An operation of the family, or the deletion, which has only a noun. */
export interface ActionTarget {
  readonly operation: NounOperation & Partial<Pick<Operation<Members>, 'verb' | 'participle' | 'allowed'>>
  readonly params: Params
  readonly others: readonly OtherDefinition[]
}

export interface OpenTarget extends ActionTarget {
  /** Why the state does not allow it now; undefined if it does. */
  readonly reason: string | undefined
}

/** Of an item that exists. Those that a caller from whom something is hidden cannot run are left out. */
export function listTargets ({ operations, lifecycle, hiding }: Family): ActionTarget[] {
  const present = [...operations.values()].filter(({ past }) => past !== 'restore')
  const all: ActionTarget[] = [...present, ...lifecycle?.deletion === undefined ? [] : [lifecycle.deletion]]
  return hiding === undefined ? all : all.filter(({ operation: { action } }) => !hiding.unavailable.has(action))
}

/** Also of a deleted one. */
export function listAllTargets (family: Family): ActionTarget[] {
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
  readonly target?: ActionTarget
}

const actionsOf = new WeakMap<Family, readonly Action[]>()

/** Everything that a caller may do, reading first. */
export function listActions (family: Family): readonly Action[] {
  const known = actionsOf.get(family) ?? makeActions(family)
  actionsOf.set(family, known)
  return known
}

function makeActions (family: Family): Action[] {
  const { lifecycle, writable, hiding } = family
  const reading: Action[] =
    [{ kind: 'find', name: 'find', action: 'list' }, { kind: 'get', name: 'get', action: 'read' }]
  const { createAction: action = '', params } = lifecycle ?? {}
  const isAvailable = params !== undefined && hiding?.unavailable.has(action) !== true
  const creation: Action[] = !isAvailable ? [] : [{ kind: 'create', name: 'create', action, params }]
  return [...reading, ...creation, ...(writable ? listAllTargets(family) : []).map(target => toAction(family, target))]
}

export function toAction ({ operations, lifecycle, edit }: Family, target: ActionTarget): Action {
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
export async function askForAny (called: Called, actions: readonly Action[]): Promise<Action[]> {
  return (await askWhatIsSeen(called, actions)).granted
}

/** The same, with the family as the caller sees it: without what is hidden from a list, or from an item. */
export async function askWhatIsSeen (
  { family, caller }: Called, actions: readonly Action[]
): Promise<{ readonly granted: Action[], readonly seen: Family }> {
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
    const { offers, hide: listed }: Grant = ['list', 'read'].includes(action) ? {} : await ask('list').catch(() => ({}))
    const { hide } = offers === undefined ? await ask(action) : { hide: listed }
    return offers?.includes(action) === false || lacksParams(family, hide, action) ? [] : [each]
  }))
  const refusals = asked.flatMap(each => each.status === 'rejected' ? [each.reason as unknown] : [])
  const granted = asked.flatMap(each => each.status === 'fulfilled' ? each.value : [])
  const refusal = granted.length === 0 ? refusals.find(isChallenge) ?? refusals[0] : undefined
  const failure = refusals.find(error => !isRefusal(error)) ?? refusal
  if (failure !== undefined) throw failure
  let seen = family
  for (const action of ['list', 'read']) {
    const { hide }: Grant = await grants.get(action)?.catch(() => ({})) ?? {}
    seen = narrowFamily(seen, hide)
  }
  return { granted, seen }
}

/**
 * Operations that the caller may run on an item, if the state allows it.
 *
 * @param grant by which the item was read
 * @param only for those that the state allows: `authorize` is not asked for the others
 */
export async function findTargets (
  called: Called, grant: Grant, item: Stored, targets: readonly ActionTarget[] = listTargets(called.family),
  only?: 'allowed'
): Promise<OpenTarget[]> {
  const { family, caller } = called
  const context = makeContext(caller.makers, grant, '')
  const base = asBase(called)
  const whole = getWholeItem(item)
  const known = family.renaming?.parse(whole) ?? whole
  const loading = loadReferencedItems(base, known)
  const explain = async (some: readonly ActionTarget[]): Promise<OpenTarget[]> => {
    const referenced = await loading
    return some.map(target => {
      const { action } = target.operation
      const { operation } = base.family.changes.get(action) as ActionTarget
      const reason = explainNow(base.family, operation, known, context, referenced, error => {
        caller.report?.(error, 'allowed failed for an offered operation', { action })
      })
      return { ...target, reason: hideState(family, operation.name, reason, known, item) }
    })
  }
  if (only === undefined) {
    const [granted] = await Promise.all([filterGranted(called, grant, targets, item), loading])
    return await explain(granted)
  }
  const open = (await explain(targets)).filter(({ reason }) => reason === undefined)
  return await filterGranted(called, grant, open, item)
}

/** A reason that we wrote names the state, which may depend on something hidden. */
function hideState (
  family: Family, operation: string, reason: string | undefined, known: Stored, shown: Stored
): string | undefined {
  const { hiding } = family
  if (hiding === undefined) return reason
  const { whole } = hiding
  const state = readState(getBase(whole), known)
  const isOurs = state !== undefined && hiding.states.has(state) && reason === explainState(operation, whole, state)
  return isOurs ? explainState(operation, whole, readState(family, shown)) : reason
}

/** Whether an action needs something that is hidden. */
function lacksParams (family: Family, hide: Grant['hide'], action: string): boolean {
  return hide !== undefined && narrowFamily(family, hide).hiding?.unavailable.has(action) === true
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
export async function filterGranted<T extends ActionTarget> (
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
  if (family.hiding?.unavailable.has(action) === true) return false
  if (offers !== undefined) return offers.includes(action)
  if (!caller.isGuarded) return true
  const intent = { family: family.name, action, id: item?.id, params: {}, tentative: true } as const
  // If `authorize` fails, it is offered: the command is authorized again, with its parameters.
  return await findGrant({ family, caller }, intent, item === undefined ? [] : [item], {}) !== undefined
}

/** Says of items, as they were last, whether the caller may restore them, asked once. */
export async function findRestoring ({ called, grant, storage }: Reader): Promise<(last: State) => boolean> {
  const { family, caller } = called
  const { operation: { action } = { action: '' } } =
    [...family.operations.values()].find(({ past }) => past === 'restore') ?? {}
  if (action === '' || !await mayOffer(called, action, grant)) return () => false
  if (grant.offers !== undefined || !caller.isGuarded) return () => true
  const intent = { family: family.name, action, id: undefined, params: {}, tentative: true } as const
  const granted = await findGrant(called, intent, [], {})
  if (granted === undefined) return () => false
  const restoring = new Reader(called, storage, granted)
  return last => restoring.seesState(last)
}

/** Undefined if the items do not exist under it, or it is refused. @param otherwise the result if `authorize` fails */
export async function findGrant (
  { family, caller }: Called,
  intent: Intent,
  items: readonly Stored[],
  otherwise: Grant | undefined
): Promise<Grant | undefined> {
  try {
    const grant = await caller.authorize(intent)
    const { where = [], hide } = grant
    return items.every(holdsWhole(where)) && !lacksParams(family, hide, intent.action) ? grant : undefined
  } catch (error) {
    if (isRefusal(error)) return undefined
    caller.report?.(error, 'authorize failed for something that is offered', { action: intent.action })
    return otherwise
  }
}
