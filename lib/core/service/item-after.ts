import { errorCodes } from '../errors.js'
import { findFlawsInChanges } from '../family/changes.js'
import type { Family } from '../family/family.js'
import { ServiceFields } from '../family/fields.js'
import { canonicalizeItem, haveSameContent } from '../family/params.js'
import type { Stored } from '../storage/storage.js'
import type { Members } from '../values/json.js'

/** An item as an operation is shown it. */
export interface OpenItem {
  readonly family: Family
  readonly stored: Stored
  /** What this version of the family knows of it. */
  readonly known: Members
  /** The rest: another version may have fields that this one knows nothing of, and they stay as they are. */
  readonly foreign: Members
  readonly content: Members
}

/** What an operation made of an item. */
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
  // Frozen, so that an operation that changes the item in place fails rather than seems to change nothing.
  return { family, stored, known: Object.freeze(known), foreign, content: canonicalizeItem(family.ownFields, known) }
}

/** @param operation for errors, as is all of that name here */
export function compareItem (open: OpenItem, operation: string, made: unknown): ItemAfter {
  const { family, content } = open
  const given = readFields(family, operation, made)
  const after = canonicalizeItem(family.ownFields, given)
  const isChanged = !haveSameContent(family.ownFields, after, content)
  // A change is checked once it is known to be allowed.
  if (!isChanged) checkChanges(open, operation, given)
  return { open, given, after, isChanged }
}

/** The item with its next revision. */
export function completeItem ({ open, given, after }: ItemAfter, operation: string, now: string): Stored {
  const { foreign, stored: { id, createdAt, revision } } = open
  checkChanges(open, operation, given)
  // Member by member: a literal that begins with a spread takes several times as long.
  const completed: Record<string, unknown> = { id, revision: revision + 1, createdAt, updatedAt: now }
  for (const name in foreign) completed[name] = foreign[name]
  for (const name in after) if (name !== 'id') completed[name] = after[name]
  return completed as Stored
}

// Unchanged values need not fit: a field may have become stricter since they were stored.
function checkChanges ({ family, content }: OpenItem, operation: string, given: Members): void {
  if (family.validate(given).length > 0) refuseFlaw(family, operation, findFlawsInChanges(family, given, content))
}

/** What a creation made of an item, if it is valid. */
export function checkNew (family: Family, operation: string, made: unknown): Members {
  const given = readFields(family, operation, made)
  refuseFlaw(family, operation, family.validate(given))
  return canonicalizeItem(family.ownFields, given)
}

// What an operation or `initial` makes of an item must be valid: a mistake there is a bug to be seen, not data to be
// stored.
function refuseFlaw (
  { name }: Family,
  operation: string,
  [flaw]: readonly { readonly pointer: string, readonly detail: string }[]
): void {
  if (flaw !== undefined) throw new errorCodes.FST_DEALBOOK_INVALID_ITEM(name, operation, flaw.pointer, flaw.detail)
}

/** The fields of what an operation returned. */
function readFields ({ name: family }: Family, operation: string, made: unknown): Members {
  if (typeof made !== 'object' || made === null || made instanceof Promise) {
    throw new errorCodes.FST_DEALBOOK_INVALID_ITEM(family, operation, 'it', 'must be an object, not a promise')
  }
  const given: Record<string, unknown> = {}
  for (const name of Object.keys(made)) {
    const value = (made as Members)[name]
    if (value !== undefined && !serviceMembers.has(name)) given[name] = value
  }
  return given
}
