import { errorCodes } from '../errors.js'
import type { CompiledOperation, Family, Lifecycle } from '../family/family.js'
import type { Context, ItemAndOthers, Operation } from '../family/operation.js'
import { Problem, problemCodes } from '../problems.js'
import type { Id, Stored } from '../storage/storage.js'
import type { Members } from '../values/json.js'
import type { Command } from './command.js'
import type { ItemAfter, OpenItem } from './item-after.js'
import { checkNew, compareItem, completeItem, openItem } from './item-after.js'
import { copyRefusal, explainForbidden, refuseInState } from './refusal.js'

/**
 * The outcome of a command. `after` is the item after it, undefined where it was deleted; `others` are those beside it
 * that it changed, by their names.
 */
export type Decision =
  | { readonly outcome: 'done', readonly after: Stored | undefined, readonly others?: ReadonlyMap<string, Stored> }
  | { readonly outcome: 'unchanged' }
  | { readonly outcome: 'refused', readonly problem: Problem }

/** Another item that a command needs, as it is now. */
export interface NeededItem {
  /** Its name in `with`. */
  readonly name: string
  readonly family: Family
  readonly current: Stored
}

/** A new item, from what the client sent. Pure. */
export function decideCreation (family: Family, id: Id, params: Members, context: Context): Stored {
  const { defaults, initial } = family.lifecycle as Lifecycle
  const { now } = context
  const given = Object.freeze({ id, ...defaults, ...params })
  const members = checkNew(family, 'create', initial === undefined ? given : initial(given, context))
  return { ...members, id, revision: 1, createdAt: now, updatedAt: now }
}

/**
 * The rule of every operation, in every form: work out the item after it, and those beside it; if nothing would change,
 * succeed and change nothing; else if the state does not allow it, refuse; else change them. Pure.
 */
export function decide (
  family: Family,
  current: Stored,
  command: Command,
  context: Context,
  others: readonly NeededItem[] = []
): Decision {
  try {
    return workOut(family, current, command, context, others)
  } catch (error) {
    // A refusal by the state is an outcome, the host's as well as ours; anything else is an error.
    if (!(error instanceof Problem) || error.statusCode !== problemCodes['wrong-state'].status) throw error
    return { outcome: 'refused', problem: copyRefusal(error) }
  }
}

function workOut (
  family: Family,
  current: Stored,
  { action, params }: Command,
  context: Context,
  others: readonly NeededItem[]
): Decision {
  if (action === undefined) return { outcome: 'unchanged' }
  if (action === family.lifecycle?.deletion.operation.action) return { outcome: 'done', after: undefined }
  const { operation } = family.operations.get(action) as CompiledOperation
  const { name } = operation
  const own = openItem(family, current)
  const opened = new Map(others.map(other => [other.name, openItem(other.family, other.current)]))
  const informed = informOf(opened, context)
  const made = readMade(family, operation, operation.apply(own.known, params, informed), [...opened.keys()])
  const after = compareItem(own, name, made.item)
  const changed = new Map<string, ItemAfter>()
  for (const [other, open] of opened) {
    const its = made.others[other] === undefined ? undefined : compareItem(open, name, made.others[other])
    if (its?.isChanged === true) changed.set(other, its)
  }
  if (!after.isChanged && changed.size === 0) return { outcome: 'unchanged' }
  const reason = explainForbidden(operation, own.known, params, informed)
  if (reason !== undefined) return { outcome: 'refused', problem: refuseInState(family, name, own.known, reason) }
  const complete = (item: ItemAfter): Stored => completeItem(item, name, context.now)
  // The command is in the log of its own item, which has one more revision even if only others changed.
  const done = { outcome: 'done', after: complete(after) } as const
  if (changed.size === 0) return done
  return { ...done, others: new Map([...changed].map(([other, item]) => [other, complete(item)])) }
}

const noItems = Object.freeze({})

/** The context with the other items, as an operation is shown them. */
function informOf (opened: ReadonlyMap<string, OpenItem>, { now, command, principal }: Context): Context {
  const items = opened.size === 0
    ? noItems
    : Object.freeze(Object.fromEntries([...opened].map(([name, { known }]) => [name, known])))
  return { now, command, principal, items }
}

/** What `apply` returned: the item, or the item and others. */
function readMade (
  { name: family }: Family,
  { name, with: needed }: Operation<Members>,
  made: unknown,
  names: readonly string[]
): { readonly item: unknown, readonly others: Members } {
  const isBoth = needed !== undefined && typeof made === 'object' && made !== null && Object.hasOwn(made, 'others')
  if (!isBoth) return { item: made, others: {} }
  const { item, others } = made as ItemAndOthers<unknown>
  const unknown = Object.entries(others ?? {}).find(([other, its]) => its !== undefined && !names.includes(other))
  if (unknown === undefined) return { item, others: others ?? {} }
  const flaw = names.length === 0 ? 'is unknown' : `is unknown; there is ${names.join(', ')}`
  throw new errorCodes.FST_DEALBOOK_INVALID_ITEM(family, name, `others.${unknown[0]}`, flaw)
}
