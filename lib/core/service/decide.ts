import { isDeepStrictEqual } from 'node:util'
import { errorCodes } from '../errors.js'
import type { Context } from '../family/definition.js'
import type { CompiledOperation, Family, Lifecycle } from '../family/family.js'
import { ServiceFields, toStored } from '../family/fields.js'
import { canonicalizeItem, haveSameContent, readDecimals } from '../family/params.js'
import { Problem, problemCodes } from '../problems.js'
import type { Id, Stored } from '../storage/storage.js'
import { findJsonFlaws, freeze, type MemberFlaw, type Members, unescapePointer } from '../values/json.js'
import {
  copyRefusal, describeReturned, explainForbidden, type ReferencedItems, refuseInState, runRule
} from './refusal.js'

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
  readonly interpret?: ((current: Stored) => Pick<Command, 'action' | 'params'>) | undefined
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
  /** The other items that it changed, by their names. */
  readonly others?: ReadonlyMap<string, Stored>
  /** The items that it creates, by their names. */
  readonly created?: ReadonlyMap<string, Stored>
}

export type Decision =
  | DoneDecision
  | { readonly outcome: 'unchanged' }
  | { readonly outcome: 'refused', readonly problem: Problem }

export interface NeededItem {
  readonly name: string
  readonly family: Family
  readonly current: Stored
}

/** Pure. */
export function decideCreation (
  family: Family,
  id: Id,
  params: Members,
  context: Context,
  others: readonly NeededItem[] = []
): DoneDecision & { readonly after: Stored } {
  const { defaults, initial } = family.lifecycle as Lifecycle
  const { now } = context
  const given = freeze({ id, ...defaults, ...params })
  const opened = openOthers(others)
  const result = initial === undefined
    ? given
    : runRule(family, 'create', () => initial(given, addItems(context, opened)))
  const isWhole = (family.lifecycle as Lifecycle).others.length === 0
  const made = isWhole ? { item: result, others: {} } : readMade(family, 'create', result, [...opened.keys()])
  const item = readFields(family, 'create', made.item, given)
  refuseInvalidItem(family, 'create', family.validate(item))
  const after = { ...canonicalizeItem(family.ownFields, item), id, revision: 1, createdAt: now, updatedAt: now }
  const changed = compareOthers(opened, 'create', made.others)
  return { outcome: 'done', after, ...(changed.size > 0 ? { others: completeAll(changed, 'create', now) } : {}) }
}

export function openOthers (others: readonly NeededItem[]): ReadonlyMap<string, OpenItem> {
  return new Map(others.map(other => [other.name, openItem(other.family, other.current)]))
}

export function addItems (context: Context, opened: ReadonlyMap<string, OpenItem>): Context {
  if (opened.size === 0) return context
  const items = Object.fromEntries([...opened].map(([name, { known }]) => [name, known]))
  // Facts belong to the host, so they are not frozen.
  return Object.freeze({ ...context, items: Object.freeze(items) })
}

function compareOthers (opened: ReadonlyMap<string, OpenItem>, operation: string, made: Members) {
  const changed = new Map<string, ItemAfter>()
  for (const [name, open] of opened) {
    const its = made[name] === undefined ? undefined : compareItem(open, operation, made[name])
    if (its?.isChanged === true) changed.set(name, its)
  }
  return changed
}

function completeAll (items: ReadonlyMap<string, ItemAfter>, operation: string, now: string): Map<string, Stored> {
  return new Map([...items].map(([name, item]) => [name, completeItem(item, operation, now)]))
}

export interface NewId {
  readonly name: string
  readonly family: Family
  readonly id: Id
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
  if (action === family.lifecycle?.deletion?.operation.action) return { outcome: 'done', after: undefined }
  const { operation } = family.operations.get(action) as CompiledOperation
  const { name } = operation
  const own = openItem(family, current)
  const opened = openOthers(others)
  try {
    const withItems = addItems(context, opened)
    const made = applyOperation(family, operation, { own, opened, newIds }, params, withItems)
    if (!made.after.isChanged && made.changed.size === 0 && made.created.length === 0) return { outcome: 'unchanged' }
    const reason = runRule(family, name, () => explainForbidden(operation, own.known, params, withItems))
    if (reason !== undefined) {
      return { outcome: 'refused', problem: refuseInState(family, name, own.known, reason, context, referenced) }
    }
    return completeAfter(made, name, context)
  } catch (error) {
    // A refusal by the state is an outcome, also if the host throws it; anything else is an error.
    if (!(error instanceof Problem) || error.statusCode !== problemCodes['wrong-state'].status) throw error
    return { outcome: 'refused', problem: copyRefusal(error) }
  }
}

/** The items before an operation, and those that it may create. */
interface OpenItems {
  readonly own: OpenItem
  readonly opened: ReadonlyMap<string, OpenItem>
  readonly newIds: readonly NewId[]
}

/** What an operation makes of the items, not checked yet. */
interface Applied {
  readonly after: ItemAfter
  readonly changed: ReadonlyMap<string, ItemAfter>
  readonly created: readonly (NewId & { readonly item: Members })[]
}

function applyOperation (
  family: Family,
  operation: CompiledOperation['operation'],
  { own, opened, newIds }: OpenItems,
  params: Members,
  context: Context
): Applied {
  const { name } = operation
  const result = runRule(family, name, () => operation.apply(own.known, params, context))
  const made = operation.with === undefined && operation.creates === undefined
    ? { item: result, others: {}, created: {} as Members }
    : readMade(family, name, result, [...opened.keys()], newIds.map(({ name }) => name))
  const created = newIds.flatMap(each => {
    const item = made.created[each.name]
    return item === undefined ? [] : { ...each, item: item as Members }
  })
  return { after: compareItem(own, name, made.item), changed: compareOthers(opened, name, made.others), created }
}

/** The command is in the log of its item, which gets a new revision even if only others changed. */
function completeAfter ({ after, changed, created }: Applied, operation: string, context: Context): DoneDecision {
  const done = { outcome: 'done', after: completeItem(after, operation, context.now) } as const
  if (changed.size === 0 && created.length === 0) return done
  return {
    ...done,
    others: completeAll(changed, operation, context.now),
    created: new Map(created.map(({ name, family, id, item }) =>
      [name, decideCreation(family, id, item, context).after]))
  }
}

/** @param names of the other items that it was given; @param creates names of the items that it may create */
function readMade (
  { name: family }: Family,
  operation: string,
  made: unknown,
  names: readonly string[],
  creates: readonly string[] = []
): { readonly item: unknown, readonly others: Members, readonly created: Members } {
  const has = (member: string): boolean => typeof made === 'object' && made !== null && Object.hasOwn(made, member)
  if (!has('others') && !has('created')) return { item: made, others: {}, created: {} }
  const { item, others = {}, created = {} } = made as { item: unknown, others?: Members, created?: Members }
  for (const [member, given, known] of [['others', others, names], ['created', created, creates]] as const) {
    const unknown = Object.keys(given).find(name => given[name] !== undefined && !known.includes(name))
    if (unknown === undefined) continue
    const flaw = known.length === 0 ? 'is unknown' : `is unknown; there is ${known.join(', ')}`
    throw new errorCodes.FST_DEALBOOK_INVALID_ITEM(family, operation, `${member}.${unknown}`, flaw)
  }
  return { item, others, created }
}

interface OpenItem {
  readonly family: Family
  readonly stored: Stored
  readonly known: Members
  /** Members that only other versions have; they stay unchanged. */
  readonly foreign: Members
  readonly content: Members
}

interface ItemAfter {
  readonly open: OpenItem
  readonly given: Members
  readonly after: Members
  readonly isChanged: boolean
}

const serviceMembers = new Set(Object.keys(ServiceFields.properties))

function openItem (family: Family, stored: Stored): OpenItem {
  const known: Record<string, unknown> = {}
  const foreign: Record<string, unknown> = {}
  for (const name of Object.keys(stored)) {
    const isKnown = serviceMembers.has(name) || Object.hasOwn(family.schema.properties, name)
    const members = isKnown ? known : foreign
    members[name] = stored[name]
  }
  // Frozen, so that an operation that changes the item in place fails instead of seeming to change nothing.
  return { family, stored, known: freeze(known), foreign, content: canonicalizeItem(family.ownFields, known) }
}

function compareItem (open: OpenItem, operation: string, made: unknown): ItemAfter {
  const { family, content } = open
  const given = readFields(family, operation, made, open.known)
  const after = canonicalizeItem(family.ownFields, given)
  const isChanged = !haveSameContent(family.ownFields, after, content)
  // Changes are checked later, once they are known to be allowed.
  if (!isChanged) refuseInvalidChanges(open, operation, given)
  return { open, given, after, isChanged }
}

function completeItem ({ open, given, after }: ItemAfter, operation: string, now: string): Stored {
  const { foreign, stored: { id, createdAt, revision } } = open
  refuseInvalidChanges(open, operation, given)
  // A literal that begins with a spread takes several times as long.
  const completed: Record<string, unknown> = { id, revision: revision + 1, createdAt, updatedAt: now }
  for (const name in foreign) completed[name] = foreign[name]
  for (const name in after) if (name !== 'id') completed[name] = after[name]
  return completed as Stored
}

// Unchanged values need not fit: a field may have become stricter, or required, since they were stored.
function refuseInvalidChanges ({ family, content }: OpenItem, operation: string, given: Members): void {
  refuseInvalidItem(family, operation, family.validate(given).filter(({ pointer }) => {
    const name = unescapePointer(pointer.split('/')[1] ?? '')
    const kind = family.ownFields.find(field => field.name === name)?.kind ?? 'json'
    return !isDeepStrictEqual(toStored(kind, given[name]), toStored(kind, content[name]))
  }))
}

// An invalid item from `apply` or `initial` is a bug of the host.
function refuseInvalidItem ({ name }: Family, operation: string, [flaw]: readonly MemberFlaw[]): void {
  if (flaw !== undefined) throw new errorCodes.FST_DEALBOOK_INVALID_ITEM(name, operation, flaw.pointer, flaw.detail)
}

/** What differs from `known` is checked and copied as JSON, so that every storage keeps the same. */
function readFields (family: Family, operation: string, made: unknown, known: Members): Members {
  if (typeof made !== 'object' || made === null || made instanceof Promise) {
    const flaw = `must be an object, but the rule returned ${describeReturned(made)}`
    throw new errorCodes.FST_DEALBOOK_INVALID_ITEM(family.name, operation, 'it', flaw)
  }
  const given: Record<string, unknown> = {}
  for (const name of Object.keys(made)) {
    const value = (made as Members)[name]
    if (value === undefined || serviceMembers.has(name)) continue
    given[name] = value
    if (value === known[name]) continue
    const flaws = findJsonFlaws({ [name]: value }, 1)
    if (flaws.length > 0 && !isDeepStrictEqual(value, known[name])) refuseInvalidItem(family, operation, flaws)
    if (typeof value === 'object') given[name] = JSON.parse(JSON.stringify(value))
  }
  return family.hasDecimals ? readDecimals(family.ownFields, given) : given
}
