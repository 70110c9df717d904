import { isDeepStrictEqual } from 'node:util'
import { errorCodes } from '../errors.js'
import type { Family } from '../family/family.js'
import { ServiceFields, toStored } from '../family/fields.js'
import { convertNested } from '../family/nested.js'
import { canonicalizeItem, haveSameContent, readDecimals } from '../family/params.js'
import type { Stored } from '../storage/storage.js'
import { findJsonFlaws, freeze, type MemberFlaw, type Members, unescapePointer } from '../values/json.js'
import { describeReturned, runRule } from './refusal.js'

// An item as rules get it, and what they make of it.

export interface OpenItem {
  readonly family: Family
  readonly stored: Stored
  readonly known: Members
  /** Members that only other versions have; they stay unchanged. */
  readonly foreign: Members
  readonly content: Members
}

export interface ItemAfter {
  readonly open: OpenItem
  readonly given: Members
  readonly after: Members
  readonly isChanged: boolean
}

const serviceMembers = new Set(Object.keys(ServiceFields.properties))

export function openItem (family: Family, stored: Stored): OpenItem {
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

export function compareItem (open: OpenItem, operation: string, made: unknown): ItemAfter {
  const { family, content } = open
  // What only derived fields would change is no change, even if the item is from before they were.
  const given = keepDerived(open, readFields(family, operation, made, open.known))
  const after = canonicalizeItem(family.ownFields, given)
  const isChanged = !haveSameContent(family.ownFields, after, content)
  // Changes are checked later, once they are known to be allowed.
  if (!isChanged) refuseInvalidChanges(open, operation, given)
  return { open, given, after, isChanged }
}

export function completeItem ({ open, given, after: changed }: ItemAfter, operation: string, now: string): Stored {
  const { family, foreign, stored: { id, createdAt, revision } } = open
  const item = addDerived(family, operation, given)
  refuseInvalidChanges(open, operation, item)
  const after = item === given ? changed : canonicalizeItem(family.ownFields, item)
  // A literal that begins with a spread takes several times as long.
  const completed: Record<string, unknown> = { id, revision: revision + 1, createdAt, updatedAt: now }
  for (const name in foreign) completed[name] = foreign[name]
  for (const name in after) if (name !== 'id') completed[name] = after[name]
  return completed as Stored
}

function keepDerived ({ family: { derived }, known }: OpenItem, item: Members): Members {
  if (derived.size === 0) return item
  const kept = Object.entries(item).filter(([name]) => !derived.has(name))
  return Object.fromEntries([...kept, ...Object.entries(known).filter(([name]) => derived.has(name))])
}

export function addDerived (family: Family, operation: string, item: Members): Members {
  if (family.derived.size === 0) return item
  return readFields(family, operation, deriveFields(family, operation, item), item)
}

// Unchanged values need not fit: a field may have become stricter, or required, since they were stored.
export function findInvalidChanges ({ family, content }: OpenItem, given: Members): MemberFlaw[] {
  return family.validate(given).filter(({ pointer }) => {
    const name = unescapePointer(pointer.split('/')[1] ?? '')
    const kind = family.ownFields.find(field => field.name === name)?.kind ?? 'json'
    return !isDeepStrictEqual(toStored(kind, given[name]), toStored(kind, content[name]))
  })
}

function refuseInvalidChanges (open: OpenItem, operation: string, given: Members): void {
  refuseInvalidItem(open.family, operation, findInvalidChanges(open, given))
}

// An invalid item from `apply` or `initial` is a bug of the host.
export function refuseInvalidItem ({ name }: Family, operation: string, [flaw]: readonly MemberFlaw[]): void {
  if (flaw !== undefined) throw new errorCodes.FST_DEALBOOK_INVALID_ITEM(name, operation, flaw.pointer, flaw.detail)
}

/** What differs from `known` is checked and copied as JSON, so that every storage keeps the same. */
export function readFields (family: Family, operation: string, made: unknown, known: Members): Members {
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
  const read = family.hasDecimals ? readDecimals(family.ownFields, given) : given
  return family.nested.size === 0 ? read : convertNested(family.nested, read, known)
}

/**
 * The item with the fields that its family computes from it, in their order: each rule sees those before it. The
 * values are not checked yet.
 */
export function deriveFields (family: Family, operation: string, item: Members): Members {
  const { derived } = family
  if (derived.size === 0) return item
  const own = Object.entries(item).filter(([name]) => !derived.has(name))
  const made: Record<string, unknown> = Object.fromEntries(own)
  for (const [name, rule] of derived) {
    const value = runDerive(family, operation, name, () => rule(freeze({ ...made })))
    if (value !== undefined) made[name] = value
  }
  return made
}

// A failure is a bug of the host, also if it is a problem: no client sends the field.
function runDerive (family: Family, operation: string, field: string, derive: () => unknown): unknown {
  try {
    return runRule(family, operation, `derive of the field "${field}"`, derive)
  } catch (error) {
    if (error instanceof errorCodes.FST_DEALBOOK_CHANGED_ARGUMENT) throw error
    const reason = error instanceof Error ? error.message : String(error)
    throw new errorCodes.FST_DEALBOOK_FAILED_DERIVE(family.name, operation, field, reason, { cause: error })
  }
}
