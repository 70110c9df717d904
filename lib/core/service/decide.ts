import { isDeepStrictEqual } from 'node:util'
import { errorCodes } from '../errors.js'
import type { Context, ItemAndOthers, Operation } from '../family/definition.js'
import type { CompiledOperation, Family, Lifecycle } from '../family/family.js'
import { ServiceFields, toStored } from '../family/fields.js'
import { canonicalizeItem, haveSameContent } from '../family/params.js'
import { Problem, problemCodes } from '../problems.js'
import type { Id, Stored } from '../storage/storage.js'
import { findJsonFlaws, freeze, type MemberFlaw, type Members, unescapePointer } from '../values/json.js'
import type { Command } from './command.js'
import { copyRefusal, explainForbidden, type Reach, refuseInState } from './refusal.js'

/** `after` is undefined for a deletion; `others` are the other items that it changed, by their names. */
export type Decision =
  | { readonly outcome: 'done', readonly after: Stored | undefined, readonly others?: ReadonlyMap<string, Stored> }
  | { readonly outcome: 'unchanged' }
  | { readonly outcome: 'refused', readonly problem: Problem }

export interface NeededItem {
  readonly name: string
  readonly family: Family
  readonly current: Stored
}

/** Pure. */
export function decideCreation (family: Family, id: Id, params: Members, context: Context): Stored {
  const { defaults, initial } = family.lifecycle as Lifecycle
  const { now } = context
  const given = freeze({ id, ...defaults, ...params })
  const made = readFields(family, 'create', initial === undefined ? given : initial(given, context), given)
  refuseFlaw(family, 'create', family.validate(made))
  return { ...canonicalizeItem(family.ownFields, made), id, revision: 1, createdAt: now, updatedAt: now }
}

/** Every form has this rule: no-ops succeed, and changes that the state does not allow are refused. Pure. */
export function decide (
  family: Family,
  current: Stored,
  command: Command,
  context: Context,
  others: readonly NeededItem[] = [],
  reach: Reach = new Map()
): Decision {
  const { action, params } = command
  if (action === undefined) return { outcome: 'unchanged' }
  if (action === family.lifecycle?.deletion?.operation.action) return { outcome: 'done', after: undefined }
  const { operation } = family.operations.get(action) as CompiledOperation
  const { name } = operation
  const own = openItem(family, current)
  const opened = new Map(others.map(other => [other.name, openItem(other.family, other.current)]))
  try {
    const listItems = () => Object.fromEntries([...opened].map(([name, { known }]) => [name, known]))
    const informed = opened.size === 0 ? context : freeze({ ...context, items: listItems() })
    const made = readMade(family, operation, operation.apply(own.known, params, informed), [...opened.keys()])
    const after = compareItem(own, name, made.item)
    const changed = new Map<string, ItemAfter>()
    for (const [other, open] of opened) {
      const its = made.others[other] === undefined ? undefined : compareItem(open, name, made.others[other])
      if (its?.isChanged === true) changed.set(other, its)
    }
    if (!after.isChanged && changed.size === 0) return { outcome: 'unchanged' }
    const reason = explainForbidden(operation, own.known, params, informed)
    if (reason !== undefined) {
      return { outcome: 'refused', problem: refuseInState(family, name, own.known, reason, context, reach) }
    }
    const complete = (item: ItemAfter): Stored => completeItem(item, name, context.now)
    // The command is in the log of its item, which gets a new revision even if only others changed.
    const done = { outcome: 'done', after: complete(after) } as const
    if (changed.size === 0) return done
    return { ...done, others: new Map([...changed].map(([other, item]) => [other, complete(item)])) }
  } catch (error) {
    // A refusal by the state is an outcome, also if the host throws it; anything else is an error.
    if (!(error instanceof Problem) || error.statusCode !== problemCodes['wrong-state'].status) throw error
    return { outcome: 'refused', problem: copyRefusal(error) }
  }
}

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
  if (!isChanged) checkChanges(open, operation, given)
  return { open, given, after, isChanged }
}

function completeItem ({ open, given, after }: ItemAfter, operation: string, now: string): Stored {
  const { foreign, stored: { id, createdAt, revision } } = open
  checkChanges(open, operation, given)
  // A literal that begins with a spread takes several times as long.
  const completed: Record<string, unknown> = { id, revision: revision + 1, createdAt, updatedAt: now }
  for (const name in foreign) completed[name] = foreign[name]
  for (const name in after) if (name !== 'id') completed[name] = after[name]
  return completed as Stored
}

// Unchanged values need not fit: a field may have become stricter, or required, since they were stored.
function checkChanges ({ family, content }: OpenItem, operation: string, given: Members): void {
  refuseFlaw(family, operation, family.validate(given).filter(({ pointer }) => {
    const name = unescapePointer(pointer.split('/')[1] ?? '')
    const kind = family.ownFields.find(field => field.name === name)?.kind ?? 'json'
    return !isDeepStrictEqual(toStored(kind, given[name]), toStored(kind, content[name]))
  }))
}

// An invalid item from `apply` or `initial` is a bug of the host.
function refuseFlaw ({ name }: Family, operation: string, [flaw]: readonly MemberFlaw[]): void {
  if (flaw !== undefined) throw new errorCodes.FST_DEALBOOK_INVALID_ITEM(name, operation, flaw.pointer, flaw.detail)
}

/** What differs from `known` is checked and copied as JSON, so that every storage keeps the same. */
function readFields (family: Family, operation: string, made: unknown, known: Members): Members {
  if (typeof made !== 'object' || made === null || made instanceof Promise) {
    throw new errorCodes.FST_DEALBOOK_INVALID_ITEM(family.name, operation, 'it', 'must be an object, not a promise')
  }
  const given: Record<string, unknown> = {}
  for (const name of Object.keys(made)) {
    const value = (made as Members)[name]
    if (value === undefined || serviceMembers.has(name)) continue
    given[name] = value
    if (value === known[name]) continue
    const flaws = findJsonFlaws({ [name]: value }, 1)
    if (flaws.length > 0 && !isDeepStrictEqual(value, known[name])) refuseFlaw(family, operation, flaws)
    if (typeof value === 'object' && flaws.length === 0) given[name] = JSON.parse(JSON.stringify(value))
  }
  return given
}
