import { errorCodes } from '../errors.js'
import type { Context } from '../family/context.js'
import {
  type CompiledChange, type CompiledOperation, type Deletion, type Family, type Lifecycle,
  type NewDefinition
} from '../family/family.js'
import { canonicalizeItem } from '../family/params.js'
import { Problem, problemCodes } from '../problems.js'
import type { Id, Stored } from '../storage/storage.js'
import { freeze, type Members } from '../values/json.js'
import {
  addDerived, compareItem, completeItem, findInvalidChanges, type ItemAfter, type OpenItem, openItem, readFields,
  refuseInvalidItem
} from './open-items.js'
import {
  addItems, compareOthers, completeAll, type CreatedItems, listMade, type MadeItem, nameOther, type NeededItem,
  type NewId, type OpenOthers, openOthers, readMade
} from './open-others.js'
import {
  copyRefusal, describeReturned, explainForbidden, type ReferencedItems, refuseInState, runRule
} from './refusal.js'

/** @param hide what the caller does not see of the item */
type Interpret = (current: Stored, hide?: readonly string[]) => Pick<Command, 'action' | 'params'>

/** A request for a change, independent of the URL form. */
export interface Command {
  /** The action of an operation, a creation or a deletion; undefined if it changes nothing. */
  readonly action: string | undefined
  /** Undefined for a creation. */
  readonly target: Id | undefined
  readonly params: Members
  readonly id?: string | undefined
  /** The Idempotency-Key, from which the id is derived. */
  readonly key?: string | undefined
  /** If the meaning depends on the item: returns the action and its parameters, or throws a problem. Pure. */
  readonly interpret?: Interpret | undefined
  /** Beside `interpret`: the members of the item that were sent. */
  readonly named?: Members | undefined
  /** In a version with other names: the parameters as they were sent. */
  readonly sent?: { readonly family: Family, readonly params: Members } | undefined
  /** The JSON pointer of the parameters in the body. Default: they are the body. */
  readonly at?: string | undefined
  /** Beside `interpret`: identifies what was sent. When it is sent again, it may mean something else. */
  readonly content?: (() => string) | undefined
  /** Whether a replay shows the item as it was after the command. */
  readonly keepsItem?: boolean | undefined
  /** Throws a problem if the client does not know this revision of the item. Pure. */
  readonly precondition?: ((current: Stored) => void) | undefined
}

export interface DoneDecision {
  readonly outcome: 'done'
  /** Undefined for a deletion. */
  readonly after: Stored | undefined
  /** The other items that it changed, by their names (`nameOther`). */
  readonly others?: ReadonlyMap<string, Stored>
  /** The items that it creates, by their names. */
  readonly created?: ReadonlyMap<string, Stored>
  /** The items of lists, which get their ids before `decideCreated` adds them. */
  readonly unnamed?: readonly MadeItem[]
}

export type Decision =
  | DoneDecision
  | { readonly outcome: 'unchanged' }
  | { readonly outcome: 'refused', readonly problem: Problem }

export type { NeededItem, NewId } from './open-others.js'

/** What a new item may need and create besides. */
interface CreationParts {
  readonly others?: readonly NeededItem[] | undefined
  readonly newIds?: readonly NewId[] | undefined
}

type DoneCreation = DoneDecision & { readonly after: Stored }

/** Pure. */
export function decideCreation (
  family: Family,
  id: Id,
  params: Members,
  context: Context,
  parts: CreationParts = {}
): DoneCreation {
  const { others, creates, extra } = family.lifecycle as Lifecycle
  const { others: needed = [], newIds = [] } = parts
  const opened = openOthers(needed, others)
  const fields = extra.length === 0 ? params : omitMembers(params, extra)
  const { made, after } = makeItem(family, id, { fields, params, opened, creates }, context)
  const { now } = context
  const changed = compareOthers(family, opened, 'create', made.others)
  const { created, unnamed } = listMade(family, 'create', made.created, creates, newIds)
  return {
    outcome: 'done',
    after,
    ...changed.size > 0 && { others: completeAll(changed, 'create', now) },
    ...created.length > 0 && { created: createAll(created, context) },
    ...unnamed.length > 0 && { unnamed }
  }
}

const noParams: Members = Object.freeze({})
const nothingOpen: OpenOthers = new Map()

interface Creation {
  readonly fields: Members
  /** Also those that are no fields. */
  readonly params: Members
  readonly opened: OpenOthers
  readonly creates: readonly NewDefinition[]
}

function makeItem (
  family: Family, id: Id, { fields, params, opened, creates }: Creation, context: Context
) {
  const { defaults, initial, others, creates: declared } = family.lifecycle as Lifecycle
  const { now } = context
  const given = freeze({ id, ...defaults, ...fields })
  const result = initial === undefined
    ? given
    : runRule(family, 'create', 'initial', () => initial(given, addItems(context, opened), params))
  const made = others.length === 0 && declared.length === 0
    ? { item: result, others: noParams, created: noParams }
    : readMade(family, 'create', result, opened, creates)
  const item = addDerived(family, 'create', readFields(family, 'create', made.item, given))
  refuseInvalidItem(family, 'create', family.validate(item))
  const after = { ...canonicalizeItem(family.ownFields, item), id, revision: 1, createdAt: now, updatedAt: now }
  return { made, after }
}

/** Those of other families: `initial` completes them, without other items. */
function createAll (items: readonly (NewId & MadeItem)[], context: Context): Map<string, Stored> {
  const alone = { opened: nothingOpen, creates: [] }
  return new Map(items.map(each => {
    const { family, id, item } = each
    return [nameOther(each, id), makeItem(family, id, { fields: item, params: item, ...alone }, context).after]
  }))
}

/** Adds the items that rules made for lists, which have ids now. Pure. @param current undefined for a creation */
export function decideCreated (
  current: Stored | undefined, decision: DoneDecision, items: readonly (NewId & MadeItem)[], context: Context
): Decision {
  const { outcome, after, others, created = [] } = decision
  const add = (): Decision =>
    ({ outcome, after, ...others && { others }, created: new Map([...created, ...createAll(items, context)]) })
  return current === undefined ? add() : takeRefusal(add)
}

function omitMembers (members: Members, names: readonly string[]): Members {
  return Object.fromEntries(Object.entries(members).filter(([name]) => !names.includes(name)))
}

/** Every form has this rule: no-ops succeed, and changes that the state does not allow are refused. Pure. */
export function decide (
  family: Family,
  current: Stored,
  command: Command,
  context: Context,
  others: readonly NeededItem[] = [],
  referenced: ReferencedItems = new Map(),
  newIds: readonly NewId[] = []
): Decision {
  const { action, params } = command
  if (action === undefined) return { outcome: 'unchanged' }
  const change = family.changes.get(action) as CompiledChange
  const { operation, operation: { name } } = change
  // It need not be restored.
  if (isOperation(change) && change.past === 'restore') return { outcome: 'unchanged' }
  const own = openItem(family, current)
  const opened = change.others.length === 0 ? nothingOpen : openOthers(others, change.others)
  const withItems = change.others.length === 0 ? context : addItems(context, opened)
  const refuse = (given?: Members): Decision | undefined => {
    const reason = runRule(family, name, 'allowed', () => explainForbidden(operation, own.known, params, withItems)) ??
      explainUnfit(own, change, given)
    if (reason === undefined) return undefined
    return { outcome: 'refused', problem: refuseInState(family, name, own.known, reason, context, referenced) }
  }
  return takeRefusal(() => {
    if (!isOperation(change)) return refuse() ?? removeItem(family, change.operation, own, opened, withItems)
    const made = applyOperation(family, change, { own, opened, newIds }, params, withItems)
    const { after, changed, created, unnamed } = made
    const isSame = !after.isChanged && changed.size === 0 && created.length === 0 && unnamed.length === 0
    return isSame ? { outcome: 'unchanged' } : refuse(after.given) ?? completeAfter(made, name, context)
  })
}

/** A refusal by the state is an outcome, also if the host throws it; anything else is an error. */
function takeRefusal (work: () => Decision): Decision {
  try {
    return work()
  } catch (error) {
    if (!(error instanceof Problem) || error.statusCode !== problemCodes['wrong-state'].status) throw error
    return { outcome: 'refused', problem: copyRefusal(error) }
  }
}

/** Values of an earlier revision may not be valid any more. */
function explainUnfit (own: OpenItem, change: CompiledChange, given: Members | undefined): string | undefined {
  if (!isOperation(change) || change.past !== 'revert' || given === undefined) return undefined
  const [flaw] = findInvalidChanges(own, given)
  return flaw && `The earlier value of ${flaw.pointer} is not valid any more: it ${flaw.detail}`
}

/** With the item as it was, for the rules of a reversion. */
export function addPast (family: Family, was: Stored | undefined, context: Context): Context {
  if (was === undefined) return context
  return Object.freeze({ ...context, items: Object.freeze({ was: openItem(family, was).known }) }) as Context
}

/** @param deleted the item as it was, with the revision of its deletion */
export function decideRestoration (
  family: Family,
  deleted: Stored,
  { action = '', params }: Command,
  context: Context,
  others: readonly NeededItem[]
): Decision {
  const { operation: { name, apply }, others: needed } = family.changes.get(action) as CompiledOperation
  const own = openItem(family, deleted)
  const opened = openOthers(others, needed)
  return takeRefusal(() => {
    refuseIncomplete(family, own)
    const result: unknown = runRule(family, name, 'apply', () => apply(own.known, params, addItems(context, opened)))
    const changed = readOthers(family, name, result, opened)
    const after = completeItem(compareItem(own, name, own.known), name, context.now)
    return { outcome: 'done', after, ...changed.size > 0 && { others: completeAll(changed, name, context.now) } }
  })
}

/** A field may have become required since, or its value was erased. */
function refuseIncomplete ({ ownFields, derived, singular }: Family, { known }: OpenItem): void {
  const lacking = ownFields.find(({ name, optional }) =>
    !optional && !derived.has(name) && known[name] === undefined)
  if (lacking === undefined) return
  const detail = 'is required, and had no value'
  const errors = [{ pointer: `/${lacking.name}`, detail }]
  throw new Problem('wrong-state', `The ${singular} cannot be restored: /${lacking.name} ${detail}`, { errors })
}

function isOperation (change: CompiledChange): change is CompiledOperation {
  return 'creates' in change
}

function removeItem (
  family: Family,
  { name, apply }: Deletion['operation'],
  own: OpenItem,
  opened: OpenOthers,
  context: Context
): DoneDecision {
  const done = { outcome: 'done', after: undefined } as const
  const result: unknown = apply && runRule(family, name, 'apply', () => apply(own.known, noParams, context))
  const changed = readOthers(family, name, result, opened)
  return changed.size === 0 ? done : { ...done, others: completeAll(changed, name, context.now) }
}

/** Of a rule that returns other items only, or nothing. */
function readOthers (
  family: Family, name: string, result: unknown, opened: OpenOthers
): ReadonlyMap<string, ItemAfter> {
  if (result === undefined) return noneChanged
  const { item, others, created } = readMade(family, name, result, opened)
  if (item !== undefined || Object.keys(created).length > 0) {
    const flaw = `must be { others } or nothing, but the rule returned ${describeReturned(result)}`
    throw new errorCodes.FST_DEALBOOK_INVALID_ITEM(family.name, name, 'it', flaw)
  }
  return compareOthers(family, opened, name, others)
}

const noneChanged: ReadonlyMap<string, ItemAfter> = new Map()

/** The items before an operation, and those that it may create. */
interface OpenItems {
  readonly own: OpenItem
  readonly opened: OpenOthers
  readonly newIds: readonly NewId[]
}

/** What an operation makes of the items, not checked yet. */
interface Applied extends CreatedItems {
  readonly after: ItemAfter
  readonly changed: ReadonlyMap<string, ItemAfter>
}

function applyOperation (
  family: Family,
  { operation, creates }: CompiledOperation,
  { own, opened, newIds }: OpenItems,
  params: Members,
  context: Context
): Applied {
  const { name } = operation
  const result = runRule(family, name, 'apply', () => operation.apply(own.known, params, context))
  if (operation.with === undefined && operation.creates === undefined) {
    return { after: compareItem(own, name, result), changed: new Map(), created: [], unnamed: [] }
  }
  const made = readMade(family, name, result, opened, creates)
  return {
    after: compareItem(own, name, made.item),
    changed: compareOthers(family, opened, name, made.others),
    ...listMade(family, name, made.created, creates, newIds)
  }
}

/** The command is in the log of its item, which gets a new revision even if only others changed. */
function completeAfter (
  { after, changed, created, unnamed }: Applied, operation: string, context: Context
): DoneDecision {
  const done = { outcome: 'done', after: completeItem(after, operation, context.now) } as const
  if (changed.size === 0 && created.length === 0 && unnamed.length === 0) return done
  return {
    ...done,
    others: completeAll(changed, operation, context.now),
    created: createAll(created, context),
    ...unnamed.length > 0 && { unnamed }
  }
}
