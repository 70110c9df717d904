import { errorCodes } from '../errors.js'
import { findFlawsInChanges } from '../family/changes.js'
import type { CompiledOperation, Family, Lifecycle } from '../family/family.js'
import { ServiceFields } from '../family/fields.js'
import type { Context } from '../family/operation.js'
import { canonicalizeItem, haveSameContent } from '../family/params.js'
import { Problem, problemCodes } from '../problems.js'
import type { Id, Stored } from '../storage/storage.js'
import type { Members } from '../values/json.js'
import type { Command } from './command.js'
import { copyRefusal, explainForbidden, refuseInState } from './refusal.js'

/** What a command comes to. `after` is the item after it, undefined where it was deleted. */
export type Decision =
  | { readonly outcome: 'done', readonly after: Stored | undefined }
  | { readonly outcome: 'unchanged' }
  | { readonly outcome: 'refused', readonly problem: Problem }

/** A new item, from what the client sent. Pure. */
export function decideCreation (family: Family, id: Id, params: Members, context: Context): Stored {
  const { defaults, initial } = family.lifecycle as Lifecycle
  const { now } = context
  const given = Object.freeze({ id, ...defaults, ...params })
  const members = checkItem(family, 'create', initial === undefined ? given : initial(given, context))
  return { ...members, id, revision: 1, createdAt: now, updatedAt: now }
}

/**
 * The rule of every operation, in every form: work out the item after it; if nothing would change, succeed and change
 * nothing; else if the state does not allow it, refuse; else change it. Pure.
 */
export function decide (family: Family, current: Stored, command: Command, context: Context): Decision {
  try {
    return workOut(family, current, command, context)
  } catch (error) {
    // What a host says about the state is an outcome, as what we say about it is; anything else is wrong in itself.
    if (!(error instanceof Problem) || error.statusCode !== problemCodes['wrong-state'].status) throw error
    return { outcome: 'refused', problem: copyRefusal(error) }
  }
}

function workOut (family: Family, current: Stored, { action, params }: Command, context: Context): Decision {
  if (action === undefined) return { outcome: 'unchanged' }
  if (action === family.lifecycle?.deletion.operation.action) return { outcome: 'done', after: undefined }
  const { operation } = family.operations.get(action) as CompiledOperation
  // Frozen, so that an operation that changes the item in place fails rather than seems to change nothing.
  const { known, foreign } = splitMembers(family, current)
  const item = Object.freeze(known)
  const before = canonicalizeItem(family.ownFields, item)
  const after = checkItem(family, operation.name, operation.apply(item, params, context), before)
  if (haveSameContent(family.ownFields, after, before)) return { outcome: 'unchanged' }
  const reason = explainForbidden(operation, item)
  if (reason !== undefined) {
    return { outcome: 'refused', problem: refuseInState(family, operation.name, item, reason) }
  }
  const { id, createdAt } = current
  const service = { id, createdAt, revision: current.revision + 1, updatedAt: context.now }
  return { outcome: 'done', after: { ...foreign, ...after, ...service } }
}

// Another version of the family may have fields that this one knows nothing of: they stay as they are.
function splitMembers (family: Family, item: Stored): { known: Members, foreign: Members } {
  const known: Record<string, unknown> = {}
  const foreign: Record<string, unknown> = {}
  for (const name of Object.keys(item)) {
    const isKnown = serviceMembers.has(name) || Object.hasOwn(family.schema.properties, name)
    const members = isKnown ? known : foreign
    members[name] = item[name]
  }
  return { known, foreign }
}

const serviceMembers = new Set(Object.keys(ServiceFields.properties))

/**
 * What an operation or `initial` makes of an item must still be one: a mistake there is a bug to be seen, not data to
 * be stored.
 *
 * @param before the item as it was. What is left as it was need not fit: a field may have become stricter since then
 */
function checkItem (family: Family, operation: string, item: Members, before?: Members): Members {
  if (typeof item !== 'object' || item === null || item instanceof Promise) {
    throw new errorCodes.FST_DEALBOOK_INVALID_ITEM(family.name, operation, 'it', 'must be an object, and no promise')
  }
  const given: Record<string, unknown> = {}
  for (const name of Object.keys(item)) {
    if (item[name] !== undefined && !serviceMembers.has(name)) given[name] = item[name]
  }
  const after = canonicalizeItem(family.ownFields, given)
  const flaws = family.validate(given)
  const [flaw] = before === undefined || flaws.length === 0 ? flaws : findFlawsInChanges(family, given, before)
  if (flaw === undefined) return after
  throw new errorCodes.FST_DEALBOOK_INVALID_ITEM(family.name, operation, flaw.pointer, flaw.detail)
}
